/** The flags of fraud, each with what raises it; passing and failing as a table; lists; countries that are refused. */
import t from 'tap'
import { destination } from '../../src/geometry/distance.ts'
import {
  CLAIM,
  DEFAULT_FRAUD,
  FAILURE_REASONS,
  MARK,
  NO_FRAUD,
  passes,
  reasonsOf,
  verdictOf,
  type FraudSettings,
} from '../../src/model/fraud.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'
import { PLAIN_OFFSETS } from '../../src/model/zoneOffsets.ts'
import { NO_ATLAS, Unfetched, Unknown, type Atlas, type IpHere } from '../../src/rules/atlas.ts'
import { CandidateCache } from '../../src/rules/candidateCache.ts'
import { circumstancesOf } from '../../src/rules/circumstances.ts'
import { Barred, CountryEvaluator } from '../../src/rules/countries.ts'
import { NO_STATE } from '../../src/rules/deviceState.ts'
import type { Situation } from '../../src/rules/evaluator.ts'
import { FraudEvaluator, stepFraud } from '../../src/rules/fraud.ts'
import type { DeviceRows } from '../../src/rules/port.ts'
import { Engine, NOON } from '../actor/kit.ts'

const LATER = NOON + 60_000

type State = 'passed' | 'failed'
type Next = 'clean' | 'flagged' | 'blocked' | 'flagged and bypassed' | 'blocked and bypassed'

/** Every state and every update: what the state becomes, and whether failing is an event. */
const TABLE: { readonly [S in State]: { readonly [N in Next]: readonly [State, 'event' | 'no event'] } } = {
  passed: {
    clean: ['passed', 'no event'],
    flagged: ['failed', 'event'],
    blocked: ['failed', 'event'],
    'flagged and bypassed': ['passed', 'no event'],
    'blocked and bypassed': ['failed', 'event'],
  },
  failed: {
    clean: ['passed', 'no event'],
    flagged: ['failed', 'no event'],
    blocked: ['failed', 'no event'],
    'flagged and bypassed': ['passed', 'no event'],
    'blocked and bypassed': ['failed', 'no event'],
  },
}

const MARKS: { readonly [N in Next]: number } = {
  clean: 0,
  flagged: MARK.jumped,
  blocked: MARK.blockedDevice,
  'flagged and bypassed': MARK.jumped | MARK.bypassed,
  'blocked and bypassed': MARK.blockedDevice | MARK.bypassed,
}

for (const was of ['passed', 'failed'] as const) {
  for (const update of Object.keys(MARKS) as Next[]) {
    t.test(`${was}, then ${update}`, async (t) => {
      const before = was === 'passed' ? NO_FRAUD : { marks: MARK.inaccurate, last: [0, 0, 0, NOON, 0, 0] }
      const { state, transitions } = stepFraud(before, MARKS[update], LATER)
      const [next, event] = TABLE[was][update]
      const { fraud } = { fraud: before, ...state }
      t.equal(passes(fraud.marks), next === 'passed')
      t.equal(transitions.length, event === 'event' ? 1 : 0)
      t.equal(fraud.last[3], before.last[3], 'the date of another flag stays')
      t.equal(fraud.last[1], (MARKS[update] & MARK.jumped) === 0 ? 0 : LATER)
    })
  }
}

t.test('nothing new is the same state; a flag that stays moves its date', async (t) => {
  t.equal(stepFraud(NO_FRAUD, 0, LATER).state, undefined)
  const blocked = { marks: MARK.blockedIp, last: NO_FRAUD.last }
  t.equal(stepFraud(blocked, MARK.blockedIp, LATER).state, undefined, 'being blocked has no date')
  const proxy = { marks: MARK.proxy, last: [0, 0, 0, 0, NOON, 0] }
  t.strictSame(stepFraud(proxy, MARK.proxy, LATER).state!.fraud!.last, [0, 0, 0, 0, LATER, 0])
})

t.test('reasons: one for each mark, none for a user who passes', async (t) => {
  FAILURE_REASONS.forEach((reason, bit) => t.strictSame(reasonsOf(1 << bit), [reason]))
  t.strictSame(reasonsOf(MARK.jumped | MARK.bypassed), [])
  t.strictSame(reasonsOf(MARK.verified), [])
  t.strictSame(reasonsOf(MARK.jumped | MARK.bypassed | MARK.blockedUser), [
    'fraud_jumped_single_device',
    'fraud_blocked_user_id',
  ])
  const on = { ...DEFAULT_FRAUD, enabled: true }
  t.strictSame(verdictOf(NO_FRAUD, CLAIM.verified, on), { passed: true, failureReasons: [] })
  t.equal(verdictOf(NO_FRAUD, CLAIM.sharing, on), undefined)
  t.equal(verdictOf(NO_FRAUD, CLAIM.verified, DEFAULT_FRAUD), undefined, 'off')
})

const engine = new Engine()
const evaluator = new FraudEvaluator()

