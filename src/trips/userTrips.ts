import type { Update } from '../model/update.ts'
import type { FeedOutcome, FeedOutcomes } from './feedOutcome.ts'
import type { FoundTrip, Trips } from './port.ts'

/** Which trip a user is on, for answers that contain the user. */
export class UserTrips {
  readonly #outcomes: FeedOutcomes
  readonly #trips: Trips

  constructor(outcomes: FeedOutcomes, trips: Trips) {
    this.#outcomes = outcomes
    this.#trips = trips
  }

  /**
   * What an update has done to its trips.
   * @param number the number of its row; see `Outcome.feed`
   * @throws {ApiError} 503 if that is not known in time
   */
  async after(update: Update, number: number): Promise<FeedOutcome> {
    const { scope, deviceId } = update
    const known = await this.#outcomes.of({ scope, deviceId, number })
    return known ?? { trip: await this.#present(update), events: [] }
  }

  /** The present trip. */
  async #present({ scope, userId, tripOptions }: Update): Promise<string | null> {
    if (tripOptions !== undefined) {
      const { externalId } = tripOptions
      const asked = await this.#trips.ask({ scope, ask: 'named', externalId, includeLocations: false })
      const trip = asked.trips.find(isUnderWay)
      return trip !== undefined && (trip.userId === null || trip.userId === (userId ?? null))
        ? trip.trip
        : null
    }
    if (userId === undefined) return null
    const statuses = ['started', 'approaching', 'arrived'] as const
    const list = {
      userId,
      statuses,
      includeLocations: false,
      sortBy: 'createdAt',
      limit: MOST_TRIPS,
    } as const
    return latestStarted((await this.#trips.ask({ scope, ask: 'list', list })).trips)?.trip ?? null
  }

  /** The trips of records that are on one, by the `_id` of the record. */
  async ofRecords(scope: number, recordIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { trips } = await this.#trips.ask({ scope, ask: 'ofRecords', recordIds })
    const byRecord = Map.groupBy(trips, ({ recordId }) => recordId ?? '')
    return new Map([...byRecord].map(([id, ofRecord]) => [id, latestStarted(ofRecord)!.trip]))
  }
}

/** More trips than a user can have. */
const MOST_TRIPS = 100

function isUnderWay({ status }: FoundTrip): boolean {
  return status === 'started' || status === 'approaching' || status === 'arrived'
}

function latestStarted(trips: readonly FoundTrip[]): FoundTrip | undefined {
  return trips.toSorted((a, b) => (b.startedAt ?? 0) - (a.startedAt ?? 0))[0]
}
