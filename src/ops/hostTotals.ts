import type { ActorHost } from '../actor/host.ts'

type Counter = keyof ActorHost['counters'] | 'zoneHits'

/**
 * Counters over hosts that come and go. Counts of a host between the last reading and its end are lost: partitions
 * rarely move, and totals must not decrease.
 */
export class HostTotals {
  readonly #hosts: () => readonly ActorHost[]
  readonly #totals = new Map<Counter, { sum: number; seen: Map<ActorHost, number> }>()

  /**
   * Counts from now on.
   * @param hosts returns the present ones
   */
  constructor(hosts: () => readonly ActorHost[]) {
    this.#hosts = hosts
  }

  read(counter: Counter): number {
    const total = this.#totals.get(counter) ?? { sum: 0, seen: new Map() }
    this.#totals.set(counter, total)
    const seen = new Map<ActorHost, number>()
    for (const host of this.#hosts()) {
      const count = counter === 'zoneHits' ? host.zoneHits : host.counters[counter]
      total.sum += count - (total.seen.get(host) ?? 0)
      seen.set(host, count)
    }
    total.seen = seen
    return total.sum
  }
}
