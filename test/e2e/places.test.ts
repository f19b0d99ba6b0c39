/** Places of users on a real server with the map of Montevideo: a walk into a café, by every way in. */
import t from 'tap'
import { destination, pointDistance } from '../../src/geometry/distance.ts'
import { EventSource } from '../kit/eventSource.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { Stream } from '../kit/stream.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
type Json = any
type Point = { readonly latitude: number; readonly longitude: number }

const MINUTE = 60_000
const server = await startServer(t, { sample: true })
let now = Date.now() - 600 * MINUTE

const { good } = server

const set = (settings: object) => good('PATCH', '/v1/settings', settings)

function track(deviceId: string, at: Point, more: object = {}, minutes = 1): Promise<Json> {
  now += minutes * MINUTE
  const body = { deviceId, ...at, accuracy: 10, updatedAt: new Date(now).toISOString(), ...more }
  return good('POST', '/v1/track', body, KEYS.testPublishable)
}

const types = ({ events }: Json): string[] => events.map((event: Json) => event.type.replace('user.', ''))

function pointOf({ location }: Json): Point {
  const [longitude, latitude] = location.coordinates
  return { latitude, longitude }
}

function away({ latitude, longitude }: Point, meters: number, bearing = 90): Point {
  return destination(latitude, longitude, bearing, meters)
}

async function near(query: string): Promise<Json[]> {
  return (await good('GET', `/v1/search/places?near=-34.9061,-56.1934&${query}&limit=100&radius=10000`))
    .places
}

/** A place in which its own point is not nearer to another one. */
async function plainPlace(query: string, wanted: (place: Json) => boolean = () => true): Promise<Json> {
  for (const place of (await near(query)).filter(wanted)) {
    const { latitude, longitude } = pointOf(place)
    const { context } = await good('GET', `/v1/context?coordinates=${latitude},${longitude}`)
    if (context.place?._id === place._id) return place
  }
  throw new Error(`no place for ${query}`)
}

const cafe = await plainPlace('categories=cafe')
const CAFE = pointOf(cafe)

t.test('off: nothing of places is in users and events, and the context has them', async (t) => {
  const { user, events } = await track('off', CAFE, { stopped: true })
  t.notHas(user, 'place')
  t.notHas(user, 'nearbyPlaceChains')
  t.strictSame([user.topChains, events], [[], []])
  const answer = await good('GET', `/v1/context?coordinates=${CAFE.latitude},${CAFE.longitude}`)
  t.strictSame(answer.place, answer.context.place, 'for both kinds of SDKs')
  t.match(answer.place, {
    _id: cafe._id,
    name: cafe.name,
    categories: cafe.categories,
    location: cafe.location,
  })
  t.notHas(await good('GET', '/v1/context?coordinates=-36.5,-52'), 'place')
})

t.test('a walk into a café: passing by, stopping, staying, leaving', async (t) => {
  await set({ places: true })
  t.strictSame(types(await track('walker', CAFE)), [], 'passing by is no visit')
  const entered = await track('walker', away(CAFE, 5), { stopped: true })
  t.strictSame(types(entered), ['entered_place'])
  const [event] = entered.events
  t.match(event, { place: { _id: cafe._id, name: cafe.name, location: cafe.location }, live: false })
  t.ok([1, 2, 3].includes(event.confidence))
  t.ok(Array.isArray(event.alternatePlaces) && event.alternatePlaces.length <= 4)
  t.notHas(event, 'duration')
  t.strictSame(entered.user.place, event.place)
  t.strictSame(types(await track('walker', away(CAFE, 20), { stopped: true })), [], 'once')
  const why = (await good('GET', '/v1/users/walker/explain')).explanation.place
  t.match(why, { was: { _id: cafe._id }, reason: /stays in it/ })
  // Beyond every place of the city: the sea.
  const left = await track('walker', { latitude: -35.2, longitude: -56.2 }, {}, 28)
  t.strictSame(types(left), ['exited_place'])
  t.match(left.events[0], { place: { _id: cafe._id }, duration: 29 })
  t.notHas(left.user, 'place')
})

