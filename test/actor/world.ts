import tzLookup from '@photostructure/tz-lookup'
import type { Beacon, BeaconIdentifiers, RangedBeacon } from '../../src/model/beacon.ts'
import { checkRing } from '../../src/geometry/ring.ts'
import type { Geofence, Position, Shape } from '../../src/model/geofence.ts'
import { parseOperatingHours, type OperatingHours } from '../../src/model/operatingHours.ts'
import { REGION_KINDS } from '../../src/model/region.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/model/settings.ts'
import { MINUTE, NOON, type Engine } from './kit.ts'
import { randomSegmentSettings } from './randomSegments.ts'

/**
 * Random worlds: geofences of every kind and beacons around a place, and edits in between. For the devices that move
 * in them, see track.ts.
 */

/** Mulberry32: a seed gives the same numbers everywhere. */
export class Random {
  private state: number

  constructor(seed: number) {
    this.state = seed | 0
  }

  /** In [0, 1). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let x = this.state
    x = Math.imul(x ^ (x >>> 15), x | 1)
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61)
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next()
  }

  /** Between two positive numbers, with every order of magnitude equally likely. */
  magnitude(low: number, high: number): number {
    return Math.exp(this.between(Math.log(low), Math.log(high)))
  }

  /** An integer in [0, count). */
  below(count: number): number {
    return Math.floor(this.next() * count)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }
}

export interface Point {
  readonly latitude: number
  readonly longitude: number
}

const METERS_PER_DEGREE = 111_200

/** The point so many metres east and north, approximately. Latitude is clamped, and longitude is within ±180. */
export function moved(from: Point, east: number, north: number): Point {
  const cos = Math.max(0.005, Math.cos((from.latitude * Math.PI) / 180))
  const latitude = Math.max(-90, Math.min(90, from.latitude + north / METERS_PER_DEGREE))
  const turn = Math.max(-170, Math.min(170, east / (METERS_PER_DEGREE * cos)))
  return wrapped({ latitude, longitude: from.longitude + turn })
}

/** The place of a world: anywhere, at the antimeridian, beside a pole, or on the equator. */
export function randomPlace(random: Random): Point {
  const longitude = random.between(-180, 180)
  switch (random.below(6)) {
    case 0:
      return { latitude: random.between(-75, 75), longitude: random.pick([-180, 180, 179.9995, -179.9995]) }
    case 1:
      return { latitude: random.pick([1, -1]) * (90 - random.magnitude(0.0001, 3)), longitude }
    case 2:
      return { latitude: random.between(-0.001, 0.001), longitude: random.between(-0.001, 0.001) }
    default:
      return { latitude: random.between(-78, 78), longitude }
  }
}

export const USERS = ['ann', 'bob', 'cy']
export const ADDRESSES = ['192.0.2.1', '192.0.2.77', '198.51.100.9', '2001:db8::7', '2001:db8:5::1']
const RANGES = [
  '192.0.2.1',
  '192.0.2.*',
  '192.0.2.64/26',
  '198.51.100.0/24,192.0.2.1',
  '2001:db8::/48',
  '2001:db8::7',
  '2001:db8:5:0:0:0:0:*',
]

function randomShape(random: Random, near: Point, spread: number): Shape {
  const kind = random.next()
  if (kind < 0.45) {
    const { latitude, longitude } = near
    const radius = Math.min(10_000, Math.max(10, random.magnitude(spread / 30, spread)))
    return { kind: 'circle', center: [longitude, latitude], radius }
  }
  if (Math.abs(near.latitude) > 85 && random.chance(0.2)) return polarRing(random, near)
  const size = kind > 0.92 ? random.magnitude(spread, spread * 300) : random.magnitude(spread / 60, spread)
  for (;;) {
    const ring = starRing(random, near, size)
    if (checkRing(ring) === undefined) return { kind: 'polygon', ring }
  }
}

/** Star-shaped about the centre, so it never crosses itself. It has spikes and may be wound either way. */
function starRing(random: Random, near: Point, size: number): Position[] {
  const corners = 3 + random.below(random.chance(0.1) ? 60 : 8)
  const turn = random.next()
  const ring: Position[] = []
  for (let i = 0; i < corners; i++) {
    const angle = (2 * Math.PI * (i + turn + random.between(-0.3, 0.3))) / corners
    const reach = size * random.between(0.3, 1)
    const at = moved(near, reach * Math.cos(angle), reach * Math.sin(angle))
    ring.push([at.longitude, at.latitude])
  }
  ring.push(ring[0]!)
  return random.chance(0.5) ? ring.reverse() : ring
}

