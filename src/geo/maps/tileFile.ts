/**
 * A PMTiles file (https://github.com/protomaps/PMTiles/tree/main/spec/v3) that the operator brings. Only what a
 * tile needs is read of it, and no number in it makes this program take more memory than is stated here.
 */
import { LRUCache } from 'lru-cache'
import { closeSync, fstatSync, openSync, readSync, type Stats } from 'node:fs'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { Cache, Entry, Header, PMTiles, Source } from 'pmtiles'
import { systemReason } from '../../runtime/errors.ts'
import { creditsOf, type MapCredit } from './credits.ts'
import { checkInstalled, TILE_FILE_PACKAGES } from './packages.ts'

/** A file in the state in which it was last checked. */
export interface TileFileId {
  readonly path: string
  /** A text that changes when the file changes. */
  readonly version: string
}

/** What maps need to know of a file. */
export interface TileFileFacts extends TileFileId {
  readonly minZoom: number
  readonly maxZoom: number
  /** West, south, east and north in degrees. */
  readonly bounds: readonly [number, number, number, number]
  readonly credits: readonly MapCredit[]
}

/** The most bytes of a tile, or of the metadata, both packed and unpacked. */
const MOST_BYTES = 8 * 1024 * 1024
/** The most bytes of an unpacked directory. Those of the largest files have about 100 kB. */
const MOST_DIRECTORY_BYTES = 1024 * 1024
/** How many entries of directories a thread keeps, at some 70 bytes each. */
const MOST_ENTRIES = 250_000

/** Numbers of the format. */
const UNPACKED = 1
const GZIP = 2
const BROTLI = 3
const ZSTD = 4
const VECTOR_TILES = 1
const TILE_TYPES = ['unknown tiles', 'vector tiles', 'PNG', 'JPEG', 'WebP', 'AVIF', 'MapLibre tiles'] as const

/** The layers that styles show. A file without any of them would only hide the map. */
const SHOWN_LAYERS = ['earth', 'water', 'landuse', 'buildings', 'roads', 'boundaries', 'places', 'pois']

/** Directories of all files of a thread. */
const directories = new LRUCache<string, Entry[]>({
  maxSize: MOST_ENTRIES,
  sizeCalculation: ({ length }) => length + 1,
})

/** A file that is open for reading. It reads synchronously, so it must be used in a separate thread. */
export class TileFile {
  readonly id: TileFileId
  readonly #file: number
  readonly #header: Header
  readonly #tiles: PMTiles
  readonly #metadata: PMTiles

  private constructor(parts: {
    readonly id: TileFileId
    readonly file: number
    readonly header: Header
    readonly tiles: PMTiles
    readonly metadata: PMTiles
  }) {
    this.id = parts.id
    this.#file = parts.file
    this.#header = parts.header
    this.#tiles = parts.tiles
    this.#metadata = parts.metadata
  }

  /**
   * Opens a file.
   * @throws Error whose message continues a sentence about the file: "is not a PMTiles file"
   * @throws {ApiError} 503 if the package is not installed
   */
  static async open(path: string): Promise<TileFile> {
    checkInstalled(TILE_FILE_PACKAGES)
    const { PMTiles: Reader, ResolvedValueCache } = await import('pmtiles')
    const file = opened(path)
    try {
      const stats = fstatSync(file)
      if (!stats.isFile()) throw new Error('is not a file')
      const id = { path, version: versionOf(stats) }
      const source = rangesOf(file, stats.size, `${path}\n${id.version}`)
      const reader = new ResolvedValueCache(1, false, unpacker(MOST_DIRECTORY_BYTES))
      const cache = kept(reader)
      const header = await headerOf(source, cache)
      // Tiles are returned in their packed form. The cache unpacks directories by itself.
      const tiles = new Reader(source, cache, async (bytes) => bytes)
      const metadata = new Reader(source, cache, unpacker(MOST_BYTES))
      return new TileFile({ id, file, header, tiles, metadata })
    } catch (error) {
      closeSync(file)
      throw error
    }
  }

  get maxZoom(): number {
    return this.#header.maxZoom
  }

  /**
   * The facts about the file.
   * @throws Error as in {@link open}
   */
  async facts(): Promise<TileFileFacts> {
    const { minZoom, maxZoom, minLon, minLat, maxLon, maxLat } = this.#header
    const metadata = await this.#readMetadata()
    const layers = layersOf(metadata)
    if (layers !== undefined && !layers.some((layer) => SHOWN_LAYERS.includes(layer)))
      throw new Error(
        `has none of the layers that styles show (${SHOWN_LAYERS.join(', ')}, as in the Protomaps basemap schema) but ` +
          `${layers.slice(0, 10).join(', ') || 'no layer'}`,
      )
    const { attribution } = metadata
    const hasBounds = minLon < maxLon && minLat < maxLat
    return {
      ...this.id,
      minZoom,
      maxZoom,
      bounds: hasBounds ? [minLon, minLat, maxLon, maxLat] : [-180, -90, 180, 90],
      credits: typeof attribution === 'string' ? creditsOf(attribution) : [],
    }
  }

