import type { Place } from '../model/place.ts'
import type { Region, RegionCodes, RegionKind } from '../model/region.ts'
import { Unready } from './unready.ts'

/**
 * What the evaluators ask about the world around a point. The answers are in memory, or are fetched first.
 *
 * geo/atlas/cellAtlas.ts implements it.
 */
export interface Atlas {
  /**
   * Increases with each change of the data, such as an import of a map region. Earlier answers may then be outdated.
   */
  readonly revision: number
  /**
   * The regions of a point.
   * @param latitude in degrees
   * @param longitude in degrees
   */
  regionsAt(latitude: number, longitude: number): RegionsHere | Unknown | Unfetched
  /**
   * The places around a point.
   * @param reach the distance within which all are needed, in metres; {@link AROUND_METERS} by default and at most
   */
  placesAt(latitude: number, longitude: number, reach?: number): PlacesHere | Unknown | Unfetched
  /**
   * The most likely place of a point, as the order of candidates in rules/placeOrder.ts says; undefined if none is within
   * {@link CLOSEST_METERS}. It takes much less time than {@link placesAt}.
   */
  firstAt(latitude: number, longitude: number): Place | undefined | Unknown | Unfetched
  /**
   * The places whose edges are closest to a point: one, or all that contain it; none if none is within {@link CLOSEST_METERS}.
   * @param isWanted the places that count; all by default
   */
  closestAt(
    latitude: number,
    longitude: number,
    isWanted?: (place: Place) => boolean,
  ): readonly PlaceNear[] | Unknown | Unfetched
  /**
   * The places around a point, with all further ones that are in memory. It is for clients that do not ask again soon.
   */
  placesAround(latitude: number, longitude: number): PlacesHere | Unknown | Unfetched
  /**
   * The nearest place of each of some chains, in their order.
   * @param slugs the same array whenever the slugs are the same
   */
  chainsAt(
    slugs: readonly string[],
    latitude: number,
    longitude: number,
  ): readonly NearestOfChain[] | Unknown | Unfetched
  /** What is known about an address. */
  ipAt(ip: string): IpHere | Unknown | Unfetched
  /** The place with that `_id`, wherever it is; undefined if there is none. */
  placeById(id: string): Place | undefined | Unknown | Unfetched
  /** The region with that `_id`; undefined if there is none. */
  regionById(id: string): Region | undefined | Unknown | Unfetched
  /** The region with that code. */
  region(kind: RegionKind, code: string): Region
}

/** The regions of a point. */
export interface RegionsHere {
  readonly codes: RegionCodes
  /** All points within this distance, in metres, have the same codes. It is at least 0. */
  readonly clearanceMeters: number
}

/** A place near a point. */
export interface PlaceNear {
  readonly place: Place
  /** The distance from the edge of its area in metres, negative inside. */
  readonly meters: number
  /** The distance from its point in metres. */
  readonly pointMeters: number
  /** The size of its area in square metres. */
  readonly area: number
  /** Whether its area is a circle around its point, so that both distances always differ by the same. */
  readonly isRound?: boolean
}

/** A place that is farther from a point, by its edge, need not be among the {@link PlacesHere}. */
export const AROUND_METERS = 125

/** {@link Atlas.closestAt} looks at places up to this far away, by their edges, in metres. */
export const CLOSEST_METERS = 75

/** The places around a point. */
export interface PlacesHere {
  /** Whether a map region has the data of this part of the world. */
  readonly isCovered: boolean
  /** All places within the wanted distance, in no order, and perhaps more. */
  readonly near: readonly PlaceNear[]
  /** Every other place is at least this far away, in metres from its edge. */
  readonly restMeters: number
}

/** The nearest place of a chain. */
export interface NearestOfChain {
  /** The place; undefined if there is none within some kilometres. */
  readonly place: Place | undefined
  /** The distance from its point; for places that are too far away, a lower bound of it. */
  readonly meters: number
}

/** What is known about an IP address. */
export interface IpHere {
  readonly isProxy: boolean
  /** The alpha-2 code of the country in which it is used; undefined if that is not known. */
  readonly country: string | undefined
  /** The approximate position in degrees where it is used in its country. */
  readonly latitude: number
  readonly longitude: number
  /** The server time until which the answer counts, in epoch milliseconds. */
  readonly until: number
}

/** The answer is not known at the moment, because the data cannot be read or are not ready yet. */
export class Unknown {
  /** The server time from which it is worth asking again, in epoch milliseconds. */
  readonly until: number
  /** Whether something failed. Otherwise it only takes long. */
  readonly isFailure: boolean

  constructor(until: number, isFailure: boolean) {
    this.until = until
    this.isFailure = isFailure
  }
}

/** The answer must be fetched first. After that, the question must be repeated. */
export class Unfetched extends Unready {
  /** Fetches the answer. It takes some seconds at most, and never rejects. */
  readonly fetch: () => Promise<void>

  constructor(fetch: () => Promise<void>) {
    super()
    this.fetch = fetch
  }
}

/** Repeats the question after each fetch, until there is an answer. */
export async function fetched<T>(ask: () => T | Unfetched): Promise<T> {
  for (;;) {
    const answer = ask()
    if (!(answer instanceof Unfetched)) return answer
    await answer.fetch()
  }
}

const NEVER = new Unknown(Infinity, false)

/** An atlas that knows nothing. */
export const NO_ATLAS: Atlas = {
  revision: 0,
  regionsAt: () => NEVER,
  placesAt: () => NEVER,
  firstAt: () => NEVER,
  closestAt: () => NEVER,
  placesAround: () => NEVER,
  chainsAt: () => NEVER,
  ipAt: () => NEVER,
  placeById: () => NEVER,
  regionById: () => NEVER,
  region: (type, code) => ({ _id: '', type, code, name: code }),
}
