/** Runs test files as a process: what they report in TAP, and whether they still make progress. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Parser } from 'tap-parser'
import { onGreen } from './testRecord.ts'
import { beginOf } from './sharedFiles.ts'

const SHARED_CHILD = fileURLToPath(new URL('./sharedChild.ts', import.meta.url))

/** How one test file ended. */
export interface FileResult {
  readonly path: string
  /** The titles of the tests that passed, at any depth. */
  readonly green: ReadonlySet<string>
  readonly passed: number
  /**
   * How many assertions failed. It is also 1 if the file ended with an error or tested nothing, without naming a
   * failure.
   */
  readonly failed: number
  readonly skipped: readonly Skipped[]
  readonly seconds: number
  /** How long its processes have computed, if no other file shared its process and the system tells. */
  readonly cpuSeconds: number | undefined
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

/** A running process with a test file, or with several one after the other. */
export interface RunningFiles {
  readonly paths: readonly string[]
  readonly results: Promise<readonly FileResult[]>
  /** Kills the process and all the processes that it started. */
  kill(): void
}

/** How long all files, and whatever else was counted, have computed. */
let endedSeconds = 0

/** How long what has ended since the last file has computed, which then counts for no file. Undefined as below. */
export function cpuSecondsOfOthers(): number | undefined {
  const now = cpuSecondsOfEnded()
  if (now === undefined) return undefined
  const seconds = now - endedSeconds
  endedSeconds = now
  return seconds
}

/**
 * How long the processes that this one has started, and theirs, have computed, of those that have ended. Undefined if the system
 * does not tell, as outside Linux.
 */
export function cpuSecondsOfEnded(): number | undefined {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    // Counted from the state, cutime is the 14th field and cstime the 15th, in ticks of 10 ms.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[13]) + Number(fields[14])) / 100
  } catch {
    return undefined
  }
}

/** The time that a hanging file gets to report which test hangs. */
const LAST_WORDS_MS = 5000

/** Runs a test file as {@link runTestFiles} does. */
export async function runTestFile(path: string, silentSeconds: number): Promise<FileResult> {
  return (await runTestFiles([path], silentSeconds).results)[0]!
}

/**
 * Runs test files in one process, with the Node of this one. They may take as long as they make progress, however slow the
 * machine is. The process is ended only after `silentSeconds` seconds without a line of output or a call of `progress()`.
 * @param paths several only if they may share a process; see sharedFiles.ts
 */
export function runTestFiles(paths: readonly string[], silentSeconds: number): RunningFiles {
  const began = performance.now()
  const child = spawn(process.execPath, paths.length === 1 ? paths : [SHARED_CHILD, ...paths], {
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

  const counts = paths.map((path) => new FileCount(path))
  let at = 0
  let isHung = false
  let lastSign = began
  const silence = () => (performance.now() - lastSign) / 1000
  const sign = () => {
    const count = counts[at]!
    count.longestSilence = Math.max(count.longestSilence, silence())
    lastSign = performance.now()
  }
  const watch = setInterval(() => {
    if (isHung || silence() < silentSeconds) return
    isHung = true
    // tap answers this signal with the name of the running test and what keeps the process alive.
    child.kill('SIGALRM')
    setTimeout(kill, LAST_WORDS_MS).unref()
  }, 1000)

  const parser = new Parser()
  onGreen(parser, (title) => counts[at]!.green.add(title))
  parser.on('pass', () => counts[at]!.passed++)
  parser.on('fail', () => counts[at]!.failed++)
  parser.on('skip', ({ name, skip }: { name: string; skip: string | true }) =>
    counts[at]!.skipped.push({ name, why: skip === true ? '' : skip }),
  )
  parser.on('comment', (text: string) => {
    if (paths.length === 1 || text.trim() !== `# ${beginOf(paths[at + 1] ?? '')}`) return
    counts[at]!.end()
    at++
    counts[at]!.began = performance.now()
  })
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      sign()
      // What comes with the first words of the next file may be of either.
      const first = at
      if (stream === child.stdout) parser.write(text)
      for (let i = first; i <= at; i++) counts[i]!.output += text
    })
  }
  child.on('message', sign)
  child.once('exit', () => {
    const now = cpuSecondsOfEnded()
    if (now === undefined) return
    if (paths.length === 1) counts[0]!.cpuSeconds = now - endedSeconds
    endedSeconds = now
  })

  const ended = async (): Promise<readonly FileResult[]> => {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    clearInterval(watch)
    sign()
    parser.end()
    // Kills the processes that the files left behind.
    kill()
    const last = counts[at]!
    if (isHung) last.output += `\nended after ${silentSeconds} s without any progress\n`
    if (signal !== null) last.output += `\nended by ${signal}\n`
    last.end()
    const isBad = code !== 0 || isHung || !parser.ok
    for (const count of counts) if (count.passed + count.failed + count.skipped.length === 0) count.failed = 1
    // An end for which no file has named a failure is one of the last that ran.
    if (isBad && counts.every(({ failed }) => failed === 0)) last.failed = 1
    return counts
  }
  return { paths, results: ended(), kill }
}

/** What is known so far of a file. */
class FileCount implements FileResult {
  readonly path: string
  readonly green = new Set<string>()
  readonly skipped: Skipped[] = []
  passed = 0
  failed = 0
  seconds = 0
  cpuSeconds: number | undefined
  longestSilence = 0
  output = ''
  began = performance.now()

  constructor(path: string) {
    this.path = path
  }

  end(): void {
    this.seconds = (performance.now() - this.began) / 1000
  }
}
