/** The state table of places, cell by cell, and what decides between its rows. */
import t from 'tap'
import { NO_PLACES, topChains, visitedAfter, type Place, type PlaceStays } from '../../src/model/place.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/model/settings.ts'
import { PLAIN_OFFSETS } from '../../src/model/zoneOffsets.ts'
import type { PlaceNear } from '../../src/rules/atlas.ts'
import type { Circumstances } from '../../src/rules/circumstances.ts'
import { stepNearby } from '../../src/rules/nearbyChains.ts'
import { candidatesAmong, visitConfidence } from '../../src/rules/placeOrder.ts'
import { decideFirst, stepPlaces, type PlaceFacts } from '../../src/rules/placeStep.ts'

const NOON = Date.UTC(2026, 0, 5, 12)
const MINUTE = 60_000

function place(id: string, more: Partial<Place> = {}): Place {
  return { id, name: id, categories: ['cafe'], position: [0, 0], chain: undefined, extentMeters: 30, ...more }
}

function near(id: string, meters: number, more: Partial<PlaceNear> = {}): PlaceNear {
  return { place: place(id), meters, pointMeters: meters + 30, area: 2827, ...more }
}

function circumstances(more: Partial<Circumstances> = {}, settings: Partial<Settings> = {}): Circumstances {
  return {
    time: NOON,
    receivedAt: NOON,
    accuracy: 10,
    accuracyKnown: true,
    userId: undefined,
    ip: '',
    stopped: false,
    foreground: false,
    settings: { ...DEFAULT_SETTINGS, places: true, ...settings },
    zones: PLAIN_OFFSETS,
    ...more,
  }
}

function factsOf(candidates: readonly PlaceNear[], stayAt?: PlaceFacts['stayAt']): PlaceFacts {
  const within = candidates.filter(({ meters }) => meters <= 75)
  return { here: { isCovered: true, near: candidates, restMeters: 1000 }, candidates: within, stayAt }
}

const IN_P: PlaceStays = { ...NO_PLACES, stay: { place: place('p'), enteredAt: NOON - 7 * MINUTE } }

type State = 'none' | 'in p'
/** Where p is: a candidate, near enough to stay, near enough to change, left; gone from the data. */
type At = 's <= 75' | '75 < s <= 125' | 's > 125' | 'gone'
/** The first candidate besides p, and whether the stop rule is met for it. */
type Other = 'nobody' | 'q passes' | 'q stops, confidence 1' | 'q stops'

interface Cell {
  readonly next: 'none' | 'in p' | 'in q'
  readonly events: readonly string[]
}

const STAYS: Cell = { next: 'in p', events: [] }
const LEAVES: Cell = { next: 'none', events: ['exited p after 7 min'] }
const CHANGES: Cell = { next: 'in q', events: ['exited p after 7 min', 'entered q'] }
const ENTERS: Cell = { next: 'in q', events: ['entered q'] }
const NOTHING: Cell = { next: 'none', events: [] }
const WITHOUT = { nobody: NOTHING, 'q passes': NOTHING, 'q stops, confidence 1': ENTERS, 'q stops': ENTERS }

/** Every state and condition; the compiler asks for a missing one. */
const TABLE: { readonly [S in State]: { readonly [A in At]: { readonly [O in Other]: Cell } } } = {
  none: { 's <= 75': WITHOUT, '75 < s <= 125': WITHOUT, 's > 125': WITHOUT, gone: WITHOUT },
  'in p': {
    's <= 75': { nobody: STAYS, 'q passes': STAYS, 'q stops, confidence 1': STAYS, 'q stops': STAYS },
    '75 < s <= 125': { nobody: STAYS, 'q passes': STAYS, 'q stops, confidence 1': STAYS, 'q stops': CHANGES },
    's > 125': { nobody: LEAVES, 'q passes': LEAVES, 'q stops, confidence 1': CHANGES, 'q stops': CHANGES },
    gone: { nobody: NOTHING, 'q passes': NOTHING, 'q stops, confidence 1': NOTHING, 'q stops': NOTHING },
  },
}

/** Both sides of each limit. */
const METERS: { readonly [A in At]: readonly (number | 'gone')[] } = {
  's <= 75': [-20, 0, 75],
  '75 < s <= 125': [75.01, 125],
  's > 125': [125.01, Infinity],
  gone: ['gone'],
}

