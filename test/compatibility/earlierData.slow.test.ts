/**
 * A data folder of an earlier commit: this code starts on it, answers what that commit answered, and goes on from there.
 * The earlier server runs from the history of the repository, with the packages of this checkout.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type * as config from '../../config/options.ts'
import type * as cli from '../../src/cli/operator.ts'
import type * as kit from '../kit/server.ts'
import { startServer, type Server } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { makeWorld, shareWorld } from '../kit/world.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** What the commits know besides geofences, beacons, settings, webhooks, users and events. */
const COMMITS = [
  { commit: '552d1f0', why: 'before the folders were put in order', hasTrips: false },
  { commit: '3105ed2', why: 'with trips and accounts', hasTrips: true },
] as const

const HERE = { latitude: 52.5219, longitude: 13.4132, accuracy: 5 }
const AWAY = { latitude: 52.6, longitude: 13.6, accuracy: 5 }

/** Of a webhook: how far its deliveries have come. */
const PROGRESS: ReadonlySet<string> = new Set(['lag', 'pending', 'status', 'lastError', 'lastDeliveredAt'])

/** Why a commit is not tested; false if it is: a shallow clone has no history. */
function skipWithout(commit: string): string | false {
  const { status } = spawnSync('git', ['-C', ROOT, 'cat-file', '-e', `${commit}^{commit}`])
  return status !== 0 && `the commit ${commit} is not in this clone`
}

/**
 * Packages that a commit needs and this code does not list. They may be in node_modules nevertheless, from earlier installations, but
 * not in a new clone.
 */
function unlisted(checkout: string): string[] {
  const read = (root: string, name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))
  const { packages } = read(ROOT, 'package-lock.json')
  const { dependencies } = read(checkout, 'package.json')
  return Object.keys(dependencies).filter((name) => packages[`node_modules/${name}`] === undefined)
}

