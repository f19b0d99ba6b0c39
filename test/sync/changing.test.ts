/** Sources that change while they are fetched: what counts is one content as a whole, or nothing. */
import { readdirSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { openRegistry } from '../../src/registry/registry.ts'
import { Outgoing } from '../../src/runtime/outgoing.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { fetchSource } from '../../src/sync/fetchSource.ts'
import { openSourceRows } from '../../src/sync/rowsThread.ts'
import { SecretBox } from '../../src/sync/secretBox.ts'
import { SyncRunner } from '../../src/sync/syncRunner.ts'
import { SimulatedTime } from '../kit/simulatedTime.ts'
import { until } from '../kit/waiting.ts'
import { folderOf, SCOPE } from '../registry/replicatedKit.ts'
import { FileServer, HEADER, row } from './syncKit.ts'

const LIMITS = { maxBytes: 10_000_000, idleMs: 10_000, totalMs: 60_000 }
const box = new SecretBox('00'.repeat(32))
const rowsOf = (tag: string, count: number) => Array.from({ length: count }, (_, i) => row(tag, i)).join('')
/** Longer than what fits into the buffers on the way. */
const BEFORE = HEADER + rowsOf('before', 20_000)
const AFTER = HEADER + rowsOf('after', 300)

/** The sync of one source, with a clock that the test sets. */
async function open(t: Test) {
  const web = await FileServer.start(t)
  const urls = [`${web.url}/source.csv`]
  const time = new SimulatedTime(Date.UTC(2026, 2, 10, 12))
  const registry = openRegistry({ folder: folderOf(t), clock: time, createIndex: createGeofenceIndex })
  const outgoing = new Outgoing(['127.0.0.1'])
  t.teardown(async () => {
    await outgoing.close()
    registry.close()
  })
  const { syncs, geofences } = registry
  const folder = join(folderOf(t), 'sync')
  const runner = new SyncRunner({
    syncs,
    geofences,
    box,
    time,
    folder,
    finder: { positionOf: async () => undefined, placeArea: async () => undefined },
    logger: { info() {}, warn() {}, error: (fields: object) => t.fail(JSON.stringify(fields)) },
    tell: () => ({ state: { status: 'off' }, changes: [] }),
    openRows: openSourceRows,
    fetch: (source, file, known, signal) => fetchSource(outgoing, source, file, known, LIMITS, signal),
  })
  await syncs.edit(() =>
    syncs.save(SCOPE, {
      enabled: false,
      protocol: 'http',
      http: { urls, passwordSet: false, headers: [] },
      time: '03:00',
      timeZone: 'UTC',
      deleteMissing: true,
      maxDeleteShare: 1,
      emails: [],
      notify: 'always',
      sealed: box.seal(SCOPE, { urls }),
      scheduledSince: 0,
    }),
  )
  const tags = () => new Set([...geofences.store(SCOPE).inOrder()].map(({ tag }) => tag))
  const ran = async () => {
    const { id } = await runner.request(SCOPE, { trigger: 'manual' })
    await runner.run()
    await until(async () => {
      if (syncs.active(SCOPE) === undefined) return true
      // The pause before the next attempt.
      await time.runUntil(time.now() + 10_000)
      return false
    })
    await runner.stopped()
    t.strictSame(readdirSync(folder), [], 'no file is left')
    return syncs.get(SCOPE, id)?.run
  }
  return { web, ran, tags }
}

t.test('it breaks off, and the next attempt gets another content', async (t) => {
  const { web, ran, tags } = await open(t)
  let asked = 0
  web.files.set('/source.csv', (request, response) => {
    const etag = `"${++asked}"`
    if (asked === 1) return void breakOff(response, { etag }, BEFORE.slice(0, 500_000))
    // Not `"1"`, because that content never came whole.
    t.equal(request.headers['if-none-match'], asked === 2 ? undefined : '"2"')
    if (request.headers['if-none-match'] === '"2"') response.writeHead(304).end()
    else response.writeHead(200, { etag, 'content-length': AFTER.length }).end(AFTER)
  })
  const run = await ran()
  t.match(run, {
    status: 'succeeded',
    sources: [{ status: 'read', attempts: 2, etag: '"2"', bytes: AFTER.length }],
  })
  t.match(run?.sources, [{ rows: 300, created: 300 }])
  t.strictSame(tags(), new Set(['after']))
  t.match(await ran(), { status: 'succeeded', sources: [{ status: 'unchanged', httpStatus: 304 }] })
})

t.test('the body goes on with another content', async (t) => {
  const { web, ran, tags } = await open(t)
  const mixed = BEFORE.slice(0, 100_000) + AFTER
  const packed = [gzipSync(BEFORE), gzipSync(AFTER)] as const
  const mixedGzip = Buffer.concat([packed[0].subarray(0, 10_000), packed[1].subarray(100)])
  for (const [what, headers, body, code, isCut = false] of [
    ['shorter than told', { 'content-length': BEFORE.length }, mixed, 'length', true],
    ['packed', { 'content-encoding': 'gzip' }, mixedGzip, 'gzip'],
    [
      'packed, as long as told',
      { 'content-encoding': 'gzip', 'content-length': mixedGzip.length },
      mixedGzip,
      'gzip',
    ],
    ['within a row', {}, `${BEFORE.slice(0, 100_000)}"${AFTER}`, 'notCsv'],
  ] as const) {
    web.files.set('/source.csv', (_, response) => {
      response.writeHead(200, { etag: '"1"', ...headers })
      response.write(body, () => (isCut ? response.socket!.end() : response.end()))
    })
    t.match(
      await ran(),
      { status: 'failed', sources: [{ status: 'failed', attempts: 1, error: { code } }] },
      what,
    )
    t.strictSame(tags(), new Set(), what)
  }
})

t.test(
  'between two runs: a length or a date alone is no reason to believe that nothing has changed',
  async (t) => {
    const { web, ran, tags } = await open(t)
    const serve = (content: string) =>
      web.files.set(
        '/source.csv',
        (_, response) => void response.writeHead(200, { etag: '"same"' }).end(content),
      )
    serve(HEADER + row('before', 1))
    t.match(await ran(), { status: 'succeeded', sources: [{ created: 1 }] })
    // As long as the other.
    serve(HEADER + row('behind', 1))
    t.match(await ran(), { status: 'succeeded', deleted: 1, sources: [{ status: 'read', created: 1 }] })
    t.strictSame(tags(), new Set(['behind']))
  },
)

/** Sends a part, whose length is not told, and resets the connection. */
function breakOff(response: ServerResponse, headers: Record<string, string>, part: string): void {
  response.writeHead(200, headers)
  response.write(part, () => setTimeout(() => response.socket!.resetAndDestroy(), 50))
}
