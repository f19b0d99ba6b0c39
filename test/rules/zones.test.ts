import geodesic from 'geographiclib-geodesic'
import t from 'tap'
import type { Applied } from '../../src/actor/applied.ts'
import type { Partition } from '../../src/actor/partition.ts'
import { Probe } from '../../src/geometry/probe.ts'
import { isActive, type Geofence, type Shape } from '../../src/model/geofence.ts'
import { DEFAULT_FRAUD } from '../../src/model/fraud.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'
import fc from '../kit/fastCheck.ts'
import { Driven, endZones, withoutZones } from '../actor/driven.ts'
import { Engine, MINUTE, runs } from '../actor/kit.ts'
import { RandomAtlas } from '../actor/randomAtlas.ts'
import {
  moved,
  Random,
  randomBeacon,
  randomEdit,
  randomGeofence,
  randomHours,
  randomRanged,
  randomSettings,
  type Point,
} from '../actor/world.ts'

/** The first one is given senders, the second one is not. */
function sameAnswers(one: Driven, twin: Driven, update: Update, before: () => void): Applied {
  const a = one.apply(one.senders.sent(update))
  before()
  const b = twin.apply(update)
  if (JSON.stringify(a.applied) !== JSON.stringify(b.applied) || !a.frame.equals(b.frame))
    throw new Error(
      `answers differ:\n ${JSON.stringify(a.applied)}\n ${JSON.stringify(b.applied)}\n update ${JSON.stringify(update)}`,
    )
  return a.applied
}

function sameReads(one: Driven, twin: Driven): void {
  const [a, b] = [one.users(), twin.users()]
  if (JSON.stringify(a) !== JSON.stringify(b)) throw new Error(`reads differ:\n ${a}\n ${b}`)
  const [why, whyTwin] = [one.explanations(), twin.explanations()]
  if (why.join() !== whyTwin.join()) throw new Error(`explanations differ:\n ${why}\n ${whyTwin}`)
}

/**
 * Compares a row after an update that both evaluated. Both must be valid for the same time, and the first one for no fewer
 * accuracies. The zone must end before the next boundary that matters. The zones may differ if remembered candidates reach
 * less far, or farther.
 */
function rightZones({ table: a }: Partition, { table: b }: Partition, row: number, engine: Engine): void {
  const { index } = engine.world.scope(0)
  const probe = new Probe().set(a.zoneLatitude(row), a.zoneLongitude(row))
  const radius = a.zoneRadius(row)
  for (const geofence of engine.world.geofences(0).values()) {
    const { id, userId, userIds, ip } = geofence
    if (!isActive(geofence) || userId !== undefined || userIds !== undefined || ip !== undefined) continue
    const meters = Math.abs(index.distance(index.slotOf(id), probe))
    if (radius > meters) throw new Error(`a zone of ${radius} m, ${meters} m from a boundary`)
  }
  if (radius === 0 || b.zoneRadius(row) === 0) return
  const [one, twin] = [a, b].map((table) => [table.zoneUntil(row), table.zoneUntilReceived(row)].join())
  if (one !== twin) throw new Error(`zones differ: ${one}; ${twin}`)
  // What is left of a zone with buffers is as good for worse accuracies as it was.
  const [worst, least] = [a.zoneAccuracy(row), b.zoneAccuracy(row)]
  if (worst < least)
    throw new Error(`a zone for accuracies up to ${worst} m, ${least} m without the one before`)
}

/** The parts of an update that stay until something changes them. */
type Habits = Partial<Update>

interface Theme {
  /** Settings that the theme needs. */
  readonly settings?: Partial<Settings>
  /** Changes habits or the world now and then. */
  readonly change: (random: Random, habits: Habits, engine: Engine, place: Point) => Habits
  /** Fields that every geofence gets in addition to its own. */
  readonly geofences?: (random: Random, now: number) => Partial<Geofence>
  /** Server time between two updates in milliseconds; a second by default. */
  readonly pace?: (random: Random) => number
  /** Share of updates that jump elsewhere; 0.02 by default. */
  readonly leap?: number
  /**
   * The smallest share of updates that zones must answer. Most themes reach a third, and worlds without special
   * settings a sixth.
   */
  readonly hits: number
  /** The smallest share of updates that must do nothing but go past places; none by default. */
  readonly passes?: number
}