/** The files of a commit. */
function checkOut(t: Test, commit: string): string {
  const folder = temporary(t)
  execFileSync('git', ['-C', ROOT, 'archive', '--output', join(folder, 'commit.tar'), commit])
  execFileSync('tar', ['-xf', join(folder, 'commit.tar'), '-C', folder])
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

function temporary(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A receiver of webhooks that says nothing until it is told to. */
async function openReceiver(t: Test) {
  const bodies: { event: { _id: string; type: string } }[] = []
  const state = { answers: false }
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (part: string) => (text += part))
    request.on('end', () => {
      if (!state.answers) return
      bodies.push(JSON.parse(text))
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { bodies, state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

/** Either server: the methods that both kits have. */
type AnyServer = Pick<Server, 'api'>

async function ask(server: AnyServer, method: string, path: string, body?: object) {
  const answer = await server.api(method, path, body)
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** What the operator's command prints, of either commit. */
async function operator(root: string, data: string, ...line: string[]): Promise<string> {
  const { loadOptions } = (await import(join(root, 'config', 'options.ts'))) as typeof config
  const { operate } = (await import(join(root, 'src', 'cli', 'operator.ts'))) as typeof cli
  const lines: string[] = []
  const { options } = loadOptions({ argv: ['--data', data], env: {}, readFile: () => '' })
  await operate(line, options, (text) => lines.push(text))
  return lines.join('\n')
}

/** Some of everything. */
async function fill(server: AnyServer, url: string, hasTrips: boolean): Promise<void> {
  await ask(server, 'POST', '/v1/webhooks', { url, types: ['user.entered_geofence'] })
  const center = [HERE.longitude, HERE.latitude]
  const common = { description: 'Alexanderplatz', metadata: { floor: 2, open: true } }
  await ask(server, 'PUT', '/v1/geofences/shop/circle', {
    ...common,
    type: 'circle',
    coordinates: center,
    radius: 100,
  })
  const ring = [
    [13.41, 52.52],
    [13.42, 52.52],
    [13.42, 52.525],
    [13.41, 52.525],
    [13.41, 52.52],
  ]
  await ask(server, 'PUT', '/v1/geofences/shop/polygon', {
    ...common,
    type: 'polygon',
    coordinates: ring,
    operatingHours: { Monday: [['00:00', '24:00']] },
    disableAfter: '2099-01-01T00:00:00.000Z',
  })
  await ask(server, 'PUT', '/v1/beacons/door/1', {
    description: 'Door',
    type: 'ibeacon',
    uuid: '1b1bd0d2-5f54-4b2e-9fdd-11aa8a4d9a42',
    major: '1',
    minor: '2',
    coordinates: center,
  })
  await ask(server, 'PATCH', '/v1/settings', { exitDelaySeconds: 0, maxAccuracyMeters: 500 })
  for (const [i, place] of [AWAY, HERE, AWAY, HERE].entries())
    for (const deviceId of ['ann', 'bob'])
      await ask(server, 'POST', '/v1/track', {
        deviceId,
        userId: deviceId === 'ann' ? 'user-1' : undefined,
        metadata: { crew: i },
        ...place,
      })
  await ask(server, 'POST', '/v1/events', { name: 'bought', userId: 'user-1', metadata: { price: 3 } })
  await ask(server, 'DELETE', '/v1/geofences/shop/polygon')
  await ask(server, 'PUT', '/v1/geofences/shop/later', {
    ...common,
    type: 'circle',
    coordinates: [0, 0],
    radius: 50,
  })
  if (!hasTrips) return
  await ask(server, 'POST', '/v1/trips', {
    externalId: 'order-1',
    userId: 'user-1',
    destinationGeofenceTag: 'shop',
    destinationGeofenceExternalId: 'circle',
    mode: 'car',
  })
}

/** What the server knows, as clients see it. */
async function contents(server: AnyServer, hasTrips: boolean) {
  const answers: Record<string, unknown> = {}
  for (const path of [
    '/v1/geofences?limit=1000',
    '/v1/beacons?limit=1000',
    '/v1/users?limit=1000',
    '/v1/events?limit=1000',
    '/v1/settings',
    '/v1/keys',
    ...(hasTrips ? ['/v1/trips', '/v1/trips/order-1'] : []),
  ])
    answers[path] = await ask(server, 'GET', path)
  for (const { _id } of ((await ask(server, 'GET', '/v1/webhooks')) as { webhooks: { _id: string }[] })
    .webhooks) {
    const { webhook } = await ask(server, 'GET', `/v1/webhooks/${_id}`)
    const members = Object.entries(webhook).filter(([name]) => !PROGRESS.has(name))
    answers[`webhook ${_id}`] = Object.fromEntries(members)
  }
  return answers
}

await makeWorld()
for (const { commit, why, hasTrips } of COMMITS) {
  t.test(`data of ${commit}, ${why}`, { skip: skipWithout(commit) }, async (t) => {
    const checkout = checkOut(t, commit)
    t.strictSame(unlisted(checkout), [], 'package.json lists what that commit needs')
    const { Server: Earlier } = (await import(join(checkout, 'test', 'kit', 'server.ts'))) as typeof kit
    t.jobs = 2
    for (const end of ['stop', 'kill9'] as const) {
      void t.test(
        end === 'stop' ? 'after it has stopped' : 'after kill -9',
        { buffered: true },
        async (t) => {
          const receiver = await openReceiver(t)
          const data = join(temporary(t), 'data')
          mkdirSync(data)
          const env = { RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.1' }
          const earlier = await Earlier.start({ data, env })
          t.teardown(() => earlier.dispose())
          await fill(earlier, receiver.url, hasTrips)
          const before = await contents(earlier, hasTrips)
          if (hasTrips) await operator(checkout, data, 'accounts', 'add', 'ann@example.com')
          const accounts = hasTrips && (await operator(checkout, data, 'accounts', 'list'))
          await earlier[end]()

          receiver.state.answers = true
          if (!hasTrips) shareWorld(data)
          const server = await startServer(t, { data, env })
          if (accounts !== false) {
            t.match(accounts, 'ann@example.com')
            t.equal(await operator(ROOT, data, 'accounts', 'list'), accounts, 'the accounts')
          }
          const after = await contents(server, hasTrips)
          for (const [path, answer] of Object.entries(before)) t.match(after[path], answer, path)
          const { events } = before['/v1/events?limit=1000'] as { events: { _id: string; type: string }[] }
          const entered = events.filter(({ type }) => type === 'user.entered_geofence').map(({ _id }) => _id)
          t.equal(new Set(entered).size, 8, 'two devices have entered both geofences twice')
          await until(() => new Set(receiver.bodies.map(({ event }) => event._id)).size >= entered.length)
          const told = new Set(receiver.bodies.map(({ event }) => event._id))
          t.strictSame([...told].toSorted(), entered.toSorted(), 'what was not delivered is')

          const left = await ask(server, 'POST', '/v1/track', { deviceId: 'ann', userId: 'user-1', ...AWAY })
          t.match(left.events, [{ type: 'user.exited_geofence', geofence: { externalId: 'circle' } }])
          const { users } = before['/v1/users?limit=1000'] as { users: { _id: string; userId?: string }[] }
          t.equal(left.user._id, users.find(({ userId }) => userId === 'user-1')!._id, 'the same user')
          const all = await ask(server, 'GET', '/v1/events?limit=1000')
          const ids = (all.events as { _id: string }[]).map(({ _id }) => _id)
          t.equal(new Set(ids).size, ids.length, 'no event is repeated')
          // Updates move trips, too.
          const ofPlaces = (list: readonly { type: string }[]) =>
            list.filter(({ type }) => !/trip/.test(type))
          t.equal(ofPlaces(all.events).length, ofPlaces(events).length + 1, 'one event is new')
          await server.kill9()
          await server.restart()
          t.match(
            await ask(server, 'GET', '/v1/events?limit=1000'),
            { events: all.events },
            'after another start',
          )
        },
      )
    }
  })
}