/** A ring around the pole, with increasing longitudes. */
function polarRing(random: Random, near: Point): Shape {
  const corners = 5 + random.below(8)
  const colatitude = (90 - Math.abs(near.latitude)) * random.between(0.5, 2)
  const ring: Position[] = []
  for (let i = 0; i < corners; i++) {
    const longitude = -180 + (360 * (i + random.between(0.1, 0.9))) / corners
    ring.push([longitude, Math.sign(near.latitude) * (90 - colatitude * random.between(0.6, 1))])
  }
  ring.push(ring[0]!)
  return { kind: 'polygon', ring: random.chance(0.5) ? ring.reverse() : ring }
}

const DAYS = ['Sunday', 'mon', 'TUE', 'wednesday', 'Thu', 'friday', 'Sat']
const PAIRS: readonly (readonly [string, string])[] = [
  ['09:00', '17:00'],
  ['9:00 AM', '1:30 PM'],
  ['00:00', '24:00'],
  ['22:00', '03:00'],
  ['12:00 PM', '12:00 AM'],
  ['14:15', '14:15'],
]

export function randomHours(random: Random): OperatingHours | undefined {
  const hours: Record<string, unknown> = {}
  for (const day of DAYS) {
    if (random.chance(0.8)) hours[day] = random.chance(0.3) ? [PAIRS[0], PAIRS[3]] : [random.pick(PAIRS)]
  }
  return parseOperatingHours(hours)
}

/** A geofence within `spread` metres of the place, with restrictions of every kind now and then. */
export function randomGeofence(
  random: Random,
  id: number,
  place: Point,
  spread: number,
  now: number,
): Geofence {
  const near = moved(place, random.between(-spread, spread), random.between(-spread, spread))
  const shape = randomShape(random, near, spread)
  const hours = random.chance(0.25) ? randomHours(random) : undefined
  const date = () => now + random.between(-5, 120) * MINUTE
  const hex = id.toString(16).padStart(24, '0')
  return {
    id: hex,
    scope: 0,
    tag: random.pick(['shop', 'depot']),
    externalId: hex,
    description: `Geofence ${id}`,
    type: shape.kind,
    shape,
    enabled: random.chance(0.95),
    ...(random.chance(0.2) && { metadata: { floor: random.below(5), open: true } }),
    ...(hours !== undefined && { operatingHours: hours }),
    ...(random.chance(0.2) && { stopDetection: random.chance(0.5) }),
    ...(random.chance(0.1) && { disableAfter: Math.round(date()) }),
    ...(random.chance(0.1) && { deleteAfter: Math.round(date()) }),
    ...(random.chance(0.15) && { userIds: USERS.filter(() => random.chance(0.5)) }),
    ...(random.chance(0.05) && { userId: random.pick(USERS) }),
    ...(random.chance(0.15) && { ip: random.pick(RANGES) }),
    ...(random.chance(0.4) && { dwellThreshold: random.pick([0.5, 2, 10, 60]) }),
    timeZone: tzLookup(near.latitude, near.longitude),
    createdAt: NOON,
    updatedAt: now,
  }
}

/** Few identifiers, so that several beacons send the same one. */
function randomIdentifiers(random: Random): BeaconIdentifiers {
  if (random.chance(0.4))
    return { type: 'eddystone', uid: random.pick(['00aa', '00bb']), instance: random.pick(['0f', 'f0']) }
  const uuid = random.pick(['F7826DA6-4FA2-4E98-8024-BC5B71E0893E', '2f234454-cf6d-4a0f-adf2-f4911ba9ffa6'])
  return { type: 'ibeacon', uuid, major: random.pick(['1', '2']), minor: random.pick(['7', '70']) }
}

/** A beacon within `spread` metres of the place. */
export function randomBeacon(random: Random, id: number, place: Point, spread: number): Beacon {
  const at = moved(place, random.between(-spread, spread), random.between(-spread, spread))
  return {
    id: id.toString(16).padStart(24, 'b'),
    scope: 0,
    description: `Beacon ${id}`,
    ...randomIdentifiers(random),
    ...(random.chance(0.7) && { tag: 'door', externalId: `b${id}` }),
    coordinates: [at.longitude, at.latitude],
    enabled: random.chance(0.9),
    ...(random.chance(0.2) && { metadata: { floor: random.below(5) } }),
    createdAt: NOON,
    updatedAt: NOON,
  }
}

