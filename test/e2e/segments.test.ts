/** Segments of users on a real server: the rules, by every way in, and what is wrong in them. */
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { Stream } from '../kit/stream.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
type Json = any

const KONSTANZ = { latitude: 47.669, longitude: 9.1758 }
const KREUZLINGEN = { latitude: 47.645, longitude: 9.17 }
const server = await startServer(t)

const { good } = server

const set = (settings: object) => good('PATCH', '/v1/settings', settings)
const segment = (externalId: string, rule: object) => ({
  description: `Segment ${externalId}`,
  externalId,
  rule,
})
const idsOf = ({ segments }: Json): string[] => segments.map(({ externalId }: Json) => externalId)

function track(deviceId: string, more: object, key: string = KEYS.testPublishable): Promise<Json> {
  return good('POST', '/v1/track', { deviceId, accuracy: 10, ...more }, key)
}

await good('PUT', '/v1/geofences/border/town', {
  description: 'Town',
  type: 'circle',
  coordinates: [KONSTANZ.longitude, KONSTANZ.latitude],
  radius: 500,
})

t.test('every kind of rule', async (t) => {
  const kinds = [
    segment('gold', { metadata: { tier: 'gold', age: 3 } }),
    segment('german', { country: 'de' }),
    segment('here', { geofence: { tag: 'border' } }),
    segment('town', { geofence: { tag: 'border', externalId: 'town' } }),
    segment('other town', { geofence: { tag: 'border', externalId: 'other' } }),
    segment('elsewhere', { not: { any: [{ country: 'DE' }, { country: 'AT' }] } }),
    segment('visitor', { event: { type: 'user.entered_geofence', tag: 'border' } }),
    segment('both', { all: [{ country: 'CH' }, { event: { type: 'user.entered_geofence' } }] }),
    segment('buyer', { event: { type: 'bought', atLeast: 2, withinDays: 1 } }),
    segment('traveller', { event: { type: 'user.exited_region_country' } }),
  ]
  const { settings } = await set({ regions: true, segments: kinds })
  t.strictSame(settings.segments[1], {
    description: 'Segment german',
    externalId: 'german',
    rule: { country: 'DE' },
  })
  const event = { type: 'user.entered_geofence', tag: 'border', withinDays: 30, atLeast: 1 }
  t.strictSame(settings.segments[6].rule, { event }, 'with the defaults')
  t.strictSame((await good('GET', '/v1/settings')).settings, settings)

  const first = await track('ann', { ...KONSTANZ, metadata: { tier: 'gold', age: 3 } })
  t.strictSame(idsOf(first.user), ['gold', 'german', 'here', 'town', 'visitor'])
  t.strictSame(first.user.segments[0], { description: 'Segment gold', externalId: 'gold' })
  const away = await track('ann', { ...KREUZLINGEN, metadata: { tier: 'gold', age: '3' } })
  t.strictSame(idsOf(away.user), ['elsewhere', 'visitor', 'both', 'traveller'], 'an update changes metadata')
  for (let i = 0; i < 2; i++) await good('POST', '/v1/events', { deviceId: 'ann', name: 'bought' })
  t.notOk(idsOf((await good('GET', '/v1/users/ann')).user).includes('buyer'), 'decided by the next update')
  t.ok(
    idsOf((await track('ann', KREUZLINGEN)).user).includes('buyer'),
    'also by one that changes nothing else',
  )
  t.ok(idsOf((await good('GET', '/v1/users/ann')).user).includes('buyer'))
  t.strictSame(idsOf((await track('bob', KREUZLINGEN)).user), ['elsewhere'], 'counted for each user')
})

t.test('by replay, stream and anonymously; a kill keeps them, erasure does not', async (t) => {
  const { user } = await good('POST', '/v1/track/replay', {
    replays: [
      { deviceId: 'cy', ...KONSTANZ, accuracy: 10, updatedAt: new Date(Date.now() - 5000).toISOString() },
      { deviceId: 'cy', ...KREUZLINGEN, accuracy: 10, updatedAt: new Date(Date.now() - 3000).toISOString() },
    ],
  })
  t.ok(idsOf(user).includes('both'))
  const stream = await Stream.open(server)
  t.teardown(() => stream.close())
  stream.send({
    type: 'track',
    id: 1,
    events: true,
    updates: [{ deviceId: 'dan', ...KONSTANZ, accuracy: 10 }],
  })
  await stream.next()
  t.ok(idsOf((await good('GET', '/v1/users/dan')).user).includes('visitor'))
  const anonymous = await track('anonymous', KONSTANZ)
  t.strictSame(idsOf(anonymous.user), ['german', 'here', 'town', 'visitor'], 'what this update alone says')

  const before = idsOf((await good('GET', '/v1/users/ann')).user)
  await server.kill9()
  await server.restart()
  t.strictSame(idsOf((await good('GET', '/v1/users/ann')).user), before)
  t.ok(idsOf((await track('ann', KREUZLINGEN)).user).includes('buyer'), 'and the counts')
  await good('DELETE', '/v1/users/ann')
  t.strictSame(idsOf((await track('ann', KREUZLINGEN)).user), ['elsewhere'])
})

