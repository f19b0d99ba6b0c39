/**
 * The data for the expensive requests of `bench/hostile.ts`: crowds of overlapping geofences, polygons with the most
 * corners, records with as much metadata as allowed, and thousands of users.
 */
import { WebSocket } from 'ws'

export interface WorldSize {
  /** Overlapping circles at {@link CROWD}. */
  readonly crowd: number
  /** Overlapping circles at {@link FEW}. */
  readonly few: number
  /** Polygons with the most corners, at {@link RINGS}. */
  readonly rings: number
  /** Geofences with much metadata at {@link FAT}. */
  readonly fat: number
  /** Geofences spread around {@link USERS}, like the users. */
  readonly strewn: number
  readonly users: number
  /** Devices that are tracked into the crowd at the same time, each with an event for each of its geofences. */
  readonly atOnce: number
  /** Updates of a replay into and out of the circles at {@link FEW}. Each makes an event with each of them. */
  readonly updates: number
}

type Place = readonly [longitude: number, latitude: number]

export const CROWD: Place = [20, 20]
export const FEW: Place = [10, 10]
export const RINGS: Place = [30, 30]
export const FAT: Place = [40, 40]
export const USERS: Place = [50, 50]

/** Nearly the longest body that the server accepts. */
export const BODY_BYTES = 1_048_000
/** The most positions of a ring, including the closing one. */
const CORNERS = 2000
/** Users per frame. */
const FRAME = 500

/** The geofences that the server has before it starts. */
export function* worldGeofences(size: WorldSize): Generator<Record<string, unknown>> {
  yield* circles('few', FEW, size.few)
  yield* circles('crowd', CROWD, size.crowd)
  for (let i = 0; i < size.rings; i++)
    yield { ...named('rings', i), type: 'polygon', coordinates: [star(RINGS, 0.01 + i * 1e-6)] }
  const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`key${i}`, 'x'.repeat(4000)]))
  for (const fat of circles('fat', FAT, size.fat)) yield { ...fat, metadata }
  for (let i = 0; i < size.strewn; i++)
    yield {
      ...named('strewn', i),
      type: 'circle',
      coordinates: strewn(i),
      radius: 50,
      metadata: { number: i },
    }
}

function* circles(tag: string, [longitude, latitude]: Place, count: number) {
  for (let i = 0; i < count; i++) {
    const coordinates = [longitude + (i % 100) * 1e-6, latitude + Math.floor(i / 100) * 1e-6]
    yield { ...named(tag, i), type: 'circle', coordinates, radius: 1000 }
  }
}

function named(tag: string, i: number) {
  return { tag, externalId: String(i), description: `${tag} ${i}` }
}

/** A ring with as many corners as allowed, alternating between two radii. */
export function star([longitude, latitude]: Place, radius: number): number[][] {
  const ring = Array.from({ length: CORNERS - 1 }, (_, i) => {
    const angle = (2 * Math.PI * i) / (CORNERS - 1)
    const far = i % 2 === 0 ? radius : radius / 2
    return [longitude + far * Math.cos(angle), latitude + far * Math.sin(angle)]
  })
  return [...ring, ring[0]!]
}

/**
 * Two rows of teeth pushed into each other. Every edge of one comes near every edge of the other, and only the last
 * two cross.
 */
export function zigzag([longitude, latitude]: Place): number[][] {
  const half = (CORNERS - 2) / 2
  const there = Array.from({ length: half }, (_, i) => [
    longitude + i * 1e-5,
    latitude + (i % 2 === 0 ? 0 : 0.1),
  ])
  const back = there.map(([x, y]) => [x! + 2e-6, y! + 1e-6]).reverse()
  const ring = [...there, ...back, [longitude - 1e-5, latitude + 0.05]]
  return [...ring, ring[0]!]
}

function strewn(i: number): Place {
  return [USERS[0] + ((i * 7919) % 1000) * 1e-4, USERS[1] + ((i * 104_729) % 997) * 1e-4]
}

/** Tracks the users with frames over one stream. */
export async function trackUsers(port: number, key: string, count: number): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/stream`, ['ringfence.json'], {
    headers: { authorization: key },
  })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const frames = Math.ceil(count / FRAME)
  for (let id = 1; id <= frames; id++) {
    const updates = Array.from({ length: FRAME }, (_, i) => {
      const user = (id - 1) * FRAME + i
      const [longitude, latitude] = strewn(user)
      return { deviceId: `user-${user}`, longitude, latitude, accuracy: 5, metadata: { number: user } }
    })
    const answered = new Promise<void>((resolve, reject) => {
      socket.once('message', (text: Buffer) => {
        const message = JSON.parse(text.toString())
        if (message.type === 'ack') resolve()
        else reject(new Error(`A frame of users was answered ${text.toString()}`))
      })
    })
    socket.send(JSON.stringify({ type: 'track', id, updates }))
    await answered
  }
  socket.terminate()
}

/** An update at a place, or some degrees to the north of it. */
export function updateAt(deviceId: string, [longitude, latitude]: Place, north = 0) {
  return { deviceId, latitude: latitude + north, longitude, accuracy: 5 }
}
