/**
 * What a hundred gateways send, each over its own connection: devices that walk into and out of geofences.
 *
 * The seed determines all of it, whatever happens to the connections. Two runs send the same, and a test knows what
 * was sent without having observed it.
 */
import type { GeofenceDefinition, Update } from '../../sdk/src/index.ts'
import { ENCODINGS, type Encoding } from '../kit/stream.ts'
import { Seeded } from './seeded.ts'

/** One page of GET /v1/users holds the devices of a hundred connections. */
const DEVICES_PER_CONNECTION = 9
const CIRCLES = 40
/** A metre in degrees, near 0° 0′. */
const METER = 1 / 111_000
/** Edge of the square that devices walk in, metres. */
const EDGE = 3000
/** Longest step, metres; about five steps in a hundred cross a boundary. */
const STEP = 12

export interface Load {
  readonly seed: number
  readonly connections: number
  /** Updates of each connection. */
  readonly updates: number
  /** The first times of the devices are shortly after this; epoch milliseconds. */
  readonly startedAt: number
}

/** Each encoding is used by a third of the connections. */
export function encodingOf(connection: number): Encoding {
  return ENCODINGS[connection % ENCODINGS.length]!
}

/** Circles and octagons, by externalId. On average a point lies in nearly one of them. */
export function drawGeofences({ seed }: Load): Map<string, GeofenceDefinition> {
  const random = new Seeded(seed)
  const geofences = new Map<string, GeofenceDefinition>()
  for (let i = 0; i < CIRCLES; i++) {
    const center = [random.between(0, EDGE) * METER, random.between(0, EDGE) * METER] as const
    const radius = random.integer(60, 400)
    const externalId = `area-${i}`
    if (i % 2 === 0)
      geofences.set(externalId, {
        type: 'circle',
        description: externalId,
        coordinates: [...center],
        radius,
      })
    else
      geofences.set(externalId, {
        type: 'polygon',
        description: externalId,
        coordinates: [octagon(center, radius)],
      })
  }
  return geofences
}

function octagon([longitude, latitude]: readonly [number, number], radiusMeters: number): [number, number][] {
  return Array.from({ length: 9 }, (_, i) => {
    const angle = ((i % 8) * Math.PI) / 4
    return [
      longitude + Math.cos(angle) * radiusMeters * METER,
      latitude + Math.sin(angle) * radiusMeters * METER,
    ]
  })
}

/** What one connection sends, in order. The times of a device increase, so they identify its updates. */
export function* updatesOf(load: Load, connection: number): Generator<Update & { updatedAt: number }> {
  const random = new Seeded(load.seed + 1 + connection)
  const devices = Array.from({ length: DEVICES_PER_CONNECTION }, (_, i) => ({
    deviceId: `van-${connection}-${i}`,
    ...(random.chance(0.3) && { userId: `driver-${connection}-${i}` }),
    x: random.between(0, EDGE),
    y: random.between(0, EDGE),
    time: load.startedAt + random.integer(0, 60_000),
  }))
  for (let n = 0; n < load.updates; n++) {
    const device = random.pick(devices)
    device.x = clamped(device.x + random.between(-STEP, STEP))
    device.y = clamped(device.y + random.between(-STEP, STEP))
    device.time += random.integer(1000, 20_000)
    const { x, y, time, ...who } = device
    yield {
      ...who,
      latitude: y * METER,
      longitude: x * METER,
      accuracy: random.integer(3, 30),
      stopped: random.chance(0.2),
      updatedAt: time,
    }
  }
}

function clamped(meters: number): number {
  return Math.min(EDGE, Math.max(0, meters))
}
