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
  readonly updateP99Ms: number | undefined
  /** How much more that is than alone; the median of the rounds. */
  readonly laterMs: number | undefined
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
  /** Beside the same requests, if their answers are remembered. */
  readonly remembered: TrackedWindow | undefined
  /** Beside the same requests, if another server answers them. */
  readonly limit: TrackedWindow
  /** The requests without updates. */
  readonly requestsAlone: TrackedWindow
  /** The same, if their answers are remembered. */
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
  readonly remembered: TrackedRow | undefined
  readonly limit: TrackedRow
  readonly requestsAlone: TrackedRow
  readonly rememberedAlone: TrackedRow | undefined
  readonly rows: readonly TrackedRow[]
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
   * What it costs to answer a request, but for what it costs updates: what one from memory costs beside them; and what the work for a request costs without
   * updates, such as the collection of the garbage of the threads that do it.
   */
  const ofRequest = each(({ requestsAlone }) => perRequest(requestsAlone))
  const ofWork = each(({ requestsAlone, rememberedAlone }) =>
    rememberedAlone === undefined ? 0 : perRequest(requestsAlone) - perRequest(rememberedAlone),
  )
  const requestSeconds = (round: TrackedRound): number => {
    const { remembered } = round
    if (remembered === undefined) return ofRequest
    return (remembered.cpuSeconds - remembered.updates * baseOf(round)) / remembered.requests + ofWork
  }
  const row = (
    title: string,
    windowOf: (round: TrackedRound) => TrackedWindow,
    own: {
      readonly requestSeconds?: (round: TrackedRound) => number
      readonly isBase?: boolean
      readonly isAsked?: boolean
      readonly isRemembered?: boolean
    } = {},
  ): TrackedRow => {
    const middle = (value: (window: TrackedWindow, round: TrackedRound) => number): number =>
      each((round) => value(windowOf(round), round))
    const cost = (window: TrackedWindow, round: TrackedRound): number =>
      (window.cpuSeconds - window.requests * (own.requestSeconds?.(round) ?? 0)) / window.updates
    const isTracking = windowOf(rounds[0]!).updates > 0
    const isCompared = isTracking && own.isBase !== true
    // Beside remembered answers an update costs by definition what it costs alone.
    const hasCost = isTracking && own.isRemembered !== true
    return {
      case: title,
      updateMicros: hasCost
        ? rounded(
            middle((window, round) => cost(window, round) * 1e6),
            1,
          )
        : undefined,
      times:
        isCompared && hasCost
          ? rounded(
              middle((window, round) => cost(window, round) / baseOf(round)),
              3,
            )
          : undefined,
      updateP99Ms: isTracking
        ? rounded(
            middle(({ p99Ms }) => p99Ms),
            2,
          )
        : undefined,
      laterMs: isCompared
        ? rounded(
            middle(({ p99Ms }, { alone, again }) => p99Ms - (alone.p99Ms + again.p99Ms) / 2),
            2,
          )
        : undefined,
      besidePerSecond: rounded(middle(({ requests }) => requests) / seconds, 1),
      requestMicros: own.isAsked
        ? Math.round(middle(({ backgroundSeconds, requests }) => backgroundSeconds / requests) * 1e6)
        : undefined,
      loopP99Ms: rounded(
        middle(({ loopP99Ms }) => loopP99Ms),
        2,
      ),
    }
  }
  const measured = {
    alone: row('updates alone', ({ alone }) => alone, { isBase: true }),
    again: row('updates alone, again', ({ again }) => again),
    beside: row(`updates beside ${name}`, ({ beside }) => beside, { requestSeconds, isAsked: true }),
    remembered:
      rounds[0]!.remembered &&
      row(`updates beside ${name} answered from memory`, ({ remembered }) => remembered!, {
        isAsked: true,
        isRemembered: true,
      }),
    limit: row(`limit: updates beside ${name} of another server`, ({ limit }) => limit),
    requestsAlone: row(`${name} alone`, ({ requestsAlone }) => requestsAlone, { isAsked: true }),
    rememberedAlone:
      rounds[0]!.rememberedAlone &&
      row(`${name} answered from memory alone`, ({ rememberedAlone }) => rememberedAlone!, { isAsked: true }),
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
