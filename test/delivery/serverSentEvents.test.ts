/**
 * `GET /v1/events/stream` from outside: which events come, from which position, and which connections are closed
 * when.
 */
import t from 'tap'
import { command } from '../cli/command.ts'
import { EventSource } from '../kit/eventSource.ts'
import { KEYS, startServer, type Server } from '../kit/server.ts'
import { Stream } from '../kit/stream.ts'
import { checkShapes, crossShapes, type Delivered } from './shapes.ts'
import { until } from '../kit/waiting.ts'

const server = await startServer(t)

interface Made {
  readonly _id: string
  readonly type: string
}

async function record(of: Server, name: string, deviceId = 'device', more: object = {}): Promise<Made> {
  return (await of.good('POST', '/v1/events', { name, deviceId, ...more })).event
}

async function metric(of: Server, name: string): Promise<number> {
  const { body } = await of.api('GET', '/metrics', undefined, null)
  return Number(new RegExp(`^ringfence_${name} (\\S+)$`, 'm').exec(body)![1])
}

t.test('events as they happen, only those of the key’s environment', async (t) => {
  await record(server, 'before')
  const source = await EventSource.open(server)
  t.equal(source.status, 200)
  t.match(source.response.headers, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  await server.api('POST', '/v1/events', { name: 'elsewhere', deviceId: 'device' }, KEYS.liveSecret)
  const events = [await record(server, 'first'), await record(server, 'second')]
  for (const event of events) t.same(await source.next(), { id: event._id, event: event.type, data: event })
  t.ok(source.comments > 0, 'it begins at once')
  source.hangUp()

  t.equal((await EventSource.open(server, { key: KEYS.testPublishable })).status, 403)
  t.equal((await EventSource.open(server, { key: 'nonsense' })).status, 401)
})

t.test('filters', async (t) => {
  await server.api('PUT', '/v1/geofences/store/one', {
    type: 'circle',
    description: 'store',
    coordinates: [7, 50],
    radius: 100,
  })
  const queries: Readonly<
    Record<string, (event: { _id: string; type: string; user: Record<string, string> }) => boolean>
  > = {
    '?types=user.entered_geofence,bought': ({ type }) => type !== 'user.exited_geofence',
    '?tags=store,%20other': ({ type }) => type !== 'bought',
    '?externalIds=one&types=user.exited_geofence': ({ type }) => type === 'user.exited_geofence',
    '?userIds=u1': ({ user }) => user.userId === 'u1',
    '?deviceIds=d2&userIds=u1,u2': ({ user }) => user.deviceId === 'd2',
    '?deviceIds=,': () => true,
  }
  const sources = await Promise.all(Object.keys(queries).map((query) => EventSource.open(server, { query })))
  const made = []
  for (const number of [1, 2]) {
    const who = { deviceId: `d${number}`, userId: `u${number}` }
    for (const longitude of [7, 8]) {
      const at = { ...who, latitude: 50, longitude, accuracy: 5 }
      made.push(...(await server.api('POST', '/v1/track', at)).body.events)
    }
    made.push(await record(server, 'bought', who.deviceId, { userId: who.userId }))
  }
  t.equal(made.length, 6)
  for (const [i, [query, isWanted]] of Object.entries(queries).entries()) {
    const wanted = made.filter(isWanted)
    for (const event of wanted) t.same((await sources[i]!.next())?.data, event, query)
    sources[i]!.hangUp()
  }
})

t.test('live and stored events contain the location of their geofences', async (t) => {
  const live = await EventSource.open(server)
  const marker = await record(server, 'marker')
  await crossShapes(server, 'shaped')
  const resumed = await EventSource.open(server, { lastEventId: marker._id })
  for (const source of [live, resumed]) {
    const events: Delivered[] = []
    while (events.length < 4) {
      const next = (await source.next())!.data as Delivered
      if (next.geofence !== undefined) events.push(next)
    }
    checkShapes(t, events)
    source.hangUp()
  }
})

t.test('a mistyped filter is refused, because ignoring it would select all events', async (t) => {
  for (const name of ['deviceId', 'type', 'bogus']) {
    const { status, body } = await server.api('GET', `/v1/events/stream?${name}=x`)
    t.match([status, body.meta.param], [400, name])
    t.match(
      body.meta.message,
      /No such field\. There are types, tags, externalIds, userIds, deviceIds, placeIds, chains, categories, regions, failureReasons, from\./,
    )
  }
  const url = 'https://example.com/hook'
  const { status, body } = await server.api('POST', '/v1/webhooks', { url, type: ['bought'] })
  t.match([status, body.meta.param], [400, 'type'])
})

t.test('a name with line breaks is written as one line, and the record contains it unchanged', async (t) => {
  const source = await EventSource.open(server)
  const name = 'a\r\nid: forged\ndata: {}\rb\n\n'
  const event = await record(server, name)
  t.same(await source.next(), { id: event._id, event: 'a  id: forged data: {} b  ', data: event })
  t.equal(event.type, name)
  const next = await record(server, 'next')
  t.equal((await source.next())?.id, next._id)
  source.hangUp()
})

t.test('where it begins', async (t) => {
  const [first, second, third] = [
    await record(server, 'a'),
    await record(server, 'b'),
    await record(server, 'c'),
  ]
  const begins = async (options: Parameters<typeof EventSource.open>[1]) => {
    const source = await EventSource.open(server, options)
    const { id } = (await source.next())!
    source.hangUp()
    return id
  }
  t.equal(await begins({ query: `?from=${first._id}` }), second._id)
  t.equal(await begins({ lastEventId: second._id }), third._id)
  t.equal(
    await begins({ query: `?from=${first._id}`, lastEventId: second._id }),
    third._id,
    'the header wins',
  )
  for (const unknown of ['f'.repeat(24), 'nonsense', '-1']) {
    t.equal((await EventSource.open(server, { lastEventId: unknown })).status, 404, unknown)
    t.equal((await EventSource.open(server, { query: `?from=${unknown}` })).status, 404, unknown)
  }
  const elsewhere = await EventSource.open(server, { lastEventId: first._id, key: KEYS.liveSecret })
  t.equal(elsewhere.status, 404, 'of another environment')
})

t.test('deleted events are not sent to a reader that reconnects', async (t) => {
  // Another reader follows the stream, so that the last events are in memory.
  const other = await EventSource.open(server)
  const made = [await record(server, 'a'), await record(server, 'b'), await record(server, 'c')]
  // If the stream ended, this would throw instead of looking for ever.
  while ((await other.next())!.id !== made[2]!._id);
  t.equal((await server.api('DELETE', `/v1/events/${made[1]!._id}`)).status, 200)
  const source = await EventSource.open(server, { lastEventId: made[0]!._id })
  t.equal((await source.next())?.id, made[2]!._id)
  source.hangUp()
  other.hangUp()
})

t.test('a reader that hangs up leaves nothing behind', async (t) => {
  const own = server
  // Those of the other tests have hung up.
  await until(async () => (await metric(own, 'event_readers')) === 0)
  for (let round = 0; round < 3; round++) {
    const sources = await Promise.all(Array.from({ length: 50 }, () => EventSource.open(own)))
    t.equal(await metric(own, 'event_readers'), 50)
    if (round === 1) await record(own, 'heard')
    for (const source of sources) source.hangUp()
    await until(async () => (await metric(own, 'event_readers')) === 0)
    t.equal(await metric(own, 'http_unread_bytes'), 0)
  }
  for (let i = 0; i < 20; i++) {
    const head = await fetch(`${own.url}/v1/events/stream`, {
      method: 'HEAD',
      headers: { authorization: KEYS.testSecret },
    })
    t.match([head.status, head.headers.get('content-type')], [200, 'text/event-stream'])
  }
  t.equal(await metric(own, 'event_readers'), 0, 'who asks for the head alone is no reader')
})

// They wait for most of their time: until keys are checked, and until servers are there again.
t.test('with servers of their own', async (t) => {
  t.jobs = 4

  t.test('each event comes once and in order, despite kills and restarts', async (t) => {
    const own = await startServer(t)
    const made = [(await record(own, 'first'))._id]
    const got = [made[0]!]
    const ROUND = 60
    const ends: string[] = []
    const hasAll = () => got.length >= 1 + 3 * ROUND
    const reader = (async () => {
      for (let turn = 1; !hasAll(); turn++) {
        const source = await EventSource.open(own, { lastEventId: got.at(-1)! }).catch(() => undefined)
        if (source?.status !== 200) {
          await new Promise((resolve) => setTimeout(resolve, 20))
          continue
        }
        for (let i = 0; i < 7 * turn && !hasAll(); i++) {
          const event = await source.next()
          if (event === undefined) {
            ends.push(await source.end())
            break
          }
          got.push(event.id)
        }
        source.hangUp()
      }
    })()
    for (const how of ['kill9', 'stop', undefined] as const) {
      for (let i = 0; i < ROUND; i++) made.push((await record(own, `${i}`))._id)
      if (how === undefined) continue
      await until(async () => (await metric(own, 'event_readers')) > 0)
      await own[how]()
      await own.restart()
    }
    await reader
    t.same(got, made)
    t.same(ends, ['cut', 'whole'], 'a kill cuts the stream off, a shutdown ends it')
  })

  t.test(
    'a key that is rotated, and a project that may make no more requests, end their streams',
    async (t) => {
      const own = await startServer(t)
      const [rotated, live] = await Promise.all([
        EventSource.open(own),
        EventSource.open(own, { key: KEYS.liveSecret }),
      ])
      const { body } = await own.api('POST', '/v1/keys/secret/rotate')
      const fresh = await EventSource.open(own, { key: body.key.key })
      t.equal(await rotated.end(), 'whole', 'it is ended, not cut off')
      t.match(rotated.lastComment, /^ The key is no longer valid/)
      t.equal((await EventSource.open(own)).status, 401, 'who comes back is refused')
      const event = await own.api('POST', '/v1/events', { name: 'on', deviceId: 'd' }, body.key.key)
      t.equal((await fresh.next())?.id, event.body.event._id, 'streams of the new key go on')

      const quota = await command(['projects', 'quota', '1', '9', '--data', own.data])
      t.equal(quota.code, 0, quota.output)
      while ((await own.api('GET', '/v1/geofences', undefined, KEYS.liveSecret)).status === 200);
      for (const stream of [fresh, live]) {
        t.equal(await stream.end(), 'whole')
        t.match(stream.lastComment, /^ Payment required: the monthly quota of 9 requests is used up/)
      }
      await until(async () => (await metric(own, 'event_readers')) === 0)
    },
  )

  t.test('a stream of a key that was replaced ends when that key expires, not before', async (t) => {
    const own = await startServer(t)
    const source = await EventSource.open(own)
    const socket = await Stream.open(own)
    const oldKeyValidUntil = Date.now() + 2000
    const { body } = await own.api('POST', '/v1/keys/secret/rotate', { oldKeyValidUntil })
    const event = await own.api('POST', '/v1/events', { name: 'on', deviceId: 'd' }, body.key.key)
    t.equal((await source.next())?.id, event.body.event._id)
    t.equal(await source.end(), 'whole')
    t.match(source.lastComment, /^ The key is no longer valid/)
    t.match(await socket.closed, { code: 4401 })
    t.ok(Date.now() >= oldKeyValidUntil, 'both stayed until then')
    t.equal((await own.api('GET', '/v1/keys')).status, 401)
  })

  t.test('a reader that stalls keeps some kilobytes waiting, and gets the rest when it reads', async (t) => {
    const own = await startServer(t)
    let source = await EventSource.open(own)
    let last = (await record(own, 'first', 'd0'))._id
    t.equal((await source.next())?.id, last)
    source.response.pause()
    const metadata = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}`, 'x'.repeat(4000)]))
    const count = 150
    let posted = 0
    let most = 0
    const post = async () => {
      while (posted < count) {
        posted++
        await record(own, `${posted}`, `d${posted}`, { metadata })
        if (posted % 5 === 0) most = Math.max(most, await metric(own, 'http_unread_bytes'))
      }
    }
    await Promise.all(Array.from({ length: 8 }, post))
    t.ok(most > 0, 'it is behind')
    t.ok(most < 7_000_000, `${most} bytes wait for it: at most one stretch`)
    source.response.resume()
    const seen: string[] = []
    while (seen.length < count) {
      const event = await source.next()
      if (event === undefined) {
        // It was cut off, because on a busy machine it did not read for more than ten seconds.
        source = await EventSource.open(own, { lastEventId: last })
        continue
      }
      seen.push(event.event)
      last = event.id
    }
    t.equal(new Set(seen).size, count, 'each once')
    source.hangUp()
  })
})
