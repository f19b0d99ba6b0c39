/** `npm test` and `npm run test:slow`: see {@link HELP}. */
import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { RUNNER_OPTIONS } from './kit/nodeOptions.ts'
import { mayShare } from './kit/sharedFiles.ts'
import {
  cpuSecondsOfEnded,
  cpuSecondsOfOthers,
  runTestFiles,
  type FileResult,
  type RunningFiles,
} from './kit/testFile.ts'
import { readRecord, recordGreen } from './kit/testRecord.ts'

/** Values that `--slow` sets if the environment does not. */
const SLOW_SIZES = { RINGFENCE_TEST_RUNS: '2', RINGFENCE_CRASH_ROUNDS: '3' }
/**
 * Files at a time by default, on two cores. A fifth of the quick ones wait for most of their time: with three at a time, the
 * processors had nothing to do for a tenth of it. The slow ones start clusters and browsers, whose memory must be enough.
 */
const JOBS = { quick: 4, slow: 2 }
/** Files that run in one process, if they may share one. */
const SHARING = 12
/** Quick files that take longer than ten seconds, for a clone in which nothing has run yet. */
const LONG: ReadonlySet<string> = new Set([
  'test/delivery/serverSentEvents.test.ts',
  'test/delivery/hooks.test.ts',
  'test/delivery/webhooks.test.ts',
  'test/e2e/badInput.test.ts',
  'test/e2e/calls.test.ts',
  'test/events/eventIndex.test.ts',
  'test/cluster/jetStreamLease.test.ts',
  'test/crash/crash.test.ts',
  'test/dashboard/basics.test.ts',
  'test/sync/runs.test.ts',
  'test/runtime/process.test.ts',
  'test/e2e/requiredFields.test.ts',
  'test/reference/examples.test.ts',
  'test/stream/stream.test.ts',
  'test/e2e/framing.test.ts',
  'test/http/streams.test.ts',
  'test/http/slow.test.ts',
  'test/notify/mails.test.ts',
  'test/sync/runner.test.ts',
  'test/rules/measured.test.ts',
  'test/growth/patterns.test.ts',
  'test/accounts/tickets.test.ts',
  'test/maps/tiles.test.ts',
  'test/e2e/records.test.ts',
  'test/e2e/limits.test.ts',
  'test/geodata/addAddresses.test.ts',
])
/** Seconds of these and of others. */
const USUAL = { long: 15, other: 1.5 }
/** Matches files whose size these values decide. */
const DRAWS = /RINGFENCE_TEST_RUNS|RINGFENCE_CRASH_ROUNDS|\bruns\(|fastCheck\.ts/
/** How often the running files are named if none has ended in the meantime. */
const STILL_RUNNING_MS = 30_000

const PREPARE = fileURLToPath(new URL('kit/prepare.ts', import.meta.url))

/** Lines about what passed, which are left out if a file has failed. */
const PASSED = /^\s*(ok \d|1\.\.\d|TAP version|$)/

/** What a kit prints if a server is missing. */
const STAND_IN = /^STAND-IN .*$/gm

const HELP = `Usage: npm test -- [options] [PATH …]

Runs the test files below test/, or those whose path contains one of PATH. Each file is a program that prints TAP and can
also be run by itself: node test/config/options.test.ts

  --slow        runs the files *.slow.test.ts, and the randomised tests with ${SLOW_SIZES.RINGFENCE_TEST_RUNS} times as many cases (npm run test:slow does this)
  --draw N      runs one in N of these files, chosen at random by RINGFENCE_SEED, or by a new seed each time
  --jobs N      number of files that run at the same time; default ${JOBS.quick}, and ${JOBS.slow} with --slow
  --patience S  ends a file after S seconds without any progress; default 300
  --list        prints the files and runs none
`

function options() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      slow: { type: 'boolean', default: false },
      draw: { type: 'string', default: '1' },
      jobs: { type: 'string' },
      patience: { type: 'string', default: '300' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const jobs = Number(values.jobs ?? (values.slow ? JOBS.slow : JOBS.quick))
  const silentSeconds = Number(values.patience)
  const share = Number(values.draw)
  if (!Number.isInteger(share) || share < 1) throw new TypeError('--draw: a whole number above 0')
  if (!Number.isInteger(jobs) || jobs < 1) throw new TypeError('--jobs: a whole number above 0')
  if (!(silentSeconds > 0)) throw new TypeError('--patience: a number of seconds above 0')
  const found = globSync('test/**/*.test.ts')
    .filter((path) => positionals.length > 0 || (values.slow ? isSlow(path) || draws(path) : !isSlow(path)))
    .filter((path) => positionals.length === 0 || positionals.some((part) => path.includes(part)))
  const unknown = positionals.find((part) => !found.some((path) => path.includes(part)))
  if (unknown !== undefined) throw new TypeError(`no test file has ${JSON.stringify(unknown)} in its path`)
  // Slow files first, for the same reason as in processesOf, which keeps this order where it knows no times.
  const files = drawn(found, share).toSorted(
    (a, b) => Number(isSlow(b)) - Number(isSlow(a)) || a.localeCompare(b, 'en'),
  )
  // Each by itself where one looks for a fault.
  return { ...values, jobs, silentSeconds, files, shared: positionals.length === 0 }
}

/** One of `share` files, at least one: the order of their hashes with the seed decides. */
function drawn(paths: readonly string[], share: number): readonly string[] {
  if (share === 1) return paths
  const seed = process.env['RINGFENCE_SEED'] ?? randomUUID()
  const rank = (path: string) => createHash('sha256').update(`${seed}/${path}`).digest('hex')
  const ranks = new Map(paths.map((path) => [path, rank(path)]))
  const order = paths.toSorted((a, b) => (ranks.get(a)! < ranks.get(b)! ? -1 : 1))
  return order.slice(0, Math.ceil(order.length / share))
}

function isSlow(path: string): boolean {
  return path.endsWith('.slow.test.ts')
}

function draws(path: string): boolean {
  return DRAWS.test(readFileSync(path, 'utf8'))
}

/**
 * The files of each process: one, or several that may share it. Those that share come first, because they need nothing that
 * must be made. Of the others, those that took the longest in this clone come first, because at the end one of them would run
 * alone.
 */
function processesOf(files: readonly string[], shared: boolean): (readonly string[])[] {
  const together = shared ? files.filter((path) => mayShare(path)) : []
  const alone = new Set(files).difference(new Set(together))
  const groups = Array.from({ length: Math.ceil(together.length / SHARING) }, (_, i) =>
    together.slice(i * SHARING, (i + 1) * SHARING),
  )
  const record = readRecord()
  const secondsOf = (path: string) => record[path]?.seconds ?? (LONG.has(path) ? USUAL.long : USUAL.other)
  const lengthOf = (paths: readonly string[]) => paths.reduce((seconds, path) => seconds + secondsOf(path), 0)
  const processes = [...groups, ...[...alone].map((path) => [path])]
  const isAlone = (paths: readonly string[]) => Number(paths.length === 1)
  return processes.toSorted((a, b) => isAlone(a) - isAlone(b) || lengthOf(b) - lengthOf(a))
}

/** Resolves when prepare.ts has ended. What it could not make, the files make themselves, or say why not. */
async function prepared(): Promise<void> {
  const began = performance.now()
  const child = spawn(process.execPath, [PREPARE], { stdio: 'ignore' })
  await once(child, 'close')
  const cpu = cpuSecondsOfOthers()
  if (cpu === undefined || cpu < 1) return
  const seconds = (performance.now() - began) / 1000
  console.log(`         made what tests need, ${seconds.toFixed(1)} s, ${cpu.toFixed(1)} s of CPU`)
}

/** Runs the files, several processes at a time, and prints a line for each when its process ends. */
async function runAll(
  files: readonly string[],
  shared: boolean,
  jobs: number,
  silentSeconds: number,
): Promise<FileResult[]> {
  const running = new Set<RunningFiles>()
  const results: FileResult[] = []
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      for (const file of running) file.kill()
      process.exit(1)
    })
  }
  const stillRunning = setInterval(() => {
    console.log(`         … ${[...running].map(({ paths }) => paths[0]).join(', ')}`)
  }, STILL_RUNNING_MS)
  const waiting = processesOf(files, shared)
  // Files that share a process need none of it.
  const ready = shared ? prepared() : undefined
  const worker = async () => {
    for (let paths = waiting.shift(); paths !== undefined; paths = waiting.shift()) {
      if (paths.length === 1) await ready
      const started = runTestFiles(paths, silentSeconds)
      running.add(started)
      const ended = await started.results
      recordGreen(ended)
      for (const result of ended) {
        results.push(result)
        report(result, `${results.length}/${files.length}`)
      }
      running.delete(started)
      stillRunning.refresh()
    }
  }
  await Promise.all(Array.from({ length: jobs }, worker))
  clearInterval(stillRunning)
  return results
}

