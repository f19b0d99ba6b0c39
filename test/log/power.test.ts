/**
 * `kill -9` does not clear the page cache, so what survives it proves nothing about power loss. This test checks the
 * system calls of a real process: no acknowledgement is written before the flush of its frame has returned.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const FRAMES = 30

/** One system call. `began` and `ended` are line numbers of the trace, which strace writes in order. */
interface SystemCall {
  readonly name: string
  readonly text: string
  readonly began: number
  ended: number
  result: string
}

/** Joins the `<unfinished ...>` and `resumed` halves of calls that overlap with calls of another thread. */
function parseTrace(trace: string): SystemCall[] {
  const calls: SystemCall[] = []
  const unfinished = new Map<string, SystemCall>()
  for (const [line, text] of trace.split('\n').entries()) {
    const whole = /^(\d+)\s+(\w+)\((.*)\)\s+= (-?\d+)/.exec(text)
    const begun = /^(\d+)\s+(\w+)\((.*)<unfinished \.\.\.>$/.exec(text)
    const resumed = /^(\d+)\s+<\.\.\. (\w+) resumed>.*\)\s+= (-?\d+)/.exec(text)
    if (whole !== null) {
      calls.push({ name: whole[2]!, text: whole[3]!, began: line, ended: line, result: whole[4]! })
    } else if (begun !== null) {
      const call = { name: begun[2]!, text: begun[3]!, began: line, ended: Infinity, result: '' }
      calls.push(call)
      unfinished.set(begun[1]!, call)
    } else if (resumed !== null) {
      const call = unfinished.get(resumed[1]!)!
      call.ended = line
      call.result = resumed[3]!
      unfinished.delete(resumed[1]!)
    }
  }
  return calls
}

/** Faults in the order of calls: one sentence for each acknowledgement that was written too early. */
function earlyAcknowledgements(calls: readonly SystemCall[]): { acknowledgements: number; early: string[] } {
  const frames = calls.filter((call) => call.name === 'pwrite64' && /^\d+<.*\.seg>, "RFfr/.test(call.text))
  const flushes = calls.filter((call) => call.name === 'fdatasync' && call.result === '0')
  const early: string[] = []
  let acknowledgements = 0
  for (const call of calls) {
    const position = call.name === 'write' ? Number(/^1<.*>, "ack (\d+)/.exec(call.text)?.[1]) : NaN
    if (Number.isNaN(position)) continue
    acknowledgements++
    const frame = frames[position - 1]
    const file = frame?.text.split(',')[0]
    const flushed = flushes.some(
      (flush) => flush.text.startsWith(file!) && flush.began > frame!.ended && flush.ended < call.began,
    )
    if (!flushed) early.push(`frame ${position} was acknowledged before it was flushed`)
  }
  return { acknowledgements, early }
}

function traced(folder: string, durability: 'fsync' | 'os'): ReturnType<typeof earlyAcknowledgements> {
  const trace = join(folder, `${durability}.trace`)
  const calls = 'trace=write,writev,pwrite64,pwritev,fdatasync,fsync'
  const options = ['-f', '-y', '-o', trace, '-s', '32', '--seccomp-bpf', '-e', calls]
  const child = [join(import.meta.dirname, 'appenderChild.ts'), join(folder, durability), durability]
  execFileSync('strace', [...options, process.execPath, ...child, String(FRAMES)])
  return earlyAcknowledgements(parseTrace(readFileSync(trace, 'utf8')))
}

const noStrace = spawnSync('strace', ['-V']).error !== undefined && 'strace is not installed'

t.test('no acknowledgement is sent before its fdatasync has returned', { skip: noStrace }, async (t) => {
  t.strictSame(traced(t.testdir({}), 'fsync'), { acknowledgements: FRAMES, early: [] })
})

t.test('the check notices acknowledgements without a flush', { skip: noStrace }, async (t) => {
  const { acknowledgements, early } = traced(t.testdir({}), 'os')
  t.equal(acknowledgements, FRAMES)
  t.equal(early.length, FRAMES, 'with durability os none is flushed')
})

t.test('the trace is read as strace writes it', async (t) => {
  const good = [
    '7 pwrite64(20</l/1.seg>, "RFfr"..., 64, 64) = 64',
    '8 fdatasync(20</l/1.seg> <unfinished ...>',
    '7 write(2</dev/null>, "something else", 14) = 14',
    '8 <... fdatasync resumed>)             = 0',
    '7 write(1<pipe:[5]>, "ack 1\\n", 6)     = 6',
  ]
  const check = (lines: readonly string[]) => earlyAcknowledgements(parseTrace(lines.join('\n'))).early.length
  t.equal(check(good), 0)
  t.equal(check([good[0]!, good[1]!, good[4]!, good[3]!]), 1, 'before the flush returned')
  t.equal(check([good[1]!, good[0]!, good[3]!, good[4]!]), 1, 'the flush began before the write')
  t.equal(check([good[0]!, good[4]!]), 1, 'no flush')
  t.equal(check(good.map((line) => line.replace('20</l/1.seg> <', '21</l/2.seg> <'))), 1, 'another file')
  t.equal(check(good.map((line) => line.replace('= 0', '= -1 EIO'))), 1, 'the flush failed')
})
