import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { availableParallelism, constants, setPriority } from 'node:os'

/**
 * Gives the calling thread a low priority: it runs when no thread of normal priority needs its processor. Threads whose
 * work can wait call it first, so that tracking does not wait for them. Only on Linux does a priority belong to a
 * thread; elsewhere it belongs to the whole process, so nothing happens there.
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Some containers forbid it; then all threads are equal.
  }
}

/**
 * Lets the calling thread run only when no other thread wants its processor. A low priority alone does not do that: the
 * kernel lets such a thread finish its slice of some milliseconds, so the event loop would wait for it wherever it wakes
 * up. A thread of the class `SCHED_IDLE` is interrupted at once. With a single processor it keeps a low priority instead,
 * because it would wait for as long as tracking is busy. Only on Linux, with the command `chrt`.
 */
export function runWhenIdle(): void {
  lowerPriority()
  if (process.platform !== 'linux' || availableParallelism() === 1) return
  try {
    execFileSync('chrt', ['--idle', '--pid', '0', callingThread()], { stdio: 'ignore' })
  } catch {
    // There is no such command, or it is forbidden; then the thread has a low priority.
  }
}

/**
 * Keeps the calling thread off the first processor that it may use, if there is another one. The kernel lets a thread of
 * low priority finish its slice of some milliseconds, so the threads of a pool that has work for every processor would
 * delay the event loop wherever it wakes up. Only on Linux, with the command `taskset`.
 */
export function leaveOneProcessor(): void {
  if (process.platform !== 'linux') return
  try {
    const status = readFileSync('/proc/thread-self/status', 'utf8')
    const others = withoutFirst(/^Cpus_allowed_list:\s*(\S+)$/m.exec(status)![1]!)
    if (others !== '') execFileSync('taskset', ['-cp', others, callingThread()], { stdio: 'ignore' })
  } catch {
    // There is no such command, or it is forbidden; then the thread runs anywhere.
  }
}

/** The number by which the kernel knows the calling thread. */
function callingThread(): string {
  return readlinkSync('/proc/thread-self').split('/').at(-1)!
}

/** A list of processors such as `0-3,6` without its first one: `1-3,6`. */
export function withoutFirst(list: string): string {
  const [first = '', ...rest] = list.split(',')
  const [from, to] = first.split('-').map(Number) as [number, number | undefined]
  const left = to === undefined || to === from ? [] : [from + 1 === to ? `${to}` : `${from + 1}-${to}`]
  return [...left, ...rest].join(',')
}
