/** Waiting on machines of any speed: as long as something happens, instead of for a fixed time. */
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Progress is reported at most this often. */
const EVERY_MS = 1000
/** How long a process that is waited for may show no sign of activity. */
const UNCHANGED_SECONDS = 60

let last = 0

/**
 * Tells the runner that this file has made progress, so that it is not ended as hung. For steps that take long
 * without an assertion, such as the start of a server or a case of a property. Not for polling while the answer has
 * not changed.
 */
export function progress(): void {
  const now = performance.now()
  if (now - last < EVERY_MS) return
  last = now
  process.send?.('progress')
}

/**
 * A condition is first checked after 5 ms, and then less and less often, because the checks slow down what they wait
 * for.
 */
const FIRST_CHECK_MS = 5
const LAST_CHECK_MS = 50
const CHECK_GROWTH = 1.2

/**
 * Resolves once the condition holds, which is checked every 5 to 50 ms. Only the runner limits the time, by ending a file
 * that makes no progress, because on a slow machine everything takes longer.
 */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let pause = FIRST_CHECK_MS; !(await holds()); pause = Math.min(LAST_CHECK_MS, pause * CHECK_GROWTH))
    await sleep(pause)
  progress()
}

/**
 * Resolves once a process that was started is ready. It may take as long as it writes or computes.
 * @param output everything that it has written so far
 * @throws Error with its output, if it has ended, or has done neither for a minute
 */
export async function untilReady(
  child: ChildProcess,
  name: string,
  isReady: () => boolean | Promise<boolean>,
  output: () => string,
): Promise<void> {
  let seen = ''
  let since = performance.now()
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`${name} exited with ${child.exitCode ?? child.signalCode}\n${output()}`)
    }
    if (await isReady()) return progress()
    const now = `${output().length} ${cpuTicks(child.pid!)}`
    if (now !== seen) {
      seen = now
      since = performance.now()
    } else if (performance.now() - since > UNCHANGED_SECONDS * 1000) {
      child.kill('SIGKILL')
      throw new Error(`${name} is not ready and has done nothing for ${UNCHANGED_SECONDS} s\n${output()}`)
    }
    await sleep(20)
  }
}

/**
 * The CPU time that a process has used, in whole ticks of 10 ms. Empty if the system does not report it, as outside
 * Linux.
 */
export function cpuTicks(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The fields follow the process name, which may contain spaces. Counted from the state, utime is the 12th field
    // and stime the 13th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return `${Number(fields[11]) + Number(fields[12])}`
  } catch {
    return ''
  }
}
