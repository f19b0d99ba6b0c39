import type { Stay } from './truth.ts'

/** An entry or exit that the engine made. */
export interface Happening {
  readonly circle: number
  readonly kind: 'entered' | 'exited'
  /** Seconds since the way began. */
  readonly second: number
}

/** A stay of this length is certainly intended. */
const LONG_SECONDS = 60

/** The results of a setting for one or many ways. */
export class Score {
  /** True stays, except those that only graze a circle. */
  stays = 0
  /** The stays that lasted for {@link LONG_SECONDS}. */
  longStays = 0
  /** True stays for which there was an entry. */
  detected = 0
  /** Long stays for which there was no entry. */
  missedLong = 0
  /** Entries without a stay. */
  falseEntries = 0
  /** Exits in the middle of a stay. */
  falseExits = 0
  /** Further entries into a stay that already had one. */
  flaps = 0
  /** Seconds from a stay's beginning to its first entry, and from its end to its last exit; early ones are negative. */
  readonly entriesLate: number[] = []
  readonly exitsLate: number[] = []

  get missed(): number {
    return this.stays - this.detected
  }

  /**
   * Adds one way.
   * @param told in the order of time
   * @param toleranceSeconds an entry that much before or after a stay still belongs to it; an exit that much before
   * its end is not false
   */
  add(stays: readonly Stay[], told: readonly Happening[], toleranceSeconds: number): void {
    const entriesOf = new Map<Stay, number>()
    const stayOf = new Map<number, Stay | undefined>()
    const exitOf = new Map<Stay, number>()
    for (const { circle, kind, second } of told) {
      if (kind === 'entered') {
        const stay = nearest(stays, circle, second, toleranceSeconds)
        stayOf.set(circle, stay)
        if (stay === undefined) {
          this.falseEntries++
          continue
        }
        const before = entriesOf.get(stay) ?? 0
        entriesOf.set(stay, before + 1)
        if (!stay.counts) continue
        if (before > 0) this.flaps++
        else this.entriesLate.push(second - stay.from)
      } else {
        const entered = stayOf.get(circle)
        if (entered !== undefined) exitOf.set(entered, second)
        const cut = stays.some(
          (stay) =>
            stay.counts &&
            stay.circle === circle &&
            second >= stay.from &&
            second < stay.to - toleranceSeconds,
        )
        if (cut) this.falseExits++
      }
    }
    for (const stay of stays) {
      if (!stay.counts) continue
      this.stays++
      const isLong = stay.to - stay.from >= LONG_SECONDS
      if (isLong) this.longStays++
      if (entriesOf.has(stay)) this.detected++
      else if (isLong) this.missedLong++
      const exit = exitOf.get(stay)
      if (exit !== undefined) this.exitsLate.push(exit - stay.to)
    }
  }
}

/** The stay that an entry belongs to: one that contains it, or the nearest. */
function nearest(
  stays: readonly Stay[],
  circle: number,
  second: number,
  tolerance: number,
): Stay | undefined {
  let best: Stay | undefined
  let least = tolerance
  for (const stay of stays) {
    if (stay.circle !== circle) continue
    const off = Math.max(stay.from - second, second - stay.to, 0)
    if (off > least || (off === least && best !== undefined)) continue
    best = stay
    least = off
  }
  return best
}
