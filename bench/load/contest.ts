/**
 * Servers side by side under the same load: what an update costs each at one offered rate, the highest rate that each
 * can hold, and how late its answers are at half of that.
 *
 * They take turns in short windows and medians count, because a machine is never quiet for long. Cost at one rate
 * says more than a peak, because the peak is what is left after the generator, the kernel and other processes have
 * taken their share.
 */
import { availableParallelism } from 'node:os'
import { median, rounded, thousands } from '../figures.ts'
import { machineCpuSeconds } from '../machine.ts'
import { progress } from '../progress.ts'
import type { ServerProcess } from './servers.ts'

/** Used unless a bench sets another limit. */
const P99_BOUND_MS = 25
/**
 * The common rate of the CPU windows, as a share of what the slowest server answers without a pause. It is not a
 * share of the highest rate, because that depends on p99, which any other process can spoil.
 */
const OFFERED_SHARE = 0.7
/** If a rate was not held, the next one is this share of it. */
const LOWER_SHARE = 0.8
/** Below this share of the first rate, the server is at fault. */
const LEAST_OFFERED_SHARE = 0.4
/** If other processes use more than this share of the machine, they affect the figures. */
const QUIET_SHARE = 0.1
/** How far behind a server may fall while its CPU is measured. */
const MAX_LAG_MS = 5_000

/** The result of one window of load. Counts are updates. */
export interface LoadWindow {
  readonly sent: number
  /** Answered correctly. */
  readonly ok: number
  /** Updates that were not sent, because the server was too far behind. */
  readonly unsent: number
  readonly seconds: number
  readonly perSecond: number
  /** CPU time of the generator. */
  readonly cpuSeconds: number
  /** From the time when the request or frame was due. */
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly p999: number }
  /** The generator could not keep to the schedule, so this is its figure and not the server's. */
  readonly generatorWasLimit: boolean
}

export interface Offer {
  /** Updates per second; 0: as fast as they are answered. */
  readonly rate: number
  /** Updates. */
  readonly count: number
  readonly maxLagMs: number
  /** How long the next of the last answers may take; see `LoadOptions` of load.ts. */
  readonly patienceMs?: number
}

export interface Contender {
  readonly name: string
  readonly server: ServerProcess
  offer(load: Offer): Promise<LoadWindow>
}

export interface ContestOptions {
  /** Windows of each contender. */
  readonly windows: number
  /** Duration of one window. */
  readonly seconds: number
  /**
   * Bisections for the highest rate; each halves its error. With 0, neither it nor the latencies at half of it are
   * measured.
   */
  readonly searchSteps: number
  /** The names of the contenders whose highest rate is searched; by default all. The others have 0. */
  readonly searched?: readonly string[]
  /** Whether the latencies at half of that rate are measured, too; by default they are. */
  readonly atHalf?: boolean
  /** Updates that are sent without a pause, to find out how many the server answers. */
  readonly closedCount: number
  /** Updates per second of the CPU windows; by default a share of what the slowest answers. */
  readonly rate?: number | undefined
  /** The highest p99 in milliseconds at which a rate counts as held; default 25. */
  readonly p99BoundMs?: number
}

/** Results of a contender: medians over the windows. */
export interface Standing {
  readonly cpuMicrosPerUpdate: number
  readonly cpuMin: number
  readonly cpuMax: number
  readonly highestRatePerSecond: number
  /** Updates per second if they are sent without a pause. */
  readonly answeredPerSecond: number
  /** Whether the generator could not send faster, so that the server can hold at least this rate. */
  readonly generatorWasLimit: boolean
  /** At the rate of the CPU windows. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  /** At half of the highest rate of the last contender. */
  readonly halfP50Ms: number
  readonly halfP99Ms: number
  readonly generatorCpuShare: number
  /** The share of all processors that neither the server nor the generator used. */
  readonly othersCpuShare: number
}

export interface Outcome {
  /** Updates per second of the CPU windows. */
  readonly offeredRatePerSecond: number
  readonly halfRatePerSecond: number
  /** The standings by the name of the contender. */
  readonly standings: Readonly<Record<string, Standing>>
}

interface Course {
  readonly contender: Contender
  answeredPerSecond: number
  highest: { rate: number; generatorWasLimit: boolean }
  readonly cpuMicros: number[]
  readonly windows: LoadWindow[]
  readonly half: LoadWindow[]
  readonly othersShares: number[]
}

/**
 * @param title for progress
 * @param contenders warmed up; the last is the one that is examined, the others are for comparison
 * @throws Error if updates of a CPU window were refused or lost at each rate that was tried, because refusals are
 * cheap
 */
