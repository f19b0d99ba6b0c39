/**
 * What a hundred gateways send, each over a connection of its own: devices that walk in and out of geofences.
 *
 * All of it follows from the seed, whatever the connections go through: two runs send the same, and a test can say
 * without having seen it what was sent.
 */
import type { GeofenceDefinition, Update } from '../../sdk/src/index.ts'
import { ENCODINGS, type Encoding } from '../kit/stream.ts'
import { Seeded } from './seeded.ts'

/** One page of GET /v1/users holds those of a hundred connections. */
const DEVICES_PER_CONNECTION = 9
const CIRCLES = 40
/** Degrees of a metre near 0° 0′. */
const METER = 1 / 111_000
/** Of the square that devices walk in, metres. */
const EDGE = 3000
/** Metres of one step, at most: some five in a hundred cross a boundary. */
const STEP = 12

export interface Load {
  readonly seed: number
  readonly connections: number
  /** Of each connection. */
  readonly updates: number
  /** The devices' first times are shortly after it; epoch milliseconds. */
  readonly startedAt: number
}

/** A third of the connections has each. */
export function encodingOf(connection: number): Encoding {
  return ENCODINGS[connection % ENCODINGS.length]!
}

/** Circles and octagons, by externalId; on average a point lies in nearly one. */
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

/** What one connection sends, in its order. The times of a device ascend, so they tell its updates apart. */
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
