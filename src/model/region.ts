import type { Position } from './geofence.ts'

/** The kinds of regions that a location can lie in: by name in answers, from the largest to the smallest. */
export const REGION_KINDS = ['country', 'state', 'dma', 'postalCode'] as const

export type RegionKind = (typeof REGION_KINDS)[number]

/** A country, or a state, television market (DMA) or postal code of the United States. */
export interface Region {
  /** 24 hexadecimal digits, the same in every installation. */
  readonly _id: string
  readonly type: RegionKind
  /** `US`, `NY`, `501`, `11201` */
  readonly code: string
  readonly name: string
  /** Of a country: its emoji. */
  readonly flag?: string
}

/** The regions of a location; those that it does not lie in, or that are not known, are absent. */
export type Regions = { readonly [Kind in RegionKind]?: Region }

/** Finds the regions of locations. */
export interface RegionFinder {
  /** @throws {ApiError} 503 if it cannot be looked up, with `retryAfter` if it can be tried again */
  regionsAt(position: Position): Promise<Regions>
}