function report(
  { path, passed, failed, skipped, seconds, cpuSeconds, output }: FileResult,
  count: string,
): void {
  const skips = skipped.length === 0 ? '' : `, ${skipped.length} skipped`
  const cpu = cpuSeconds === undefined ? '' : `, ${cpuSeconds.toFixed(1)} s of CPU`
  const outcome = failed === 0 ? 'ok    ' : 'FAILED'
  console.log(
    `${count.padStart(7)}  ${outcome}  ${path}  ${passed} passed${skips}, ${seconds.toFixed(1)} s${cpu}`,
  )
  if (failed === 0) return
  const told = output.split('\n').filter((line) => !PASSED.test(line))
  console.log(told.map((line) => `    | ${line}`).join('\n'))
}

/** One line for each reason why tests did not run or ran against a stand-in. */
function skippedLines(results: readonly FileResult[]): string[] {
  const counts = new Map<string, number>()
  for (const { why } of results.flatMap(({ skipped }) => skipped)) {
    const reason = why.split('\n')[0]!
    counts.set(reason, (counts.get(reason) ?? 0) + 1)
  }
  const skips = [...counts].map(([why, count]) => `${count} skipped: ${why || 'no reason given'}`)
  const standIns = results.flatMap(({ output }) => output.match(STAND_IN) ?? [])
  return [...skips, ...new Set(standIns)]
}