const THEMES: Readonly<Record<string, Theme>> = {
  'nothing but movement': { change: (_random, habits) => habits, hits: 0.1 },
  'accuracy up, down and missing': {
    change: (random, habits) => ({
      ...habits,
      accuracy: random.chance(0.15) ? undefined : random.pick([3, 5, 8, 30, 300, 100_000]),
    }),
    hits: 0.1,
  },
  'accuracy and buffers': {
    settings: { bufferEntries: true, bufferExits: true, maxAccuracyMeters: 200 },
    change: (random, habits) => ({ ...habits, accuracy: random.magnitude(1, 400) }),
    hits: 0.1,
  },
  userId: {
    change: (random, habits) => ({ ...habits, userId: random.pick([undefined, 'ann', 'bob', 'cy']) }),
    hits: 0.1,
  },
  installId: {
    change: (random, habits) => ({ ...habits, installId: random.pick([undefined, 'i1', 'i2']) }),
    hits: 0.1,
  },
  ip: {
    change: (random, habits) => ({
      ...habits,
      ip: random.pick(['192.0.2.1', '192.0.2.70', '198.51.100.3', '2001:db8::7']),
    }),
    hits: 0.1,
  },
  stopped: {
    settings: { stopDetection: true },
    change: (_random, habits) => ({ ...habits, stopped: habits.stopped !== true }),
    hits: 0.1,
  },
  foreground: {
    settings: { stopDetection: true },
    change: (_random, habits) => ({ ...habits, foreground: habits.foreground !== true }),
    hits: 0.1,
  },
  'description, metadata and device fields': {
    change: (random, habits) => ({
      ...habits,
      description: random.pick([undefined, 'a', 'b']),
      metadata: random.pick([undefined, {}, { a: 1, b: true }, { b: true, a: 1 }, { a: '1' }]),
      deviceType: random.pick([undefined, 'iOS', 'Web']),
      deviceOS: random.pick([undefined, '17']),
      deviceMake: random.pick([undefined, 'Apple']),
      deviceModel: random.pick([undefined, 'iPhone1,1']),
      source: random.pick([undefined, 'GEOFENCE_EXIT', 'MANUAL_LOCATION']),
      replayed: random.chance(0.2),
    }),
    hits: 0.1,
  },
  'numbered in streams': {
    change: (random, habits) => ({ ...habits, stream: random.pick([undefined, 'a', 'b', 'c']) }),
    hits: 0.1,
  },
  settings: {
    change: (random, habits, { world }) => {
      world.set(0, randomSettings(random))
      return habits
    },
    hits: 0.1,
  },
  'geofences edited, disabled and deleted': {
    change: (random, habits, engine, place) => {
      randomEdit(random, engine, place, SPREAD)
      return habits
    },
    hits: 0.1,
  },
  'time that jumps': {
    change: (random, habits) => ({
      ...habits,
      updatedAt: random.chance(0.5) ? undefined : NOW + random.between(-90, 90) * MINUTE,
    }),
    hits: 0.1,
  },
  'dwell deadlines': {
    settings: { dwellEvents: true, dwellThreshold: 1 },
    change: (_random, habits) => habits,
    pace: (random) => random.pick([1000, 10_000, 30_000, 60_000]),
    hits: 0.1,
  },
  'dwells that are due while exits are held back': {
    settings: {
      dwellEvents: true,
      dwellThreshold: 0.5,
      bufferEntries: false,
      bufferExits: true,
      exitDelaySeconds: 60,
      minimumConfidence: 1,
    },
    change: (random, habits) => ({ ...habits, accuracy: random.magnitude(1, 500) }),
    pace: (random) => random.pick([1000, 10_000, 30_000]),
    hits: 0.1,
  },
  'hours and dates': {
    settings: { restrictToOperatingHours: true, dwellEvents: true },
    geofences: (random, now) => ({
      [random.pick(['disableAfter', 'deleteAfter'])]: now + random.below(10_000) * MINUTE,
    }),
    change: (_random, habits) => habits,
    pace: (random) => Math.round(random.magnitude(1000, 60 * MINUTE)),
    hits: 0.1,
  },
  'hours and buffers': {
    settings: { restrictToOperatingHours: true, bufferEntries: true, minimumConfidence: 1 },
    geofences: (random) => {
      const operatingHours = randomHours(random)
      return operatingHours === undefined ? {} : { operatingHours }
    },
    change: (random, habits) => ({ ...habits, accuracy: random.magnitude(100, 2000) }),
    pace: (random) => Math.round(random.magnitude(1000, 60 * MINUTE)),
    hits: 0.04,
  },
  'places, with stops': {
    settings: {
      places: true,
      placeMinimumStaySeconds: 20,
      nearbyPlaceChains: ['ants', 'bees'],
      nearbyPlaceChainMeters: 100,
    },
    change: (random, habits) => ({
      ...habits,
      accuracy: random.pick([5, 15, 30, 100, 300, undefined]),
      stopped: random.chance(0.3),
      foreground: random.chance(0.1),
    }),
    pace: (random) => random.pick([1000, 5000, 20_000]),
    hits: 0.02,
  },
  'past places, with waits, stays and chains': {
    settings: {
      places: true,
      placeMinimumStaySeconds: 40,
      nearbyPlaceChains: ['ants'],
      nearbyPlaceChainMeters: 1000,
      minimumConfidence: 1,
      regions: false,
      fraud: DEFAULT_FRAUD,
    },
    // Without these, little ends a zone but places and chains.
    geofences: () => ({ enabled: false }),
    change: (random, habits) => ({
      ...habits,
      accuracy: random.pick([5, 15, 30, 100, 199, 201, undefined]),
      stopped: random.chance(0.1),
    }),
    pace: (random) => random.pick([1000, 2000, 10_000]),
    hits: 0.02,
    passes: 0.05,
  },
  'places that leave the data or the filters': {
    settings: { places: true, placeMinimumStaySeconds: 5, minimumConfidence: 1 },
    change: (random, habits, { world }) => {
      const { settings, atlas } = world.scope(0)
      if (!(atlas instanceof RandomAtlas)) return habits
      const { places } = atlas
      const { id } = random.pick(places.all).place
      if (!places.gone.delete(id)) places.gone.add(id)
      atlas.revision++
      const category = random.pick([[], [], ['cafe'], ['bar', 'cafe']])
      world.set(0, { ...settings, placeFilters: { chain: random.pick([[], ['ants']]), category } })
      return { ...habits, accuracy: random.pick([5, 30, 90]) }
    },
    hits: 0.02,
    passes: 0.02,
  },
  'entry and exit delays': {
    settings: { entryDelaySeconds: 20, exitDelaySeconds: 30, minimumConfidence: 1 },
    change: (random, habits) => ({ ...habits, accuracy: random.magnitude(1, 100) }),
    pace: (random) => random.pick([1000, 5000, 20_000]),
    hits: 0.1,
  },
  'crossings, each way around': {
    settings: { detectCrossings: true, maxGapSeconds: 60, minimumConfidence: 1, stopDetection: false },
    change: (random, habits) => ({ ...habits, accuracy: random.magnitude(1, 100) }),
    pace: (random) => random.pick([1000, 10_000, 59_000, 61_000]),
    leap: 0.05,
    hits: 0.1,
  },
  'crossings and updates that are too inaccurate': {
    settings: { detectCrossings: true, maxGapSeconds: 600, maxAccuracyMeters: 50, minimumConfidence: 1 },
    change: (random, habits) => ({ ...habits, accuracy: random.pick([5, 20, 49, 51, 500]) }),
    leap: 0.05,
    hits: 0.02,
  },
  'crossings amid edits': {
    settings: { detectCrossings: true, minimumConfidence: 1 },
    change: (random, habits, engine, place) => {
      randomEdit(random, engine, place, SPREAD)
      return { ...habits, userId: random.pick([undefined, 'ann']) }
    },
    leap: 0.05,
    hits: 0.05,
  },
  'beacons ranged, or not said': {
    change: (random, habits, { world }) => ({
      ...habits,
      beacons: random.chance(0.5) ? undefined : randomRanged(random, world.beacons(0).values()),
    }),
    hits: 0.05,
  },
  'regions and accuracy': {
    settings: { regions: true, minimumConfidence: 2 },
    change: (random, habits) => ({
      ...habits,
      accuracy: random.chance(0.2) ? undefined : random.magnitude(1, 20_000),
    }),
    hits: 0.1,
  },
  'regions turned on and off': {
    change: (random, habits, { world }) => {
      world.set(0, { regions: random.chance(0.7) })
      return habits
    },
    hits: 0.1,
  },
  'fraud: claims, jumps, addresses and lists': {
    settings: {
      fraud: {
        ...DEFAULT_FRAUD,
        enabled: true,
        jumpMeters: 150,
        jumpSpeed: 300,
        maxAccuracy: 100,
        ipCountry: true,
        bypassed: ['bob'],
        blocked: ['cy', '198.51.100.0/24'],
      },
    },
    change: (random, habits) => ({
      ...habits,
      accuracy: random.magnitude(1, 120),
      claims: random.chance(0.2) ? random.below(16) : undefined,
      userId: random.chance(0.7) ? undefined : random.pick(['ann', 'bob', 'cy']),
      // Used nearby and no proxy; then: the same, far away, a proxy.
      ip: random.chance(0.7) ? '192.0.2.1' : random.pick(['192.0.2.70', '192.0.2.77', '198.51.100.3']),
    }),
    hits: 0.02,
  },
  'everything at once': {
    change: (random, habits, engine, place) => {
      const names = Object.keys(THEMES).filter((name) => name !== 'everything at once')
      return THEMES[random.pick(names)]!.change(random, habits, engine, place)
    },
    pace: (random) => Math.round(random.magnitude(1000, 5 * MINUTE)),
    hits: 0.05,
  },
}