  /**
   * A tile of a zoom up to {@link maxZoom}; undefined if the file has none there.
   * @returns its bytes, and the same bytes packed with gzip if the file has them in that form
   * @throws Error as in {@link open}
   */
  async tile(
    z: number,
    x: number,
    y: number,
  ): Promise<{ bytes: Uint8Array; packed?: Uint8Array } | undefined> {
    const found = await this.#tiles.getZxy(z, x, y)
    if (found === undefined) return undefined
    const { tileCompression } = this.#header
    const bytes = unpacked(found.data, tileCompression, MOST_BYTES)
    return tileCompression === GZIP ? { bytes, packed: new Uint8Array(found.data) } : { bytes }
  }

  close(): void {
    closeSync(this.#file)
  }

  async #readMetadata(): Promise<Record<string, unknown>> {
    let metadata: unknown
    try {
      metadata = await this.#metadata.getMetadata()
    } catch (error) {
      throw new Error(`has metadata that cannot be read: ${(error as Error).message}`, { cause: error })
    }
    if (typeof metadata !== 'object' || metadata === null) throw new Error('has metadata that is no object')
    return metadata as Record<string, unknown>
  }
}

function opened(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    throw new Error(`cannot be read: ${systemReason(error)}`, { cause: error })
  }
}

/** The version of a file that is open, or that is at a path. */
export function versionOf({ ino, size, mtimeMs }: Pick<Stats, 'ino' | 'size' | 'mtimeMs'>): string {
  return `${ino} ${size} ${mtimeMs}`
}

function rangesOf(file: number, size: number, key: string): Source {
  return {
    getKey: () => key,
    async getBytes(offset, length) {
      if (length > MOST_BYTES)
        throw new Error(`has a part of ${length} bytes; at most ${MOST_BYTES} are read`)
      if (offset > size) throw new Error('ends before the part that is to be read')
      // The first read asks for more bytes than small files have.
      const bytes = new Uint8Array(Math.min(length, size - offset))
      const read = readSync(file, bytes, 0, bytes.length, offset)
      if (read < bytes.length || (offset > 0 && read < length)) throw new Error('ends within a part')
      return { data: bytes.buffer }
    },
  }
}

/** Limits what the package's cache reads by the number of entries instead of directories. */
function kept(reader: Cache): Cache {
  let header: Promise<Header> | undefined
  return {
    getHeader: (source) => (header ??= reader.getHeader(source)),
    async getDirectory(source, offset, length, of, signal) {
      const key = `${source.getKey()}\n${offset} ${length}`
      let entries = directories.get(key)
      if (entries === undefined)
        directories.set(key, (entries = await reader.getDirectory(source, offset, length, of, signal)))
      return entries
    },
    invalidate: (source) => reader.invalidate(source),
  }
}

async function headerOf(source: Source, cache: Cache): Promise<Header> {
  // This is checked before the package reads the file, which would take files of earlier versions for damaged ones.
  const start = Buffer.from((await source.getBytes(0, 8)).data)
  if (start.length < 8 || start.toString('latin1', 0, 2) !== 'PM') throw new Error('is not a PMTiles file')
  const version = start.toString('latin1', 0, 7) === 'PMTiles' ? start[7]! : start.readUInt16LE(2)
  if (version !== 3)
    throw new Error(`is of version ${version} of PMTiles; version 3 is read (pmtiles convert makes it)`)
  let header: Header
  try {
    header = await cache.getHeader(source)
  } catch (error) {
    throw new Error(`is a damaged PMTiles file: ${(error as Error).message}`, { cause: error })
  }
  const { tileType, tileCompression, minZoom, maxZoom } = header
  if (tileType !== VECTOR_TILES)
    throw new Error(
      `has ${TILE_TYPES[tileType] ?? `tiles of type ${tileType}`}; maps show vector tiles (MVT)`,
    )
  if (![UNPACKED, GZIP, BROTLI, ZSTD].includes(tileCompression))
    throw new Error(`has tiles of the unknown compression ${tileCompression}`)
  if (minZoom > maxZoom || maxZoom > 26) throw new Error(`has the impossible zooms ${minZoom} to ${maxZoom}`)
  return header
}

function unpacker(most: number): (bytes: ArrayBuffer, compression: number) => Promise<ArrayBuffer> {
  // The bytes are copied, because small ones share a buffer with others.
  return async (bytes, compression) => new Uint8Array(unpacked(bytes, compression, most)).buffer
}

function unpacked(bytes: ArrayBuffer, compression: number, most: number): Uint8Array<ArrayBuffer> {
  const options = { maxOutputLength: most }
  const whole = new Uint8Array(bytes)
  if (compression === GZIP) return gunzipSync(whole, options)
  if (compression === BROTLI) return brotliDecompressSync(whole, options)
  if (compression === ZSTD) return zstdDecompressSync(whole, options)
  if (whole.length > most) throw new Error(`has a part of ${whole.length} bytes; at most ${most} are read`)
  return whole
}

/** The layers; undefined if the metadata do not name them. */
function layersOf({ vector_layers: layers }: Record<string, unknown>): string[] | undefined {
  if (!Array.isArray(layers)) return undefined
  return layers.map((layer: unknown) => String((layer as { id?: unknown } | null)?.id).slice(0, 100))
}
