import { median, rounded } from '../figures.ts'
import { progress } from '../progress.ts'
import { requireClean, type Contender } from './contest.ts'

/** The rate of the windows, as a share of what the slowest server answers without a pause. */
const OFFERED_SHARE = 0.5
/** On a machine that others use, a server may fall behind for seconds; its cost is the same. */
const MAX_LAG_MS = 20_000
/** The same for the last answers of a window. */
const PATIENCE_MS = 20_000

export interface InterleavedOptions {
  readonly rounds: number
  /** Duration of one window. */
  readonly seconds: number
  /** Updates that are sent without a pause, to find out how many a server answers. */
  readonly closedCount: number
  /** Updates per second; by default a share of what the slowest answers. */
  readonly rate?: number | undefined
}

/** CPU of servers that take the same updates at the same rate. */
export class Interleaved {
  readonly rate: number
  readonly #micros: ReadonlyMap<string, readonly number[]>

  constructor(rate: number, micros: ReadonlyMap<string, readonly number[]>) {
    this.rate = rate
    this.#micros = micros
  }

  /** Microseconds of an update. */
  microsOf(name: string): number {
    return rounded(median(this.#micros.get(name)!), 2)
  }

  /**
   * The median of what an update costs one server, divided by what it costs each of the others in the same round. With
   * several others of the same kind, less depends on how one process happens to run. It is a quotient for each of them, and
   * not one for their mean, because that would be too small where single windows are disturbed.
   */
  ratio(name: string, ...to: readonly string[]): number {
    const own = this.#micros.get(name)!
    const ratios = to.flatMap((other) => this.#micros.get(other)!.map((value, round) => own[round]! / value))
    return rounded(median(ratios), 3)
  }
}

/** One window of each server is a round; their order changes from round to round, so what other processes do counts for all. */
export async function interleave(
  title: string,
  contenders: readonly Contender[],
  options: InterleavedOptions,
): Promise<Interleaved> {
  const { rounds, seconds } = options
  const rate = options.rate ?? Math.floor(OFFERED_SHARE * (await slowest(contenders, options)))
  const micros = new Map(contenders.map(({ name }) => [name, [] as number[]]))
  for (let round = 0; round < rounds; round++) {
    for (let place = 0; place < contenders.length; place++) {
      const contender = contenders[(round + place) % contenders.length]!
      progress(`${title}: ${contender.name}, ${round + 1} of ${rounds}`)
      micros.get(contender.name)!.push(await cpuMicros(contender, rate, seconds))
    }
  }
  return new Interleaved(rate, micros)
}

async function slowest(
  contenders: readonly Contender[],
  { closedCount }: InterleavedOptions,
): Promise<number> {
  const answered: number[] = []
  for (const contender of contenders) {
    progress(`${contender.name} without a pause`)
    const load = { rate: 0, count: closedCount, maxLagMs: MAX_LAG_MS, patienceMs: PATIENCE_MS }
    const window = await contender.offer(load)
    requireClean(contender, window)
    answered.push(window.perSecond)
  }
  return Math.min(...answered)
}

/** CPU per update in one window. */
async function cpuMicros(contender: Contender, rate: number, seconds: number): Promise<number> {
  const before = contender.server.cpuSeconds()
  const count = Math.ceil(rate * seconds)
  const load = { rate, count, maxLagMs: MAX_LAG_MS, patienceMs: PATIENCE_MS }
  const window = await contender.offer(load)
  const cpu = contender.server.cpuSeconds() - before
  requireClean(contender, window)
  return (cpu / window.ok) * 1e6
}
