/** Lists of users by the place that they are in and the segment that they belong to. */
import t from 'tap'
import { startServer } from '../kit/server.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
type Json = any

const server = await startServer(t, { sample: true })

const { good } = server

const near = '/v1/search/places?near=-34.9061,-56.1934&radius=10000&limit=20&categories=cafe'
const places: Json[] = []
for (const place of (await good('GET', near)).places) {
  const [longitude, latitude] = place.location.coordinates
  const { context } = await good('GET', `/v1/context?coordinates=${latitude},${longitude}`)
  // Others are nearer to a place beside them.
  if (context.place?._id === place._id) places.push(place)
}
const segment = (externalId: string, rule: object) => ({ description: externalId, externalId, rule })
await good('PATCH', '/v1/settings', {
  places: true,
  segments: [
    segment('guests', { category: 'cafe' }),
    segment('staff', { metadata: { staff: true } }),
    segment('nobody', { country: 'AQ' }),
  ],
})

async function visit(deviceId: string, { location }: Json, metadata?: object): Promise<Json> {
  const [longitude, latitude] = location.coordinates
  const body = { deviceId, latitude, longitude, accuracy: 5, stopped: true, metadata }
  return (await good('POST', '/v1/track', body)).user
}

const listed = async (query: string): Promise<string[]> =>
  (await good('GET', `/v1/users?${query}`)).users.map(({ deviceId }: Json) => deviceId)

/** By place: the devices that are in it, the newest first. */
const inside = new Map<string, string[]>()
for (let i = 0; i < 12; i++) {
  const user = await visit(`d${i}`, places[i % 3], i % 4 === 0 ? { staff: true } : undefined)
  inside.set(user.place?._id, [`d${i}`, ...(inside.get(user.place?._id) ?? [])])
}
await visit('away', { location: { coordinates: [-52, -36.5] } }, { staff: true })

async function check(t: Json, when: string): Promise<void> {
  t.equal(inside.size, 3)
  for (const [id, devices] of inside) t.strictSame(await listed(`placeId=${id}`), devices, `${when}: ${id}`)
  const [[id, devices]] = inside as unknown as [[string, string[]]]
  const staff = ['away', 'd8', 'd4', 'd0']
  t.strictSame(await listed('segment=staff'), staff, `${when}: staff`)
  t.strictSame((await listed('segment=guests')).length, 12, `${when}: guests`)
  t.strictSame(await listed('segment=nobody'), [])
  const both = staff.filter((name) => devices.includes(name))
  t.ok(both.length > 0)
  t.strictSame(await listed(`placeId=${id}&segment=staff`), both, `${when}: staff in a place`)
  t.strictSame(await listed(`placeId=${id}&deviceId=${both[0]}`), [both[0]])
  t.strictSame(await listed(`placeId=${id}&deviceId=away`), [])
  for (const query of ['placeId=x', `placeId=${'0'.repeat(24)}`, 'segment=unknown'])
    t.strictSame(await listed(query), [], query)
}

t.test('users of a place, of a segment, and of both', async (t) => check(t, 'now'))

t.test('page by page', async (t) => {
  const seen: string[] = []
  for (let before = ''; ;) {
    const { users, meta } = await good('GET', `/v1/users?segment=guests&limit=5${before}`)
    seen.push(...users.map(({ deviceId }: Json) => deviceId))
    if (!meta.hasMore) break
    before = `&before=${users.at(-1)._id}`
  }
  t.strictSame(seen, await listed('segment=guests'))
})

t.test('after a kill, when records come from the disk', async (t) => {
  await server.kill9()
  await server.restart()
  await check(t, 'later')
})

t.test('what a user does not show does not count', async (t) => {
  const [[id]] = inside as unknown as [[string, string[]]]
  await good('PATCH', '/v1/settings', { placeFilters: { chain: ['mcdonalds'], category: [] } })
  t.strictSame(await listed(`placeId=${id}`), [], 'filtered')
  await good('PATCH', '/v1/settings', { placeFilters: null, places: false })
  t.strictSame(await listed(`placeId=${id}`), [], 'off')
  await good('PATCH', '/v1/settings', { places: true, segments: [] })
  t.strictSame(await listed('segment=staff'), [], 'removed')
})
