/** `npm run cluster` with a folder that is kept: what was stored is there after Ctrl-C and another start, and goes on. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { Receiver } from '../delivery/webhookKit.ts'
import { freePort } from '../kit/freePort.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { NODE_OPTIONS } from '../kit/nodeOptions.ts'
import { until, untilReady } from '../kit/waiting.ts'
import { tripApi, type Api, type Body } from '../trips/story.ts'

const RUN = fileURLToPath(new URL('../../cluster/run.ts', import.meta.url))
const skip = await skipWithout(NATS_SERVER)
const HOME = { latitude: -34.9, longitude: -56.19 }
const AWAY = { latitude: -34.9, longitude: -56.25 }
const COURIER = { deviceId: 'phone-1', userId: 'courier-1', accuracy: 5, metadata: { van: 7 } }
const NEAR_HOME = `/v1/search/users?near=${HOME.latitude},${HOME.longitude}&radius=500`
/** Everything that the data can be read by. */
const LISTS = [
  '/v1/geofences',
  '/v1/geofences/store/home/users',
  '/v1/users',
  '/v1/users/phone-1',
  NEAR_HOME,
  '/v1/events',
  '/v1/beacons',
  '/v1/trips?includeLocations=true',
  '/v1/webhooks',
  '/v1/settings',
  '/v1/keys',
]

t.test('everything comes back', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-kept-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const receiver = await Receiver.start(t)
  const heard = (device: string) =>
    receiver.got
      .map(({ json }) => json.event)
      .filter(({ user }) => user.deviceId === device)
      .map(({ type }) => type)
  const done = async (answer: ReturnType<Api>) => {
    const { status, body } = await answer
    t.equal(status, 200, JSON.stringify(body.meta))
    return body
  }

  const first = await start(t, folder)
  const { api } = first
  const circle = { type: 'circle', coordinates: [HOME.longitude, HOME.latitude], radius: 200 }
  await done(
    api('PUT', '/v1/geofences/store/home', { description: 'Home', ...circle, metadata: { floor: 2 } }),
  )
  const beacon = { type: 'eddystone', uid: 'f7826da6bc5b71e0893e', instance: '4456384b726a' }
  await done(
    api('PUT', '/v1/beacons/desk/1', {
      description: 'Desk',
      coordinates: [HOME.longitude, HOME.latitude],
      ...beacon,
    }),
  )
  await done(api('POST', '/v1/webhooks', { url: receiver.url }))
  await done(api('PATCH', '/v1/settings', { dwellEvents: true, dwellThreshold: 7 }))
  const order = { externalId: 'order-1', userId: COURIER.userId, mode: 'bike', metadata: { shop: 4 } }
  const destination = { destinationGeofenceTag: 'store', destinationGeofenceExternalId: 'home' }
  await done(api('POST', '/v1/trips', { ...order, ...destination }))
  await done(api('POST', '/v1/track', { ...COURIER, ...AWAY }, first.publishable))
  const { events } = await done(
    api('POST', '/v1/track', { deviceId: 'visitor-1', accuracy: 5, ...HOME }, first.publishable),
  )
  t.match(events, [{ type: 'user.entered_geofence' }])
  await until(() => heard('visitor-1').includes('user.entered_geofence'))
  await until(async () => (await api('GET', '/v1/events')).body['events'].length >= 2)
  // Positions reach Tile38 a moment after the answer.
  await until(async () => (await api('GET', NEAR_HOME)).body['users']?.length === 1)
  const before = await everything(api)
  t.match(before['/v1/users'], { users: { length: 2 } })
  t.match(before['/v1/trips?includeLocations=true'], { trips: [{ status: 'started' }] })
  t.equal(await first.stop(), 0, 'Ctrl-C ends it')

  const second = await start(t, folder)
  t.equal(second.secret, first.secret, 'with the same keys')
  await until(async () => (await second.api('GET', '/v1/users')).body['users']?.length === 2)
  await until(async () => (await second.api('GET', NEAR_HOME)).body['users']?.length === 1)
  const after = await everything(second.api)
  for (const list of LISTS) t.strictSame(after[list], before[list], list)

  const left = await done(
    second.api('POST', '/v1/track', { deviceId: 'visitor-1', accuracy: 5, ...AWAY }, second.publishable),
  )
  t.match(left['events'], [{ type: 'user.exited_geofence' }], 'its visit has lasted')
  const arrived = await done(
    second.api('POST', '/v1/track', { ...COURIER, ...HOME, stopped: true }, second.publishable),
  )
  t.match(arrived['user'], { trip: { externalId: 'order-1', status: 'arrived' } }, 'its trip goes on')
  await until(() => heard('phone-1').includes('user.arrived_at_trip_destination'))
  await until(() => heard('visitor-1').includes('user.exited_geofence'))
  t.strictSame(
    heard('visitor-1'),
    ['user.entered_geofence', 'user.exited_geofence'],
    'the webhook goes on, too',
  )
  t.equal(await second.stop(), 0)
})

interface Running {
  readonly api: Api
  readonly publishable: string
  readonly secret: string
  /** Presses Ctrl-C, and resolves to the exit code. */
  stop(): Promise<number | null>
}

/** Starts it as the script of package.json does, and waits until it says so. */
async function start(t: Test, folder: string): Promise<Running> {
  const port = await freePort()
  const child = spawn(process.execPath, [RUN, '--folder', folder, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS },
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const closed = once(child, 'close')
  await untilReady(
    child,
    'npm run cluster',
    () => output.includes('Ctrl-C stops all'),
    () => output,
  )
  const keys = JSON.parse(readFileSync(join(folder, 'keys.json'), 'utf8')) as string[]
  const [publishable, , secret] = keys as [string, string, string]
  const api = tripApi(`http://127.0.0.1:${port}`)
  return {
    api: (method, path, body, key = secret) => api(method, path, body, key),
    publishable,
    secret,
    async stop() {
      child.kill('SIGINT')
      await closed
      return child.exitCode
    },
  }
}

/** The answers to all lists. */
async function everything(api: Api): Promise<Record<string, Body>> {
  const answers: Record<string, Body> = {}
  for (const list of LISTS) {
    const { status, body } = await api('GET', list)
    t.equal(status, 200, list)
    answers[list] = body
  }
  return answers
}
