import type { TileAddress } from '../mapFile/grid.ts'
import type { MapCredit } from './credits.ts'
import type { FontName } from './fonts.ts'

/** A part of a map that clients load. */
export interface MapContent {
  readonly content: Uint8Array
  /** Whether the content is compressed with gzip. */
  readonly isPacked: boolean
  /** The etag of the content, without quotes. */
  readonly etag: string
}

/** Where a map is. */
export interface MapView {
  readonly center: readonly [longitude: number, latitude: number]
  readonly zoom: number
}

/**
 * The maps of this server: tiles of the operator's files and of the imported map regions over an outline of the world,
 * letters and icons.
 */
export interface Maps {
  /**
   * A vector tile.
   * @param address in the world, with a zoom up to {@link maxZoom}
   * @throws {ApiError} 503 if packages are not installed, or too much is asked for at once
   */
  tile(address: TileAddress): Promise<MapContent>
  /**
   * The letters of a font from one on.
   * @param start a multiple of LETTERS
   * @throws {ApiError} the same as for tiles
   */
  letters(font: FontName, start: number): Promise<MapContent>
  /**
   * The icons, drawn with this many pixels for each pixel of the style.
   * @throws {ApiError} the same as for tiles
   */
  icons(ratio: 1 | 2, form: 'json' | 'png'): Promise<MapContent>
  /** Begins to make what every map shows, unless it is there: after a start, letters take half a second of a processor. */
  prepare(): void
  /** The largest zoom of tiles; clients enlarge these beyond it. */
  readonly maxZoom: number
  /** Who is credited for the data, in the order in which the credits are shown. */
  readonly credits: readonly MapCredit[]
  /** What there is to see: where a map begins that nobody has told another place. */
  readonly view: MapView
  /** Letters and digits that change whenever tiles show something else. They may be a part of the tiles' URLs. */
  readonly version: string
}
