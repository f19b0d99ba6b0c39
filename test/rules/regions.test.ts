/**
 * The state table of regions, cell by cell, and the confidence by four points around. A tape is a world that is one
 * line from west to east: which regions begin at which longitude.
 */
import t from 'tap'
import { destination } from '../../src/geometry/distance.ts'
import {
  NO_REGIONS,
  NOWHERE,
  REGION_KINDS,
  type RegionCodes,
  type RegionKind,
} from '../../src/model/region.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/model/settings.ts'
import { PLAIN_OFFSETS } from '../../src/model/zoneOffsets.ts'
import { NO_ATLAS, Unfetched, Unknown, type Atlas } from '../../src/rules/atlas.ts'
import { circumstancesOf } from '../../src/rules/circumstances.ts'
import { NO_STATE, type DeviceState } from '../../src/rules/deviceState.ts'
import type { Context, Explanation, Situation } from '../../src/rules/evaluator.ts'
import { RegionEvaluator, stepRegions } from '../../src/rules/regions.ts'
import { Engine, MINUTE, NOON } from '../actor/kit.ts'

type Was = 'none' | 'x'
type Is = 'none' | 'x' | 'y'

interface Cell {
  readonly next: 'none' | 'x' | 'y'
  readonly events: readonly string[]
}

/** Every state and every place of the point; the compiler asks for a missing one. */
const TABLE: { readonly [W in Was]: { readonly [I in Is]: Cell } } = {
  none: {
    none: { next: 'none', events: [] },
    x: { next: 'x', events: ['entered x'] },
    y: { next: 'y', events: ['entered y'] },
  },
  x: {
    none: { next: 'none', events: ['exited x after 7 min'] },
    x: { next: 'x', events: [] },
    y: { next: 'y', events: ['exited x after 7 min', 'entered y'] },
  },
}

const region = (type: RegionKind, code: string) => ({ _id: code, type, code, name: code })

/** Codes with one of a kind. */
function only(kind: RegionKind, code: Is): RegionCodes {
  return REGION_KINDS.map((one) => (one === kind && code !== 'none' ? code : '')).join('/')
}

for (const kind of REGION_KINDS) {
  for (const was of ['none', 'x'] as const) {
    for (const is of ['none', 'x', 'y'] as const) {
      t.test(`${kind}: in ${was}, the location in ${is}`, async (t) => {
        const { next, events } = TABLE[was][is]
        const before =
          was === 'none'
            ? NO_REGIONS
            : {
                codes: only(kind, was),
                since: REGION_KINDS.map((one) => (one === kind ? NOON - 7 * MINUTE : 0)),
              }
        const now = { time: NOON, settings: DEFAULT_SETTINGS }
        const { state, transitions } = stepRegions(before, only(kind, is), [2, 2, 2, 2], now, region)
        t.equal((state?.regions ?? before).codes, only(kind, next))
        t.equal(state === undefined, was === is, 'the same state if nothing changes')
        if (state !== undefined)
          t.equal(state.regions!.since[REGION_KINDS.indexOf(kind)], next === 'none' ? 0 : NOON)
        const name = kind === 'postalCode' ? 'postal_code' : kind
        t.strictSame(
          transitions.map(({ type, region: at, duration }) => {
            const minutes = duration === undefined ? '' : ` after ${duration} min`
            return `${type.replace(`_region_${name}`, '').replace('user.', '')} ${at!.code}${minutes}`
          }),
          events,
        )
        t.ok(transitions.every(({ confidence }) => confidence === 2))
      })
    }
  }
}

t.test('state, DMA, postal code, country; exits before entries in each kind', async (t) => {
  const before = { codes: 'US/NY/501/10001', since: [1, 2, 3, 4] }
  const now = { time: NOON, settings: DEFAULT_SETTINGS }
  const { transitions } = stepRegions(before, 'CA///', [3, 3, 3, 3], now, region)
  t.strictSame(
    transitions.map(({ type }) => type),
    [
      'user.exited_region_state',
      'user.exited_region_dma',
      'user.exited_region_postal_code',
      'user.exited_region_country',
      'user.entered_region_country',
    ],
  )
})