t.test('events count since the rule was set; another rule does not begin it again', async (t) => {
  const sold = segment('sold', { event: { type: 'sold', atLeast: 2 } })
  const sell = () => good('POST', '/v1/events', { deviceId: 'eve', name: 'sold' })
  const now = async () => idsOf((await track('eve', KREUZLINGEN)).user)
  await track('eve', KREUZLINGEN)
  await sell()
  await sell()
  await set({ segments: [sold] })
  t.strictSame(await now(), [], 'what was before does not count')
  await sell()
  t.strictSame(await now(), [])
  await set({ segments: [segment('swiss', { country: 'CH' }), sold] })
  t.strictSame(await now(), ['swiss'])
  await sell()
  t.strictSame(await now(), ['swiss', 'sold'])
  await set({ segments: [segment('sold', { event: { type: 'sold', atLeast: 3 } })] })
  t.strictSame(await now(), [], 'a rule that is changed begins again')
})

t.test('segments that are replaced, removed and hidden', async (t) => {
  await set({ segments: JSON.stringify([segment('german', { country: 'DE' })]) })
  t.strictSame(
    idsOf((await good('GET', '/v1/users/cy')).user),
    [],
    'a segment that is no longer set is not shown',
  )
  await set({ segments: null })
  t.strictSame((await good('GET', '/v1/settings')).settings.segments, [])
  t.strictSame(idsOf((await track('cy', KONSTANZ)).user), [])
  const live = await server.api('GET', '/v1/settings', undefined, KEYS.liveSecret)
  t.strictSame(live.body.settings.segments, [], 'G8')
})

t.test('bad rules are refused with their place, and nothing changes', async (t) => {
  await set({ segments: [segment('kept', { country: 'DE' })] })
  const nested = (levels: number): object => (levels === 1 ? { country: 'DE' } : { not: nested(levels - 1) })
  const many = (count: number, rule: object) => ({ any: Array.from({ length: count }, () => rule) })
  const event = { event: { type: 'bought' } }
  const BAD: readonly (readonly [rule: unknown, message: RegExp])[] = [
    [nested(5), /segments\[0\]\.rule\.not\.not\.not\.not is nested too deep: a rule has at most 4 levels/],
    [
      many(21, { country: 'DE' }),
      /segments\[0\]\.rule\.any\[20\] is one too many: a rule may have at most 20/,
    ],
    [{ nation: 'DE' }, /segments\[0\]\.rule has an unknown member, nation\. Valid members: all, any, not/],
    [{ country: 'DE', state: 'NY' }, /segments\[0\]\.rule must have exactly one member/],
    [{}, /must have exactly one member/],
    ['DE', /rule must be a dictionary/],
    [undefined, /rule is required/],
    [{ all: [] }, /rule\.all must be a list of one or more rules/],
    [{ all: [{ not: 5 }] }, /rule\.all\[0\]\.not must be a dictionary/],
    [{ country: 'DEU' }, /rule\.country must be the code of a country/],
    [{ state: 5 }, /rule\.state must be the code of a state/],
    [{ chain: 'Burger King' }, /rule\.chain must be a slug/],
    [{ category: '' }, /rule\.category must be a slug/],
    [{ metadata: {} }, /rule\.metadata must have 1 to 32 keys/],
    [{ metadata: { a: [] } }, /rule\.metadata\.a must be a string, number or boolean/],
    [{ geofence: { externalId: 'a' } }, /rule\.geofence\.tag is required/],
    [{ geofence: { tag: 'a', id: 'b' } }, /rule\.geofence has an unknown member, id/],
    [{ event: { tag: 'a' } }, /rule\.event\.type is required/],
    [
      { event: { type: 'user.entered_geofense' } },
      /rule\.event\.type must be the name of a conversion or one of/,
    ],
    [{ event: { type: 'user.started_trip' } }, /rule\.event\.type must be/],
    [{ event: { type: 'bought', tag: 'a' } }, /rule\.event\.tag only fits events of geofences and beacons/],
    [
      { event: { type: 'user.entered_geofence', chain: 'a' } },
      /rule\.event\.chain only fits events of places/,
    ],
    [{ event: { type: 'bought', atLeast: 101 } }, /atLeast must be an integer\. Valid range: \[1, 100\]/],
    [{ event: { type: 'bought', withinDays: 91 } }, /withinDays must be an integer\. Valid range: \[1, 90\]/],
    [{ event: { type: 'bought', withinDays: 0 } }, /withinDays/],
    [{ event: { type: 'bought', atLeast: 1.5 } }, /atLeast/],
    [{ event: { type: 'bought', within: 1 } }, /rule\.event has an unknown member, within/],
  ]
  const refused = async (segments: unknown, message: RegExp) =>
    t.match(
      await server.api('PATCH', '/v1/settings', { segments }),
      { status: 400, body: { meta: { param: /^segments/, message } } },
      `${message}`,
    )
  for (const [rule, message] of BAD) await refused([{ description: 'd', externalId: 'e', rule }], message)
  const one = segment('a', { country: 'DE' })
  await refused([one, one], /segments\[1\]\.externalId must differ/)
  await refused(
    Array.from({ length: 51 }, (_, i) => segment(`${i}`, { country: 'DE' })),
    /at most 50 items/,
  )
  await refused([segment('a', many(11, event)), segment('b', many(10, event))], /at most 20 event conditions/)
  await refused([{ ...one, description: undefined }], /segments\[0\]\.description is required/)
  await refused([{ ...one, externalId: '' }], /segments\[0\]\.externalId must be a string of 1 to 256/)
  await refused([{ ...one, name: 'x' }], /segments\[0\] has an unknown member, name/)
  await refused(['a'], /segments/)
  await refused({ a: 1 }, /segments/)
  await refused('[{', /segments/)
  await set({ segments: [segment('edge', { all: [nested(3), many(18, { country: 'DE' })] })] })
  await set({ segments: [segment('edge', many(20, event)), segment('deep', nested(4))] })
  t.equal((await good('GET', '/v1/settings')).settings.segments.length, 2, 'at the limits')
})