/** What a device ranges: some of these beacons and some unknown ones, in upper or lower case, now and then twice. */
export function randomRanged(random: Random, beacons: Iterable<Beacon>): RangedBeacon[] {
  const share = random.pick([0, 0.3, 0.7])
  const ranged: RangedBeacon[] = []
  const add = ({ type, uuid, major, minor, uid, instance }: BeaconIdentifiers) => {
    const written = (text: string | undefined) =>
      random.chance(0.5) ? text?.toUpperCase() : text?.toLowerCase()
    if (type === 'ibeacon') ranged.push({ type, uuid: written(uuid), major, minor })
    else ranged.push({ type, uid: written(uid), instance: written(instance) })
  }
  for (const beacon of beacons) {
    if (random.chance(share)) add(beacon)
  }
  if (random.chance(0.3)) add(randomIdentifiers(random))
  if (random.chance(0.1) && ranged.length > 0) add(random.pick(ranged))
  return ranged
}

export function randomSettings(random: Random): Settings {
  return {
    ...DEFAULT_SETTINGS,
    stopDetection: random.chance(0.25),
    bufferEntries: random.chance(0.35),
    bufferExits: random.chance(0.35),
    restrictToOperatingHours: random.chance(0.5),
    dwellEvents: random.chance(0.7),
    dwellThreshold: random.chance(0.5) ? random.pick([1, 5, 30]) : null,
    minimumConfidence: random.pick([1, 1, 1, 2, 3]),
    entryDelaySeconds: random.chance(0.6) ? 0 : random.pick([1, 20, 60, 300]),
    exitDelaySeconds: random.chance(0.6) ? 0 : random.pick([1, 20, 60, 300]),
    detectCrossings: random.chance(0.6),
    maxGapSeconds: random.pick([10, 300, 3600]),
    maxAccuracyMeters: random.chance(0.35) ? random.magnitude(50, 5000) : null,
    regions: random.chance(0.5),
    ...(random.chance(0.5) && randomSegmentSettings(random)),
    regionEvents: random.chance(0.7) ? REGION_KINDS : REGION_KINDS.filter(() => random.chance(0.5)),
  }
}

export function wrapped({ latitude, longitude }: Point): Point {
  if (longitude > 180) return { latitude, longitude: longitude - 360 }
  return { latitude, longitude: longitude < -180 ? longitude + 360 : longitude }
}

/** Changes the engine's world in a random way. */
export function randomEdit(
  random: Random,
  engine: Engine,
  place: Point,
  spread: number,
  settingsOf = randomSettings,
): void {
  const { world, clock } = engine
  if (random.chance(0.2)) {
    randomBeaconEdit(random, engine, place, spread)
    return
  }
  const geofences = [...world.geofences(0).values()]
  const known = geofences.length === 0 ? undefined : random.pick(geofences)
  const now = clock.now()
  switch (known === undefined ? 0 : random.below(6)) {
    case 0:
      world.put(randomGeofence(random, 1000 + world.revision, place, spread, now))
      break
    case 1:
      world.remove(known!)
      break
    case 2:
      world.put({ ...known!, enabled: !known!.enabled, updatedAt: now })
      break
    case 3: {
      // Replaces the whole definition, shape included, and keeps the id.
      const { id, externalId } = known!
      world.put({ ...randomGeofence(random, 0, place, spread, now), id, externalId })
      break
    }
    case 4:
      world.put({ ...known!, dwellThreshold: random.pick([1, 3]), description: 'edited', updatedAt: now })
      break
    default:
      world.set(0, settingsOf(random))
  }
}

function randomBeaconEdit(random: Random, { world, clock }: Engine, place: Point, spread: number): void {
  const beacons = [...world.beacons(0).values()]
  const drawn = randomBeacon(random, 1000 + world.revision, place, spread)
  const known = beacons.length === 0 ? undefined : random.pick(beacons)
  const updatedAt = clock.now()
  switch (known === undefined ? 0 : random.below(4)) {
    case 0:
      world.putBeacon(drawn)
      break
    case 1:
      world.removeBeacon(known!)
      break
    case 2:
      world.putBeacon({ ...known!, enabled: !known!.enabled, updatedAt })
      break
    default: {
      // Replaces the identifiers and the place, and keeps the id.
      const { id, enabled } = known!
      world.putBeacon({ ...drawn, id, enabled, updatedAt })
    }
  }
}
