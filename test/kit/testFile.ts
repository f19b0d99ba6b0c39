/** Runs one test file as a process: what it reports in TAP, and whether it still makes progress. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Parser } from 'tap-parser'

/** How one test file ended. */
export interface FileResult {
  readonly path: string
  readonly passed: number
  /**
   * How many assertions failed. It is also 1 if the file ended with an error or tested nothing, without naming a
   * failure.
   */
  readonly failed: number
  readonly skipped: readonly Skipped[]
  readonly seconds: number
  /** The longest time without a sign of progress, in seconds. */
  readonly longestSilence: number
  /** What the file printed. It is shown if the file failed. */
  readonly output: string
}

/** A test that did not run, and the reason that it gave. */
export interface Skipped {
  readonly name: string
  readonly why: string
}

/** A running test file. */
export interface RunningFile {
  readonly path: string
  readonly result: Promise<FileResult>
  /** Kills the file and all the processes that it started. */
  kill(): void
}

/** The time that a hanging file gets to report which test hangs. */
const LAST_WORDS_MS = 5000

/**
 * Runs a test file with the Node of this process. A file may take as long as it makes progress, however slow the
 * machine is. It is ended only after `patience` seconds without a line of output or a call of `progress()`.
 */
export function runTestFile(path: string, patience: number): RunningFile {
  const began = performance.now()
  const child = spawn(process.execPath, [path], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // A process group, so that no server outlives a file that had to be killed.
    detached: true,
    // tap's own limit is a fixed time.
    env: { ...process.env, RINGFENCE_SAMPLE_REGION: 'off', RINGFENCE_DASHBOARD: 'off', TAP_TIMEOUT: '0' },
  })
  const kill = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // It has already ended.
    }
  }

  let longestSilence = 0
  let isHung = false
  let lastSign = began
  const silence = () => (performance.now() - lastSign) / 1000
  const sign = () => {
    longestSilence = Math.max(longestSilence, silence())
    lastSign = performance.now()
  }
  const watch = setInterval(() => {
    if (isHung || silence() < patience) return
    isHung = true
    // tap answers this signal with the name of the running test and what keeps the process alive.
    child.kill('SIGALRM')
    setTimeout(kill, LAST_WORDS_MS).unref()
  }, 1000)

  let output = ''
  let passed = 0
  let failed = 0
  const skipped: Skipped[] = []
  const parser = new Parser()
  parser.on('pass', () => passed++)
  parser.on('fail', () => failed++)
  parser.on('skip', ({ name, skip }: { name: string; skip: string | true }) =>
    skipped.push({ name, why: skip === true ? '' : skip }),
  )
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      sign()
      output += text
      if (stream === child.stdout) parser.write(text)
    })
  }
  child.on('message', sign)

  const ended = async (): Promise<FileResult> => {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    clearInterval(watch)
    sign()
    parser.end()
    // Kills the processes that the file left behind.
    kill()
    if (isHung) output += `\nended after ${patience} s without any progress\n`
    if (signal !== null) output += `\nended by ${signal}\n`
    const isEmpty = passed + skipped.length === 0
    if (failed === 0 && (code !== 0 || isHung || isEmpty || !parser.ok)) failed = 1
    const seconds = (performance.now() - began) / 1000
    return { path, passed, failed, skipped, seconds, longestSilence, output }
  }
  return { path, result: ended(), kill }
}
