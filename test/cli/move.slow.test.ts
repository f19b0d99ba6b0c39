/** `npm run move`, from one environment of our own server, which speaks the same interface, into the other. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { NODE_OPTIONS } from '../kit/nodeOptions.ts'
import { KEYS, startServer } from '../kit/server.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const MOVE = fileURLToPath(new URL('../../src/cli/move.ts', import.meta.url))
const server = await startServer(t)
const folder = mkdtempSync(join(tmpdir(), 'ringfence-move-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const state = join(folder, 'state.json')

/** Starts the command; what it is given later counts. */
function startMove(from: string, ...more: string[]): ChildProcessWithoutNullStreams {
  const args = ['--from-radar', '--from', from, '--url', server.url, '--state', state, ...more]
  const env = { ...process.env, RADAR_SECRET_KEY: KEYS.testSecret, RINGFENCE_SECRET_KEY: KEYS.liveSecret }
  return spawn('env', [`NODE_OPTIONS=${NODE_OPTIONS}`, process.execPath, MOVE, ...args], { env })
}

async function move(from: string, ...more: string[]): Promise<{ code: number | null; output: string }> {
  const child = startMove(from, ...more)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  await once(child, 'close')
  return { code: child.exitCode, output }
}

/** All records of a kind, without what an environment gives them. */
async function recordsOf(kind: 'geofences' | 'beacons', key: string, of = server): Promise<Json[]> {
  const records = new Map<string, Json>()
  for (let before = ''; ;) {
    const { body } = await of.api('GET', `/v1/${kind}?limit=1000${before}`, undefined, key)
    for (const record of body[kind]) records.set(record._id, record)
    if (!body.meta.hasMore) break
    // Many are of the same millisecond.
    const last = Date.parse(body[kind].at(-1).createdAt)
    before = `&createdBefore=${new Date(last + 1).toISOString()}`
  }
  const sorted = [...records.values()].map(
    ({ _id: _1, createdAt: _2, updatedAt: _3, live: _4, ...rest }) => rest,
  )
  return sorted.sort((a, b) => `${a.tag}/${a.externalId}`.localeCompare(`${b.tag}/${b.externalId}`))
}

const MANY = 1100
const csv = Array.from({ length: MANY }, (_, i) => `Row,circle,many,${i},"[1,2]",100\n`).join('')
await server.api(
  'POST',
  '/v1/imports/geofences',
  `description,type,tag,externalId,coordinates,radius\n${csv}`,
  KEYS.testSecret,
  {
    'content-type': 'text/csv',
  },
)
const ring = [
  [8, 47],
  [8.1, 47],
  [8.1, 47.1],
  [8, 47],
]
await server.api('PUT', '/v1/geofences/area/a%2Fb', {
  description: 'Area',
  type: 'polygon',
  coordinates: ring,
  metadata: { floor: 2, open: true },
  operatingHours: { monday: [['08:00', '17:00']] },
  userIds: 'a,b',
  ip: '10.0.0.0/8',
  enabled: false,
  stopDetection: true,
  dwellThreshold: 5,
  disableAfter: '2099-01-01T00:00:00.000Z',
})
await server.api('PUT', '/v1/beacons/tills/1', {
  description: 'Till',
  type: 'ibeacon',
  uuid: '7f5e8a3c-0a4e-4b6e-9b1f-2f1f7e0d9a01',
  major: '1',
  minor: '2',
  coordinates: [8, 47],
  enabled: true,
  metadata: { shop: 'x' },
})
await server.api('PATCH', '/v1/settings', {
  stopDetection: true,
  dwellEvents: true,
  dwellThreshold: 7,
  beaconUuids: [],
})

/** The same interface through a server that tests can break. */
const asked: string[] = []
let refuse: (path: string, response: ServerResponse) => boolean = () => false
const between = createServer((request, response) => {
  const path = request.url!
  asked.push(path)
  if (refuse(path, response)) return
  void fetch(server.url + path, { headers: { authorization: request.headers.authorization! } }).then(
    async (answer) => response.writeHead(answer.status).end(await answer.text()),
  )
})
between.listen(0, '127.0.0.1')
await once(between, 'listening')
t.teardown(() => {
  between.closeAllConnections()
  between.close()
})
const from = `http://127.0.0.1:${(between.address() as AddressInfo).port}`

t.test('an interrupted move goes on where it was', async (t) => {
  refuse = (path, response) => {
    if (!path.includes('createdBefore')) return false
    response.writeHead(401).end('{"meta":{"code":401,"message":"The key is gone."}}')
    return true
  }
  const { code, output } = await move(from)
  t.equal(code, 2)
  t.match(output, /geofences: 1000 copied, 0 refused/)
  t.match(output, /The key is gone\.\nRun the command again to continue\./)
  t.notMatch(output, KEYS.testSecret)
  t.ok(existsSync(state))

  asked.length = 0
  let busy = 1
  refuse = (_path, response) => {
    if (busy-- <= 0) return false
    response.writeHead(429, { 'retry-after': '1' }).end('{}')
    return true
  }
  const again = await move(from)
  t.match(again, { code: 0, output: /Copied 1101 geofences, 1 beacons and the settings; 0 refused\./ })
  t.notOk(
    asked.some((path) => path === '/v1/geofences?limit=1000'),
    'the first page is not asked for again',
  )
  t.notOk(existsSync(state))
  t.strictSame(await recordsOf('geofences', KEYS.liveSecret), await recordsOf('geofences', KEYS.testSecret))
  t.strictSame(await recordsOf('beacons', KEYS.liveSecret), await recordsOf('beacons', KEYS.testSecret))
  const settings = async (key: string) =>
    (await server.api('GET', '/v1/settings', undefined, key)).body.settings
  t.strictSame(await settings(KEYS.liveSecret), await settings(KEYS.testSecret))
})

