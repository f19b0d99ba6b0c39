import type { FeedUpdate } from '../actor/feedTable.ts'
import type { EtaQuestion } from './machine/eta.ts'

/**
 * The routes ("ways") that updates of this process need. The code that finds out that an update needs a way is not the code
 * that passes the update on to its trip. With the questions kept here, the way is measured before the trip gets the update,
 * instead of after the trip has asked for it.
 *
 * A question is kept as long as its update. If it is not known, or is no longer that of the trip, the trip asks.
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
