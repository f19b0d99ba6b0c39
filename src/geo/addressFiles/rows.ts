/** What files of addresses say, one row at a time. */
import type { Position } from '../../model/geofence.ts'
import type { Parity } from '../records/numberRanges.ts'
import type { StreetImportance } from '../records/records.ts'

/** The file cannot be read, or contains something else; nothing was changed. */
export class AddressFileRefused extends Error {
  override name = 'AddressFileRefused'
}

export interface HouseRow {
  readonly kind: 'house'
  /** The number as it is written. It may stand for several numbers. */
  readonly number: string
  readonly street: string
  readonly unit: string | undefined
  readonly city: string | undefined
  readonly state: string | undefined
  readonly postalCode: string | undefined
  readonly position: Position
}

/** A piece of a street between two crossings, with the house numbers along it. */
export interface EdgeRow {
  readonly kind: 'edge'
  /** The id of the edge. All pieces of an edge have the same one. */
  readonly id: string | undefined
  readonly street: string
  readonly importance: StreetImportance
  readonly line: readonly Position[]
  readonly sides: readonly EdgeSide[]
}

/** The numbers of one side of an edge. */
export interface EdgeSide {
  readonly first: string
  readonly last: string
  readonly parity: Parity
  readonly city: string | undefined
  readonly state: string | undefined
  readonly postalCode: string | undefined
}

export type AddressFileRow = HouseRow | EdgeRow

/** Who made the data, and under which licence they may be used. */
export interface Credit {
  readonly attribution: string
  readonly licence: string
}