const SPREAD = 2000
const NOW = new Engine().clock.now()

/**
 * A device that walks straight on for a while, or stands. Now and then it goes straight to the boundary of a circle
 * and just across it, where a zone that is slightly too large shows.
 */
function walker(
  random: Random,
  place: Point,
  geofences: ReadonlyMap<string, Geofence>,
  leap = 0.02,
): () => Point {
  const anywhere = () => moved(place, random.between(-SPREAD, SPREAD), random.between(-SPREAD, SPREAD))
  let at = anywhere()
  let east = 0
  let north = 0
  return () => {
    if (random.chance(0.1)) {
      const step = random.chance(0.3) ? 0 : random.magnitude(0.001, SPREAD / 20)
      const angle = random.between(0, 2 * Math.PI)
      east = step * Math.cos(angle)
      north = step * Math.sin(angle)
    }
    at = moved(at, east, north)
    if (random.chance(leap)) at = anywhere()
    if (random.chance(0.1) && geofences.size > 0)
      at = overTheBoundary(at, random.pick([...geofences.values()]).shape, random.magnitude(0.001, 3))
    return at
  }
}

/** The point so many metres beyond the nearest point on the boundary of a circle. */
function overTheBoundary(at: Point, shape: Shape, meters: number): Point {
  if (shape.kind !== 'circle') return at
  const [longitude, latitude] = shape.center
  const { s12, azi1 } = geodesic.Geodesic.WGS84.Inverse(latitude, longitude, at.latitude, at.longitude)
  const reach = s12! < shape.radius ? shape.radius + meters : Math.max(0, shape.radius - meters)
  const { lat2, lon2 } = geodesic.Geodesic.WGS84.Direct(latitude, longitude, azi1!, reach)
  return { latitude: lat2!, longitude: lon2! }
}

