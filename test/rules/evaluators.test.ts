/**
 * The list of evaluators with an invented third one, a curfew. It shows everything that a new evaluator needs, and
 * that adding one touches only its own file and the list.
 */
import t from 'tap'
import type { GeofenceTransition } from '../../src/model/event.ts'
import { NO_ATLAS } from '../../src/rules/atlas.ts'
import { circumstancesOf } from '../../src/rules/circumstances.ts'
import { NO_STATE, type DeviceState } from '../../src/rules/deviceState.ts'
import type { Context, Evaluator, Explanation, Situation, Spot, Step } from '../../src/rules/evaluator.ts'
import { contextOf, createEvaluators, evaluate, explain, type Evaluated } from '../../src/rules/evaluators.ts'
import { measureElsewhere, Unmeasured } from '../../src/rules/measured.ts'
import { CROWD, Crowded } from '../../src/rules/crowded.ts'
import { Unread } from '../../src/rules/unread.ts'
import { readInTurns } from '../../src/spatial/readInTurns.ts'
import {
  NO_LIMITS,
  NOWHERE_SAFE,
  smallest,
  smallestOf,
  ZONE,
  zoneWithin,
  type ZoneKind,
  type ZoneLimits,
} from '../../src/rules/safeZone.ts'
import { BeaconStore } from '../../src/registry/beacons/beaconStore.ts'
import { ScopeTrips } from '../../src/registry/trips/scopeTrips.ts'
import type { Update } from '../../src/model/update.ts'
import { PLAIN_OFFSETS } from '../../src/model/zoneOffsets.ts'
import { measureShapes } from '../../src/geometry/shapeBatch.ts'
import { aBeacon, aGeofence, Engine, NOON } from '../actor/kit.ts'

const HOUR_MS = 3_600_000

/** Being out in the first half of an hour causes an event. A result holds until the end of the hour at the latest. */
class Curfew implements Evaluator<number> {
  readonly rank: number
  readonly zone: ZoneKind
  steps = 0
  constructor(rank: number, zone: ZoneKind = ZONE.geofences) {
    this.rank = rank
    this.zone = zone
  }

  facts(_before: DeviceState, { update, now }: Situation): number | undefined {
    return update.foreground ? now.time % HOUR_MS : undefined
  }

  step(_before: DeviceState, sinceHour: number): Step {
    this.steps++
    return { transitions: sinceHour < HOUR_MS / 2 ? [OUT] : [] }
  }

  limits(_before: DeviceState, sinceHour: number, _step: Step, { now }: Situation): ZoneLimits {
    return { meters: 7, until: now.time - sinceHour + HOUR_MS, untilReceived: Infinity }
  }

  explain(): Partial<Explanation> {
    return { note: 'a curfew' }
  }

  context({ view }: Spot): Partial<Context> {
    return view.revision < 0 ? { geofences: [] } : {}
  }
}

const OUT: GeofenceTransition = {
  type: 'user.dwelled_in_geofence',
  geofence: aGeofence('c'.repeat(24)),
  confidence: 3,
}

/** An update at 12:00 that enters a geofence and comes into the range of a beacon. */
function entering(change: Partial<Update> = {}): Situation {
  const engine = new Engine()
  const { index, settings } = engine.world.scope(1)
  index.put(aGeofence(1))
  const beacons = new BeaconStore()
  const ranged = { type: 'ibeacon', uuid: 'f'.repeat(32), major: '1', minor: '1' } as const
  beacons.put(aBeacon(1, ranged))
  const update = {
    ...engine.update({ deviceId: 'd', latitude: 0, longitude: 0, accuracy: 5 }),
    beacons: [ranged],
    ...change,
  }
  const none = () => undefined
  const trips = new ScopeTrips()
  const more = { trips, revision: 1, atlas: NO_ATLAS, geofence: none, geofenceNamed: none }
  const view = { index, settings, zones: PLAIN_OFFSETS, beacons, ...more }
  return { update, view, now: circumstancesOf(update, NOON, view) }
}

