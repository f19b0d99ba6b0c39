/**
 * A dry run of a million rows, as somebody may send one: it takes memory of a piece of the file, other requests go on,
 * and nothing is written.
 */
import { readFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { progress } from '../kit/waiting.ts'
import { CSV, HEADER, imported, records, rowsOf } from './importKit.ts'

const ROWS = 1_000_000
/** Few, because the updates of this test wait while it writes them. */
const PART = 1000
const REFUSED_EVERY = 10_000
/** A quarter of the file would be twice as much. */
const MOST_GROWTH_BYTES = 150e6
const MOST_WAIT_MS = 2000

t.test('a dry run of a million rows', async (t) => {
  const server = await startServer(t)
  await imported(server, 'geofences', HEADER + rowsOf('known', 0, 100))
  const track = async (device: number) => {
    const update = { deviceId: `d${device}`, latitude: 1, longitude: 1, accuracy: 5 }
    t.equal((await server.api('POST', '/v1/track', update)).status, 200)
  }
  // For the first update, the server and this test compile what the others find.
  await track(0)
  const memory = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]) * 1024
  const before = memory()
  let most = before
  const upload = request(`${server.url}/v1/imports/geofences?dryRun=true`, {
    method: 'POST',
    headers: { authorization: KEYS.testSecret, ...CSV },
  })
  const answered = once(upload, 'response') as Promise<[IncomingMessage]>
  const over = new AbortController()
  let slowest = 0
  const tracking = (async () => {
    for (let i = 0; !over.signal.aborted; i++) {
      const began = performance.now()
      await track(i % 10)
      slowest = Math.max(slowest, performance.now() - began)
      most = Math.max(most, memory())
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })()
  upload.write(HEADER)
  for (let from = 0; from < ROWS; from += PART) {
    // One of ten thousand is refused, and the first hundred are known.
    const rows =
      from % REFUSED_EVERY === 0
        ? rowsOf('known', from, PART - 1) + `Row,circle,known,${from},"[1,2]",-1\n`
        : rowsOf('known', from, PART)
    if (!upload.write(rows)) await once(upload, 'drain')
    progress()
  }
  upload.end()
  const [answer] = await answered
  const body = JSON.parse(await text(answer))
  over.abort()
  await tracking
  t.equal(answer.statusCode, 200)
  t.match(body.import, {
    dryRun: true,
    status: 'completed',
    rows: ROWS,
    refused: ROWS / REFUSED_EVERY,
    updated: 100,
  })
  t.equal(body.import.created, ROWS - ROWS / REFUSED_EVERY - 100)
  t.ok(body.import.errors.length <= 1000)
  t.ok(most - before < MOST_GROWTH_BYTES, `${Math.round((most - before) / 1e6)} MB more`)
  t.ok(slowest < MOST_WAIT_MS, `an update took ${Math.round(slowest)} ms`)
  t.equal((await records(server, 'geofences')).length, 100, 'nothing was written')
  t.equal((await server.api('GET', '/v1/imports/geofences')).body.imports.length, 1, 'nor in the history')
})
