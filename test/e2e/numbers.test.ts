/** What happens in an environment in numbers, events by what is in them, and the state of the server. */
import t from 'tap'
import { KEYS } from '../kit/server.ts'
import { startApi, type Json } from './contract.ts'

const api = await startApi(t)
const { call } = api
const get = async (path: string, key?: string) => (await call('GET', path, undefined, key)).body
const statusOf = async (path: string, key?: string | null) => (await call('GET', path, undefined, key)).status
const MINUTE = 60_000
const START = Date.UTC(2026, 0, 5)
const iso = (time: number) => new Date(time).toISOString()

await api.circle('depots/1', [10, 50], 200)
await api.circle('stores/1', [11, 50], 20)
for (let i = 0; i < 6; i++) {
  const updatedAt = iso(START + i * MINUTE)
  const device = { deviceId: `d${i}`, latitude: 50, updatedAt }
  await api.track({ ...device, longitude: i % 2 === 0 ? 10 : 11, accuracy: i === 5 ? 60 : 5 })
}
await api.track({
  deviceId: 'd0',
  latitude: 51,
  longitude: 10,
  accuracy: 5,
  updatedAt: iso(START + 10 * MINUTE),
})

t.test('events by types, pair and confidence', async (t) => {
  const devices = async (query: string) => {
    const { events, meta } = await get(`/v1/events?${query}`)
    const names = events.map(({ type, user }: Json) => `${type.slice(5, 6)}${user.deviceId}`).join(' ')
    return meta.hasMore ? `${names} …` : names
  }
  t.equal(await devices('types=user.entered_geofence,user.exited_geofence'), 'ed0 ed5 ed4 ed3 ed2 ed1 ed0')
  t.equal(await devices('types=user.exited_geofence'), 'ed0')
  t.equal(await devices('tag=stores'), 'ed5 ed3 ed1')
  t.equal(await devices('tag=depots&externalId=1&limit=2'), 'ed0 ed4 …')
  t.equal(await devices('tag=depots&externalId=2'), '')
  t.equal(await devices('tag=stores&minimumConfidence=2'), 'ed3 ed1')
  t.equal(await devices('tag=stores&deviceId=d1'), 'ed1')
  t.equal(await devices(`tag=stores&createdBefore=${iso(START + 2 * MINUTE)}`), 'ed1')
  const { events } = await get('/v1/events?tag=stores&limit=1')
  t.equal(await devices(`tag=stores&before=${events[0]._id}`), 'ed3 ed1')
  for (const [query, param] of [[`types=${'a,'.repeat(60)}b`, 'types']] as const) {
    const { status, body } = await call('GET', `/v1/events?${query}`)
    t.equal(status, 400, query)
    t.equal(body.meta.param, param)
  }
  t.match(await get('/v1/events?tag=stores', KEYS.liveSecret), { events: [] }, 'G8')
})

t.test('events oldest first, and how many there are', async (t) => {
  const list = async (query: string): Promise<Json> => get(`/v1/events?${query}`)
  const all = (await list('limit=1000')).events.map(({ _id }: Json) => _id)
  t.equal(all.length, 7)
  for (const filter of ['', '&types=user.entered_geofence,user.exited_geofence', '&deviceId=d0', '&text=d0'])
    for (const limit of [1, 2, 1000]) {
      const wanted = (await list(`limit=1000${filter}`)).events.map(({ _id }: Json) => _id)
      const seen: string[] = []
      let hasMore = true
      for (let before = ''; hasMore; before = `&before=${seen.at(-1)}`) {
        const page = await list(`order=asc&includeTotal=true&limit=${limit}${filter}${before}`)
        seen.push(...page.events.map(({ _id }: Json) => _id))
        t.equal(page.meta.total, wanted.length, `${filter} ${limit}, on each page`)
        hasMore = page.meta.hasMore
      }
      t.strictSame(seen, wanted.toReversed(), `${filter}, ${limit} at a time`)
    }
  for (const [query, total] of [
    ['type=user.exited_geofence', 1],
    ['type=user.entered_geofence&types=user.exited_geofence', 0],
    ['tag=stores&minimumConfidence=2', 2],
    [`createdAfter=${iso(START)}&createdBefore=${iso(START + 3 * MINUTE)}`, 2],
    [`updatedBefore=${iso(START)}`, 0],
    ['deviceId=d0&type=user.exited_geofence', 1],
    ['userId=nobody', 0],
  ] as const)
    t.equal((await list(`includeTotal=true&limit=1&${query}`)).meta.total, total, query)
  t.equal((await list('limit=1')).meta.total, undefined)
  t.match((await get('/v1/events?includeTotal=true', KEYS.liveSecret)).meta, { total: 0 }, 'G8')
})

