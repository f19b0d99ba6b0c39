/**
 * Hostile worlds and clients against a real process (issue 2, "Bad input"): geometry at its limits, 10,000 geofences
 * on one point, clients that hang up, send slowly or send nonsense. Nothing hangs, and nothing is left behind.
 */
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { KEYS } from '../kit/server.ts'
import { briefly, north, startApi, type Json } from './contract.ts'
import { all, metric, metrics, MIB, settled, strictCall, unharmed } from './strict.ts'
import { until } from '../kit/waiting.ts'

const { testPublishable, livePublishable, liveSecret } = KEYS

const api = await startApi(t)
const { server } = api
const call = strictCall(api)

const UPDATE = { deviceId: 'bad', latitude: 50, longitude: 10, accuracy: 5 }

t.test('a polygon of 2,000 points, the device on a vertex', async (t) => {
  const ring = Array.from({ length: 1999 }, (_, i) => {
    const angle = (2 * Math.PI * i) / 1999
    const radius = i % 2 ? 0.01 : 0.02
    return [30 + radius * Math.cos(angle), 40 + radius * Math.sin(angle)] as [number, number]
  })
  const put = (coordinates: Json) =>
    call('PUT', '/v1/geofences/spiky/1', { description: 'Spiky', type: 'polygon', coordinates })
  const closed = [...ring, ring[0]!]
  t.equal((await put(closed)).status, 200)
  for (let i = 0; i < ring.length; i += 97) {
    const [longitude, latitude] = ring[i]!
    const update = { deviceId: `vertex-${i}`, latitude, longitude, accuracy: 5 }
    t.strictSame(
      (await api.track(update)).events.map((e: Json) => e.geofence.tag),
      ['spiky'],
      `vertex ${i}`,
    )
    t.equal((await api.track({ ...update, accuracy: 1e9 })).events.length, 0, 'still inside')
  }
  t.equal((await put([...ring, [30.05, 40], ring[0]])).body.meta.param, 'coordinates', '2,001 points')
  t.equal((await put(ring)).body.meta.param, 'coordinates', 'not closed')
  t.equal((await put(closed.slice(0, 2))).body.meta.param, 'coordinates')
  t.equal(
    (
      await put([
        [30, 40],
        [31, 41],
        [31, 40],
        [30, 41],
        [30, 40],
      ])
    ).body.meta.param,
    'coordinates',
    'crosses itself',
  )
  t.equal(
    (
      await put([
        [30, 40],
        [30, 40],
        [30, 40],
        [30, 40],
      ])
    ).body.meta.param,
    'coordinates',
    'is a point',
  )
  t.equal(
    (await call('GET', '/v1/geofences/spiky/1')).body.geofence.geometry.coordinates[0].length,
    2000,
    'unchanged',
  )
})

t.test('poles, antimeridian and any accuracy', async (t) => {
  await api.circle('edge/north', [0, 90], 10_000)
  await api.circle('edge/south', [0, -90], 10_000)
  await api.circle('edge/date', [180, 0], 10_000)
  const first = async (latitude: number, longitude: number, accuracy = 5) =>
    briefly(
      (await api.track({ deviceId: `${latitude} ${longitude} ${accuracy}`, latitude, longitude, accuracy }))
        .events,
    ).join()
  for (const longitude of [-180, -90.5, 0, 180]) {
    t.equal(await first(90, longitude), 'entered edge/north 3')
    t.equal(await first(-90, longitude), 'entered edge/south 3')
    t.equal(await first(89.95, longitude), 'entered edge/north 3')
  }
  for (const longitude of [-180, 180, 179.95, -179.95])
    t.equal(await first(0.01, longitude), 'entered edge/date 3')
  t.equal(await first(0, 180, 1e9), 'entered edge/date 1')
  t.equal(await first(90, 180, 1e9), 'entered edge/north 1')
  t.equal(await first(0, 180, 5e-324), 'entered edge/date 3')
  for (const accuracy of [0, -1, -1e9, '1e999'])
    t.equal((await call('POST', '/v1/track', { ...UPDATE, accuracy })).body.meta.param, 'accuracy')
  for (const near of ['90,180', '-90,-180', '90,0', '0,180', '0,-180'])
    for (const what of ['users', 'geofences'])
      t.ok((await call('GET', `/v1/search/${what}?near=${near}`)).body[what].length > 0, `${what} ${near}`)
})

