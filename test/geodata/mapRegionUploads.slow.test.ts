/**
 * Map regions over HTTP: an admin of the operator's project sends an extract, and sees how far its import is. Whoever
 * may not, whatever the file is and however it ends, the regions from before stay in service, and nothing is left.
 */
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { mapRegionsFolder, readManifest, readRecord } from '../../src/geo/extract/mapRegionFiles.ts'
import { writeOsmPbf } from '../../src/geo/extract/osmPbfWriter.ts'
import { MapRegionUploads } from '../../src/geo/extract/mapRegionUploads.ts'
import { isUnderWay } from '../../src/geo/extract/uploadHistory.ts'
import { lockStore } from '../../src/log/store.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { seedPeople } from '../accounts/seeded.ts'
import { KEYS, startServer, type HttpAnswer, type Server } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { LONDON, QUEENS, region, streets, temporaryFolder, writeStreets } from './kit.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const OSM = { 'content-type': 'application/octet-stream' }
const IMPORTS = '/v1/map-regions/imports'
/** Megabytes. */
const PARTS = 300

const folder = temporaryFolder(t)
const extract = (name: string, corner = QUEENS): Buffer => {
  const path = join(folder, `${name}.osm.pbf`)
  writeStreets(path, corner)
  return readFileSync(path)
}

function put(
  server: Server,
  name: string,
  file: Uint8Array,
  key: string = KEYS.liveSecret,
): Promise<HttpAnswer> {
  return server.api('PUT', `/v1/map-regions/${name}`, file, key, OSM)
}

async function newest(server: Server): Promise<Json> {
  return (await server.api('GET', IMPORTS, undefined, KEYS.liveSecret)).body.mapRegionImports[0]
}

/** Waits for the end of the newest import. */
async function ended(server: Server): Promise<Json> {
  let found: Json
  await until(async () => (found = await newest(server)).finishedAt !== undefined)
  return found
}

/** A file that is sent up to some byte, and then waits. */
async function slowly(server: Server, name: string, file: Buffer): Promise<ClientRequest> {
  const upload = request(`${server.url}/v1/map-regions/${name}`, {
    method: 'PUT',
    headers: { authorization: KEYS.liveSecret, ...OSM, 'content-length': file.length },
  })
  upload.on('error', () => {})
  upload.write(file.subarray(0, 300))
  await until(async () => (await newest(server))?.bytes === 300)
  return upload
}

function left(server: Server): string[] {
  const regions = mapRegionsFolder(server.data)
  const builds = new Set(readManifest(regions).regions.map((one) => one.folder))
  return readdirSync(regions).filter((name) => !builds.has(name))
}

const KEPT = ['imports.json', 'lock', 'regions.json']

t.test('an extract is imported, with its progress, and replaced, while devices are tracked', async (t) => {
  const data = t.testdir({})
  const people = seedPeople(data)
  const server = await startServer(t, { data })
  const regions = async () =>
    (await server.api('GET', '/v1/map-regions', undefined, KEYS.liveSecret)).body.mapRegions
  t.strictSame((await server.api('GET', IMPORTS)).body.mapRegionImports, [])
  const file = extract('queens')
  const { status, body } = await put(server, 'queens', file)
  t.equal(status, 202)
  t.match(body.mapRegionImport, { name: 'queens', status: 'importing', bytes: file.length, notes: [] })
  const { _id } = body.mapRegionImport
  const stages = new Set<string>()
  await until(async () => {
    const one = (await server.api('GET', `${IMPORTS}/${_id}`, undefined, KEYS.liveSecret)).body
      .mapRegionImport
    if (one.stage !== undefined) stages.add(one.stage)
    const update = { deviceId: 'd', latitude: 40.71, longitude: -73.74, accuracy: 5 }
    t.equal((await server.api('POST', '/v1/track', update)).status, 200)
    return one.finishedAt !== undefined
  })
  t.match(await newest(server), { _id, status: 'completed', stage: undefined, message: undefined })
  t.ok(stages.has('building routing tiles'), [...stages].join(', '))
  t.match(await regions(), [{ name: 'queens', products: ['routing', 'geocoding', 'maps'] }])
  t.strictSame(left(server), KEPT, 'neither the extract nor a build is left')
  const route = `/v1/route/distance?origin=${QUEENS[1]},${QUEENS[0]}&destination=${QUEENS[1] + 0.01},${QUEENS[0]}&modes=car&units=metric`
  t.equal((await server.api('GET', route)).status, 200, 'routes are there')

  t.equal((await put(server, 'queens', extract('other', LONDON))).status, 202)
  t.match(await ended(server), { status: 'completed' })
  t.match(await regions(), [{ name: 'queens', bounds: [LONDON[0], LONDON[1], Number, Number] }], 'replaced')

  const cookie = `ringfence_session=${people.admin.token}`
  const audit = (
    await server.api('GET', '/v1/audit', undefined, null, { cookie, 'x-ringfence-environment': 'live' })
  ).body.audit.filter(({ action }: Json) => action === 'PUT /v1/map-regions/:name')
  t.match(audit, [{ target: 'queens', actor: { kind: 'key' } }, { target: 'queens' }], 'who did it')
})

