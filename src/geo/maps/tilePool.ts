import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import { MAP_TILE_WORKER } from '../../../workers/urls.ts'
import { ApiError } from '../../runtime/errors.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { MapRegion, MapRegions } from '../extract/port.ts'
import { LARGEST_ZOOM, tileBounds, type TileAddress } from '../mapFile/grid.ts'
import { WORLD_ATTRIBUTION } from '../world/port.ts'
import type { MapTile, MapTiles } from './port.ts'
import type { TileTask } from './tileThread.ts'

/** Tiles that may wait, besides those being cut; each takes some milliseconds. */
const MOST_WAITING = 256
/** A thread takes about 30 MB. It ends after this long without a tile. */
const IDLE_MS = 60_000
/** Of the tiles that were asked for last: some thousand. */
const CACHE_BYTES = 32 * 1024 * 1024
/** Approximate bytes of an entry besides its content. */
const ENTRY_BYTES = 300

const OUTLINE_CREDIT = 'Natural Earth'

/** Cuts tiles in threads, so that none holds up tracking, and keeps those that were asked for last. */
export class TilePool implements MapTiles, Service {
  readonly name = 'maps'
  readonly maxZoom = LARGEST_ZOOM
  readonly #regions: MapRegions
  readonly #world: () => Promise<string>
  readonly #pool: Piscina<TileTask, MapTile>
  readonly #kept = new LRUCache<string, MapTile>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ content }) => content.length + ENTRY_BYTES,
  })
  /** By key: tiles that are being cut, so that nobody cuts one twice. */
  readonly #underWay = new Map<string, Promise<MapTile>>()
  #version: string

  /** @param world gives the file of the world database, or throws an ApiError */
  constructor(regions: MapRegions, world: () => Promise<string>, logger: Logger) {
    this.#regions = regions
    this.#world = world
    this.#version = versionOf(regions.all)
    regions.onChange(() => (this.#version = versionOf(regions.all)))
    this.#pool = new Piscina({
      filename: MAP_TILE_WORKER.href,
      minThreads: 0,
      maxThreads: Math.max(1, availableParallelism() - 1),
      maxQueue: MOST_WAITING,
      idleTimeout: IDLE_MS,
      recordTiming: false,
    })
    // A thread ended by itself. Its tile, if any, is rejected separately.
    this.#pool.on('error', (err) => logger.error({ err }, 'a thread that cuts map tiles failed'))
  }

  get version(): string {
    return this.#version
  }

  get credits(): readonly string[] {
    const own = this.#regions.all.map(({ attribution }) => attribution)
    return [...new Set([...own, OUTLINE_CREDIT, WORLD_ATTRIBUTION])]
  }

  async tile(address: TileAddress): Promise<MapTile> {
    const { z, x, y } = address
    // With another build of a map region, all keys are others.
    const key = `${this.#version} ${z}/${x}/${y}`
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    let tile = this.#underWay.get(key)
    if (tile === undefined) {
      tile = this.#cut(address).finally(() => this.#underWay.delete(key))
      this.#underWay.set(key, tile)
      tile.then((cut) => this.#kept.set(key, cut)).catch(() => {})
    }
    return tile
  }

  async #cut(address: TileAddress): Promise<MapTile> {
    const world = await this.#world()
    if (this.#pool.queueSize >= MOST_WAITING)
      throw new ApiError(503, 'Too many map tiles at once.', { retryAfter: 1 })
    const { all } = this.#regions
    const box = tileBounds(address)
    const files = all.flatMap(({ map, places }) => [map, places]).filter((file) => file !== undefined)
    return await this.#pool.run({
      address,
      world,
      regions: all.filter(({ bounds }) => overlap(bounds, box)).map(({ map, places }) => ({ map, places })),
      inService: files,
    })
  }

  /** Tiles that are being cut are abandoned; the server has drained its requests before. */
  stop(): Promise<void> {
    return this.#pool.destroy()
  }
}

/** Whether a map region may show something in a tile. What crosses its edge is a little outside of its bounds. */
function overlap(a: MapRegion['bounds'], b: readonly [number, number, number, number]): boolean {
  const [west, south, east, north] = a
  const margin = Math.max(0.01, b[2] - b[0])
  return west - margin < b[2] && east + margin > b[0] && south - margin < b[3] && north + margin > b[1]
}

function versionOf(regions: readonly MapRegion[]): string {
  const hash = createHash('sha256')
  for (const { id, map, places } of regions)
    hash.update(`${id} ${map !== undefined} ${places !== undefined}\n`)
  return hash.digest('hex').slice(0, 12)
}
