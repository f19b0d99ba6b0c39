import type { ScopeId } from '../model/scope.ts'
import type { Heard, TripStatus } from '../model/trip.ts'

/**
 * Questions about trips, for code that may be in another process than the partitions.
 *
 * Embedded technology: hostTrips.ts. Distributed: remoteTrips.ts asks the owners of the partitions, where
 * partitionServer.ts answers.
 */

/** A page of all; bounds are exclusive, epoch milliseconds. */
export interface TripList {
  readonly statuses?: readonly TripStatus[] | undefined
  /** The tag of the trip's destination, or of any of its legs. */
  readonly destinationGeofenceTag?: string | undefined
  readonly destinationGeofenceExternalId?: string | undefined
  readonly externalIds?: readonly string[] | undefined
  readonly userId?: string | undefined
  readonly delayed?: boolean | undefined
  readonly includeLocations: boolean
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
      /** The trip with that `_id`. */
      readonly ask: 'trip'
      readonly id: string
      readonly includeLocations: boolean
      readonly sortBy?: TripList['sortBy']
    }
  | {
      /** Of the trips of that name the active one, else the one that was created last. */
      readonly ask: 'named'
      readonly externalId: string
      readonly includeLocations: boolean
      /** Only among those that this update has moved. */
      readonly heard?: Heard
    }
  | {
      /** In each partition, one of the trips that the record moved last, if there are any. */
      readonly ask: 'ofRecordEach'
      readonly recordId: string
    }
  | { readonly ask: 'list'; readonly list: TripList }
  | {
      /** For each of these records, by `_id`, its trips that are started, approaching or arrived. */
      readonly ask: 'ofRecords'
      readonly recordIds: readonly string[]
    }
)

/** A trip in an answer; the texts are finished JSON. */
export interface FoundTrip {
  /** Its rank: compared number by number, the lower comes first. No two trips have the same. */
  readonly order: readonly number[]
  readonly id: string
  readonly externalId: string
  readonly userId: string | null
  readonly status: TripStatus
  /** Epoch milliseconds. */
  readonly createdAt: number
  readonly startedAt: number | null
  /** `_id` of the record that moved it last. */
  readonly recordId: string | null
  /** Without user and locations. */
  readonly trip: string
  readonly user: string | null
  /** A list; empty if it was not asked for. */
  readonly locations: string
}

export interface TripAnswer {
  /** In order; a page ends early with the one that reaches PAGE_CHARACTERS (events/port.ts). */
  readonly trips: readonly FoundTrip[]
  readonly hasMore: boolean
}

/** Answers questions about trips from committed state. */
export interface Trips {
  /** @throws {ApiError} 503 if nobody answers for a part of the trips */
  ask(question: TripQuestion): Promise<TripAnswer>
}