interface Look {
  readonly update?: Partial<Update>
  readonly fraud?: Partial<FraudSettings>
  readonly settings?: Partial<Settings>
  readonly atlas?: Partial<Atlas>
  /** The last location, so many metres away, so many seconds ago. */
  readonly last?: { readonly meters: number; readonly seconds: number; readonly accuracy?: number }
}

const ip: IpHere = { isProxy: false, country: undefined, latitude: 0, longitude: 0, until: LATER }

function situationOf({ update: sent, fraud, settings, atlas, last }: Look): Situation {
  const update = engine.update({ deviceId: 'd', latitude: 0, longitude: 0, accuracy: 10, ...sent })
  const rules = { ...DEFAULT_FRAUD, enabled: true, ...fraud }
  const now = circumstancesOf(update, NOON, {
    settings: { ...DEFAULT_SETTINGS, fraud: rules, ...settings },
    zones: PLAIN_OFFSETS,
  })
  const { beacons, index, trips } = engine.world.scope(0)
  const none = () => undefined
  const known: Atlas = { ...NO_ATLAS, ipAt: () => ip, ...atlas }
  const view = {
    settings: now.settings,
    zones: now.zones,
    beacons,
    index,
    trips,
    revision: 1,
    atlas: known,
    geofence: none,
    geofenceNamed: none,
  }
  const from = last && destination(0, 0, 90, last.meters)
  const rows: DeviceRows | undefined = last && {
    candidateCache: new CandidateCache(1),
    zoneRevision: () => 0,
    isIgnored: () => false,
    updatedAt: () => NOON - last.seconds * 1000,
    latitude: () => from!.latitude,
    longitude: () => from!.longitude,
    accuracy: () => last.accuracy ?? NaN,
    recordId: () => 'f'.repeat(24),
  }
  return { update, view, now, rows, row: 0 }
}

/** The marks of an update by name, and the metres for which they hold. */
function judged(look: Look): { marks: string[]; meters: number } {
  const situation = situationOf(look)
  const facts = evaluator.facts(NO_STATE, situation)
  if (facts === undefined || facts instanceof Unfetched) throw new Error('nothing is judged')
  const marks = Object.entries(MARK).flatMap(([name, bit]) => ((facts.marks & bit) === 0 ? [] : [name]))
  return { marks, meters: evaluator.limits(NO_STATE, facts).meters }
}

t.test('off costs nothing', async (t) => {
  t.equal(evaluator.facts(NO_STATE, situationOf({ fraud: { enabled: false } })), undefined)
})

t.test('what the app says: mocked, compromised, sharing, verified', async (t) => {
  t.strictSame(judged({}), { marks: [], meters: Infinity })
  t.strictSame(judged({ update: { claims: CLAIM.mocked } }), { marks: ['mockProvider'], meters: 0 })
  t.strictSame(judged({ update: { source: 'MOCK_LOCATION' } }).marks, ['mockProvider'])
  t.strictSame(judged({ update: { source: 'MANUAL_LOCATION' } }).marks, [])
  t.strictSame(judged({ update: { claims: CLAIM.compromised } }).marks, ['compromised'])
  t.strictSame(judged({ update: { claims: CLAIM.sharing } }).marks, ['sharing'])
  t.strictSame(judged({ update: { claims: CLAIM.verified } }), { marks: ['verified'], meters: 0 })
})

t.test('inaccurate: beyond the threshold, not at it, and not without an accuracy', async (t) => {
  t.strictSame(judged({ update: { accuracy: 1000 } }).marks, [])
  t.strictSame(judged({ update: { accuracy: 1000.1 } }).marks, ['inaccurate'])
  t.strictSame(judged({ update: { accuracy: undefined } }).marks, [])
  t.strictSame(judged({ update: { accuracy: 51 }, fraud: { maxAccuracy: 50 } }).marks, ['inaccurate'])
})

t.test('jumped: farther and faster than the thresholds, less both accuracies', async (t) => {
  const jumped = (meters: number, seconds: number, more: Partial<Look> = {}) =>
    judged({ last: { meters, seconds }, ...more }).marks.includes('jumped')
  t.equal(jumped(20_000, 60), true, '1,200 km/h')
  t.equal(jumped(20_000, 80), false, '900 km/h')
  t.equal(jumped(10_009, 0), false, 'not more than jumpMeters, less 10 m')
  t.equal(jumped(10_012, 0), true, 'in no time: as if in a second')
  t.equal(jumped(20_000, -5), true, 'a clock that jumps back')
  t.equal(
    judged({ last: { meters: 20_000, seconds: 60, accuracy: 5000 } }).marks.length,
    0,
    'it was inaccurate',
  )
  t.equal(jumped(500, 1, { fraud: { jumpMeters: 100, jumpSpeed: 1000 } }), true)
  t.equal(judged({}).marks.length, 0, 'the first location of a user')
})