export async function contest(
  title: string,
  contenders: readonly Contender[],
  options: ContestOptions,
): Promise<Outcome> {
  const courses = contenders.map((contender): Course => ({
    contender,
    answeredPerSecond: 0,
    highest: { rate: 0, generatorWasLimit: false },
    cpuMicros: [],
    windows: [],
    half: [],
    othersShares: [],
  }))
  for (const course of courses) course.answeredPerSecond = await answeredPerSecond(title, course, options)
  const rate = await measureCpu(title, courses, options)
  // Measured late, when each has run for a while, because a server may be faster in its first seconds than it can
  // sustain.
  const { searched } = options
  if (options.searchSteps > 0)
    for (const course of courses)
      if (searched === undefined || searched.includes(course.contender.name))
        course.highest = await highestRate(title, course, options)
  const halfRate = options.atHalf === false ? 0 : Math.floor(courses.at(-1)!.highest.rate / 2)
  if (halfRate > 0) {
    await interleave(courses, options, async ({ contender, half }, round) => {
      progress(`${title}: ${contender.name} at half the rate, ${round} of ${options.windows}`)
      half.push(await offer(contender, halfRate, options.seconds, MAX_LAG_MS))
    })
  }
  return {
    offeredRatePerSecond: rate,
    halfRatePerSecond: halfRate,
    standings: Object.fromEntries(courses.map((course) => [course.contender.name, standingOf(course)])),
  }
}

/**
 * The CPU windows, all at one rate. If a server does not hold it after all, because other processes took the machine
 * meanwhile, a lower rate is used, unless the rate was given.
 * @returns that rate
 */
async function measureCpu(
  title: string,
  courses: readonly Course[],
  options: ContestOptions,
): Promise<number> {
  const first = OFFERED_SHARE * Math.min(...courses.map((c) => c.answeredPerSecond))
  let rate = options.rate ?? Math.floor(first)
  if (!(rate > 0)) throw new Error(`${title}: nothing is answered`)
  for (;;) {
    const failed = await cpuWindows(title, courses, rate, options)
    if (failed === undefined) return rate
    if (options.rate !== undefined || rate < LEAST_OFFERED_SHARE * first) throw failed
    rate = Math.floor(rate * LOWER_SHARE)
  }
}

/** One attempt. If it fails, its measurements are discarded. */
async function cpuWindows(
  title: string,
  courses: readonly Course[],
  rate: number,
  options: ContestOptions,
): Promise<Error | undefined> {
  for (const { cpuMicros, windows, othersShares } of courses)
    for (const measured of [cpuMicros, windows, othersShares]) measured.length = 0
  try {
    await interleave(courses, options, async (course, round) => {
      const { contender } = course
      progress(`${title}: ${contender.name} at ${thousands(rate)}/s, ${round} of ${options.windows}`)
      const machineBefore = machineCpuSeconds()
      const cpuBefore = contender.server.cpuSeconds()
      const window = await offer(contender, rate, options.seconds, MAX_LAG_MS)
      const cpu = contender.server.cpuSeconds() - cpuBefore
      requireClean(contender, window)
      course.cpuMicros.push((cpu / window.ok) * 1e6)
      course.windows.push(window)
      const others = machineCpuSeconds() - machineBefore - cpu - window.cpuSeconds
      course.othersShares.push(Math.max(0, others) / (window.seconds * availableParallelism()))
    })
    return undefined
  } catch (error) {
    return error as Error
  }
}

/** One line of a table: Ringfence beside the bare transport. A plus means that the generator could not send more. */
export function tableRow({ offeredRatePerSecond, standings }: Outcome) {
  const bare = standings['bare']!
  const own = standings['ringfence']!
  const peak = (of: Standing) =>
    of.highestRatePerSecond === 0
      ? undefined
      : `${thousands(of.highestRatePerSecond)}${of.generatorWasLimit ? '+' : ''}`
  const atHalf = (value: number) => (own.highestRatePerSecond === 0 ? undefined : rounded(value, 3))
  return {
    rate: offeredRatePerSecond,
    bareMicros: bare.cpuMicrosPerUpdate,
    micros: own.cpuMicrosPerUpdate,
    ratio: rounded(bare.cpuMicrosPerUpdate / own.cpuMicrosPerUpdate, 3),
    barePeak: peak(bare),
    peak: peak(own),
    halfP50Ms: atHalf(own.halfP50Ms),
    overBareP50Ms: atHalf(own.halfP50Ms - bare.halfP50Ms),
    halfP99Ms: atHalf(own.halfP99Ms),
    overBareP99Ms: atHalf(own.halfP99Ms - bare.halfP99Ms),
  }
}