t.test('who may: admins of the operator’s project, with an account or the key of live', async (t) => {
  const data = t.testdir({})
  const people = seedPeople(data)
  const server = await startServer(t, { data })
  const file = extract('small')
  const other = await startServer(t, { env: { RINGFENCE_OPERATOR_PROJECT: '2' } })
  t.match(await put(server, 'x', file, KEYS.testSecret), {
    status: 403,
    body: { meta: { message: /the secret key of the live environment/ } },
  })
  t.equal((await put(server, 'x', file, KEYS.livePublishable)).status, 403)
  t.match(await put(other, 'x', file), { status: 403, body: { meta: { message: /operatorProject/ } } })
  for (const [method, path] of [
    ['GET', IMPORTS],
    ['GET', `${IMPORTS}/x`],
    ['POST', `${IMPORTS}/x/cancel`],
  ] as const)
    t.equal((await other.api(method, path, undefined, KEYS.liveSecret)).status, 403, `${method} ${path}`)
  const by = async (role: 'admin' | 'write') =>
    server.api('PUT', '/v1/map-regions/x', file, null, {
      ...OSM,
      cookie: `ringfence_session=${people[role].token}`,
      origin: server.url,
      'x-ringfence-environment': 'test',
    })
  t.equal((await by('write')).status, 403)
  t.equal((await by('admin')).status, 202, 'an account is for both environments')
  const { _id } = await newest(server)
  t.equal((await server.api('POST', `${IMPORTS}/${_id}/cancel`)).status, 403, 'the key of test may not')
  const canceled = await server.api('POST', `${IMPORTS}/${_id}/cancel`, undefined, KEYS.liveSecret)
  t.match(canceled, { status: 200, body: { mapRegionImport: { status: 'canceled' } } })
  t.match(await server.api('POST', `${IMPORTS}/${_id}/cancel`, undefined, KEYS.liveSecret), {
    status: 409,
    body: { meta: { message: 'The import has ended already: canceled.' } },
  })
  t.equal((await server.api('POST', `${IMPORTS}/x/cancel`, undefined, KEYS.liveSecret)).status, 404)
  t.strictSame(left(server), ['imports.json', 'lock'], 'nothing is left of it')
  const audit = await server.api('GET', '/v1/audit', undefined, null, {
    cookie: `ringfence_session=${people.admin.token}`,
    'x-ringfence-environment': 'live',
  })
  const puts = audit.body.audit.filter(({ action }: Json) => action.startsWith('PUT /v1/map-regions'))
  t.match(puts, [{ target: 'x', actor: { label: 'admin@example.com' } }])
  t.equal(puts.length, 1, 'what was refused is not in the audit')
})

t.test('files and names that are refused', async (t) => {
  const file = extract('good')
  const server = await startServer(t, { env: { RINGFENCE_REGION_MAX_BYTES: String(file.length + 1000) } })
  t.equal((await put(server, 'good', file)).status, 202)
  t.match(await ended(server), { status: 'completed' })
  const before = readManifest(mapRegionsFolder(server.data))

  await t.test('at once', async (t) => {
    const at = async (name: string, body: Uint8Array, code: number, message: RegExp | string) =>
      t.match(await put(server, name, body), { status: code, body: { meta: { message } } }, name)
    const NOT = 'body: The file is not an OpenStreetMap PBF file.'
    await at('good', Buffer.from('<osm version="0.6"/>'), 400, NOT)
    await at('good', Buffer.alloc(1000), 400, NOT)
    await at('good', file.subarray(0, 10), 400, NOT)
    await at('good', Buffer.from([0, 0, 0, 2, 0xff, 0xff]), 400, NOT)
    await at('good', Buffer.alloc(0), 400, 'body: The file is empty.')
    await at('good', Buffer.concat([file, Buffer.alloc(2000)]), 413, /at most \d+ bytes/)
    for (const name of ['Good', '-x', 'x-', 'a%20b', '..%2Fx', '%C3%BC', 'x'.repeat(65), 'a%00'])
      t.match(await put(server, name, file), { status: 400, body: { meta: { param: 'name' } } }, name)
    const csv = await server.api('PUT', '/v1/map-regions/good', 'a,b', KEYS.liveSecret, {
      'content-type': 'text/csv',
    })
    t.match(csv, { status: 415, body: { meta: { message: /application\/octet-stream/ } } })
  })

  await t.test('when they are read, and the region from before stays', async (t) => {
    const unsorted = join(folder, 'unsorted.osm.pbf')
    const { nodes, ways, relations } = streets(QUEENS)
    writeOsmPbf(unsorted, { nodes: nodes.toReversed(), ways, relations })
    const roadless = join(folder, 'roadless.osm.pbf')
    writeOsmPbf(roadless, { nodes, ways: [], relations })
    for (const [name, body, message] of [
      ['cut', file.subarray(0, -10), 'The file is incomplete: it ends in the middle.'],
      ['broken', Buffer.concat([file.subarray(0, -40), Buffer.alloc(40, 7)]), /^The file /],
      ['unsorted', readFileSync(unsorted), /^The file is not sorted by type and id\./],
      ['roadless', readFileSync(roadless), 'The file has no roads in it.'],
      ['good', file.subarray(0, -10), 'The file is incomplete: it ends in the middle.'],
    ] as const) {
      t.equal((await put(server, name, body)).status, 202, name)
      const failed = await ended(server)
      t.match(failed, { name, status: 'failed', message }, name)
      t.notMatch(failed.message, server.data, 'no folder of the machine')
    }
    t.strictSame(readManifest(mapRegionsFolder(server.data)), before)
    t.strictSame(left(server), KEPT)
  })

  await t.test('the history has the newest 20', async (t) => {
    for (let i = 0; i < 20; i++) await put(server, `n${i}`, Buffer.alloc(10))
    const { body } = await server.api('GET', IMPORTS, undefined, KEYS.liveSecret)
    t.equal(body.mapRegionImports.length, 20)
    t.equal(body.mapRegionImports[0].name, 'n19')
  })
})