/** The zones of an update at the equator at noon, by kind. */
const zonesOf = ({ limits }: Evaluated) => limits?.map((one) => zoneWithin(one, 0, NOON))

const types = ({ transitions }: Evaluated) => transitions.map(({ type }) => type)

t.test('events are in the order of the ranks, wherever their evaluator stands in the list', async (t) => {
  const situation = entering({ foreground: true })
  for (const [rank, order] of [
    [1, ['user.dwelled_in_geofence', 'user.entered_geofence', 'user.entered_beacon']],
    [3, ['user.entered_geofence', 'user.dwelled_in_geofence', 'user.entered_beacon']],
    [5, ['user.entered_geofence', 'user.entered_beacon', 'user.dwelled_in_geofence']],
  ] as const) {
    for (const place of [0, 1, 2]) {
      const list = createEvaluators().toSpliced(place, 0, new Curfew(rank))
      t.strictSame(types(evaluate(list, NO_STATE, situation) as Evaluated), order)
    }
  }
})

t.test('each evaluator leaves the parts of the others unchanged', async (t) => {
  const { state } = evaluate([...createEvaluators(), new Curfew(3)], NO_STATE, entering()) as Evaluated
  t.equal(state.visits.length, 1)
  t.equal(state.beacons.length, 1)
  t.strictSame(Object.keys(state), Object.keys(NO_STATE))
})

t.test('the safe zone is the smallest of all', async (t) => {
  const zone = (list: readonly Evaluator[], change: Partial<Update>) =>
    (evaluate(list, NO_STATE, entering({ beacons: [], ...change })) as Evaluated).zone
  const without = zone(createEvaluators(), { foreground: true })
  t.ok(without.radiusMeters > 90, `${without.radiusMeters} m`)
  const within = zone([...createEvaluators(), new Curfew(3)], { foreground: true })
  t.ok(within.radiusMeters > 6.9 && within.radiusMeters < 7, `${within.radiusMeters} m`)
  t.equal(within.until, NOON + HOUR_MS)
  const beside = zone([...createEvaluators(), new Curfew(3)], {})
  t.strictSame(beside, zone(createEvaluators(), {}), 'one that is not concerned limits nothing')
  const inRange = evaluate(createEvaluators(), NO_STATE, entering()) as Evaluated
  t.equal(inRange.zone.radiusMeters, 0, 'in range of a beacon there is none')
})

t.test('an evaluator that is not concerned takes no step', async (t) => {
  const curfew = new Curfew(3)
  evaluate([curfew], NO_STATE, entering())
  t.equal(curfew.steps, 0)
  evaluate([curfew], NO_STATE, entering({ foreground: true }))
  t.equal(curfew.steps, 1)
})

