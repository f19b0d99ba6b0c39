/** Imports that are interrupted: what is stored then, and what the history says. */
import { request } from 'node:http'
import type { ClientRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Server } from '../kit/server.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { clear, CSV, HEADER, imported, records, rowsOf } from './importKit.ts'
import type { Json, Kind } from './importKit.ts'

const server = await startServer(t)

/** Begins an import whose body the test sends later. */
function begin(to: Server, kind: Kind): ClientRequest {
  const upload = request(`${to.url}/v1/imports/${kind}`, {
    method: 'POST',
    headers: { ...CSV, authorization: KEYS.testSecret },
  })
  upload.on('error', () => undefined)
  return upload
}

/** The newest import, once `done` returns true for it. */
async function newest(of: Server, done: (record: Json) => boolean): Promise<Json> {
  for (;;) {
    const { body } = await of.api('GET', '/v1/imports/geofences?limit=1')
    const [record] = body.imports
    if (record !== undefined && done(record)) return record
    await sleep(20)
  }
}

t.test('a file that stops being CSV in the middle', async (t) => {
  const file =
    HEADER + rowsOf('broken', 0, 500) + 'a "quote",circle,broken,x,"[1,2]",10\n' + rowsOf('broken', 500, 5)
  const record = await imported(server, 'geofences', file)
  t.match(record, {
    status: 'interrupted',
    interruption: { line: 502, message: /inside a cell that is not quoted/ },
    rows: 500,
    created: 500,
    refused: 0,
  })
  t.equal((await records(server, 'geofences')).filter(({ tag }) => tag === 'broken').length, 500)
})

t.test('a file that stops being CSV before its first row is refused, with line and reason', async (t) => {
  const refused = 'x,square,broken,x,"[1,2]",10\n'
  for (const [rows, sentence] of [
    ['a "quote",circle,none,x,"[1,2]",10\n', /from line 2 on, .* inside a cell that is not quoted/],
    [`${refused}"a,circle,none,x,1,10\nb,circle,none,y,1,10\n`, /from line 3 on, .* never closed/],
  ] as const) {
    const answer = await server.api('POST', '/v1/imports/geofences', HEADER + rows, KEYS.testSecret, CSV)
    t.match(answer, { status: 400, body: { meta: { param: 'body', message: sentence } } })
  }
  const record = await newest(server, () => true)
  t.match(record, { status: 'interrupted', interruption: { line: 3 }, rows: 1, created: 0, refused: 1 })
})

t.test('an upload that breaks off: its first rows are in, and the history says where it ended', async (t) => {
  const upload = begin(server, 'geofences')
  upload.write(HEADER + rowsOf('cut', 0, 3000))
  await newest(server, ({ status, rows }) => status === 'running' && rows > 1000)
  upload.destroy()
  const record = await newest(server, ({ status }) => status !== 'running')
  t.equal(record.status, 'interrupted')
  t.ok(record.rows > 1000 && record.rows === record.created)
  t.equal(record.interruption.line, record.rows + 1)
  t.equal((await records(server, 'geofences')).filter(({ tag }) => tag === 'cut').length, record.created)
})

t.test(
  'kill -9 in the middle: the history has the correct counts, and a second run completes it',
  async (t) => {
    const own = await startServer(t)
    await clear(own, 'geofences')
    const file = HEADER + rowsOf('kill', 0, 3000)
    const upload = begin(own, 'geofences')
    upload.write(file)
    await newest(own, ({ rows }) => rows > 1000)
    await own.kill9()
    await own.restart()
    const record = await newest(own, () => true)
    t.match(record, {
      status: 'interrupted',
      interruption: { message: /The server stopped during the import/ },
    })
    t.notOk('finishedAt' in record)
    const standing = await records(own, 'geofences')
    t.ok(record.created > 1000)
    t.equal(standing.length, record.created)
    t.equal(record.rows, record.created)
    const again = await imported(own, 'geofences', file)
    t.match(again, {
      status: 'completed',
      rows: 3000,
      created: 3000 - standing.length,
      updated: standing.length,
    })
    t.equal((await records(own, 'geofences')).length, 3000)
    await own.stop()
  },
)

t.test('a server that is stopped ends the import cleanly', async (t) => {
  const own = await startServer(t)
  const upload = begin(own, 'geofences')
  const answered = new Promise((resolve) => upload.once('response', ({ statusCode }) => resolve(statusCode)))
  upload.write(HEADER + rowsOf('stop', 0, 1000))
  await newest(own, ({ rows }) => rows > 500)
  await own.stop()
  t.equal(await answered, 503)
  await own.restart()
  const record = await newest(own, () => true)
  t.match(record, {
    status: 'interrupted',
    interruption: { line: record.rows + 1, message: 'Shutting down.' },
  })
  t.ok(record.rows > 500 && record.rows === record.created)
  t.ok('finishedAt' in record)
})