t.test('10,000 geofences on one point', async (t) => {
  const numbers = Array.from({ length: 10_000 }, (_, i) => i)
  // Directly, because comparing ten thousand answers with the document would take too long.
  const circle = { description: 'x', type: 'circle', coordinates: [60, 10] }
  await all(numbers, async (i) => {
    const body = { ...circle, radius: 50 + (i % 100) }
    const { status } = await server.api('PUT', `/v1/geofences/crowd/${i}`, body, liveSecret)
    if (status !== 200) throw new Error(`geofence ${i} → ${status}`)
  })
  const update = { deviceId: 'crowded', longitude: 60, accuracy: 5 }
  for (const [kind, metersNorth] of [
    ['entered', 0],
    ['exited', 1000],
  ] as const) {
    const body = { ...update, latitude: north(10, metersNorth) }
    const { status, body: answer } = await call('POST', '/v1/track', body, livePublishable)
    t.equal(status, 200)
    const pairs = new Set(answer.events.map((e: Json) => `${e.type} ${e.geofence._id}`))
    t.equal(pairs.size, 10_000, kind)
    t.equal(new Set(answer.events.map((e: Json) => e._id)).size, 10_000)
    t.ok(answer.events.every((e: Json) => e.type === `user.${kind}_geofence`))
    t.equal(answer.user.geofences.length, kind === 'entered' ? 10_000 : 0)
    if (kind === 'exited') break
    const { explanation } = (await call('GET', '/v1/users/crowded/explain', undefined, liveSecret)).body
    t.equal(explanation.candidates.length, 10_000)
  }
  // Each event repeats the user's metadata. 131 kB of it in ten thousand events is refused and changes nothing.
  const metadata = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}`, 'x'.repeat(4096)]))
  for (const deviceId of ['crowded', 'heavy']) {
    const body = { ...update, deviceId, latitude: 10, metadata }
    const answer = await call('POST', '/v1/track', body, livePublishable)
    t.equal(answer.status, 400)
    t.equal(answer.body.meta.param, 'metadata')
  }
  t.equal((await call('GET', '/v1/users/heavy', undefined, liveSecret)).status, 404)
  t.notOk('metadata' in (await call('GET', '/v1/users/crowded', undefined, liveSecret)).body.user)
  const replays = [0, 1000].map((metersNorth, i) => ({
    ...update,
    deviceId: 'heavy',
    latitude: north(10, metersNorth),
    updatedAtMs: Date.now() + i,
    metadata: { text: 'x'.repeat(2000) },
  }))
  const replay = await call('POST', '/v1/track/replay', { replays }, livePublishable)
  t.equal(replay.body.events.length, 10_000)
  t.equal(replay.body.meta.omittedEvents, 10_000, 'an answer is bounded, and says what it leaves out')
  t.equal(replay.body.user.geofences.length, 0)

  const page = await call('GET', '/v1/events?limit=1000&deviceId=crowded', undefined, liveSecret)
  t.equal(page.body.events.length, 1000)
  t.equal(page.body.meta.hasMore, true)
  const near = await call(
    'GET',
    '/v1/search/geofences?near=10,60&limit=1000&includeGeometry=false',
    undefined,
    liveSecret,
  )
  t.equal(near.body.geofences.length, 1000)
})

/** A connection that has sent this text. */
async function send(text: string): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  await new Promise((resolve) => socket.write(text, resolve))
  return socket
}

const head = (length: number, more = '') =>
  `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: ${testPublishable}\r\nContent-Type: application/json\r\n` +
  `${more}Content-Length: ${length}\r\n\r\n`

t.test('answers that clients do not read are bounded in bytes (G7)', async (t) => {
  // More than the buffers of the system hold: 100 polygons with 2,000 points each.
  const coordinates = Array.from({ length: 1999 }, (_, i) => {
    const angle = (2 * Math.PI * i) / 1999
    return [80 + 0.123456789 * Math.cos(angle), 40 + 0.123456789 * Math.sin(angle)]
  })
  const polygon = { description: 'x', type: 'polygon', coordinates: [...coordinates, coordinates[0]] }
  await all(Array.from({ length: 100 }).keys().toArray(), (i) =>
    server.api('PUT', `/v1/geofences/large/${i}`, polygon),
  )
  const search = '/v1/search/geofences?near=40,80&limit=100'
  const nearby = {
    deviceId: 'amid-large',
    latitude: 40,
    longitude: 80,
    accuracy: 5,
    nearbyGeofences: true,
    nearbyGeofencesLimit: 100,
  }
  const json = JSON.stringify(nearby)
  const auth = `Host: x\r\nAuthorization: ${testPublishable}\r\n`
  const track = `POST /v1/track HTTP/1.1\r\n${auth}Content-Type: application/json\r\n`
  const requests = {
    'GET /v1/search/geofences': `GET ${search} HTTP/1.1\r\n${auth}\r\n`,
    'POST /v1/track': `${track}Content-Length: ${json.length}\r\n\r\n${json}`,
    // It is the last request of its connection, which is closed after the answer.
    'POST /v1/track in chunks': `${track}Transfer-Encoding: chunked\r\n\r\n${json.length.toString(16)}\r\n${json}\r\n0\r\n\r\n`,
  }
  const sizes = {
    GET: JSON.stringify((await call('GET', search)).body).length,
    POST: JSON.stringify((await call('POST', '/v1/track', nearby, testPublishable)).body).length,
  }
  for (const [name, text] of Object.entries(requests)) {
    await t.test(name, async (t) => {
      const [method, route] = name.split(' ') as ['GET' | 'POST', string]
      const size = sizes[method]
      t.ok(size > 7 * MIB, `${size} bytes each`)
      const ended = `http_requests_total{method="${method}",route="${route}"`
      const before = await metric(api, ended)
      const sockets = await Promise.all(Array.from({ length: 15 }, async () => (await send(text)).pause()))
      // Answers are made in turns. Connections are closed when more answers are waiting for their readers than may
      // wait.
      let unread = 0
      let most = 0
      await until(async () => {
        const [after, inFlight, bytes] = await metrics(api, ended, 'http_in_flight', 'http_unread_bytes')
        const underWay = inFlight - 1
        unread = bytes
        most = Math.max(most, unread)
        // All have arrived, and only as many remain as there is room for.
        return after - before + underWay === 15 && underWay <= (64 * MIB) / size
      })
      t.ok(unread > 0, `${unread} bytes are kept for clients that do not read`)
      t.ok(most <= 64 * MIB, `${most} bytes at most: the slowest were cut off`)
      t.equal((await call('GET', search)).body.geofences.length, 100, 'who reads is answered')
      for (const socket of sockets) socket.destroy()
      await settled(t, api)
      t.equal(await metric(api, 'http_unread_bytes'), 0)
    })
  }
})

t.test('clients that hang up leave nothing behind', async (t) => {
  const body = JSON.stringify(UPDATE)
  const sockets = await Promise.all(
    Array.from({ length: 60 }, (_, i) => {
      if (i % 4 === 0) return send(head(body.length).slice(0, 40))
      if (i % 4 === 1) return send(head(MIB) + '{"a":"' + 'x'.repeat(100_000 + i))
      if (i % 4 === 2) return send(head(body.length) + body.slice(0, 20))
      return send(head(body.length) + body)
    }),
  )
  // Requests of 100,000 bytes, a quarter of them all.
  await until(async () => (await metric(api, 'http_held_bytes')) > 15 * 100_000)
  for (const socket of sockets) socket.destroy()
  const replays = JSON.stringify({
    replays: Array.from({ length: 1000 }, (_, i) => ({ ...UPDATE, deviceId: `gone-${i}` })),
  })
  for (let i = 0; i < 20; i++) {
    const text = head(replays.length).replace('/v1/track', '/v1/track/replay') + replays
    ;(await send(text)).resetAndDestroy()
  }
  await settled(t, api)
})

t.test('slow, chunked, expecting and pipelining clients are answered', async (t) => {
  const body = JSON.stringify({ ...UPDATE, description: 'ü'.repeat(500) })
  const bytes = Buffer.from(body)
  const slow = connect(server.port, '127.0.0.1')
  await once(slow, 'connect')
  slow.write(head(bytes.length))
  for (let i = 0; i < bytes.length; i += 50) {
    slow.write(bytes.subarray(i, i + 50))
    await sleep(10)
  }
  const [text] = await once(slow, 'data')
  t.match(String(text), /^HTTP\/1\.1 200 OK\r\n/)
  slow.destroy()

  for (const headers of [{}, { expect: '100-continue' }]) {
    const status = await new Promise<number>((resolve, reject) => {
      const out = request(
        {
          port: server.port,
          method: 'POST',
          path: '/v1/track',
          headers: { authorization: testPublishable, 'content-type': 'application/json', ...headers },
        },
        (answer) => {
          answer.resume()
          resolve(answer.statusCode!)
        },
      )
      out.on('error', reject)
      for (let i = 0; i < bytes.length; i += 100) out.write(bytes.subarray(i, i + 100))
      out.end()
    })
    t.equal(status, 200, `chunked ${JSON.stringify(headers)}`)
  }

  const get = `GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`
  const pipelining = await send(get + get)
  let answers = ''
  pipelining.on('data', (chunk) => (answers += chunk))
  await until(() => answers.split('HTTP/1.1 200').length >= 3)
  t.equal(answers.split('HTTP/1.1 200').length, 3)
  pipelining.destroy()

  await settled(t, api)
})

t.test('at the end the server is in the same state as before', (t) => unharmed(t, api))
