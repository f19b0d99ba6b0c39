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
  readonly rows: readonly TrackedRow[]
}

/**
 * @param name of the requests, such as `searches`
 * @param seconds of a window
 */
export function trackedRows(name: string, seconds: number, rounds: readonly TrackedRound[]): Tracking {
  const ofRequest = median(
    rounds.map(({ requestsAlone }) => requestsAlone.cpuSeconds / requestsAlone.requests),
  )
  const baseOf = ({ alone, again }: TrackedRound): number => (secondsOf(alone) + secondsOf(again)) / 2
  /** What a request of the server costs its threads of the usual priority, without what it costs updates. */
  const requestSeconds = (round: TrackedRound): number => {
    const { remembered } = round
    if (remembered === undefined) return ofRequest
    return (remembered.cpuSeconds - remembered.updates * baseOf(round)) / remembered.requests
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
    const each = (value: (window: TrackedWindow, round: TrackedRound) => number): number =>
      median(rounds.map((round) => value(windowOf(round), round)))
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
            each((window, round) => cost(window, round) * 1e6),
            1,
          )
        : undefined,
      times:
        isCompared && hasCost
          ? rounded(
              each((window, round) => cost(window, round) / baseOf(round)),
              3,
            )
          : undefined,
      updateP99Ms: isTracking
        ? rounded(
            each(({ p99Ms }) => p99Ms),
            2,
          )
        : undefined,
      laterMs: isCompared
        ? rounded(
            each(({ p99Ms }, { alone, again }) => p99Ms - (alone.p99Ms + again.p99Ms) / 2),
            2,
          )
        : undefined,
      besidePerSecond: rounded(each(({ requests }) => requests) / seconds, 1),
      requestMicros: own.isAsked
        ? Math.round(each(({ backgroundSeconds, requests }) => backgroundSeconds / requests) * 1e6)
        : undefined,
      loopP99Ms: rounded(
        each(({ loopP99Ms }) => loopP99Ms),
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