t.test('kinds are independent: one with too little confidence stays, the others change', async (t) => {
  const before = { codes: 'US/NY/501/10001', since: [1, 2, 3, 4] }
  const now = { time: NOON, settings: { ...DEFAULT_SETTINGS, minimumConfidence: 2 } }
  const { state, transitions } = stepRegions(before, 'US/NJ/501/07001', [3, 1, 3, 2], now, region)
  t.strictSame(state!.regions, { codes: 'US/NY/501/07001', since: [1, 2, 3, NOON] })
  t.strictSame(
    transitions.map(({ type, confidence }) => [type, confidence]),
    [
      ['user.exited_region_postal_code', 2],
      ['user.entered_region_postal_code', 2],
    ],
  )
})

t.test('regionEvents: other kinds change without events', async (t) => {
  const settings: Settings = { ...DEFAULT_SETTINGS, regionEvents: ['state'] }
  const { state, transitions } = stepRegions(
    NO_REGIONS,
    'US/NY/501/10001',
    [3, 3, 3, 3],
    { time: NOON, settings },
    region,
  )
  t.equal(state!.regions!.codes, 'US/NY/501/10001')
  t.strictSame(
    transitions.map(({ type }) => type),
    ['user.entered_region_state'],
  )
})

/** Country a west of longitude 0, b east of it, on both sides of a river without a country that is so wide. */
function tape(riverMeters: number, clearance?: number): Atlas {
  const east = destination(0, 0, 90, riverMeters).longitude
  return {
    ...NO_ATLAS,
    regionsAt: (_latitude, longitude) => ({
      codes: longitude < 0 ? 'a///' : longitude < east ? NOWHERE : 'b///',
      clearanceMeters: clearance ?? 0,
    }),
  }
}

interface Look {
  readonly atlas?: Atlas
  /** Metres east of longitude 0. */
  readonly east: number
  readonly accuracy?: number | undefined
  readonly settings?: Partial<Settings>
  readonly before?: Partial<DeviceState>
}

const engine = new Engine()
const evaluator = new RegionEvaluator()

function situationOf({ atlas = tape(0), east, settings = {}, ...more }: Look): Situation {
  const { longitude } = destination(0, 0, east < 0 ? 270 : 90, Math.abs(east))
  const accuracy = 'accuracy' in more ? more.accuracy : 5
  const update = engine.update({ deviceId: 'd', latitude: 0, longitude, accuracy })
  const now = circumstancesOf(update, NOON, {
    settings: { ...DEFAULT_SETTINGS, regions: true, ...settings },
    zones: PLAIN_OFFSETS,
  })
  const scope = engine.world.scope(0)
  const { beacons, index, trips } = scope
  const none = () => undefined
  const rest = { revision: 1, atlas, geofence: none, geofenceNamed: none }
  const view = { settings: now.settings, zones: now.zones, beacons, index, trips, ...rest }
  return { update, view, now }
}

/** What an update does: the codes after it, the confidence of its events, and how far the device is safe. */
function evaluated(look: Look) {
  const before = { ...NO_STATE, ...look.before }
  const situation = situationOf(look)
  const facts = evaluator.facts(before, situation)
  if (facts === undefined) return undefined
  if (facts instanceof Unfetched) throw new Error('nothing is to be fetched')
  const step = evaluator.step(before, facts, situation)
  const limits = evaluator.limits(before, facts, step)
  const { codes } = step.state?.regions ?? before.regions
  return { codes, confidences: step.transitions.map(({ confidence }) => confidence), limits }
}

t.test('confidence: the points in four directions, as far away as the accuracy', async (t) => {
  for (const [east, accuracy, confidence, why] of [
    [-50, 49, 3, 'all four in the same country'],
    [-50, 51, 2, 'all but the eastern one'],
    [0.001, 10, 2, 'three of four: only the western one is in another'],
    [-50, undefined, 1, 'no accuracy was sent'],
  ] as const)
    t.match(evaluated({ east, accuracy }), { confidences: [confidence] }, why)
  const inRiver = { atlas: tape(10), east: 5, before: { regions: { codes: 'a///', since: [1, 0, 0, 0] } } }
  t.match(
    evaluated({ ...inRiver, accuracy: 4 }),
    { codes: NOWHERE, confidences: [3] },
    'no region is one, too',
  )
  t.match(evaluated({ ...inRiver, accuracy: 20 }), { codes: NOWHERE, confidences: [2] }, 'north and south')
  const island: Atlas = {
    ...NO_ATLAS,
    regionsAt: (latitude, longitude) => ({
      codes: Math.hypot(latitude, longitude) < 1e-5 ? 'i///' : NOWHERE,
      clearanceMeters: 0,
    }),
  }
  t.match(
    evaluated({ atlas: island, east: 0, accuracy: 20 }),
    { codes: 'i///', confidences: [1] },
    'none of them',
  )
})