t.test('explain says in which other places the user might be, and how close the runner-up was', async (t) => {
  let compared = 0
  for (const [i, one] of (await near('categories=food-beverage')).slice(0, 30).entries()) {
    const deviceId = `explained-${i}`
    const [event] = (await track(deviceId, pointOf(one), { stopped: true })).events
    const { place } = (await good('GET', `/v1/users/${deviceId}/explain`)).explanation
    const [first, second] = place.candidates
    t.match(place, { events: ['user.entered_place'], confidence: event.confidence })
    t.match(place.reason, new RegExp(`with confidence ${event.confidence}`))
    t.equal(first.place._id, event.place._id)
    t.ok(place.candidates.length <= 10)
    const others = place.candidates.slice(1, 5).map((candidate: Json) => candidate.place._id)
    t.strictSame(
      event.alternatePlaces.map(({ _id }: Json) => _id),
      others,
    )
    if (second === undefined) {
      t.notHas(place, 'runnerUpMeters')
      continue
    }
    compared++
    t.equal(place.runnerUpMeters, second.distance - first.distance)
    t.ok(second.distance <= 75)
    for (const { distance, pointDistance: toPoint } of place.candidates) t.ok(distance <= toPoint)
  }
  t.ok(compared > 3, `${compared} with a runner-up`)
  // One that is left: how far it is.
  const burgers = await near('chains=mcdonalds')
  await track('far', pointOf(burgers[0]), { stopped: true })
  await track('far', away(pointOf(burgers[0]), 3000))
  const { place } = (await good('GET', '/v1/users/far/explain')).explanation
  t.match(place, { was: { _id: burgers[0]._id }, events: ['user.exited_place'] })
  t.match(place.reason, /is far away, more than 125 m: left/)
})

t.test('without a stop: after placeMinimumStaySeconds as the first candidate at every update', async (t) => {
  t.strictSame(types(await track('slow', CAFE)), [])
  t.strictSame(types(await track('slow', CAFE, {}, 4)), [])
  const { explanation } = await good('GET', '/v1/users/slow/explain')
  t.match(explanation.place.reason, /has been the first for 240 s of 300 s/)
  t.strictSame(types(await track('slow', CAFE)), ['entered_place'])
  // A worse location has no candidates, so the time begins again.
  await track('slower', CAFE)
  await track('slower', CAFE, { accuracy: 201 }, 2)
  t.strictSame(types(await track('slower', CAFE, {}, 4)), [])
  t.strictSame(types(await track('slower', CAFE, {}, 5)), ['entered_place'])
})

t.test('minimumConfidence, accuracy', async (t) => {
  await set({ minimumConfidence: 2 })
  const held = await track('vague', CAFE, { stopped: true, accuracy: 66 })
  t.strictSame(types(held), [])
  t.match((await good('GET', '/v1/users/vague/explain')).explanation.place.reason, /confidence 1 is below/)
  const sure = await track('vague', CAFE, { stopped: true, accuracy: 65 })
  t.match(sure.events, [{ type: 'user.entered_place', confidence: 2 }])
  await set({ minimumConfidence: 1 })
})

t.test(
  'filters: only the listed chains and categories; what no longer passes is gone silently',
  async (t) => {
    await set({ placeFilters: { chain: [], category: ['cafe'] } })
    t.match((await track('filtered', CAFE, { stopped: true })).user.place, { _id: cafe._id })
    const { context } = await good('GET', `/v1/context?coordinates=${CAFE.latitude},${CAFE.longitude}`)
    t.match(context.place, { _id: cafe._id }, 'contexts go by them, too')
    await set({ placeFilters: { chain: ['mcdonalds'], category: [] } })
    t.notHas((await good('GET', '/v1/users/filtered')).user, 'place')
    const other = await good('GET', `/v1/context?coordinates=${CAFE.latitude},${CAFE.longitude}`)
    t.not(other.context.place?._id, cafe._id)
    t.strictSame(types(await track('filtered', CAFE, { stopped: true })), [])
    await set({ placeFilters: null })
    t.strictSame(types(await track('filtered', CAFE, { stopped: true })), ['entered_place'], 'anew')
  },
)

t.test('chains: top chains, chains nearby, your own ids', async (t) => {
  const burger = await plainPlace('chains=mcdonalds')
  await set({
    chainMappings: { mcdonalds: '17' },
    nearbyPlaceChains: ['mcdonalds', 'nobody'],
    nearbyPlaceChainMeters: 200,
  })
  const far = await track('eater', { latitude: -35.2, longitude: -56.2 })
  t.strictSame([types(far), far.user.nearbyPlaceChains, far.user.topChains], [[], [], []])
  const BURGER = pointOf(burger)
  const came = await track('eater', BURGER, { stopped: true })
  t.strictSame(types(came), ['entered_place', 'nearby_place_chain'])
  t.match(came.events[1], {
    place: { _id: burger._id, chain: { slug: 'mcdonalds', externalId: '17' } },
    confidence: 3,
  })
  t.match(came.user.nearbyPlaceChains, [{ slug: 'mcdonalds', name: "McDonald's", externalId: '17' }])
  t.strictSame(came.user.topChains, [{ name: "McDonald's", slug: 'mcdonalds', externalId: '17' }])
  t.strictSame(types(await track('eater', BURGER)), [], 'once')
  await track('eater', { latitude: -35.2, longitude: -56.2 })
  t.strictSame(types(await track('eater', BURGER)), ['nearby_place_chain'], 'again after it was left')
  await set({ nearbyPlaceChains: [] })
  t.notHas((await good('GET', '/v1/users/eater')).user, 'nearbyPlaceChains')
})

