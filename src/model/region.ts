/** The kinds of regions that a location can lie in: by name in answers, from the largest to the smallest. */
export const REGION_KINDS = ['country', 'state', 'dma', 'postalCode'] as const

export type RegionKind = (typeof REGION_KINDS)[number]

/** A country, or a state, television market (DMA) or postal code of the United States. */
export interface Region {
  /** 24 hexadecimal digits, the same in every installation. */
  readonly _id: string
  readonly type: RegionKind
  /** A code such as `US`, `NY`, `501` or `11201`. */
  readonly code: string
  readonly name: string
  /** The emoji of a country. */
  readonly flag?: string
}

/**
 * The codes of the regions that a location lies in, in the order of {@link REGION_KINDS}, with `/` between them and
 * empty where there is none: `US/NY/501/11201`, `UY///`, `///` at sea. One text, because a million devices keep it.
 */
export type RegionCodes = string

/** The codes of a location that is in no region. */
export const NOWHERE: RegionCodes = '///'

/**
 * The codes as one text, such as `US/NY/501/11201`.
 * @param codes in the order of {@link REGION_KINDS}
 */
export function regionCodes(codes: readonly (string | undefined)[]): RegionCodes {
  return codes.map((code) => code ?? '').join('/')
}

/** The codes in the order of {@link REGION_KINDS}; undefined where there is none. */
export function codesIn(regions: RegionCodes): (string | undefined)[] {
  return regions.split('/').map((code) => code || undefined)
}

/** The regions that a user is in. Immutable. */
export interface RegionStays {
  readonly codes: RegionCodes
  /**
   * When each region was entered, in the order of {@link REGION_KINDS}: the time t of the update in epoch
   * milliseconds; 0 if there is none.
   */
  readonly since: readonly number[]
}

/** The value of a user in no region. */
export const NO_REGIONS: RegionStays = { codes: NOWHERE, since: [0, 0, 0, 0] }