t.test('proxy, and an address in another country', async (t) => {
  const atlas = (change: Partial<IpHere>, country = 'US', clearanceMeters = 700): Partial<Atlas> => ({
    ipAt: () => ({ ...ip, ...change }),
    regionsAt: () => ({ codes: `${country}///`, clearanceMeters }),
  })
  t.strictSame(judged({ atlas: atlas({ isProxy: true }) }), { marks: ['proxy'], meters: 0 })
  const far = { country: 'DE', latitude: 0, longitude: 10 }
  const near = { country: 'DE', latitude: 0, longitude: 8 }
  const fraud = { ipCountry: true }
  t.strictSame(judged({ atlas: atlas(far), fraud }).marks, ['ipCountry'], '1,113 km')
  t.strictSame(judged({ atlas: atlas(far) }).marks, [], 'only with ipCountry')
  t.strictSame(judged({ atlas: atlas(near), fraud }).marks, [], '890 km')
  t.strictSame(judged({ atlas: atlas(far, 'DE'), fraud }), { marks: [], meters: 700 }, 'the same country')
  t.strictSame(judged({ atlas: atlas(far, ''), fraud }).marks, [], 'at sea')
  const { meters } = judged({ atlas: atlas(near), fraud })
  t.ok(meters > 100_000 && meters < 120_000, 'as far as the address is not too far away')
  t.strictSame(
    judged({ atlas: { ipAt: () => new Unknown(LATER, true) } }).marks,
    [],
    'not known at the moment',
  )
  const missing = new Unfetched(async () => {})
  t.equal(evaluator.facts(NO_STATE, situationOf({ atlas: { ipAt: () => missing } })), missing)
})

t.test('lists: by userId, deviceId, _id, address and range', async (t) => {
  const marks = (fraud: Partial<FraudSettings>, update: Partial<Update> = {}, known = false) =>
    judged({ fraud, update, ...(known && { last: { meters: 0, seconds: 60 } }) }).marks
  t.strictSame(marks({ blocked: ['ann'] }, { userId: 'ann' }), ['blockedUser'])
  t.strictSame(marks({ blocked: ['f'.repeat(24)] }, {}, true), ['blockedUser'])
  t.strictSame(marks({ blocked: ['d'] }), ['blockedDevice'])
  t.strictSame(marks({ blocked: ['192.0.2.1'] }), ['blockedIp'])
  t.strictSame(marks({ blocked: ['192.0.2.0/24'] }), ['blockedIp'])
  t.strictSame(marks({ blocked: ['192.0.2.0/33', '192.0.3.0/24', 'nonsense', '::/0'] }), [])
  t.strictSame(marks({ blocked: ['2001:db8::/32'] }, { ip: '2001:db8::7' }), ['blockedIp'])
  t.strictSame(marks({ bypassed: ['ann'] }, { userId: 'ann' }), ['bypassed'])
  t.strictSame(marks({ bypassed: ['192.0.2.1'] }), [], 'addresses are not bypassed')
  t.equal(judged({ fraud: { blocked: ['d'] } }).meters, Infinity, 'who is blocked may have a safe zone')
})

const countries = new CountryEvaluator()
const inCountry = (country: string): Partial<Atlas> => ({
  regionsAt: () => ({ codes: `${country}///`, clearanceMeters: 900 }),
})

t.test('countries: blocked, allowed, at sea, and not known', async (t) => {
  const admitted = (country: string, settings: Partial<Settings>) => {
    const facts = countries.facts(NO_STATE, situationOf({ atlas: inCountry(country), settings }))
    if (facts instanceof Barred) return facts.isCertain ? 'barred' : 'uncertain'
    return facts === undefined ? 'open' : 'admitted'
  }
  t.equal(admitted('US', {}), 'open', 'without lists nothing is asked')
  t.equal(admitted('US', { blockedCountries: ['US'] }), 'barred')
  t.equal(admitted('DE', { blockedCountries: ['US'] }), 'admitted')
  t.equal(admitted('', { blockedCountries: ['US'] }), 'admitted', 'at sea')
  t.equal(admitted('DE', { allowedCountries: ['DE', 'FR'] }), 'admitted')
  t.equal(admitted('US', { allowedCountries: ['DE', 'FR'] }), 'barred')
  t.equal(admitted('', { allowedCountries: ['DE'] }), 'barred', 'outside of all')
  t.equal(admitted('DE', { allowedCountries: ['DE'], blockedCountries: ['DE'] }), 'barred', 'blocked wins')
  const atlas = { regionsAt: () => new Unknown(LATER, false) }
  const unknown = countries.facts(NO_STATE, situationOf({ atlas, settings: { blockedCountries: ['US'] } }))
  t.match(unknown, { isCertain: false }, 'then it is refused for a while')
})

t.test('a safe zone ends at the border of a country', async (t) => {
  const situation = situationOf({ atlas: inCountry('DE'), settings: { allowedCountries: ['DE'] } })
  const facts = countries.facts(NO_STATE, situation)
  if (facts === undefined || !('codes' in facts)) return t.fail('it is admitted')
  t.equal(countries.limits(NO_STATE, facts).meters, 900)
})