t.test('zones change nothing but the work', async (t) => {
  for (const [name, theme] of Object.entries(THEMES)) {
    let updates = 0
    let hits = 0
    let passes = 0
    let events = 0
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const random = new Random(seed)
        const place = { latitude: random.between(-79, 79), longitude: random.between(-180, 180) }
        const atlas = new RandomAtlas(random, place, SPREAD)
        const engine = new Engine({ atlas })
        const { world, clock } = engine
        world.set(0, { ...randomSettings(random), maxAccuracyMeters: null, ...theme.settings })
        for (let id = 1; id <= 12; id++)
          world.put({
            ...randomGeofence(random, id, place, SPREAD, clock.now()),
            ...theme.geofences?.(random, clock.now()),
          })
        const zoned = new Driven(engine)
        const plain = new Driven(engine)
        withoutZones(plain.partition)
        for (let id = 1; id <= 5; id++) world.putBeacon(randomBeacon(random, id, place, SPREAD))
        const walk = walker(random, place, world.geofences(0), theme.leap)
        let habits: Habits = { accuracy: random.magnitude(2, 300) }
        for (let i = 0; i < 250; i++) {
          clock.advance(theme.pace?.(random) ?? 1000)
          if (random.chance(0.08)) habits = theme.change(random, habits, engine, place)
          // Now and then a number that was already used.
          const sequence = habits.stream === undefined ? undefined : i - (random.chance(0.05) ? 3 : 0)
          const update = engine.update({ deviceId: 'd', ...walk(), ...habits, sequence })
          const hitsBefore = zoned.partition.zoneHits
          const { repeated } = sameAnswers(zoned, plain, update, () => endZones(plain.partition))
          if (!repeated && zoned.partition.zoneHits === hitsBefore)
            rightZones(zoned.partition, plain.partition, zoned.partition.row, engine)
          if (random.chance(0.2)) {
            clock.advance(theme.pace?.(random) ?? 1000)
            sameReads(zoned, plain)
          }
        }
        if (!zoned.snapshot().equals(plain.snapshot())) throw new Error('snapshots differ')
        updates += 250
        hits += zoned.partition.zoneHits
        passes += zoned.partition.passes
        events += zoned.events.length
        if (plain.partition.zoneHits + plain.partition.passes > 0) throw new Error('the twin has zones')
      }),
      { ...runs(24), endOnFailure: true },
    )
    t.ok(hits / updates >= theme.hits, `${name}: zones answered ${hits} of ${updates} updates`)
    if (theme.passes !== undefined)
      t.ok(passes / updates >= theme.passes, `${name}: ${passes} of ${updates} updates went past places`)
    t.ok(events / updates > 0.005, `${name}: ${events} events`)
  }
})

