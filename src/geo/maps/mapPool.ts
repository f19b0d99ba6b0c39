import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import { MAP_WORKER } from '../../../workers/urls.ts'
import { ApiError } from '../../runtime/errors.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { MapRegion, MapRegions } from '../extract/port.ts'
import { LARGEST_ZOOM, tileBounds, type TileAddress } from '../mapFile/grid.ts'
import { WORLD_ATTRIBUTION } from '../world/port.ts'
import type { FontName } from './fonts.ts'
import type { MapTask } from './mapThread.ts'
import { checkInstalled, GLYPH_PACKAGES, SPRITE_PACKAGES } from './packages.ts'
import type { MapContent, Maps } from './port.ts'

/** Parts that may wait, besides those being made; most take some milliseconds. */
const MOST_WAITING = 256
/** A thread takes about 30 MB. It ends after this long without a question. */
const IDLE_MS = 60_000
/** Of the parts that were asked for last: some thousand tiles. */
const CACHE_BYTES = 32 * 1024 * 1024
/** Approximate bytes of an entry besides its content. */
const ENTRY_BYTES = 300

const OUTLINE_CREDIT = 'Natural Earth'

/** Makes the parts of maps in threads, so that none holds up tracking, and keeps those that were asked for last. */
export class MapPool implements Maps, Service {
  readonly name = 'maps'
  readonly maxZoom = LARGEST_ZOOM
  readonly #regions: MapRegions
  readonly #world: () => Promise<string>
  readonly #pool: Piscina<MapTask, MapContent>
  readonly #kept = new LRUCache<string, MapContent>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ content }) => content.length + ENTRY_BYTES,
  })
  /** By key: parts that are being made, so that nobody makes one twice. */
  readonly #underWay = new Map<string, Promise<MapContent>>()
  #version: string

  /** @param world gives the file of the world database, or throws an ApiError */
  constructor(regions: MapRegions, world: () => Promise<string>, logger: Logger) {
    this.#regions = regions
    this.#world = world
    this.#version = versionOf(regions.all)
    regions.onChange(() => (this.#version = versionOf(regions.all)))
    this.#pool = new Piscina({
      filename: MAP_WORKER.href,
      minThreads: 0,
      maxThreads: Math.max(1, availableParallelism() - 1),
      maxQueue: MOST_WAITING,
      idleTimeout: IDLE_MS,
      recordTiming: false,
    })
    // A thread ended by itself. Its task, if any, is rejected separately.
    this.#pool.on('error', (err) => logger.error({ err }, 'a thread of maps failed'))
  }

  get version(): string {
    return this.#version
  }

  get credits(): readonly string[] {
    const own = this.#regions.all.map(({ attribution }) => attribution)
    return [...new Set([...own, OUTLINE_CREDIT, WORLD_ATTRIBUTION])]
  }

  tile(address: TileAddress): Promise<MapContent> {
    const { z, x, y } = address
    // With another build of a map region, all keys are others.
    return this.#file(`tile ${this.#version} ${z}/${x}/${y}`, async () => {
      const { all } = this.#regions
      const box = tileBounds(address)
      const inService = all.flatMap(({ map, places }) => [map, places]).filter((file) => file !== undefined)
      return {
        kind: 'tile',
        address,
        world: await this.#world(),
        regions: all.filter(({ bounds }) => overlap(bounds, box)).map(({ map, places }) => ({ map, places })),
        inService,
      }
    })
  }

  letters(font: FontName, start: number): Promise<MapContent> {
    return this.#file(`letters ${font} ${start}`, async () => {
      checkInstalled(GLYPH_PACKAGES)
      return { kind: 'letters', font, start }
    })
  }

  icons(ratio: 1 | 2, form: 'json' | 'png'): Promise<MapContent> {
    return this.#file(`icons ${ratio} ${form}`, async () => {
      checkInstalled(SPRITE_PACKAGES)
      return { kind: 'icons', ratio, form }
    })
  }

  /** A part that is kept, or else made. @param task is asked for it */
  #file(key: string, task: () => Promise<MapTask>): Promise<MapContent> {
    const kept = this.#kept.get(key)
    if (kept !== undefined) return Promise.resolve(kept)
    let file = this.#underWay.get(key)
    if (file === undefined) {
      file = this.#make(task).finally(() => this.#underWay.delete(key))
      this.#underWay.set(key, file)
      file.then((made) => this.#kept.set(key, made)).catch(() => {})
    }
    return file
  }

  async #make(task: () => Promise<MapTask>): Promise<MapContent> {
    const asked = await task()
    if (this.#pool.queueSize >= MOST_WAITING)
      throw new ApiError(503, 'Too many parts of maps at once.', { retryAfter: 1 })
    return await this.#pool.run(asked)
  }

  /** What is being made is abandoned; the server has drained its requests before. */
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
