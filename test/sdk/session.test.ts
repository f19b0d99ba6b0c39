/** The client in a page in which a person has signed in, and its batches of positions, with a real server. */
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { Ringfence, RingfenceError, type Position } from '../../sdk/src/index.ts'
import { KEYS, startServer } from '../kit/server.ts'

const server = await startServer(t)
const BERLIN = { latitude: 52.5, longitude: 13.4, accuracy: 5 }
const AREA = { type: 'circle', center: [13.4, 52.5], radius: 1000 } as const

const ENDED = { name: 'RingfenceError', status: 401 }

/** What a browser does for its page: it keeps cookies, and sends them with the page's origin. */
function inBrowser(test: Test, origin: string): void {
  const { fetch } = globalThis
  let cookie = ''
  globalThis.fetch = async (address, init = {}) => {
    const headers = new Headers(init.headers)
    if (cookie !== '') headers.set('cookie', cookie)
    if (init.method !== 'GET') headers.set('origin', origin)
    const answer = await fetch(address, { ...init, headers })
    const set = answer.headers.get('set-cookie')
    if (set !== null) cookie = set.slice(0, set.indexOf(';'))
    return answer
  }
  test.teardown(() => (globalThis.fetch = fetch))
}

t.test('calls and streams of somebody who has signed in, until the session ends', async (t) => {
  inBrowser(t, server.url)
  const page = new Ringfence({ url: server.url, session: 'test', WebSocket })
  await t.rejects(page.get('/v1/settings'), ENDED)
  await t.rejects(page.stream().track({ deviceId: 'd', ...BERLIN }), ENDED)
  await page.post('/v1/sessions', { body: { key: KEYS.testSecret } })
  t.match(await page.get('/v1/settings'), { settings: { dwellEvents: false } })

  const stream = page.stream()
  const positions = stream.watch(AREA, { minIntervalMs: 0 })
  await positions.ready
  await stream.track({ deviceId: 'd', ...BERLIN })
  t.match((await positions.next()).value, { change: 'enter', user: { deviceId: 'd' } })

  const live = new Ringfence({ url: server.url, session: 'live', WebSocket })
  await t.rejects(live.get('/v1/settings'), RingfenceError, 'the key is of the other environment')

  await page.delete('/v1/sessions/current')
  t.match((await positions.next()).value, { change: 'leave' })
  await t.rejects(positions.next(), ENDED, 'the stream ends with the session')
  await t.rejects(stream.track({ deviceId: 'd', ...BERLIN }), ENDED)
})

t.test('batches of the devices that a filter wants', async (t) => {
  const client = new Ringfence({ url: server.url, key: KEYS.testSecret, WebSocket })
  await client.putGeofence('store', '1', {
    type: 'circle',
    coordinates: [13.4, 52.5],
    radius: 100,
    description: 'Store',
  })
  const stream = client.stream()
  const reds = stream.watchBatches(AREA, { minIntervalMs: 0, filter: { metadata: { color: 'red' } } })
  const inStores = stream.watchBatches(AREA, { minIntervalMs: 0, filter: { tags: ['store'] } })
  await Promise.all([reds.ready, inStores.ready])
  const send = (longitude: number) =>
    Promise.all(
      Array.from({ length: 50 }, (_, i) => {
        const metadata = { color: i % 2 === 0 ? 'red' : 'blue' }
        return stream.track({ deviceId: `d${i}`, ...BERLIN, longitude, metadata })
      }),
    )
  await send(13.4)
  t.equal((await until(reds, 25)).size, 25)
  t.equal((await until(inStores, 50)).size, 50)
  await send(13.405)
  t.same(
    [...(await until(inStores, 50)).values()].map(({ change }) => change),
    Array.from({ length: 50 }, () => 'leave'),
    'they have left the store, though not the area',
  )
  const changes = await until(reds, 25)
  t.ok(
    [...changes.values()].every(
      ({ change, location }) => change === 'move' && location.coordinates[0] > 13.404,
    ),
  )

  await send(13.4)
  await new Promise((resolve) => setTimeout(resolve, 400))
  await send(13.401)
  await new Promise((resolve) => setTimeout(resolve, 400))
  const { value: late } = await reds.next()
  t.equal(late!.length, 25, 'who is slow gets one batch, with the newest of each')
  t.ok(late!.every(({ location }) => location.coordinates[0] === 13.401))
  await stream.close()
})

/** The newest change of each device, once so many have changed. */
async function until(batches: AsyncIterator<readonly Position[], undefined>, count: number) {
  const changes = new Map<string, Position>()
  while (changes.size < count) {
    const { value } = await batches.next()
    for (const position of value!) changes.set(position.user.deviceId, position)
  }
  return changes
}