const STATES: readonly State[] = ['none', 'in p']
const OTHERS: readonly Other[] = ['nobody', 'q passes', 'q stops, confidence 1', 'q stops']
for (const state of STATES) {
  for (const [at, distances] of Object.entries(METERS) as [At, (number | 'gone')[]][]) {
    for (const other of OTHERS) {
      t.test(`${state}: ${at}, ${other}`, async (t) => {
        for (const meters of distances) {
          const { next, events } = TABLE[state][at][other]
          const candidates = other === 'nobody' ? [] : [near('q', 5)]
          const accuracy = other === 'q stops, confidence 1' ? 66 : 10
          const now = circumstances({ accuracy, stopped: other !== 'q passes' })
          const before = state === 'none' ? NO_PLACES : IN_P
          const { places, transitions } = stepPlaces(
            before,
            factsOf(candidates, state === 'none' ? undefined : meters),
            now,
          )
          t.equal(places.stay === undefined ? 'none' : `in ${places.stay.place.id}`, next)
          t.strictSame(
            transitions.map(
              ({ type, place: of, duration }) =>
                `${type.slice(5, -6)} ${of._id}${duration === undefined ? '' : ` after ${duration} min`}`,
            ),
            events,
          )
        }
      })
    }
  }
}

t.test('none, p by the stop rule with confidence ≥ minimum: in p, with the next candidates', async (t) => {
  const others = [near('p', -5), near('a', 1), near('b', 2), near('c', 3), near('d', 4), near('e', 5)]
  const { places, transitions } = stepPlaces(NO_PLACES, factsOf(others), circumstances({ foreground: true }))
  t.strictSame(places.stay, { place: others[0]!.place, enteredAt: NOON })
  t.strictSame(
    transitions[0]!.alternatePlaces!.map(({ _id }) => _id),
    ['a', 'b', 'c', 'd'],
  )
  const unsure = circumstances({ stopped: true, accuracy: 66 }, { minimumConfidence: 2 })
  t.strictSame(stepPlaces(NO_PLACES, factsOf(others), unsure).transitions, [])
})

t.test('the stop rule: first at every update for placeMinimumStaySeconds', async (t) => {
  let places = NO_PLACES
  const at = (seconds: number, first: string, more: Partial<Circumstances> = {}) => {
    const step = stepPlaces(
      places,
      factsOf([near(first, 1)]),
      circumstances({ time: NOON + seconds * 1000, ...more }),
    )
    places = step.places
    return step.transitions.map(({ type }) => type)
  }
  t.strictSame(at(0, 'p'), [])
  t.strictSame(at(299, 'p'), [], 'not yet')
  t.strictSame(at(299.5, 'q'), [], 'another one is first')
  t.strictSame(at(300, 'p'), [], 'it begins anew')
  t.strictSame(at(599.999, 'p'), [])
  t.strictSame(at(600, 'p'), ['user.entered_place'])
})

t.test('candidates: within 75 m, of the filters, with an accuracy up to 200 m', async (t) => {
  const all = [near('a', 75), near('b', 75.01), near('c', -3)]
  const here = { isCovered: true, near: all, restMeters: 500 }
  const ids = (accuracy: number, filters = DEFAULT_SETTINGS.placeFilters) =>
    candidatesAmong(here, filters, accuracy, 5).map((one) => one.place.id)
  t.strictSame(ids(200), ['c', 'a'])
  t.strictSame(ids(200.1), [])
  t.strictSame(ids(10, { chain: [], category: ['cafe'] }), ['c', 'a'])
  t.strictSame(ids(10, { chain: ['bees'], category: [] }), [])
})

t.test('order: distance outside, smaller area, chain, distance to the point, _id', async (t) => {
  const chain = { slug: 'bees', name: 'Bees', domain: undefined }
  const ordered = [
    near('small', -1, { area: 10 }),
    near('chain', -1, { area: 20, pointMeters: 90, place: place('chain', { chain }) }),
    near('closer', -9, { area: 20, pointMeters: 10 }),
    near('a', -9, { area: 20, pointMeters: 20 }),
    near('b', -2, { area: 20, pointMeters: 20 }),
    near('outside', 0.1, { area: 1 }),
  ]
  const here = { isCovered: true, near: ordered.toReversed(), restMeters: 500 }
  for (const most of [1, 2, 5, 6, 7])
    t.strictSame(candidatesAmong(here, DEFAULT_SETTINGS.placeFilters, 1, most), ordered.slice(0, most))
})