t.test('one at a time; a client that goes away, and one that is canceled, leave nothing', async (t) => {
  const server = await startServer(t)
  const file = extract('one')
  const upload = await slowly(server, 'slow', file)
  t.match(await newest(server), { name: 'slow', status: 'uploading' })
  t.match(await put(server, 'second', file), {
    status: 409,
    body: { meta: { message: /^Another import is under way, [0-9a-f]{24} of the region slow\./ } },
  })
  upload.destroy()
  t.match(await ended(server), { name: 'slow', status: 'failed', message: /connection closed/ })

  const canceled = await slowly(server, 'slow', file)
  const answered = once(canceled, 'response') as Promise<[IncomingMessage]>
  const { _id } = await newest(server)
  t.match(await server.api('POST', `${IMPORTS}/${_id}/cancel`, undefined, KEYS.liveSecret), {
    body: { mapRegionImport: { status: 'canceled' } },
  })
  canceled.end(file.subarray(300))
  const [answer] = await answered
  t.equal(answer.statusCode, 409)
  t.match(await text(answer), /The import was canceled\./)
  t.strictSame(left(server), ['imports.json', 'lock'])

  const regions = mapRegionsFolder(server.data)
  const release = lockStore(regions)
  t.match(await put(server, 'second', file), { status: 409, body: { meta: { message: /npm run region/ } } })
  release()
  t.equal((await put(server, 'second', file)).status, 202)
  t.match(await ended(server), { status: 'completed' })
  t.match(await region('list', '--data', server.data), { code: 0, output: /^second: 16 roads/ })
})

/** The process in which a server imports an extract; undefined if there is none. */
function importProcess(server: Server): number | undefined {
  const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').split(' ')
  const isImport = (pid: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('mapRegionUploadChild')
    } catch {
      return false
    }
  }
  const found = children.find((pid) => pid.trim() !== '' && isImport(pid))
  return found === undefined ? undefined : Number(found)
}