t.test('packing idle devices changes nothing', async (t) => {
  let packed = 0
  let events = 0
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = new Random(seed)
      const engine = new Engine()
      const { world, clock } = engine
      const place = { latitude: random.between(-79, 79), longitude: random.between(-180, 180) }
      world.set(0, randomSettings(random))
      for (let id = 1; id <= 12; id++) world.put(randomGeofence(random, id, place, SPREAD, clock.now()))
      for (let id = 1; id <= 5; id++) world.putBeacon(randomBeacon(random, id, place, SPREAD))
      const packing = new Driven(engine)
      const plain = new Driven(engine)
      const devices = Array.from({ length: 6 }, (_, i) => ({
        deviceId: `d${i}`,
        walk: walker(random, place, world.geofences(0)),
        habits: {} as Habits,
        sequence: 0,
      }))
      for (let i = 0; i < 300; i++) {
        clock.advance(Math.round(random.magnitude(1000, MINUTE)))
        const device = random.pick(devices)
        if (random.chance(0.1))
          device.habits = THEMES['everything at once']!.change(random, device.habits, engine, place)
        const stream = random.chance(0.1)
          ? { stream: random.pick(['a', 'b']), sequence: device.sequence++ }
          : {}
        const { deviceId, habits } = device
        const update = engine.update({ deviceId, ...device.walk(), ...habits, ...stream })
        if (random.chance(0.2)) packed += packing.partition.table.packIdle(clock.now() - random.below(60_000))
        sameAnswers(packing, plain, update, () => {})
        if (random.chance(0.1)) sameReads(packing, plain)
        if (random.chance(0.02)) {
          if (!packing.snapshot().equals(plain.snapshot())) throw new Error('snapshots differ')
        }
      }
      events += plain.events.length
    }),
    { ...runs(20), endOnFailure: true },
  )
  t.ok(packed > 500, `${packed} packed`)
  t.ok(events > 200, `${events} events`)
})

/** 100 m about 50° north, 10° east. */
function circle(id: string): Geofence {
  const shape = { kind: 'circle' as const, center: [10, 50] as const, radius: 100 }
  const name = { id, scope: 0, tag: 'shop', externalId: id, description: id, timeZone: 'Etc/UTC' }
  return { ...name, type: 'circle', shape, enabled: true, createdAt: NOW, updatedAt: NOW }
}