t.test('by stream and replay, and to server-sent events', async (t) => {
  const source = await EventSource.open(server, {
    query: '?types=user.entered_place&deviceIds=streamed,replayed',
  })
  t.teardown(() => source.hangUp())
  const stream = await Stream.open(server)
  t.teardown(() => stream.close())
  stream.send({
    type: 'track',
    id: 1,
    events: true,
    updates: [{ deviceId: 'streamed', ...CAFE, accuracy: 5, stopped: true }],
  })
  t.strictSame(types(await stream.next()), ['entered_place'])
  const replays = [0, 1, 2].map((i) => ({
    deviceId: 'replayed',
    ...(i === 2 ? { latitude: -35.2, longitude: -56.2 } : CAFE),
    accuracy: 5,
    stopped: true,
    replayed: true,
    updatedAtMs: Date.now() - 600_000 + MINUTE * i,
  }))
  const replayed = await good('POST', '/v1/track/replay', { replays }, KEYS.testPublishable)
  t.strictSame(types(replayed), ['entered_place', 'exited_place'])
  const seen = [await source.next(), await source.next()]
  t.strictSame(
    seen.map((event) => event!.data.place._id),
    [cafe._id, cafe._id],
  )
})

t.test('a kill keeps the place, its time, the first candidate and the top chains', async (t) => {
  await track('kept', CAFE, { stopped: true })
  await track('waiting', CAFE)
  const before = (await good('GET', '/v1/users/eater')).user
  await server.kill9()
  await server.restart()
  t.match((await good('GET', '/v1/users/kept')).user, { place: { _id: cafe._id, name: cafe.name } })
  t.strictSame((await good('GET', '/v1/users/eater')).user.topChains, before.topChains)
  t.strictSame(types(await track('kept', CAFE, { stopped: true })), [])
  t.strictSame(types(await track('waiting', CAFE, {}, 4)), ['entered_place'])
  const left = await track('kept', { latitude: -35.2, longitude: -56.2 })
  t.match(left.events, [{ type: 'user.exited_place', duration: 7 }])
})

t.test('turned off: gone silently; the top chains come back', async (t) => {
  await set({ places: false })
  const { user } = await good('GET', '/v1/users/waiting')
  t.notHas(user, 'place')
  t.strictSame(types(await track('waiting', { latitude: -35.2, longitude: -56.2 })), [])
  t.strictSame((await good('GET', '/v1/users/eater')).user.topChains, [])
  await set({ places: true })
  t.match((await good('GET', '/v1/users/eater')).user.topChains, [{ slug: 'mcdonalds' }])
})

t.test('settings: every rule', async (t) => {
  for (const [body, message] of [
    [{ places: 'perhaps' }, 'places: Invalid places. It must be true or false.'],
    [{ placeMinimumStaySeconds: -1 }, /^placeMinimumStaySeconds: .*\[0, 86400\]/],
    [{ nearbyPlaceChainMeters: 99 }, /^nearbyPlaceChainMeters: .*\[100, 10000\]/],
    [{ nearbyPlaceChains: ['Two Words'] }, /^nearbyPlaceChains: Invalid nearbyPlaceChains\. A slug has/],
    [
      { nearbyPlaceChains: Array.from({ length: 101 }, (_, i) => `c${i}`) },
      'nearbyPlaceChains: Invalid nearbyPlaceChains. It must have at most 100 items.',
    ],
    [
      { placeFilters: { chain: Array.from({ length: 1001 }, (_, i) => `c${i}`) } },
      'placeFilters: Invalid placeFilters. It must have at most 1000 items.',
    ],
  ] as const)
    t.match(await server.api('PATCH', '/v1/settings', body), { status: 400, body: { meta: { message } } })
})

t.ok(pointDistance(CAFE.latitude, CAFE.longitude, -34.9061, -56.1934) < 10_000, 'the café is in Montevideo')