t.test('kill -9, at each stage of it: nothing is half there, and the next one succeeds', async (t) => {
  const server = await startServer(t)
  const regions = mapRegionsFolder(server.data)
  t.equal((await put(server, 'town', extract('town'))).status, 202)
  t.match(await ended(server), { status: 'completed' })
  const before = readManifest(regions)
  const builds = (file: RegExp): boolean => {
    const build = join(regions, 'town.building')
    return (
      existsSync(build) && readdirSync(build, { recursive: true }).some((name) => file.test(String(name)))
    )
  }
  /** A stage may be shorter than a kill takes, so the import is stopped in it, and goes on after the kill. */
  const stoppedIn = async (isStage: () => boolean): Promise<number> => {
    for (let attempt = 0; attempt < 10; attempt++) {
      t.equal((await put(server, 'town', extract('again'))).status, 202)
      let pid: number | undefined
      // The process may have ended before it is looked for.
      await until(
        async () => (pid = importProcess(server)) !== undefined || !isUnderWay(await newest(server)),
      )
      while (!isStage() && isUnderWay(await newest(server))) await sleep(1)
      if (pid !== undefined && isStage()) {
        process.kill(pid, 'SIGSTOP')
        if (isStage()) return pid
        process.kill(pid, 'SIGCONT')
      }
      await ended(server)
    }
    throw new Error('the import is never stopped before the stage is over')
  }
  for (const [stage, isStage] of [
    ['while it is sent', undefined],
    ['when it has been read', () => builds(/progress\.json$/) && !builds(/^places-/)],
    ['while tiles are built', () => builds(/^routing-.*tiles.+\.(?:bin|gph)$/)],
    ['while the places are written', () => builds(/^places-/)],
  ] as const) {
    await t.test(stage, async (t) => {
      const importing = isStage === undefined ? undefined : await stoppedIn(isStage)
      if (importing === undefined) await slowly(server, 'town', extract('again'))
      const served = readManifest(regions)
      await server.kill9()
      if (importing !== undefined) process.kill(importing, 'SIGCONT')
      await server.restart()
      t.match(await ended(server), { name: 'town', status: 'interrupted', message: /Send the extract again/ })
      t.strictSame(readManifest(regions), served, 'what was in service stays so')
      await until(() => left(server).length === KEPT.length)
      t.strictSame(left(server), KEPT)
      t.match((await server.api('GET', '/v1/map-regions')).body.mapRegions, [{ name: 'town' }])
    })
  }
  t.equal((await put(server, 'town', extract('last'))).status, 202)
  t.match(await ended(server), { status: 'completed' })
  t.not(readManifest(regions).regions[0]!.folder, before.regions[0]!.folder)
})

t.test('a stop of the server in the middle leaves nothing, and is told', async (t) => {
  const server = await startServer(t)
  t.equal((await put(server, 'town', extract('town'))).status, 202)
  await until(async () => (await newest(server)).stage !== undefined)
  await server.stop()
  t.strictSame(left(server), ['imports.json', 'lock'])
  await server.restart()
  t.match(await newest(server), { status: 'interrupted' })
})

t.test('limits of the machine, and turned off', async (t) => {
  const off = await startServer(t, { env: { RINGFENCE_REGION_MAX_BYTES: '0' } })
  t.match(await put(off, 'x', Buffer.alloc(0)), {
    status: 409,
    body: { meta: { message: /regionMaxBytes/ } },
  })

  const data = join(folder, 'limits')
  mkdirSync(data)
  let memory = 1e9
  const uploads = new MapRegionUploads({
    dataFolder: data,
    lock: lockStore,
    imported: async () => {},
    memory: () => memory,
    clock: new ManualClock(),
    logger: createLogger('silent'),
  })
  const receive = (expected?: number, file = extract('limited')) =>
    uploads.receive('x', Readable.from([file]), expected)
  await t.rejects(receive(1e18), {
    code: 503,
    message: /^The data folder has room for \d+ MB; this import takes/,
  })
  memory = 100e6
  await t.rejects(receive(), { code: 503, message: /^This import may take up to \d+ MB of memory/ })
  t.strictSame(readdirSync(mapRegionsFolder(data)).sort(), ['imports.json', 'lock'])
  memory = 1e9
  await uploads.stop()
  await t.rejects(receive(), { code: 503, message: 'Shutting down.' })
})

t.test('a large extract takes no memory of the server', async (t) => {
  const server = await startServer(t)
  const memory = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]) * 1024
  const before = memory()
  const file = extract('large')
  const upload = request(`${server.url}/v1/map-regions/large`, {
    method: 'PUT',
    headers: { authorization: KEYS.liveSecret, ...OSM },
  })
  const answered = once(upload, 'response') as Promise<[IncomingMessage]>
  let most = before
  upload.write(file)
  const part = Buffer.alloc(1e6, 255)
  for (let i = 0; i < PARTS; i++) {
    // As a network does, which is slower than the server reads.
    if (!upload.write(part)) await once(upload, 'drain')
    await sleep(2)
    most = Math.max(most, memory())
  }
  upload.end()
  const [answer] = await answered
  t.equal(answer.statusCode, 202)
  answer.resume()
  t.ok(most - before < 150e6, `${Math.round((most - before) / 1e6)} MB more`)
  // After its last block it is damaged, so that its import ends at once.
  t.match(await ended(server), {
    status: 'failed',
    bytes: file.length + PARTS * 1e6,
    message: /^The file is damaged\./,
  })
  t.strictSame(left(server), ['imports.json', 'lock'])
})

t.test('the name of a region of addresses is refused', async (t: Test) => {
  const server = await startServer(t, { sample: true })
  t.equal((await put(server, 'santa-cruz', extract('cruz'))).status, 202)
  t.match(await ended(server), { status: 'failed', message: /region of added addresses/ })
  const regions = mapRegionsFolder(server.data)
  const ranges = readManifest(regions).regions.find(({ name }) => name === 'santa-cruz')!
  t.equal(readRecord(join(regions, ranges.folder)).stages.routing, undefined)
})
