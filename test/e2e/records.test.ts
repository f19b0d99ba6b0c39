/**
 * Users, events, who is inside, who is near, and why: reading and removing records of a real process, and who may do
 * so.
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Server, KEYS } from '../kit/server.ts'
import { briefly, north, startApi, type Json } from './contract.ts'

const { testPublishable, testSecret, livePublishable, liveSecret } = KEYS
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const MINUTE = 60_000
/** A Monday. */
const MONDAY = Date.parse('2026-01-05T00:00:00Z')
const iso = (time: number) => new Date(time).toISOString()

const api = await startApi(t, { env: { RINGFENCE_TRUSTED_PROXIES: '127.0.0.1' } })
const { call } = api

let places = 0
const place = (): [number, number] => [places++ - 150, 50]
const at = ([longitude, latitude]: readonly [number, number], metersNorth = 0) => ({
  latitude: north(latitude, metersNorth),
  longitude,
  accuracy: 5,
})
const get = async (path: string, key: string = testSecret) => (await call('GET', path, undefined, key)).body
const statusOf = async (method: string, path: string, key: string | null) =>
  (await call(method, path, undefined, key)).status

t.test('lists: every filter, bounds exclusive, newest first, pages', async (t) => {
  t.strictSame(await get('/v1/users'), { meta: { code: 200, hasMore: false }, users: [] })
  t.strictSame(await get('/v1/events'), { meta: { code: 200, hasMore: false }, events: [] })

  const here = place()
  await api.circle('list/1', here, 100)
  const users: Json[] = []
  for (let i = 0; i < 5; i++) {
    const time = { updatedAt: iso(MONDAY + (10 - i) * MINUTE) }
    users.push((await api.track({ deviceId: `list-${i}`, userId: `u-${i % 2}`, ...at(here), ...time })).user)
    await new Promise((resolve) => setTimeout(resolve, 3))
  }
  const ids = async (query: string, list = 'users') => {
    const { meta, [list]: records } = await get(`/v1/${list}?${query}`)
    const names = records.map((one: Json) => (one.user ?? one).deviceId.slice(5)).join('')
    return meta.hasMore ? `${names}…` : names
  }
  t.equal(await ids(''), '43210', 'newest first by creation')
  t.equal(await ids('limit=2'), '43…')
  t.equal(await ids('limit=5'), '43210')
  t.equal(await ids(`limit=2&createdBefore=${users[3].createdAt}`), '21…', 'the next page')
  t.equal(await ids(`createdAfter=${users[3].createdAt}`), '4')
  t.equal(await ids(`createdAfter=${users[0].createdAt}&createdBefore=${users[4].createdAt}`), '321')
  t.equal(await ids(`updatedBefore=${iso(MONDAY + 8 * MINUTE)}`), '43')
  t.equal(await ids(`updatedAfter=${iso(MONDAY + 8 * MINUTE)}`), '10')
  t.equal(
    await ids(`updatedAfter=${MONDAY + 8 * MINUTE}&updatedBefore=${MONDAY + 10 * MINUTE}`),
    '1',
    'as numbers',
  )
  t.strictSame((await get('/v1/users')).users[4], users[0], 'whole records')

  t.equal(await ids('', 'events'), '01234', 'newest first by the time of the update')
  t.equal(await ids('limit=2', 'events'), '01…')
  t.equal(await ids('userId=u-1', 'events'), '13')
  t.equal(await ids('deviceId=list-2', 'events'), '2')
  t.equal(await ids('deviceId=list-2&userId=u-1', 'events'), '')
  t.equal(await ids('type=user.entered_geofence', 'events'), '01234')
  t.equal(await ids('type=user.exited_geofence', 'events'), '')
  t.equal(await ids(`createdBefore=${iso(MONDAY + 8 * MINUTE)}`, 'events'), '34')
  t.equal(await ids(`createdAfter=${iso(MONDAY + 8 * MINUTE)}&limit=1`, 'events'), '0…')
  t.equal(await ids('limit=3&userId=u-0', 'events'), '024')

  t.equal(await ids('userId=u-1'), '31')
  t.equal(await ids('deviceId=list-2'), '2')
  t.equal(await ids('deviceId=list-2&userId=u-1'), '')
  t.equal(await ids('userId=nobody'), '')

  for (const list of ['users', 'events', 'geofences', 'beacons', 'imports/geofences', 'imports/beacons']) {
    for (const unknown of ['f'.repeat(24), 'nothing']) {
      const { status, body } = await call('GET', `/v1/${list}?before=${unknown}`)
      t.equal(status, 404, `${list} before ${unknown}`)
      t.equal(body.meta.param, 'before')
    }
    t.equal((await call('GET', `/v1/${list}?before=`)).status, 200, 'empty means absent')
  }
  for (const list of ['users', 'events', 'geofences']) {
    t.equal((await call('GET', `/v1/${list}?limit=1000`)).status, 200)
    for (const name of ['createdBefore', 'createdAfter', 'updatedBefore', 'updatedAfter']) {
      t.equal((await call('GET', `/v1/${list}?${name}=`)).status, 200, 'empty means absent')
    }
  }
  t.equal((await get(`/v1/geofences?updatedAfter=${iso(Date.now() + 1e6)}`)).geofences.length, 0)
})

