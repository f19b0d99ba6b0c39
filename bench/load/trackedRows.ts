/** The rows of a server that takes updates beside other requests, from the windows of each case. */
import { median, rounded } from '../figures.ts'

/** What happened in one window of time. */
export interface TrackedWindow {
  /** CPU of the server's threads of the usual priority. */
  readonly cpuSeconds: number
  /** CPU of its threads of a lower priority, in which requests are answered. */
  readonly backgroundSeconds: number
  readonly updates: number
  readonly requests: number
  readonly loopP99Ms: number
  readonly p99Ms: number
}

export interface TrackedRow {
  readonly case: string
  readonly updateMicros: number | undefined
  /** Times what an update costs alone; the median of the rounds. */
  readonly times: number | undefined
  /** Times what it costs beside the requests of another server. */
  readonly timesOfLimit: number | undefined
  readonly updateP99Ms: number | undefined
  /** How much more that is than alone; the median of the rounds. */
  readonly laterMs: number | undefined
  /** How much more than beside the requests of another server. */
  readonly laterThanLimitMs: number | undefined
  readonly besidePerSecond: number
  /** CPU of a request in threads of a lower priority. */
  readonly requestMicros: number | undefined
  readonly loopP99Ms: number
}

/** A round has one window of each case, and one alone at its end. */
export interface TrackedRound {
  readonly alone: TrackedWindow
  /** Beside the requests. */
  readonly beside: TrackedWindow
  /** Beside the same requests, if another server answers them. */
  readonly limit: TrackedWindow
  /** The same, and as many requests of this server, whose answers are remembered. */
  readonly remembered: TrackedWindow | undefined
  /** The requests without updates. */
  readonly requestsAlone: TrackedWindow
  /** The same, if their answers are remembered, beside requests that another server answers. */
  readonly rememberedAlone: TrackedWindow | undefined
  readonly again: TrackedWindow
}

/** What was measured. */
export interface Tracking {
  /** What a request costs the threads of the usual priority by itself. */
  readonly requestMicros: number
  readonly alone: TrackedRow
  /** Alone again: what the same case differs from itself. */
  readonly again: TrackedRow
  readonly beside: TrackedRow
  readonly limit: TrackedRow
  readonly remembered: TrackedRow | undefined
  readonly requestsAlone: TrackedRow
  readonly rememberedAlone: TrackedRow | undefined
  readonly rows: readonly TrackedRow[]
}

/** What a row shows. */
interface Shown {
  /** What an update costs; absent if that is not known. */
  readonly updateSeconds?: (round: TrackedRound) => number
  /** Whether this server answers requests. */
  readonly isAsked?: boolean
  /** Whether to compare it with updates alone. */
  readonly isCompared?: boolean
  /** Whether to compare it with updates beside the requests of another server. */
  readonly isLimited?: boolean
}

/**
 * @param name of the requests, such as `searches`
 * @param seconds of a window
 */
export function trackedRows(name: string, seconds: number, rounds: readonly TrackedRound[]): Tracking {
  const each = (value: (round: TrackedRound) => number): number => median(rounds.map(value))
  const perRequest = ({ cpuSeconds, requests }: TrackedWindow): number => cpuSeconds / requests
  const baseOf = ({ alone, again }: TrackedRound): number => (secondsOf(alone) + secondsOf(again)) / 2
  /**
   * What it costs to answer a request, but for what it costs updates: what one from memory costs more than updates beside the requests of another server; and what the work for a request costs without
   * updates, such as the collection of the garbage of the threads that do it.
   */
  const ofRequest = each(({ requestsAlone }) => perRequest(requestsAlone))
  const ofWork = each(({ requestsAlone, rememberedAlone }) =>
    rememberedAlone === undefined ? 0 : perRequest(requestsAlone) - perRequest(rememberedAlone),
  )
  const requestSeconds = ({ remembered, limit }: TrackedRound): number => {
    if (remembered === undefined) return ofRequest
    return (remembered.cpuSeconds - remembered.updates * secondsOf(limit)) / remembered.requests + ofWork
  }
  const besideSeconds = (round: TrackedRound): number => {
    const { cpuSeconds, requests, updates } = round.beside
    return (cpuSeconds - requests * requestSeconds(round)) / updates
  }
  const row = (
    title: string,
    windowOf: (round: TrackedRound) => TrackedWindow,
    shown: Shown = {},
  ): TrackedRow => {
    const { updateSeconds, isAsked, isCompared, isLimited } = shown
    const middle = (isShown: boolean | undefined, value: (round: TrackedRound) => number, digits: number) =>
      isShown === true ? rounded(each(value), digits) : undefined
    const cost = updateSeconds ?? ((): number => NaN)
    const hasCost = updateSeconds !== undefined
    const p99Ms = (round: TrackedRound): number => windowOf(round).p99Ms
    const isTracking = windowOf(rounds[0]!).updates > 0
    return {
      case: title,
      updateMicros: middle(hasCost, (round) => cost(round) * 1e6, 1),
      times: middle(isCompared && hasCost, (round) => cost(round) / baseOf(round), 3),
      timesOfLimit: middle(isLimited, (round) => cost(round) / secondsOf(round.limit), 3),
      updateP99Ms: middle(isTracking, p99Ms, 2),
      laterMs: middle(isCompared, (round) => p99Ms(round) - (round.alone.p99Ms + round.again.p99Ms) / 2, 2),
      laterThanLimitMs: middle(isLimited, (round) => p99Ms(round) - round.limit.p99Ms, 2),
      besidePerSecond: rounded(each((round) => windowOf(round).requests) / seconds, 1),
      requestMicros: middle(
        isAsked,
        (round) => (windowOf(round).backgroundSeconds / windowOf(round).requests) * 1e6,
        0,
      ),
      loopP99Ms: rounded(
        each((round) => windowOf(round).loopP99Ms),
        2,
      ),
    }
  }
  const measured = {
    alone: row('updates alone', ({ alone }) => alone, { updateSeconds: ({ alone }) => secondsOf(alone) }),
    again: row('updates alone, again', ({ again }) => again, {
      updateSeconds: ({ again }) => secondsOf(again),
      isCompared: true,
    }),
    beside: row(`updates beside ${name}`, ({ beside }) => beside, {
      updateSeconds: besideSeconds,
      isAsked: true,
      isCompared: true,
      isLimited: true,
    }),
    limit: row(`limit: updates beside ${name} of another server`, ({ limit }) => limit, {
      updateSeconds: ({ limit }) => secondsOf(limit),
      isCompared: true,
    }),
    remembered:
      rounds[0]!.remembered &&
      row(`limit, and ${name} answered from memory`, ({ remembered }) => remembered!, {
        isAsked: true,
        isCompared: true,
      }),
    requestsAlone: row(`${name} alone`, ({ requestsAlone }) => requestsAlone, { isAsked: true }),
    rememberedAlone:
      rounds[0]!.rememberedAlone &&
      row(
        `${name} answered from memory, beside ${name} of another server`,
        ({ rememberedAlone }) => rememberedAlone!,
        { isAsked: true },
      ),
  }
  return {
    ...measured,
    requestMicros: Math.round(ofRequest * 1e6),
    rows: Object.values(measured).filter((one) => one !== undefined),
  }
}

function secondsOf({ cpuSeconds, updates }: TrackedWindow): number {
  return cpuSeconds / updates
}