t.test('counts per interval', async (t) => {
  const time = `from=${iso(START)}&to=${iso(START + 11 * MINUTE)}`
  const { counts } = await get(`/v1/events/counts?${time}&step=240`)
  t.same(counts, [
    { from: iso(START), total: 4, types: { 'user.entered_geofence': 4 } },
    { from: iso(START + 4 * MINUTE), total: 2, types: { 'user.entered_geofence': 2 } },
    { from: iso(START + 8 * MINUTE), total: 1, types: { 'user.exited_geofence': 1 } },
  ])
  const stores = await get(`/v1/events/counts?${time}&step=3600&tag=stores`)
  t.same(
    stores.counts.map(({ total }: Json) => total),
    [3],
  )
  t.equal((await get('/v1/events/counts')).counts.length, 60, 'the last hour')
  for (const [query, param] of [
    [`from=${iso(START)}&to=${iso(START)}`, 'from'],
    [`from=${iso(START)}&to=${iso(START + 1001 * MINUTE)}`, 'step'],
  ] as const) {
    const { status, body } = await call('GET', `/v1/events/counts?${query}`)
    t.equal(status, 400, query)
    t.equal(body.meta.param, param)
  }
})

t.test('statistics of an environment', async (t) => {
  const now = Date.now()
  const span = `from=${iso(now - 10 * MINUTE)}&to=${iso(now + 2 * MINUTE)}&step=180`
  const { stats } = await get(`/v1/stats?${span}`)
  t.match(stats, { totals: { geofences: 2, beacons: 0 }, since: /Z$/ })
  const sum = stats.intervals.reduce((all: number, { updates }: Json) => all + updates, 0)
  t.equal(sum, 7)
  const old = await get(`/v1/stats?from=${iso(START)}&to=${iso(START + 11 * MINUTE)}&step=3600`)
  t.match(old.stats.intervals, [{ updates: 0, events: 7 }])
  const live = await get(`/v1/stats?${span}`, KEYS.liveSecret)
  t.match(live.stats.totals, { geofences: 0 }, 'G8')
  t.ok(live.stats.intervals.every(({ updates, events }: Json) => updates === 0 && events === 0))
  t.equal(await statusOf('/v1/stats?step=90'), 400)
})

t.test('the state of the server is for the project of its operator', async (t) => {
  const { system } = await get('/v1/system')
  t.match(system, {
    engine: 'embedded',
    node: process.version,
    memory: { used: Number, total: Number },
    disk: { free: Number, total: Number },
    checks: [{ name: String, ok: true }],
  })
  t.ok(system.metrics.process_resident_memory_bytes > 0 || system.metrics.ringfence_mailbox_bytes >= 0)
  t.match(await get('/v1/map-regions'), { mapRegions: [] })
  t.equal(await statusOf('/v1/system', KEYS.testPublishable), 403)
  t.equal(await statusOf('/v1/system', null), 401)

  const other = await startApi(t, { env: { RINGFENCE_OPERATOR_PROJECT: '2' } })
  for (const path of ['/v1/system', '/v1/map-regions']) t.equal((await other.call('GET', path)).status, 403)
})