/** How long the processors of this machine have worked and rested, since it was started. */
function processorTimes(): { readonly busy: number; readonly idle: number } {
  const times = cpus().map((one) => one.times)
  const idle = times.reduce((total, one) => total + one.idle, 0)
  return { idle, busy: times.reduce((total, { user, nice, sys, irq }) => total + user + nice + sys + irq, 0) }
}

function busyPercent(before: ReturnType<typeof processorTimes>): number {
  const now = processorTimes()
  const busy = now.busy - before.busy
  return Math.round((100 * busy) / Math.max(1, busy + now.idle - before.idle))
}

function duration(seconds: number): string {
  return seconds < 60
    ? `${Math.round(seconds)} s`
    : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

function sum(results: readonly FileResult[], count: (result: FileResult) => number): number {
  return results.reduce((total, result) => total + count(result), 0)
}

async function main(): Promise<boolean> {
  const { files, shared, jobs, silentSeconds, slow, list, help } = options()
  if (help || list) {
    console.log(help ? HELP : files.join('\n'))
    return true
  }
  if (slow) process.env = { ...SLOW_SIZES, ...process.env }
  // The files start some thousand processes and threads. What these strip of types and compile is kept for the next.
  const compiled = mkdtempSync(join(tmpdir(), 'ringfence-compiled-'))
  process.env['NODE_COMPILE_CACHE'] ??= compiled
  process.env['NODE_OPTIONS'] = [process.env['NODE_OPTIONS'], RUNNER_OPTIONS].filter(Boolean).join(' ')
  process.once('exit', () => rmSync(compiled, { recursive: true, force: true }))
  const began = performance.now()
  const before = processorTimes()
  console.log(`${files.length} test files, ${jobs} at a time.`)
  const results = await runAll(files, shared, jobs, silentSeconds)

  const failures = results.filter(({ failed }) => failed > 0)
  const quietest = results.reduce((a, b) => (b.longestSilence > a.longestSilence ? b : a))
  console.log(
    `\nThe longest wait without progress was ${duration(quietest.longestSilence)}, in ${quietest.path}; ${silentSeconds} s are allowed.`,
  )
  const cpu = cpuSecondsOfEnded()
  const computed = cpu === undefined ? '' : `The tests took ${duration(cpu)} of CPU. `
  console.log(`${computed}The processors were busy for ${busyPercent(before)} % of the time.`)
  for (const line of skippedLines(results)) console.log(line)
  for (const { path } of failures) console.log(`FAILED: ${path}`)
  const [passed, failed] = [sum(results, (one) => one.passed), sum(results, (one) => one.failed)]
  const skipped = sum(results, (one) => one.skipped.length)
  const time = duration((performance.now() - began) / 1000)
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped in ${time}`)
  return failed === 0
}

try {
  if (!(await main())) process.exitCode = 1
} catch (error) {
  if (!(error instanceof TypeError)) throw error
  console.error(`${error.message}\n\n${HELP}`)
  process.exitCode = 2
}
