/** Places and regions of anonymous updates: what a client says about its stays is what a device's record says. */
import t from 'tap'
import { startServer } from '../kit/server.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
type Json = any

const server = await startServer(t, { sample: true })
const SEA = { latitude: -36.5, longitude: -52 }
const EL_PASO = { latitude: 31.7619, longitude: -106.485 }
const KINDS = ['country', 'state', 'dma', 'postalCode']

const { good } = server

const near = '/v1/search/places?near=-34.9061,-56.1934&radius=10000&limit=20&categories=cafe'
const { places } = await good('GET', near)
const spotOf = ({ location: { coordinates } }: Json) => ({
  latitude: coordinates[1],
  longitude: coordinates[0],
})
let now = Date.now() - 3_600_000
const types = ({ events }: Json): string[] => events.map(({ type }: Json) => type.replace('user.', ''))
const idsOf = (user: Json): string[] => KINDS.flatMap((kind) => user[kind]?._id ?? [])
/** What an SDK sends along of the last answer. */
const heldOf = (user: Json | undefined) => ({
  placeId: user?.place?._id ?? null,
  regionIds: user === undefined ? [] : idsOf(user),
})

function track(deviceId: string, at: object, more: object = {}): Promise<Json> {
  now += 60_000
  const updatedAt = new Date(now).toISOString()
  return good('POST', '/v1/track', { deviceId, ...at, accuracy: 5, stopped: true, updatedAt, ...more })
}

t.test('off: what a client names changes nothing', async (t) => {
  const { user, events } = await track('anonymous', spotOf(places[0]), {
    placeId: places[0]._id,
    regionIds: ['0'.repeat(24)],
  })
  t.strictSame(events, [])
  for (const member of ['place', ...KINDS]) t.notHas(user, member)
})

t.test('a walk has the events of a device, without durations', async (t) => {
  await good('PATCH', '/v1/settings', { places: true, regions: true })
  const walk = [SEA, spotOf(places[0]), spotOf(places[0]), spotOf(places.at(-1)), EL_PASO, SEA]
  let last: Json
  const seen = new Set<string>()
  for (const at of walk) {
    const known = await track('known', at)
    const anonymous = await track('anonymous', at, heldOf(last))
    t.strictSame(types(anonymous), types(known), JSON.stringify(at))
    for (const [i, event] of anonymous.events.entries()) {
      const { place, region, alternatePlaces, confidence } = known.events[i]
      t.match(event, { user: { _id: 'anonymous' }, confidence })
      t.strictSame([event.place, event.region], [place, region])
      t.strictSame(event.alternatePlaces, alternatePlaces)
      t.notHas(event, 'duration')
      seen.add(event.type)
    }
    t.strictSame(anonymous.user.place, known.user.place)
    for (const kind of KINDS) t.strictSame(anonymous.user[kind], known.user[kind])
    last = anonymous.user
  }
  for (const type of ['entered_place', 'exited_place', 'entered_region_country', 'exited_region_postal_code'])
    t.ok(seen.has(`user.${type}`), type)
})

t.test('a replay is a walk of its own: a stay counts within it', async (t) => {
  const at = (minutes: number, spot: object) => ({
    deviceId: 'anonymous',
    ...spot,
    accuracy: 5,
    replayed: true,
    updatedAtMs: now + minutes * 60_000,
  })
  now -= 3_600_000
  const replays = [at(0, spotOf(places[0])), at(6, spotOf(places[0])), at(30, SEA)]
  const answer = await good('POST', '/v1/track/replay', {
    replays: replays.map((one, i) => (i === 0 ? { ...one, regionIds: [] } : one)),
  })
  t.strictSame(types(answer), [
    'entered_region_country',
    'entered_place',
    'exited_region_country',
    'exited_place',
  ])
})

t.test('without regionIds nobody knows what was before: the regions, and no events', async (t) => {
  const { user, events } = await track('anonymous', EL_PASO)
  t.strictSame(events, [])
  t.match(user, { country: { code: 'US' }, state: { code: 'TX' } })
})

t.test('ids that name nothing drop out; too many are refused', async (t) => {
  for (const placeId of ['f'.repeat(24), 'x', '', `${'a'.repeat(23)}"`])
    t.strictSame(types(await track('anonymous', SEA, { placeId, regionIds: [placeId] })), [], placeId)
  const { regionIds } = heldOf((await track('anonymous', EL_PASO)).user)
  const twice = await track('anonymous', SEA, { regionIds: [...regionIds, ...regionIds, 'nothing'] })
  t.equal(types(twice).length, 4)
  const answer = await server.api('POST', '/v1/track', {
    deviceId: 'anonymous',
    ...SEA,
    accuracy: 5,
    regionIds: Array.from({ length: 101 }, () => 'x'),
  })
  t.match(answer, { status: 400, body: { meta: { param: 'regionIds' } } })
})

t.test('a place that no longer passes the filters is gone silently', async (t) => {
  await good('PATCH', '/v1/settings', { placeFilters: { chain: ['mcdonalds'], category: [] } })
  const { user, events } = await track('anonymous', spotOf(places[0]), { placeId: places[0]._id })
  t.strictSame(events, [])
  t.notHas(user, 'place')
})