t.test('confidence: by the accuracy and how much farther the second is', async (t) => {
  const first = near('p', 5)
  const at = (accuracy: number, second?: number, accuracyKnown = true) =>
    visitConfidence(first, second === undefined ? undefined : near('q', second), { accuracy, accuracyKnown })
  t.strictSame([at(20, 25), at(20, 24.9), at(20.1, 25), at(20)], [3, 2, 2, 3])
  t.strictSame([at(65, 6), at(65.1, 60)], [2, 1])
  t.equal(at(0, undefined, false), 1, 'unknown')
})

t.test('in p, the first of the others is remembered, but p is not', async (t) => {
  t.equal(decideFirst(IN_P, [near('p', 1), near('q', 2)], circumstances()).first, undefined)
  t.strictSame(decideFirst(IN_P, [near('q', 1)], circumstances()).first, { id: 'q', since: NOON })
  const { places } = stepPlaces(IN_P, factsOf([near('p', 1), near('q', 2)], 1), circumstances())
  t.equal(places, IN_P, 'the same object if nothing changes')
})

t.test('without the data of its place, a user stays in it', async (t) => {
  const { places, transitions } = stepPlaces(IN_P, factsOf([], 'unknown'), circumstances({ stopped: true }))
  t.strictSame([places.stay, transitions], [IN_P.stay, []])
})

t.test('what no longer passes the filters is gone silently', async (t) => {
  const now = circumstances({ stopped: true }, { placeFilters: { chain: [], category: ['bar'] } })
  t.strictSame(stepPlaces(IN_P, factsOf([], 1), now), { places: NO_PLACES, transitions: [] })
})

t.test('while its place leaves the data, the wait for another one goes on', async (t) => {
  const first = { id: 'q', since: NOON - 4 * MINUTE }
  const { places } = stepPlaces({ ...IN_P, first }, factsOf([near('q', 5)], 'gone'), circumstances())
  t.strictSame(places, { ...NO_PLACES, first })
  const later = circumstances({ time: NOON + MINUTE })
  t.match(stepPlaces(places, factsOf([near('q', 5)]), later).transitions, [{ type: 'user.entered_place' }])
})

t.test('chains nearby: near within the radius, left beyond 1.5 times', async (t) => {
  const chain = { slug: 'bees', name: 'Bees', domain: undefined }
  const settings = { ...DEFAULT_SETTINGS, nearbyPlaceChains: ['bees'], nearbyPlaceChainMeters: 200 }
  const at = (before: boolean, meters: number, accuracy = 10, accuracyKnown = true) => {
    const nearest = [{ place: place('hive', { chain }), meters }]
    const { nearby, transitions } = stepNearby(before ? [chain] : [], nearest, {
      accuracy,
      accuracyKnown,
      settings,
    })
    return [nearby.length, ...transitions.map(({ confidence }) => confidence)]
  }
  t.strictSame(at(false, 200.1), [0])
  t.strictSame(at(false, 200), [1, 2], 'perhaps')
  t.strictSame(at(false, 190), [1, 3], 'surely')
  t.strictSame(at(false, 190, 0, false), [1, 1])
  t.strictSame([at(true, 1), at(true, 300), at(true, 300.1)], [[1], [1], [0]])
})

t.test('topChains: at most five of the last twenty, by visits, then the latest', async (t) => {
  const chain = (slug: string) => ({ slug, name: slug.toUpperCase(), domain: undefined })
  let visited = NO_PLACES.visited
  for (const slug of ['a', 'b', 'a', 'c', 'd', 'e', 'f']) visited = visitedAfter(visited, chain(slug))
  const top = topChains(visited, { chainMappings: { f: '6' } })
  t.strictSame(
    top.map(({ slug }) => slug),
    ['a', 'f', 'e', 'd', 'c'],
  )
  t.strictSame(top[1], { name: 'F', slug: 'f', externalId: '6' })
  for (let i = 0; i < 20; i++) visited = visitedAfter(visited, chain(`x${i}`))
  t.equal(visited.length, 20)
  t.notOk(
    visited.some((one) => one.chain.slug === 'a'),
    'forgotten',
  )
})

t.test('another place is entered while the one before is within 125 m, with confidence 2', async (t) => {
  const types = (accuracy: number) =>
    stepPlaces(
      IN_P,
      factsOf([near('q', 5)], 100),
      circumstances({ accuracy, stopped: true }),
    ).transitions.map(({ type, confidence }) => [type, confidence])
  t.strictSame(types(66), [])
  t.strictSame(types(65), [
    ['user.exited_place', 2],
    ['user.entered_place', 2],
  ])
})