t.test('pages by `before` contain every record once, even those with the same time', async (t) => {
  const here = place()
  for (let i = 0; i < 4; i++) {
    await api.circle(`paged/${i}`, here, 100)
    const numbers = { uuid: 'b9407f30-f5f8-466e-aff9-25556b57fe6d', major: '7', minor: `${i}` }
    const beacon = { description: 'Paged', type: 'ibeacon', ...numbers, coordinates: here, enabled: true }
    t.equal((await call('PUT', `/v1/beacons/paged/${i}`, beacon)).status, 200)
  }
  // One update each, all with the same time, so that every device enters four geofences at one time.
  const fleet = [0, 1, 2, 3, 4, 5, 6]
  await Promise.all(
    fleet.map((i) => api.track({ deviceId: `paged-${i}`, ...at(here), updatedAt: iso(MONDAY) })),
  )
  for (const list of ['users', 'events', 'geofences', 'beacons']) {
    const whole = (await get(`/v1/${list}?limit=1000`))[list]
    for (const limit of [1, 2, 3, 5, 1000]) {
      const pages: Json[] = []
      for (let before = ''; ;) {
        const { meta, [list]: page } = await get(`/v1/${list}?limit=${limit}${before}`)
        pages.push(...page)
        if (!meta.hasMore) break
        before = `&before=${page.at(-1)._id}`
      }
      t.strictSame(pages, whole, `${list}, ${limit} at a time`)
    }
  }
  const [first, second] = (await get('/v1/events?deviceId=paged-1')).events
  const arrival = Date.parse(first.actualCreatedAt) - 1
  t.equal((await get(`/v1/events?deviceId=paged-1&createdAfter=${arrival}`)).events.length, 0, 'dated back')
  t.equal((await get(`/v1/events?deviceId=paged-1&updatedAfter=${arrival}`)).events.length, 4, 'what arrived')
  const after = (await get(`/v1/events?deviceId=paged-1&limit=1&before=${first._id}`)).events
  t.equal(after[0]._id, second._id)
  t.equal(await statusOf('GET', `/v1/events?before=${first._id}`, liveSecret), 404, 'of another environment')
})

