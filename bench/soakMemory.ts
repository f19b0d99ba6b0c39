/** Whether the memory of a process stays level, judged from samples of its resident set. */
import { drift } from './drift.ts'
import { rounded } from './figures.ts'

/** A drift below this share of the resident set does not count. */
const NOISE_SHARE = 0.05

/** The resident set of a process at some moment. */
export interface Resident {
  readonly seconds: number
  /** Changes when the process is started again. */
  readonly pid: number
  /** Not a number while the process does not run. */
  readonly rssMiB: number
}

/** The memory of a process in the time without faults, after its warm-up. */
export interface Level {
  readonly calmMiB: number
  readonly calmDriftMiB: number
  /** The drift of the whole time at the slope of its second half. */
  readonly lateDriftMiB: number
  readonly calmSpreadMiB: number
  readonly isSteady: boolean
}

/** A run of a process, from its start to its end. */
export interface Life {
  readonly fromMinute: number
  readonly minutes: number
  readonly mostMiB: number
  readonly lastMiB: number
}

/**
 * Judges samples of one process. It grows if its resident set drifts by more than it varies, or by more than a
 * twentieth, and still does so in the second half.
 *
 * A leak rises in the second half as it did in the first. What fills (caches, buffers of events, the heap, which V8
 * lets grow until its next full collection) rises less and less, or in a single step, and then stays: it is level,
 * although a line through the whole time rises.
 */
export function levelOf(samples: readonly Resident[]): Level {
  const running = samples.filter(({ rssMiB }) => Number.isFinite(rssMiB))
  const values = running.map(({ rssMiB }) => rssMiB)
  const seconds = running.map((sample) => sample.seconds)
  const began = seconds.at(0) ?? 0
  const half = (began + (seconds.at(-1) ?? 0)) / 2
  const late = running.filter((sample) => sample.seconds >= half)
  const whole = drift(seconds, values)
  const end = drift(
    late.map((sample) => sample.seconds),
    late.map(({ rssMiB }) => rssMiB),
  )
  const lateSeconds = (seconds.at(-1) ?? 0) - (late.at(0)?.seconds ?? 0)
  const lateDrift = lateSeconds > 0 ? (end.drift / lateSeconds) * (seconds.at(-1)! - began) : whole.drift
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const grows = (by: number, spread: number) => by > Math.max(spread, NOISE_SHARE * mean)
  return {
    calmMiB: rounded(mean, 0),
    calmDriftMiB: rounded(whole.drift, 1),
    lateDriftMiB: rounded(lateDrift, 1),
    calmSpreadMiB: rounded(whole.spread, 1),
    isSteady: !(grows(whole.drift, whole.spread) && grows(lateDrift, end.spread)),
  }
}

/** The runs of one process, in their order. What grows from one to the next grows with what is stored. */
export function livesOf(samples: readonly Resident[]): Life[] {
  const lives: Resident[][] = []
  for (const sample of samples) {
    if (!Number.isFinite(sample.rssMiB)) continue
    if (lives.at(-1)?.[0]!.pid === sample.pid) lives.at(-1)!.push(sample)
    else lives.push([sample])
  }
  return lives.map((life) => ({
    fromMinute: rounded(life[0]!.seconds / 60, 1),
    minutes: rounded((life.at(-1)!.seconds - life[0]!.seconds) / 60, 1),
    mostMiB: rounded(Math.max(...life.map(({ rssMiB }) => rssMiB)), 0),
    lastMiB: rounded(life.at(-1)!.rssMiB, 0),
  }))
}