t.test('killed again and again, it goes on, and in the end everything is there once', async (t) => {
  refuse = () => false
  const empty = await startServer(t)
  /** Writes so far of the present run, and what is done at each. */
  let writes = 0
  let written = (_path: string): void => {}
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Uint8Array[] = []
    for await (const piece of request) pieces.push(piece as Uint8Array)
    const { method = '', url: path = '', headers } = request
    if (method !== 'GET') {
      writes++
      written(path)
    }
    const answer = await fetch(empty.url + path, {
      method,
      headers: { authorization: headers.authorization!, 'content-type': 'application/json' },
      ...(pieces.length > 0 && { body: Buffer.concat(pieces) }),
    })
    response.writeHead(answer.status).end(await answer.text())
  }
  const target = createServer((request, response) => void pass(request, response))
  target.listen(0, '127.0.0.1')
  await once(target, 'listening')
  t.teardown(() => {
    target.closeAllConnections()
    target.close()
  })
  const more = ['--url', `http://127.0.0.1:${(target.address() as AddressInfo).port}`]

  // In the quick suite, only those before which little was written.
  const isSecondPage = (): boolean => asked.some((path) => path.includes('createdBefore'))
  const points: readonly (readonly [where: string, isThere: (path: string) => boolean, isQuick?: true])[] = [
    ['the first record', () => true],
    ['the first page', () => writes === 500],
    ['the end of the first page', () => writes === 1000],
    ['the second page', () => isSecondPage(), true],
    ['the second page again', () => isSecondPage() && writes > 20],
    ['a beacon', (path) => path.includes('/beacons/')],
    ['the settings', (path) => path.endsWith('/settings'), true],
  ]
  const isWhole = process.env['RINGFENCE_TEST_RUNS'] !== undefined
  for (const [where, isThere] of points.filter(([, , isQuick]) => isQuick || isWhole)) {
    asked.length = 0
    writes = 0
    const child = startMove(from, ...more)
    child.stdout.resume()
    child.stderr.resume()
    written = (path) => isThere(path) && void child.kill('SIGKILL')
    await once(child, 'close')
    t.equal(child.signalCode, 'SIGKILL', where)
  }
  t.notOk(asked.includes('/v1/geofences?limit=1000'), 'what is done is not asked for again')
  written = () => {}
  const { code, output } = await move(from, ...more)
  t.equal(code, 0, output)
  t.match(output, /Copied 1101 geofences, 1 beacons and the settings; 0 refused\./)
  for (const kind of ['geofences', 'beacons'] as const)
    t.strictSame(await recordsOf(kind, KEYS.liveSecret, empty), await recordsOf(kind, KEYS.testSecret), kind)
  t.notOk(existsSync(state))
})

t.test('records that this server refuses are told, and the rest is copied', async (t) => {
  const record = { _id: '1', createdAt: new Date().toISOString(), description: 'x', tag: 'odd' }
  const center = { type: 'Point', coordinates: [1, 2] }
  const geofences = [
    { ...record, externalId: 'small', type: 'circle', geometryCenter: center, geometryRadius: 1 },
    { ...record, _id: '2', tag: undefined, type: 'circle', geometryCenter: center, geometryRadius: 50 },
  ]
  const answers: Record<string, Json> = {
    '/v1/geofences': { geofences },
    '/v1/beacons': { beacons: [] },
    '/v1/settings': { settings: { stopDetection: 'perhaps', bufferExits: true, unheardOf: 1 } },
  }
  refuse = (path, response) => {
    response.end(JSON.stringify(answers[path.split('?')[0]!]))
    return true
  }
  const { code, output } = await move(from)
  t.equal(code, 1)
  t.match(output, /geofences odd\/small: radius: Invalid radius/)
  t.match(output, /settings stopDetection: /)
  t.match(output, /Copied 1 geofences, 0 beacons and the settings; 2 refused\./)
  t.equal((await server.api('GET', '/v1/geofences/radar/2', undefined, KEYS.liveSecret)).status, 200)
  const { body } = await server.api('GET', '/v1/settings', undefined, KEYS.liveSecret)
  t.match(body.settings, { bufferExits: true, stopDetection: true })
})

t.test('what must be given', async (t) => {
  t.match(await move(from, '--from-key', KEYS.testPublishable), { code: 2, output: /must be a secret key/ })
  t.match(await move('nowhere'), { code: 2, output: /--from nowhere: not a URL/ })
  t.match(await move(from, '--help'), { code: 0, output: /Usage: npm run move/ })
})