/** The limits of a server that does nothing but keep its promises: its ratio, and its latency at half the rate. */
export function limits({ halfRatePerSecond, standings }: Outcome) {
  const bare = standings['bare']!
  const fsync = standings['bareFsync']
  if (fsync === undefined) return {}
  return {
    ceiling: rounded(bare.cpuMicrosPerUpdate / fsync.cpuMicrosPerUpdate, 3),
    floorP99Ms: halfRatePerSecond === 0 ? undefined : rounded(fsync.halfP99Ms - bare.halfP99Ms, 3),
  }
}

/** Prints a warning if other processes used the machine meanwhile. */
export function warnOfOtherLoad(outcomes: readonly Outcome[]): void {
  const shares = outcomes.flatMap(({ standings }) => Object.values(standings).map((s) => s.othersCpuShare))
  const others = Math.max(...shares)
  if (others > QUIET_SHARE)
    console.log(
      `The machine was not quiet: others used up to ${Math.round(100 * others)} % of its processors.`,
    )
}

/** Refused or lost updates would make the others look cheap. */
export function requireClean(contender: Contender, window: LoadWindow): void {
  if (window.ok === window.sent && window.unsent === 0) return
  throw new Error(
    `${contender.name} did not take every update: ${JSON.stringify(window)}\n` +
      `Its output ends with:\n${contender.server.output()}`,
  )
}

async function interleave(
  courses: readonly Course[],
  { windows }: ContestOptions,
  take: (course: Course, round: number) => Promise<void>,
): Promise<void> {
  for (let round = 1; round <= windows; round++) for (const course of courses) await take(course, round)
}

function offer(contender: Contender, rate: number, seconds: number, maxLagMs: number): Promise<LoadWindow> {
  return contender.offer({ rate, count: Math.ceil(rate * seconds), maxLagMs })
}

async function answeredPerSecond(
  title: string,
  { contender }: Course,
  { closedCount }: ContestOptions,
): Promise<number> {
  progress(`${title}: ${contender.name} without a pause`)
  const window = await contender.offer({ rate: 0, count: closedCount, maxLagMs: MAX_LAG_MS })
  requireClean(contender, window)
  return window.perSecond
}

/**
 * The highest offered rate that holds p99, by bisection below what the server answers when requests are sent without
 * a pause. A failing rate gets a second chance, because another process on the machine is not the server's fault.
 */
async function highestRate(
  title: string,
  course: Course,
  options: ContestOptions,
): Promise<Course['highest']> {
  const { contender } = course
  const { p99BoundMs = P99_BOUND_MS } = options
  let low = 0
  let high = 1.05 * (await answeredPerSecond(title, course, options))
  let generatorWasLimit = false
  for (let step = 1; step <= options.searchSteps; step++) {
    const rate = Math.floor((low + high) / 2)
    let held = false
    for (let attempt = 1; attempt <= 2 && !held; attempt++) {
      progress(`${title}: ${contender.name} at ${thousands(rate)}/s, step ${step}, attempt ${attempt}`)
      const window = await offer(contender, rate, options.seconds, 4 * p99BoundMs)
      held = window.ok === window.sent && window.unsent === 0 && window.latencyMs.p99 < p99BoundMs
      if (!held) generatorWasLimit = window.generatorWasLimit
    }
    if (held) low = rate
    else high = rate
  }
  return { rate: low, generatorWasLimit }
}

function standingOf(course: Course): Standing {
  const { cpuMicros, windows, half, othersShares, highest } = course
  const middle = (of: readonly LoadWindow[], value: (window: LoadWindow) => number, digits: number) =>
    of.length === 0 ? 0 : rounded(median(of.map(value)), digits)
  return {
    cpuMicrosPerUpdate: rounded(median(cpuMicros), 2),
    cpuMin: rounded(Math.min(...cpuMicros), 2),
    cpuMax: rounded(Math.max(...cpuMicros), 2),
    highestRatePerSecond: highest.rate,
    answeredPerSecond: Math.round(course.answeredPerSecond),
    generatorWasLimit: highest.generatorWasLimit,
    p50Ms: middle(windows, (w) => w.latencyMs.p50, 3),
    p99Ms: middle(windows, (w) => w.latencyMs.p99, 3),
    p999Ms: middle(windows, (w) => w.latencyMs.p999, 3),
    halfP50Ms: middle(half, (w) => w.latencyMs.p50, 3),
    halfP99Ms: middle(half, (w) => w.latencyMs.p99, 3),
    generatorCpuShare: middle(windows, (w) => w.cpuSeconds / w.seconds, 3),
    othersCpuShare: rounded(median(othersShares), 3),
  }
}