t.test('within what is left of a zone its evaluators take no step, and its limits count', async (t) => {
  const curfew = new Curfew(3, ZONE.regions)
  const list = [...createEvaluators(), curfew]
  const situation = entering({ foreground: true, beacons: [] })
  const first = evaluate(list, NO_STATE, situation) as Evaluated
  const [ofGeofences, ofPlaces, ofRegions] = zonesOf(first)!
  t.ok(ofRegions!.radiusMeters > 6.9 && ofRegions!.radiusMeters < 7, `${ofRegions!.radiusMeters} m`)
  t.equal(ofRegions!.until, NOON + HOUR_MS)
  t.ok(ofGeofences!.radiusMeters > 90, 'each kind has a zone of its own')
  t.ok(ofPlaces!.radiusMeters > 10_000)
  t.equal(curfew.steps, 1)
  const limits = { meters: 3, until: NOON + 5, untilReceived: NOON + 7, accuracy: 50, onlyMoving: true }
  const left = [undefined, undefined, limits]
  const kept = evaluate(list, NO_STATE, { ...situation, left }) as Evaluated
  t.equal(curfew.steps, 1)
  t.strictSame(types(kept), ['user.entered_geofence'], 'geofences are evaluated')
  t.match(kept.zone, { until: NOON + 5, untilReceived: NOON + 7, accuracy: 50, onlyMoving: true })
  t.ok(kept.zone.radiusMeters < 3)
  t.equal(zonesOf(kept)![ZONE.regions]!.radiusMeters, kept.zone.radiusMeters)
  t.ok(zonesOf(kept)![ZONE.geofences]!.radiusMeters > 90)
  const others = evaluate(list, NO_STATE, { ...situation, left: [limits, undefined, undefined] }) as Evaluated
  t.equal(curfew.steps, 2)
  t.strictSame(types(others), ['user.dwelled_in_geofence'], 'geofences are not evaluated')
  // A user who enters a geofence may enter a segment, too.
  const event = { type: 'user.entered_geofence', withinDays: 30, atLeast: 1 } as const
  const segments = [{ number: 1, description: 'd', externalId: 's', rule: { event } }]
  const { settings } = situation.now
  const grouped = { ...situation.now, settings: { ...settings, segments } }
  const both = evaluate(list, NO_STATE, { ...situation, now: grouped, left }) as Evaluated
  t.equal(curfew.steps, 3)
  t.strictSame(both.state.segments.members, [1])
  t.equal(zonesOf(both)![ZONE.regions]!.until, NOON + HOUR_MS)
  const off = evaluate(createEvaluators(), NO_STATE, entering()) as Evaluated
  t.equal(off.limits, undefined, 'only geofences and beacons limit the device')
})

t.test('the smallest of several limits are those of two, one after the other', async (t) => {
  const many: readonly ZoneLimits[] = [
    NO_LIMITS,
    { meters: 5, until: 9, untilReceived: 30 },
    { meters: 7, until: 8, untilReceived: 40, accuracy: 200 },
    { meters: 6, until: 10, untilReceived: 20, accuracy: 300, onlyMoving: true },
    NOWHERE_SAFE,
  ]
  for (let from = 0; from < many.length; from++)
    for (let to = from + 2; to <= many.length; to++)
      t.match(smallestOf(many.slice(from, to)), many.slice(from, to).reduce(smallest))
  t.strictSame(zoneWithin(smallestOf([NO_LIMITS]), 0, NOON), zoneWithin(NO_LIMITS, 0, NOON))
})

t.test('an evaluator that wants the next update leaves the zones of other kinds as they are', async (t) => {
  const restless = new Curfew(3, ZONE.places)
  restless.limits = () => NOWHERE_SAFE
  const situation = entering({ foreground: true, beacons: [] })
  const evaluated = evaluate([...createEvaluators(), restless], NO_STATE, situation) as Evaluated
  const zones = zonesOf(evaluated)
  const { zone } = evaluated
  t.equal(zone.radiusMeters, 0)
  t.equal(zones![ZONE.places]!.radiusMeters, 0)
  t.ok(zones![ZONE.geofences]!.radiusMeters > 90)
})

t.test('what takes long is measured in a thread first, and the result is the same', async (t) => {
  const situation = entering({ accuracy: 2000 })
  const { index } = situation.view
  for (let i = 0; i < 600; i++) {
    const ring = Array.from({ length: 1000 }, (_, k) => {
      const angle = (2 * Math.PI * k) / 999
      return [0.001 * Math.cos(angle), 0.001 * Math.sin(angle)] as const
    })
    index.put(aGeofence(i + 2, { shape: { kind: 'polygon', ring } }))
  }
  const list = [...createEvaluators(), new Curfew(3)]
  const first = evaluate(list, NO_STATE, { ...situation, measuring: 'elsewhere' })
  if (!(first instanceof Unmeasured)) return t.fail('it was measured at once')
  const measuring = await measureElsewhere({ measure: async (batch) => measureShapes(batch) }, first)
  const { state, transitions } = evaluate(list, NO_STATE, { ...situation, measuring }) as Evaluated
  const { state: same, transitions: events } = evaluate(list, NO_STATE, situation) as Evaluated
  t.equal(transitions.length, 602)
  t.strictSame({ state, transitions }, { state: same, transitions: events })
})

