import type { TileAddress } from '../mapFile/grid.ts'

/** A vector tile. */
export interface MapTile {
  /** Compressed with gzip. */
  readonly content: Uint8Array
  /** Of the content, without quotes. */
  readonly etag: string
}

/** The maps of this server: tiles of the imported map regions over an outline of the world. */
export interface MapTiles {
  /**
   * @param address in the world, with a zoom up to {@link maxZoom}
   * @throws {ApiError} 503 if packages are not installed, or too many tiles are asked for at once
   */
  tile(address: TileAddress): Promise<MapTile>
  /** The largest zoom of tiles; clients enlarge these beyond it. */
  readonly maxZoom: number
  /** Who is credited for the data, in the order in which it is shown. */
  readonly credits: readonly string[]
  /** Letters and digits that change with what tiles show, so that they may be part of their URLs. */
  readonly version: string
}
