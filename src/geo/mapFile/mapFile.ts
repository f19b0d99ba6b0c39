/**
 * A map file: the blocks of a map region, or of the world, as a SQLite file that is written once and then only read.
 * Most numbers in a block have one or two bytes, and compression reduces it to two thirds.
 */
import type Database from 'better-sqlite3'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { openFinishedSqlite } from '../../runtime/sqlite.ts'
import { BlockReader } from './block.ts'
import type { Level } from './grid.ts'

/** It must be raised with each change of the format or of what is written. Then maps are made again. */
export const MAP_FILE_VERSION = 2

/** `RFmp` in the header of the file. */
export const MAP_APPLICATION_ID = 0x5246_6d70

export const BLOCK_SCHEMA = 'CREATE TABLE block (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)'

/** The page size is small, because the last page of each block is not full. */
export const MAP_PAGE_BYTES = 1024

/** The highest level that does not take much longer to write. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 19 } }

/** Columns and rows of cells are below 2^14. */
const CELL_BITS = 14
/** How much of the file each connection keeps in memory. */
const CACHE_BYTES = 8 * 1024 * 1024

/**
 * The number of a block.
 * @param zoom the zoom of its level
 */
export function blockId(zoom: number, x: number, y: number): number {
  return (zoom * 2 ** CELL_BITS + y) * 2 ** CELL_BITS + x
}

export function packBlock(bytes: Uint8Array): Uint8Array {
  return zstdCompressSync(bytes, COMPRESSION)
}

/** A map file, opened for reading. It is synchronous: use it in a thread of its own. */
export class MapFile {
  readonly #database: Database.Database
  readonly #block: Database.Statement

  /**
   * Opens the file.
   * @throws the errors of SQLite
   */
  constructor(file: string) {
    this.#database = openFinishedSqlite(file, CACHE_BYTES)
    this.#block = this.#database.prepare('SELECT bytes FROM block WHERE id = ?').pluck()
  }

  /** The block of a cell; undefined if the map is empty there. */
  block({ zoom }: Level, x: number, y: number): BlockReader | undefined {
    const bytes = this.#block.get(blockId(zoom, x, y)) as Buffer | undefined
    return bytes === undefined ? undefined : new BlockReader(zstdDecompressSync(bytes))
  }

  close(): void {
    this.#database.close()
  }
}