t.test('below the minimum nothing changes, and the next update is evaluated', async (t) => {
  const { codes, confidences, limits } = evaluated({
    east: -50,
    accuracy: 51,
    settings: { minimumConfidence: 3 },
  })!
  t.strictSame([codes, confidences, limits.meters], [NOWHERE, [], 0])
})

t.test('an update of more than 10 km changes no region', async (t) => {
  t.match(evaluated({ east: -50, accuracy: 10_000 }), { codes: 'a///' })
  t.match(evaluated({ east: -50, accuracy: 10_001 }), {
    codes: NOWHERE,
    confidences: [],
    limits: { meters: 0 },
  })
  const before = { regions: { codes: 'a///', since: [1, 0, 0, 0] } }
  const atlas = tape(0, 700)
  t.match(
    evaluated({ atlas, east: -50, accuracy: 50_000, before }),
    { codes: 'a///', limits: { meters: 700 } },
    'in the same regions it is safe as far as no border is near',
  )
})

t.test('off costs nothing; turned off they are gone silently', async (t) => {
  const settings = { regions: false }
  t.equal(evaluated({ east: -50, settings }), undefined)
  const before = { regions: { codes: 'a///', since: [1, 0, 0, 0] } }
  t.match(evaluated({ east: 50, settings, before }), {
    codes: NOWHERE,
    confidences: [],
    limits: { meters: Infinity },
  })
})

t.test('while the data cannot be read, the user stays where it was', async (t) => {
  const atlas = { ...NO_ATLAS, regionsAt: () => new Unknown(NOON + 5000, true) }
  const before = { regions: { codes: 'a///', since: [1, 0, 0, 0] } }
  t.match(evaluated({ atlas, east: 50, before }), {
    codes: 'a///',
    confidences: [],
    limits: { meters: Infinity, untilReceived: NOON + 5000 },
  })
  const here = tape(0)
  const unknownAround: Atlas = {
    ...NO_ATLAS,
    regionsAt: (latitude, longitude) =>
      Math.abs(latitude) < 1e-7 && longitude < 0 && longitude > -0.001
        ? here.regionsAt(latitude, longitude)
        : new Unknown(0, true),
  }
  t.match(
    evaluated({ atlas: unknownAround, east: -50, accuracy: 200 }),
    { confidences: [1] },
    'points that are unknown',
  )
})

t.test('what must be fetched first is said, by tracks, contexts and explanations', async (t) => {
  const missing = new Unfetched(async () => {})
  const atlas = { ...NO_ATLAS, regionsAt: () => missing }
  const situation = situationOf({ atlas, east: 0 })
  t.equal(evaluator.facts(NO_STATE, situation), missing)
  t.equal(evaluator.explain(NO_STATE, situation), missing)
  const spot = { view: situation.view, latitude: 0, longitude: 0, userId: undefined, receivedAt: NOON }
  t.equal(evaluator.context(spot), missing)
})

t.test('context: all regions, whatever is on', async (t) => {
  const { view } = situationOf({ east: 0, settings: { regions: false } })
  const spot = { view, latitude: 0, longitude: -1, userId: undefined, receivedAt: NOON }
  t.match(evaluator.context(spot) as Context, { regions: [{ type: 'country', code: 'a' }] })
})

t.test('explanations say what was, what is, and why nothing changed', async (t) => {
  const outcomes = (look: Look) => {
    const before = { ...NO_STATE, ...look.before }
    const { regions } = evaluator.explain(before, situationOf(look)) as Explanation
    return regions!.map(({ type, was, is, outcome }) => [type, was, is, outcome].join(' '))
  }
  const rest = ['state   same', 'dma   same', 'postalCode   same']
  const before = { regions: { codes: 'b///', since: [1, 0, 0, 0] } }
  t.strictSame(outcomes({ east: -50, before }), ['country b a changed', ...rest])
  t.strictSame(outcomes({ east: 50, before }), ['country b b same', ...rest])
  t.strictSame(outcomes({ east: -50, before, accuracy: 10_001 }), ['country b a withheld', ...rest])
  const settings = { minimumConfidence: 3 }
  t.strictSame(outcomes({ east: -50, before, accuracy: 60, settings }), ['country b a withheld', ...rest])
})
