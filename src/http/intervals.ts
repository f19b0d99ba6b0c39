import { badParam } from '../runtime/errors.ts'
import { parseDate } from './schemas.ts'

const MOST_INTERVALS = 1000
const HOUR_MS = 3_600_000

/** The query of a series: `from` and `to` are dates, `step` is in seconds. */
export interface IntervalQuery {
  readonly from?: string | number
  readonly to?: string | number
  readonly step: number
}

/**
 * The intervals that a query asks for, in epoch milliseconds.
 * @throws ApiError 400 naming the parameter
 */
export function intervalsOf(
  query: IntervalQuery,
  now: number,
): { readonly from: number; readonly to: number; readonly stepMs: number } {
  const to = query.to === undefined ? now : parseDate('to', query.to)
  const from = query.from === undefined ? to - HOUR_MS : parseDate('from', query.from)
  const stepMs = query.step * 1000
  if (from >= to) throw badParam('from', 'Must be earlier than `to`.')
  if (to - from > MOST_INTERVALS * stepMs)
    throw badParam('step', `There may be at most ${MOST_INTERVALS} intervals between \`from\` and \`to\`.`)
  return { from, to, stepMs }
}
