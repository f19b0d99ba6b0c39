import type { ScopeId } from '../model/scope.ts'
import type { Heard, TripStatus } from '../model/trip.ts'

/**
 * Questions about trips, for code that may be in another process than the partitions.
 *
 * hostTrips.ts implements them in the embedded engine. In the distributed engine, remoteTrips.ts asks the owners of
 * the partitions, where partitionServer.ts answers.
 */

/** A page of all trips. Bounds are exclusive, in epoch milliseconds. */
export interface TripList {
  readonly statuses?: readonly TripStatus[] | undefined
  /** The tag of the trip's destination, or of any of its legs. */
  readonly destinationGeofenceTag?: string | undefined
  readonly destinationGeofenceExternalId?: string | undefined
  readonly externalIds?: readonly string[] | undefined
  readonly userId?: string | undefined
  /** The record that moved the trip last, by `_id`. */
  readonly recordId?: string | undefined
  readonly delayed?: boolean | undefined
  readonly includeLocations: boolean
  /** The maximum number of locations of each trip; the latest are returned. Undefined means all. */
  readonly maxLocations?: number | undefined
  readonly sortBy: 'createdAt' | 'updatedAt'
  /** The `_id` of the trip after which the page begins, and its {@link FoundTrip.order}. */
  readonly after?: readonly number[] | undefined
  readonly createdBefore?: number | undefined
  readonly createdAfter?: number | undefined
  readonly updatedBefore?: number | undefined
  readonly updatedAfter?: number | undefined
  readonly limit: number
}

/** A question about the trips of one scope. */
export type TripQuestion = { readonly scope: ScopeId } & (
  | {
      /** Asks for the trip with that `_id`. */
      readonly ask: 'trip'
      readonly id: string
      readonly includeLocations: boolean
      readonly sortBy?: TripList['sortBy']
    }
  | {
      /** Asks for the active trip of that name, or else for the one that was created last. */
      readonly ask: 'named'
      readonly externalId: string
      readonly includeLocations: boolean
      /** Only trips that this update has moved count. */
      readonly heard?: Heard
    }
  | {
      /** Asks for one of the trips that the removal of a record concerns, in each partition that has any. */
      readonly ask: 'ofRecordEach'
      readonly recordId: string
      /** Of the record: their trips that know no record are concerned, too. */
      readonly userId?: string | undefined
    }
  | { readonly ask: 'list'; readonly list: TripList }
  | {
      /** Asks for the trips of these records (by `_id`) that are started, approaching or arrived. */
      readonly ask: 'ofRecords'
      readonly recordIds: readonly string[]
    }
)

/** A trip in an answer. Its texts are finished JSON. */
export interface FoundTrip {
  /**
   * The rank of the trip. Ranks are compared number by number, and the lower one comes first. No two trips have the
   * same.
   */
  readonly order: readonly number[]
  readonly id: string
  readonly externalId: string
  readonly userId: string | null
  readonly status: TripStatus
  /** In epoch milliseconds. */
  readonly createdAt: number
  readonly startedAt: number | null
  /** The `_id` of the record that moved it last. */
  readonly recordId: string | null
  /** The trip without user and locations. */
  readonly trip: string
  readonly user: string | null
  /** The list of locations. It is empty if it was not asked for. */
  readonly locations: string
}

export interface TripAnswer {
  /** The trips in order. A page ends early with the trip that reaches PAGE_CHARACTERS (events/port.ts). */
  readonly trips: readonly FoundTrip[]
  readonly hasMore: boolean
}

/** Answers questions about trips from committed state. */
export interface Trips {
  /**
   * Answers a question.
   * @throws {ApiError} 503 if nobody answers for a part of the trips
   */
  ask(question: TripQuestion): Promise<TripAnswer>
}