t.test('a stay is in the geofence of its id, not in the one that has its slot now', async (t) => {
  const engine = new Engine()
  const { world, clock } = engine
  world.set(0, { ...randomSettings(new Random(1)), maxAccuracyMeters: null, minimumConfidence: 1 })
  const place = { latitude: 50, longitude: 10 }
  const [one, twin] = [new Driven(engine), new Driven(engine)]
  const update = () => {
    clock.advance(1000)
    const sent = engine.update({ deviceId: 'd', ...place, accuracy: 1, stopped: true })
    return sameAnswers(one, twin, sent, () => endZones(twin.partition)).events.length
  }
  const [first, second] = ['a'.repeat(24), 'b'.repeat(24)].map(circle)
  world.put(first!)
  update()
  world.remove(first!)
  world.put(second!)
  t.equal(update(), 1, 'the second is entered')
})

t.test('a stay ends if an edit leaves an isochrone without an area', async (t) => {
  const engine = new Engine()
  const { world, clock } = engine
  world.set(0, DEFAULT_SETTINGS)
  const ready = circle('a'.repeat(24))
  const center = [10, 50] as const
  const isochrone = { destination: center, minutes: 10 }
  const placeholder = { kind: 'circle' as const, center, radius: 10 }
  const pending: Geofence = { ...ready, type: 'isochrone', mode: 'car', isochrone, shape: placeholder }
  const [one, twin] = [new Driven(engine), new Driven(engine)]
  withoutZones(twin.partition)
  const update = () => {
    clock.advance(1000)
    const sent = engine.update({ deviceId: 'd', latitude: 50, longitude: 10 })
    return sameAnswers(one, twin, sent, () => endZones(twin.partition)).events.length
  }
  world.put(ready)
  t.equal(update(), 1, 'entered')
  world.put(pending)
  t.equal(update(), 0)
  t.same(one.partition.table.profile(0).visits, [], 'nobody is inside')
  world.put({ ...pending, isochrone: { ...isochrone, computedAt: NOW }, shape: ready.shape })
  t.equal(update(), 1, 'entered anew')
})

t.test('a dwell at its exact millisecond: not yet, by the zone and by the step', async (t) => {
  for (const minutes of [2, 2.01, 4.35]) {
    for (const isOwn of [true, false]) {
      const engine = new Engine()
      const { world, clock } = engine
      world.set(0, { ...DEFAULT_SETTINGS, dwellEvents: true, dwellThreshold: isOwn ? null : minutes })
      world.put({ ...circle('a'.repeat(24)), ...(isOwn && { dwellThreshold: minutes }) })
      const [one, twin] = [new Driven(engine), new Driven(engine)]
      withoutZones(twin.partition)
      const updateAfter = (milliseconds: number) => {
        clock.advance(milliseconds)
        const sent = engine.update({ deviceId: 'd', latitude: 50, longitude: 10 })
        return sameAnswers(one, twin, sent, () => endZones(twin.partition)).events.length
      }
      t.equal(updateAfter(0), 1, 'entered')
      t.equal(updateAfter(Math.round(minutes * MINUTE)), 0, `${minutes} minutes are not more than that`)
      t.equal(updateAfter(1), 1, 'a millisecond more is')
    }
  }
})

t.test('a resend is recognised after an update without a number that changed the profile (G9)', async (t) => {
  const engine = new Engine()
  const { world, clock } = engine
  world.set(0, DEFAULT_SETTINGS)
  world.put(circle('a'.repeat(24)))
  const [one, twin] = [new Driven(engine), new Driven(engine)]
  const update = (latitude: number, sequence?: number) => {
    clock.advance(1000)
    const stream = sequence === undefined ? undefined : 'a'
    const sent = engine.update({ deviceId: 'd', latitude, longitude: 10, stream, sequence })
    const { repeated, events } = sameAnswers(one, twin, sent, () => endZones(twin.partition))
    return [repeated, events.length]
  }
  t.same(update(51, 5), [false, 0], 'outside')
  t.same(update(50), [false, 1], 'entered')
  t.same(update(51, 5), [true, 0], 'the first again: no exit')
  t.same(update(51, 6), [false, 1], 'the next one leaves')
})
