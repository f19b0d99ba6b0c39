/**
 * `kill -9` leaves the page cache intact, so surviving it proves nothing about power loss. This test watches the
 * system calls of the real server instead. No HTTP answer that acknowledges an update may leave a socket before a
 * flush of the segment with that update has returned, and this flush must have begun after the update was written
 * (G1).
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startServer } from '../kit/server.ts'
import { noTrace, parseTrace, trace, type SystemCall } from './systemCalls.ts'

const DEVICES = 12
const UPDATES = 10
const CALLS = ['fdatasync', 'fsync', 'write', 'writev', 'pwrite64', 'pwritev', 'sendto', 'sendmsg']

interface Findings {
  /** Marks of updates whose answer was sent. */
  readonly acknowledged: Set<string>
  /** One sentence for each answer that was sent too early. */
  readonly early: string[]
}

/** Every update carries a unique mark in its description, which can be found in the frame and in the answer. */
function findings(calls: readonly SystemCall[]): Findings {
  const acknowledged = new Set<string>()
  const early: string[] = []
  const frames = calls.filter(({ name, text }) => name.startsWith('pwrite') && /^\d+<[^>]*\.seg>/.test(text))
  const flushes = calls.filter(({ name, result }) => /^f(data)?sync$/.test(name) && result === '0')
  for (const call of calls) {
    if (!call.text.includes('HTTP/1.1 200')) continue
    for (const mark of marksOf(call)) {
      acknowledged.add(mark)
      const frame = frames.find((one) => marksOf(one).includes(mark))
      const file = frame === undefined ? '' : fileOf(frame)
      const isFlushed =
        frame !== undefined &&
        flushes.some((one) => fileOf(one) === file && one.began > frame.ended && one.ended < call.began)
      if (!isFlushed)
        early.push(`${mark} was acknowledged before its flush${frame ? '' : ', and never written'}`)
    }
  }
  return { acknowledged, early }
}

function marksOf({ text }: SystemCall): string[] {
  return text.match(/mark-\d+-\d+-/g) ?? []
}

/** The path behind the file descriptor of the call. */
function fileOf({ text }: SystemCall): string {
  return /^\d+<([^>]*)>/.exec(text)?.[1] ?? ''
}

/** Devices track in parallel while strace watches. */
async function tracked(t: Test, durability: 'fsync' | 'os'): Promise<Findings> {
  // The smallest segments, so that some answers come after a rotation.
  const env = { RINGFENCE_DURABILITY: durability, RINGFENCE_SEGMENT_BYTES: '65536' }
  const server = await startServer(t, { env })
  await server.api('PUT', '/v1/geofences/tag/all', {
    type: 'circle',
    description: 'all',
    coordinates: [0, 0],
    radius: 100,
  })
  const tracing = await trace(server.pid, join(t.testdir({}), 'trace'), CALLS)
  const device = async (number: number) => {
    for (let update = 0; update < UPDATES; update++) {
      const body = {
        deviceId: `device-${number}`,
        latitude: 0,
        // Alternately inside and outside the geofence.
        longitude: (update % 2) / 100,
        accuracy: 5,
        description: `mark-${number}-${update}-`.padEnd(700, '.'),
      }
      t.equal((await server.api('POST', '/v1/track', body)).status, 200)
    }
  }
  await Promise.all(Array.from({ length: DEVICES }, (_, number) => device(number)))
  return findings(await tracing.stop())
}

const skip = noTrace()

t.test('no answer is sent before the flush of its update has returned', { skip }, async (t) => {
  const { acknowledged, early } = await tracked(t, 'fsync')
  t.equal(acknowledged.size, DEVICES * UPDATES, 'every acknowledgement was seen')
  t.strictSame(early, [])
})

t.test('the check notices answers without a flush', { skip }, async (t) => {
  const { acknowledged, early } = await tracked(t, 'os')
  t.equal(acknowledged.size, DEVICES * UPDATES)
  t.ok(
    early.length >= DEVICES * UPDATES * 0.9,
    `with durability os hardly any is flushed; ${early.length} were early`,
  )
})

t.test('the trace is read as strace writes it', async (t) => {
  const good = [
    String.raw`7 pwrite64(20</l/1.seg>, "RFfr\1\0mark-1-0-..\0mark-2-0-"..., 64, 64) = 64`,
    '8 fdatasync(20</l/1.seg> <unfinished ...>',
    '7 write(2</dev/null>, "something else", 14) = 14',
    '8 <... fdatasync resumed>)             = 0',
    String.raw`7 sendto(24<socket:[5]>, "HTTP/1.1 200 OK\r\n\r\n{\"description\":\"mark-1-0-\"}", 50, MSG_NOSIGNAL, NULL, 0) = 50`,
  ]
  const early = (lines: readonly string[]) => findings(parseTrace(lines.join('\n'))).early.length
  t.equal(early(good), 0)
  t.equal(early([good[0]!, good[1]!, good[4]!, good[3]!]), 1, 'before the flush returned')
  t.equal(early([good[1]!, good[0]!, good[3]!, good[4]!]), 1, 'the flush began before the write')
  t.equal(early([good[0]!, good[4]!]), 1, 'no flush')
  t.equal(early(good.slice(1)), 1, 'no write')
  t.equal(early(good.map((line) => line.replace('= 0', '= -1 EIO'))), 1, 'the flush failed')
  t.equal(early(good.map((line) => line.replace('20</l/1.seg> <', '21</l/2.seg> <'))), 1, 'another file')
})
