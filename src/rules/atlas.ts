import type { Place } from '../model/place.ts'
import type { Region, RegionCodes, RegionKind } from '../model/region.ts'
import { Unready } from './unready.ts'

/**
 * What the evaluators ask about the world around a point. The answers are in memory, or are fetched first.
 *
 * Technology: geo/atlas/cellAtlas.ts.
 */
export interface Atlas {
  /** Rises with each change of the data, such as an import of a map region. Answers before it may be outdated. */
  readonly revision: number
  /** @param latitude degrees. @param longitude degrees */
  regionsAt(latitude: number, longitude: number): RegionsHere | Unknown | Unfetched
  /** The places around a point. */
  placesAt(latitude: number, longitude: number): PlacesHere | Unknown | Unfetched
  /** The same with more places around, as many as are in memory: for a client that does not ask again soon. */
  placesAround(latitude: number, longitude: number): PlacesHere | Unknown | Unfetched
  /**
   * The nearest place of each of some chains, in their order. @param slugs the same array whenever they are the same
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
  /** Metres, ≥ 0: all points within this distance have the same codes. */
  readonly clearanceMeters: number
}

/** A place near a point. */
export interface PlaceNear {
  readonly place: Place
  /** From the edge of its ground: negative inside. */
  readonly meters: number
  /** From its point. */
  readonly pointMeters: number
  /** The area of its ground, in square metres. */
  readonly area: number
}

/** A place that is farther from a point, by its edge, need not be among the {@link PlacesHere}. */
export const AROUND_METERS = 125

/** The places around a point. */
export interface PlacesHere {
  /** Whether a map region has the data of this part of the world. */
  readonly isCovered: boolean
  /** All within {@link AROUND_METERS}, in no order, and perhaps more. */
  readonly near: readonly PlaceNear[]
  /** Metres: every other place is at least so far away, by its edge. */
  readonly restMeters: number
}

/** The nearest place of a chain. */
export interface NearestOfChain {
  /** Undefined if there is none within some kilometres. */
  readonly place: Place | undefined
  /** The distance from its point; for places that are too far away, a lower bound of it. */
  readonly meters: number
}

/** What is known about an IP address. */
export interface IpHere {
  readonly isProxy: boolean
  /** Alpha-2 code of the country in which it is used; undefined if that is not known. */
  readonly country: string | undefined
  /** Degrees, about where it is used in its country. */
  readonly latitude: number
  readonly longitude: number
  /** Server time, epoch milliseconds, until which the answer counts. */
  readonly until: number
}

/** It is not known at the moment: the data cannot be read, or are not ready yet. */
export class Unknown {
  /** Server time, epoch milliseconds, from which it is worth asking again. */
  readonly until: number
  /** Whether something failed; otherwise it only takes long. */
  readonly isFailure: boolean

  constructor(until: number, isFailure: boolean) {
    this.until = until
    this.isFailure = isFailure
  }
}

/** It must be fetched first. Then ask again. */
export class Unfetched extends Unready {
  /** Takes some seconds at most and never rejects. */
  readonly fetch: () => Promise<void>

  constructor(fetch: () => Promise<void>) {
    super()
    this.fetch = fetch
  }
}

/** Asks again after each fetch, until there is an answer. */
export async function fetched<T>(ask: () => T | Unfetched): Promise<T> {
  for (;;) {
    const answer = ask()
    if (!(answer instanceof Unfetched)) return answer
    await answer.fetch()
  }
}

const NEVER = new Unknown(Infinity, false)

/** Knows nothing. */
export const NO_ATLAS: Atlas = {
  revision: 0,
  regionsAt: () => NEVER,
  placesAt: () => NEVER,
  placesAround: () => NEVER,
  chainsAt: () => NEVER,
  ipAt: () => NEVER,
  placeById: () => NEVER,
  regionById: () => NEVER,
  region: (type, code) => ({ _id: '', type, code, name: code }),
}
