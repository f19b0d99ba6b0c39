import type { FeedUpdate } from '../actor/feedTable.ts'
import type { EtaQuestion } from './machine/eta.ts'

/**
 * The ways that updates of this process want to be measured. Who finds out that an update needs one is not who tells it to
 * its trip. With this, the way is measured before the trip is asked, instead of after the trip has asked for it.
 *
 * A question is kept as long as its update is. Where it is not known, or not the trip's any more, the trip asks.
 */
export class KnownQuestions {
  readonly #byUpdate = new WeakMap<FeedUpdate, Map<string, EtaQuestion>>()

  put(update: FeedUpdate, tripId: string, question: EtaQuestion): void {
    const known = this.#byUpdate.get(update)
    if (known === undefined) this.#byUpdate.set(update, new Map([[tripId, question]]))
    else known.set(tripId, question)
  }

  of(update: FeedUpdate, tripId: string): EtaQuestion | undefined {
    return this.#byUpdate.get(update)?.get(tripId)
  }
}
