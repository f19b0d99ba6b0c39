import type { TrueVisit } from './days.ts'
import type { FoundVisit } from './engine.ts'

/** Stays of this length are the only ones for which it is stated how many must be found. */
const LONG_SECONDS = 600
/** A phone notices late that it has left: a visit that began by then belongs to the stay before. */
const LATE_SECONDS = 60

/** Whether a stay is one of those for which it is stated how many must be found. */
export function isLong({ from, to }: TrueVisit): boolean {
  return to - from > LONG_SECONDS
}

/** The visit that was found during most of a stay; undefined if there is none. */
export function bestOf(visit: TrueVisit, found: readonly FoundVisit[]): FoundVisit | undefined {
  const seconds = ({ from, to }: FoundVisit) => Math.min(to, visit.to) - Math.max(from, visit.from)
  return found.filter((one) => seconds(one) > 0).toSorted((a, b) => seconds(b) - seconds(a))[0]
}

/** What became of true visits. */
export class VisitScore {
  visits = 0
  long = 0
  /** Long stays that were found with the right place. */
  longRight = 0
  longRightOrAlternate = 0
  right = 0
  wrong = 0
  missed = 0
  /** Visits that were found where nobody stayed. */
  false = 0

  /**
   * Adds a true visit.
   * @param found all visits that were found on that day
   */
  add(visit: TrueVisit, found: readonly FoundVisit[]): void {
    const best = bestOf(visit, found)
    const { key } = visit.place
    const isRight = best?.place === key
    const isNamed = isRight || best?.alternates.includes(key) === true
    this.visits++
    if (best === undefined) this.missed++
    else if (isRight) this.right++
    else this.wrong++
    if (!isLong(visit)) return
    this.long++
    if (isRight) this.longRight++
    if (isNamed) this.longRightOrAlternate++
  }

  /** Counts visits that began while nobody stayed anywhere. */
  addFalse(visits: readonly TrueVisit[], found: readonly FoundVisit[]): void {
    for (const { from: at } of found)
      if (!visits.some(({ from, to }) => at >= from && at < to + LATE_SECONDS)) this.false++
  }
}