t.test('geofences that nobody has used are read in turns first, and the result is the same', async (t) => {
  /** With as much metadata as a thousand usual geofences have. */
  const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`key${i}`, 'x'.repeat(4000)]))
  const worlds = [0, 1].map(() => {
    const situation = entering()
    for (let i = 0; i < 20; i++) situation.view.index.put(aGeofence(i + 2, { metadata }))
    return situation
  })
  const list = createEvaluators()
  const [cold, other] = worlds as [Situation, Situation]
  const first = evaluate(list, NO_STATE, { ...cold, reading: 'before' })
  if (!(first instanceof Unread)) return t.fail('they were read at once')
  t.equal(first.slots.length, 21)
  const { index } = cold.view
  const bytes = () => first.slots.map((slot) => index.unreadBytes(slot))
  t.ok(
    bytes()
      .slice(1)
      .every((unread) => unread > 64_000),
  )
  await readInTurns(index, first.slots)
  t.ok(bytes().every((unread) => unread === 0))
  const { state, transitions } = evaluate(list, NO_STATE, { ...cold, reading: 'before' }) as Evaluated
  const { state: same, transitions: events } = evaluate(list, NO_STATE, other) as Evaluated
  t.equal(transitions.length, 22)
  t.strictSame({ state, transitions }, { state: same, transitions: events })

  // An edit between two updates makes one of them unread again, which does not take long.
  index.put(aGeofence(2, { metadata, description: 'edited' }))
  const after = evaluate(list, state, {
    ...cold,
    update: { ...cold.update, longitude: 9 },
    reading: 'before',
  })
  t.notOk(after instanceof Unread)
})

t.test('an update amid a crowd lets others go first before anything is measured for it', (t) => {
  const list = createEvaluators()
  const situation = entering()
  const { index } = situation.view
  const crowd = (count: number) => {
    for (let i = index.end; i < count; i++) index.put(aGeofence(i + 2))
  }
  let measured = 0
  const distance = index.distance.bind(index)
  t.intercept(index, 'distance', {
    value: (...args: Parameters<typeof distance>) => (measured++, distance(...args)),
  })
  const comes = (before: DeviceState, mayWait: boolean) => evaluate(list, before, { ...situation, mayWait })
  crowd(CROWD - 1)
  t.notOk(comes(NO_STATE, true) instanceof Crowded)
  crowd(CROWD)
  measured = 0
  t.ok(comes(NO_STATE, true) instanceof Crowded)
  t.equal(measured, 0)
  const { state, transitions } = comes(NO_STATE, false) as Evaluated
  t.equal(transitions.filter(({ type }) => type === 'user.entered_geofence').length, CROWD)
  t.ok(measured >= CROWD)
  // On the way out there is nobody around, but as many stays.
  const away = { ...situation, update: { ...situation.update, latitude: 60 }, mayWait: true }
  t.ok(evaluate(list, state, away) instanceof Crowded)
  t.end()
})

t.test('explanations and contexts are put together', async (t) => {
  const situation = entering()
  const list = [new Curfew(3), ...createEvaluators()]
  const { note, candidates } = explain(list, NO_STATE, situation) as Explanation
  t.equal(note, 'a curfew')
  t.equal([...candidates].length, 1)
  const { view } = situation
  const spot = { view, latitude: 0, longitude: 0, userId: undefined, receivedAt: NOON }
  t.equal((contextOf(list, spot) as Context).geofences.length, 1)
  t.strictSame(contextOf([], spot), { geofences: [] })
})
