import { randomBytes } from 'node:crypto'

/** Requests by project, to be added to the sums of a month. */
export interface Counted {
  /** Identifies the addition. If it is made twice, it counts once. */
  readonly id: string
  /** The month, such as `2026-11`. */
  readonly month: string
  readonly added: ReadonlyMap<number, number>
}

/** The sums of all processes' counts. Every promise may reject if they cannot be reached. */
export interface UsageSums {
  add(counted: Counted): Promise<void>
  /** The sums of a month by project. */
  of(month: string): Promise<ReadonlyMap<number, number>>
}

/**
 * Counts the requests of projects if several processes count. Each counts its own, and knows those of the others as of
 * the last exchange.
 *
 * Invariants
 * - USAGE-1: The requests of a project that this process has counted and not yet gathered are its requests minus its
 *   base.
 */
export class SharedUsage {
  readonly #sums: UsageSums
  #month = ''
  #base: number[] = []
  #unsent: Counted[] = []
  #isUnderWay = false

  constructor(sums: UsageSums) {
    this.#sums = sums
  }

  /**
   * Begins a month.
   * @param requests by project, as far as they are known to be in the sums
   * @param before the requests of the previous month
   */
  begin(month: string, requests: readonly number[], before: readonly number[]): void {
    this.#gather(before)
    this.#month = month
    this.#base = [...requests]
  }

  /**
   * Adds this process's counts to the sums, and those of the others to the requests. Returns the projects whose count
   * it has changed.
   * @param requests by project, of the current month
   */
  async exchange(requests: number[]): Promise<readonly number[]> {
    if (this.#isUnderWay) return []
    this.#isUnderWay = true
    try {
      // The requests belong to this month, whichever month is current when the answers arrive.
      const month = this.#month
      if (this.#unsent.length === 0) this.#gather(requests)
      for (let next = this.#unsent[0]; next !== undefined; next = this.#unsent[0]) {
        await this.#sums.add(next)
        this.#unsent.shift()
      }
      if (month !== this.#month) return []
      const sums = await this.#sums.of(month)
      return month === this.#month ? this.#take(requests, sums) : []
    } finally {
      this.#isUnderWay = false
    }
  }

  #take(requests: number[], sums: ReadonlyMap<number, number>): number[] {
    const changed: number[] = []
    for (const [project, sum] of sums) {
      const more = sum - (this.#base[project] ?? 0)
      if (more === 0) continue
      requests[project] = (requests[project] ?? 0) + more
      this.#base[project] = sum
      changed.push(project)
    }
    return changed
  }

  #gather(requests: readonly number[]): void {
    const added = new Map<number, number>()
    for (const [project, count = 0] of requests.entries()) {
      const more = count - (this.#base[project] ?? 0)
      if (more !== 0) added.set(project, more)
      this.#base[project] = count
    }
    if (added.size > 0) this.#unsent.push({ id: randomBytes(8).toString('hex'), month: this.#month, added })
  }
}