t.test('a page of large users is short, and paging continues after it', async (t) => {
  const metadata = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}`, 'x'.repeat(4000)]))
  for (let i = 0; i < 40; i++)
    await api.track({
      deviceId: `large-${i}`,
      userId: 'large',
      latitude: 1,
      longitude: 1,
      accuracy: 5,
      metadata,
    })
  const seen: string[] = []
  const pages: number[] = []
  for (let more = true; more;) {
    const before = seen.length === 0 ? '' : `&before=${seen.at(-1)}`
    const { body } = await api.call('GET', `/v1/users?userId=large&limit=1000${before}`)
    pages.push(body.users.length)
    seen.push(...body.users.map(({ _id }: Json) => _id))
    more = body.meta.hasMore
  }
  t.equal(pages.length, 3, `pages of ${pages.join(' and ')}`)
  t.equal(new Set(seen).size, 40)
})

t.test('a user by _id, userId and deviceId; deleting it', async (t) => {
  const here = place()
  await api.circle('one/1', here, 100)
  const odd = 'a/b ü%&?#'
  const { user, events } = await api.track({ deviceId: odd, userId: 'one-user', ...at(here) })
  const names = [user._id, 'one-user', encodeURIComponent(odd)]
  for (const name of names) t.strictSame((await get(`/v1/users/${name}`)).user, user, name)
  t.equal(await statusOf('GET', '/v1/users/nobody', testSecret), 404)
  t.equal(await statusOf('DELETE', '/v1/users/nobody', testSecret), 404)
  t.equal(await statusOf('GET', `/v1/users/${'f'.repeat(24)}`, testSecret), 404)

  t.strictSame((await call('DELETE', `/v1/users/${encodeURIComponent(odd)}`)).body, { meta: { code: 200 } })
  for (const name of names) {
    t.equal(await statusOf('GET', `/v1/users/${name}`, testSecret), 404)
    t.equal(await statusOf('DELETE', `/v1/users/${name}`, testSecret), 404)
    t.equal(await statusOf('GET', `/v1/users/${name}/explain`, testSecret), 404)
  }
  t.equal((await get('/v1/geofences/one/1/users')).users.length, 0)
  t.equal((await get(`/v1/events?deviceId=${encodeURIComponent(odd)}`)).events.length, 1, 'events stay')

  const again = await api.track({ deviceId: odd, userId: 'one-user', ...at(here) })
  t.equal(again.events.length, 1, 'a new device enters')
  t.not(again.user._id, user._id)
  t.not(again.events[0]._id, events[0]._id)
  await call('DELETE', `/v1/users/${again.user._id}`)
  t.equal(await statusOf('GET', `/v1/users/${again.user._id}`, testSecret), 404, 'by _id')
  await api.track({ deviceId: odd, userId: 'one-user', ...at(here) })
  await call('DELETE', '/v1/users/one-user')
  t.equal(await statusOf('GET', '/v1/users/one-user', testSecret), 404, 'by userId')
})

t.test('deleting one record of a device leaves the others', async (t) => {
  const here = place()
  const ann = (await api.track({ deviceId: 'shared', userId: 'ann-2', ...at(here) })).user
  const ben = (await api.track({ deviceId: 'shared', userId: 'ben-2', ...at(here) })).user
  t.equal((await get('/v1/users/shared')).user._id, ben._id, 'by deviceId: the latest updated')
  t.equal((await call('DELETE', '/v1/users/ann-2')).status, 200)
  t.equal(await statusOf('GET', `/v1/users/${ann._id}`, testSecret), 404)
  t.equal((await get('/v1/users/shared')).user._id, ben._id)
})

t.test('events of one time are listed in the order in which they happened (G3)', async (t) => {
  const here = place()
  const there: [number, number] = [here[0], north(here[1], 1000)]
  for (const i of [1, 2, 3, 4]) {
    await api.circle(`moment/a${i}`, here, 100)
    await api.circle(`moment/b${i}`, there, 100)
  }
  const replays = [here, there, here, there].map((spot) => ({
    deviceId: 'moment',
    ...at(spot),
    updatedAtMs: MONDAY,
    replayed: true,
  }))
  const made = (await call('POST', '/v1/track/replay', { replays }, testPublishable)).body.events
  t.equal(made.length, 4 + 3 * 8)
  t.strictSame((await get('/v1/events?deviceId=moment')).events, made.toReversed())
  const ofType = made.filter((event: Json) => event.type === 'user.exited_geofence')
  const query = 'deviceId=moment&type=user.exited_geofence'
  t.strictSame((await get(`/v1/events?${query}`)).events, ofType.toReversed())
})

t.test('events: one, and deleting it', async (t) => {
  const here = place()
  await api.circle('event/1', here, 100)
  const { events } = await api.track({ deviceId: 'eventful', ...at(here) })
  const path = `/v1/events/${events[0]._id}`
  t.strictSame((await get(path)).event, events[0])
  t.strictSame((await call('DELETE', path)).body, { meta: { code: 200 } })
  t.equal(await statusOf('GET', path, testSecret), 404)
  t.equal(await statusOf('DELETE', path, testSecret), 404)
  t.equal(await statusOf('GET', '/v1/events/nonsense', testSecret), 404)
  t.strictSame((await get('/v1/events?deviceId=eventful')).events, [])
  t.strictSame((await api.track({ deviceId: 'eventful', ...at(here) })).events, [], 'the stay is not touched')
})

t.test('who is inside a geofence', async (t) => {
  const here = place()
  const { _id } = await api.circle('inside/1', here, 100)
  for (let i = 0; i < 3; i++)
    await api.track({
      deviceId: `in-${i}`,
      userId: `in-${i}`,
      ...at(here),
      updatedAt: iso(MONDAY + i * MINUTE),
    })
  await api.track({ deviceId: 'out-0', ...at(here, 500) })
  const inside = async (query = '') => {
    const byId = await get(`/v1/geofences/${_id}/users${query}`)
    t.strictSame(await get(`/v1/geofences/inside/1/users${query}`), byId, 'by pair')
    return byId.users.map((user: Json) => user.deviceId).join() + (byId.meta.hasMore ? '…' : '')
  }
  t.equal(await inside(), 'in-2,in-1,in-0', 'newest first')
  t.equal(await inside('?limit=2'), 'in-2,in-1…')
  t.strictSame((await get(`/v1/geofences/${_id}/users`)).users[0], (await get('/v1/users/in-2')).user)
  await api.track({ deviceId: 'in-1', userId: 'in-1', ...at(here, 500) })
  t.equal(await inside(), 'in-2,in-0')
  await api.circle('inside/1', here, 100, { userIds: ['in-0'] })
  t.equal(await inside(), 'in-0', 'only whom it is meant for')
  await api.circle('inside/1', here, 5, { type: 'isochrone', mode: 'car' })
  t.equal(await inside(), '', 'an isochrone has nobody inside before it has an area')
  await api.circle('inside/1', here, 100)
  t.equal(await inside(), 'in-2,in-0')
  await api.circle('inside/1', here, 100, { enabled: false })
  t.equal(await inside(), '', 'disabled')
  await call('DELETE', '/v1/geofences/inside/1')
  t.equal(await statusOf('GET', `/v1/geofences/${_id}/users`, testSecret), 404)
  t.equal(await statusOf('GET', '/v1/geofences/inside/1/users', testSecret), 404)
  t.equal((await call('GET', '/v1/geofences/inside/1/users?limit=0')).body.meta.param, 'limit')
})

t.test('users near a place', async (t) => {
  const here = place()
  const meters = [9999, 50, 900, 1100, 120, 10_050]
  const metadata: Json[] = [
    { a: 1, color: 'red' },
    { a: '1', color: 'red' },
    { a: true },
    { a: 'true' },
    { a: 1.5, color: 'blue' },
    {},
  ]
  for (const [i, distance] of meters.entries())
    await api.track({ deviceId: `near-${distance}`, ...at(here, distance), metadata: metadata[i] })
  const near = `near=${here[1]},${here[0]}`
  const search = async (query: string) =>
    (await get(`/v1/search/users?${near}${query}`)).users.map((user: Json) => Number(user.deviceId.slice(5)))
  t.strictSame(await search(''), [50, 120, 900], '1,000 m by default, sorted by distance')
  t.strictSame(await search('&radius=100'), [50])
  t.strictSame(await search('&radius=10000'), [50, 120, 900, 1100, 9999])
  t.strictSame(await search('&radius=10000&limit=2'), [50, 120])
  t.strictSame(await search('&radius=10000&metadata[color]=red'), [50, 9999])
  t.strictSame(await search('&radius=10000&metadata[a]=1'), [50, 9999], 'a number or its text')
  t.strictSame(await search('&radius=10000&metadata[a]=true'), [900, 1100], 'a boolean or its text')
  t.strictSame(await search('&radius=10000&metadata[a]=1.50'), [120])
  t.strictSame(await search('&radius=10000&metadata[a]=1&metadata[color]=blue'), [])
  t.strictSame(await search('&radius=10000&metadata%5Bcolor%5D=blue'), [120], 'escaped brackets')
  await api.track({ deviceId: 'near-70', ...at(here, 70), accuracy: 80 })
  const { updatedAt } = (await get('/v1/users/near-70')).user
  t.strictSame(await search('&radius=130&maxAccuracy=79.5'), [50, 120], 'only accurate locations')
  t.strictSame(await search('&radius=130&maxAccuracy=80'), [50, 70, 120])
  const earlier = new Date(Date.parse(updatedAt) - 1).toISOString()
  t.strictSame(await search(`&updatedAfter=${earlier}`), [70], 'only who was updated since')
  t.strictSame(await search(`&updatedAfter=${updatedAt}`), [])
  t.strictSame(
    (await get(`/v1/search/users?${near}`)).users[0],
    (await get('/v1/users/near-50')).user,
    'whole records',
  )
  t.strictSame((await get(`/v1/search/users?near=-50,0`)).users, [])

  for (const mode of ['car', 'truck', 'foot', 'bike']) {
    const { status, body } = await call('GET', `/v1/search/users?${near}&mode=${mode}`)
    t.equal(status, 503)
    t.match(body.meta.message, /There is no region yet/)
  }
})

t.test('users near the antimeridian and a pole', async (t) => {
  await api.track({ deviceId: 'fiji-east', latitude: -17, longitude: 179.999, accuracy: 5 })
  await api.track({ deviceId: 'fiji-west', latitude: -17, longitude: -179.999, accuracy: 5 })
  await api.track({ deviceId: 'pole', latitude: 89.999, longitude: 100, accuracy: 5 })
  const names = async (near: string) =>
    (await get(`/v1/search/users?near=${near}`)).users.map((user: Json) => user.deviceId)
  t.strictSame(await names('-17,-179.9995'), ['fiji-west', 'fiji-east'])
  t.strictSame((await names('-17,180')).sort(), ['fiji-east', 'fiji-west'])
  t.strictSame((await names('-17,-180')).sort(), ['fiji-east', 'fiji-west'])
  t.strictSame(await names('89.999,-80'), ['pole'])
  t.strictSame(await names('90,0'), ['pole'])
})

t.test('why: each sentence', async (t) => {
  const here = place()
  const explain = async (deviceId: string) => (await get(`/v1/users/${deviceId}/explain`)).explanation
  /** The explanation for the geofence after these updates. */
  const why = async (name: string, ...updates: Json[]) => {
    const deviceId = `why-${name}-${places++}`
    let forwarded = {}
    for (const { ip, ...update } of updates) {
      forwarded = ip === undefined ? {} : { 'x-forwarded-for': ip }
      await api.track({ deviceId, ...at(here), ...update }, testPublishable, forwarded)
    }
    const { candidates } = await explain(deviceId)
    const found = candidates.find((one: Json) => one.geofence.externalId === name)
    return `${found?.outcome}: ${found?.reason}`
  }
  const minute = (m: number) => ({ updatedAt: iso(MONDAY + 12 * 60 * MINUTE + m * MINUTE) })
  await api.settings({ dwellEvents: true })

  await api.circle('why/plain', here, 100)
  t.match(
    await why('plain', at(here, 130)),
    /^outside: The location is 30\.0 m outside the boundary: no entry\.$/,
  )
  t.match(
    await why('plain', {}),
    /^entered: The location is 100 m inside the boundary: entered with confidence 3\.$/,
  )
  t.match(
    await why('plain', {}, at(here, 10)),
    /^inside: .* still inside, no second entry without an exit\.$/,
  )
  t.match(
    await why('plain', {}, at(here, 200)),
    /^exited: .* 100 m outside the boundary: exited with confidence 3\.$/,
  )

  await api.circle('why/stop', here, 100, { stopDetection: true })
  t.match(await why('stop', {}), /^entryWithheld: .*stop detection is on.*: no entry yet\.$/)
  t.match(await why('stop', { stopped: true }), /^entered: /)

  await api.settings({ minimumConfidence: 2 })
  t.match(
    await why('plain', { accuracy: 300 }),
    /^entryWithheld: .*confidence 1 is below the minimum of 2: no entry yet\.$/,
  )
  t.match(
    await why('plain', {}, { ...at(here, 120), accuracy: 300 }),
    /^exitWithheld: .*below the minimum of 2: no exit yet\.$/,
  )
  await api.settings({ minimumConfidence: 1 })

  await api.circle('why/hours', here, 100, { operatingHours: { Tuesday: [['09:00', '17:00']] } })
  await api.settings({ restrictToOperatingHours: true })
  t.match(await why('hours', minute(0)), /^entryWithheld: .*outside its operating hours: no entry yet\.$/)
  await api.settings({ restrictToOperatingHours: false })

  await api.circle('why/user', here, 100, { userIds: 'somebody' })
  t.match(
    await why('user', { userId: 'else' }),
    /^entryWithheld: .*not meant for this user.*: no entry yet\.$/,
  )
  await api.circle('why/address', here, 100, { ip: '203.0.113.0/24' })
  t.match(
    await why('address', {}),
    /^entryWithheld: .*not meant for the requester’s address.*: no entry yet\.$/,
  )
  t.match(await why('address', { ip: '203.0.113.5' }), /^entered: /)
  t.match(
    await why('address', { ip: '203.0.113.5' }, at(here, 500)),
    /^leftSilently: .*address.*: the stay ended without an event\.$/,
  )
  await api.circle('why/off', here, 100, { enabled: false })
  t.match(await why('off', {}), /^entryWithheld: .*is disabled: no entry yet\.$/)

  await api.circle('why/dwell', here, 100, { dwellThreshold: 10 })
  t.match(
    await why('dwell', minute(0), minute(4)),
    /^inside: .*for 4\.0 of 10 minutes until a dwell event: still inside\.$/,
  )
  t.match(
    await why('dwell', minute(0), minute(11)),
    /^dwelled: .*longer than 10 minutes: dwelled with confidence 3\.$/,
  )
  t.match(
    await why('dwell', minute(0), minute(11), minute(12)),
    /^inside: .*entered and dwelled before: still inside\.$/,
  )

  await api.settings({ bufferExits: true })
  t.match(await why('plain', {}, at(here, 103)), /^inside: .*exits are buffered: still inside\.$/)
  const outsideLate = { ...minute(11), ...at(here, 103) }
  t.match(
    await why('dwell', minute(0), outsideLate),
    /^inside: .*exits are buffered: still inside\. A dwell event is due, but needs a location that lies inside\.$/,
  )
  t.match(await why('dwell', minute(0), outsideLate, minute(12)), /^dwelled: /)
  await api.settings({ bufferExits: false, exitDelaySeconds: 60 })
  t.match(
    await why('dwell', minute(0), outsideLate),
    /^exitWithheld: .*\(exitDelaySeconds\): no exit yet\. A dwell event is due, but needs a location that lies inside\.$/,
  )
  await api.settings({ exitDelaySeconds: 0 })
  await api.settings({ bufferExits: false, bufferEntries: true })
  t.match(await why('plain', at(here, 108)), /^outside: .*more than the accuracy of 5\.0 m: no entry\.$/)
  await api.settings({ bufferEntries: false, dwellEvents: false })

  await api.circle('why/drop', here, 100)
  await api.track({ deviceId: 'dropped', ...at(here) })
  await api.circle('why/drop', here, 100, { enabled: false })
  await api.track({ deviceId: 'dropped', ...at(here) })
  const dropped = (await explain('dropped')).candidates.find(
    (one: Json) => one.geofence.externalId === 'drop',
  )
  t.match(dropped, { outcome: 'dropped', wasInside: true, eligible: false, ineligible: 'disabled' })
  t.match(dropped.reason, /is disabled: the stay ended without an event\.$/)

  const { _id } = await api.circle('why/gone', here, 100)
  await api.track({ deviceId: 'gone', ...at(here) })
  await call('DELETE', `/v1/geofences/${_id}`)
  await api.track({ deviceId: 'gone', ...at(here) })
  const gone = (await explain('gone')).candidates.find((one: Json) => one.geofence._id === _id)
  t.match(gone, {
    outcome: 'dropped',
    wasInside: true,
    reason: /has been deleted; the stay ended without an event\.$/,
  })

  await api.settings({ maxAccuracyMeters: 50 })
  await api.track({ deviceId: 'noted', ...at(here), accuracy: 80 })
  t.match((await explain('noted')).note, /80 m is above maxAccuracyMeters \(50 m\).*touched no geofence/)
  await api.settings({ maxAccuracyMeters: null })
})

t.test('why: the numbers, and events that agree with them', async (t) => {
  const here = place()
  const geofence = await api.circle('numbers/1', here, 100)
  const update = { deviceId: 'numbers', userId: 'n', ...at(here, 80), accuracy: 40, foreground: true }
  const { events, user } = await api.track(update)
  const answer = await get('/v1/users/numbers/explain')
  t.strictSame(answer.user, user)
  const { explanation } = answer
  t.match(explanation.update, {
    time: user.updatedAt,
    latitude: update.latitude,
    longitude: update.longitude,
    accuracy: 40,
    userId: 'n',
    ip: '127.0.0.1',
    foreground: true,
    stopped: false,
    replayed: false,
  })
  t.strictSame(explanation.settings, (await get('/v1/settings')).settings)
  t.notOk('note' in explanation)
  const [candidate] = explanation.candidates
  t.equal(candidate.geofence._id, geofence._id)
  t.ok(Math.abs(candidate.distance + 20) < 0.5, `signed distance ${candidate.distance}`)
  t.ok(candidate.coverage > 0.5 && candidate.coverage < 1, `coverage ${candidate.coverage}`)
  t.equal(candidate.confidence, events[0].confidence)
  t.equal(candidate.confidence, 2)
  t.equal(candidate.event, 'user.entered_geofence')
  t.equal(candidate.eligible, true)
  t.equal(candidate.wasInside, false)
})

t.test('secret endpoints: 403 for publishable keys, 401 for unknown ones', async (t) => {
  const secret = api.operations.filter((one) => one.definition.security[0]?.secretKey !== undefined)
  t.ok(secret.length > 35, `${secret.length} endpoints`)
  for (const { method, path: template } of secret) {
    const path = template.replaceAll(/\{\w+\}/g, 'x')
    const body = method === 'GET' || method === 'DELETE' ? undefined : {}
    for (const key of [testPublishable, livePublishable]) {
      const { status, body: answer } = await call(method, path, body, key)
      t.equal(status, 403, `${method} ${path}`)
      t.equal(answer.meta.code, 403)
    }
    for (const key of [null, 'nonsense', `prj_test_sk_${'0'.repeat(40)}`, testSecret.slice(0, -1)]) {
      const { status, body: answer } = await call(method, path, body, key)
      t.equal(status, 401, `${method} ${path} ${key}`)
      t.equal(answer.meta.code, 401)
    }
  }
})

t.test('test, live and another project never meet (G8)', async (t) => {
  const server = await Server.start()
  t.teardown(() => server.dispose())
  // The command line makes a second project while the server is stopped.
  await server.stop()
  const printed = execFileSync(process.execPath, [MAIN, 'projects', 'create', 'other'], {
    env: { ...process.env, RINGFENCE_DATA: server.data },
    encoding: 'utf8',
  })
  const otherSecret = /prj_test_sk_[0-9a-f]{40}/.exec(printed)?.[0]
  const otherPublishable = /prj_test_pk_[0-9a-f]{40}/.exec(printed)?.[0]
  t.ok(otherSecret && otherPublishable, printed)
  await server.restart()

  const here: [number, number] = [10, 50]
  const definition = { description: 'x', type: 'circle', coordinates: here, radius: 100 }
  const ids: Json = {}
  const worlds = [
    { name: 'test', secret: testSecret, publishable: testPublishable },
    { name: 'live', secret: liveSecret, publishable: livePublishable },
    { name: 'other', secret: otherSecret!, publishable: otherPublishable! },
  ]
  for (const { name, secret, publishable } of worlds) {
    const put = await server.api('PUT', '/v1/geofences/guard/1', { ...definition, description: name }, secret)
    const update = { deviceId: 'guard', userId: 'guard-user', ...at(here), description: name }
    const { body } = await server.api('POST', '/v1/track', update, publishable)
    t.equal(body.events.length, 1, name)
    t.equal(body.events[0].geofence._id, put.body.geofence._id, 'its own geofence only')
    t.equal(body.user.live, name === 'live')
    ids[name] = { geofence: put.body.geofence._id, user: body.user._id, event: body.events[0]._id }
  }
  for (const { name, secret } of worlds) {
    const ask = async (path: string) => (await server.api('GET', path, undefined, secret)).body
    t.strictSame(
      (await ask('/v1/users')).users.map((one: Json) => one.description),
      [name],
    )
    t.strictSame(
      (await ask('/v1/events')).events.map((one: Json) => one._id),
      [ids[name].event],
    )
    t.strictSame(
      (await ask('/v1/geofences')).geofences.map((one: Json) => one._id),
      [ids[name].geofence],
    )
    t.strictSame(
      (await ask('/v1/search/users?near=50,10')).users.map((one: Json) => one.description),
      [name],
    )
    t.strictSame(
      (await ask('/v1/search/geofences?near=50,10')).geofences.map((one: Json) => one.description),
      [name],
    )
    for (const id of ['guard', 'guard-user', ids[name].user])
      t.equal((await ask(`/v1/users/${id}`)).user.description, name)
    t.strictSame(
      (await ask('/v1/users/guard/explain')).explanation.candidates.map((c: Json) => c.geofence._id),
      [ids[name].geofence],
    )
    for (const path of [`/v1/geofences/${ids[name].geofence}/users`, '/v1/geofences/guard/1/users'])
      t.strictSame(
        (await ask(path)).users.map((one: Json) => one.description),
        [name],
      )

    for (const other of worlds.filter((one) => one.name !== name)) {
      const foreign = ids[other.name]
      const paths = [
        `/v1/users/${foreign.user}`,
        `/v1/events/${foreign.event}`,
        `/v1/geofences/${foreign.geofence}`,
      ]
      for (const path of paths) {
        t.equal(
          (await server.api('GET', path, undefined, secret)).status,
          404,
          `${name} reads of ${other.name}`,
        )
        t.equal(
          (await server.api('DELETE', path, undefined, secret)).status,
          404,
          `${name} deletes of ${other.name}`,
        )
      }
      for (const path of [`${paths[0]}/explain`, `${paths[2]}/users`])
        t.equal((await server.api('GET', path, undefined, secret)).status, 404)
      const put = await server.api('PUT', paths[2]!, { ...definition, description: 'stolen' }, secret)
      t.equal(put.status, 404)
    }
  }

  await server.api('PATCH', '/v1/settings', { minimumConfidence: 3 }, testSecret)
  for (const { name, secret } of worlds) {
    const { settings } = (await server.api('GET', '/v1/settings', undefined, secret)).body
    t.equal(settings.minimumConfidence, name === 'test' ? 3 : 1, name)
    const { keys } = (await server.api('GET', '/v1/keys', undefined, secret)).body
    t.equal(keys.length, 2)
    t.ok(keys.every((key: Json) => key.live === (name === 'live')))
  }
  t.equal((await server.api('DELETE', '/v1/users/guard', undefined, testSecret)).status, 200)
  t.equal((await server.api('DELETE', '/v1/geofences/guard/1', undefined, testSecret)).status, 200)
  for (const secret of [liveSecret, otherSecret!]) {
    t.equal((await server.api('GET', '/v1/users/guard', undefined, secret)).body.user.geofences.length, 1)
  }
  const rotated = await server.api('POST', '/v1/keys/publishable/rotate', undefined, testSecret)
  const fresh = rotated.body.key.key
  t.match(fresh, /^prj_test_pk_[0-9a-f]{40}$/)
  const update = { deviceId: 'guard', ...at(here) }
  t.equal((await server.api('POST', '/v1/track', update, testPublishable)).status, 401, 'the old key')
  t.equal((await server.api('POST', '/v1/track', update, fresh)).status, 200, 'the new key')
  for (const key of [livePublishable, otherPublishable!])
    t.equal((await server.api('POST', '/v1/track', update, key)).status, 200, 'others’ keys stay')
  await server.stop()
})

t.test('records survive a restart', async (t) => {
  const here = place()
  await api.circle('restart/1', here, 100)
  const { user, events } = await api.track({
    deviceId: 'restart',
    userId: 'r',
    ...at(here),
    metadata: { a: 1 },
  })
  await api.server.kill9()
  await api.server.restart()
  t.strictSame((await get('/v1/users/restart')).user, user)
  t.strictSame((await get(`/v1/events/${events[0]._id}`)).event, events[0])
  t.strictSame(briefly((await api.track({ deviceId: 'restart', userId: 'r', ...at(here, 500) })).events), [
    'exited restart/1 3',
  ])
})
