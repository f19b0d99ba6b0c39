import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Piscina } from 'piscina'
import { MAP_WORKER } from '../../../workers/urls.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ApiError, failureFields } from '../../runtime/errors.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { openThreadPool } from '../../runtime/threadPool.ts'
import type { MapRegion, MapRegions } from '../extract/port.ts'
import { LARGEST_ZOOM, tileBounds, type TileAddress } from '../mapFile/grid.ts'
import { WORLD_ATTRIBUTION } from '../world/port.ts'
import type { MapCredit } from './credits.ts'
import { firstView } from './firstView.ts'
import { FONT_WEIGHTS, type FontName } from './fonts.ts'
import type { MapResults, MapTask } from './mapThread.ts'
import { checkInstalled, GLYPH_PACKAGES, SPRITE_PACKAGES } from './packages.ts'
import type { MapContent, Maps, MapView } from './port.ts'
import type { TileFileFacts } from './tileFile.ts'
import { TileFiles } from './tileFiles.ts'

/** How many parts may wait, besides those that are being made. Most take some milliseconds. */
const MOST_WAITING = 256
/** How many bytes of the parts that were asked for last are kept, which is some thousand tiles. */
const CACHE_BYTES = 32 * 1024 * 1024
/** Approximate bytes of an entry besides its content. */
const ENTRY_BYTES = 300

const OUTLINE_CREDIT = 'Natural Earth'

/** Makes the parts of maps in threads, so that none delays tracking, and keeps those that were asked for last. */
export class MapPool implements Maps, Service {
  readonly name = 'maps'
  readonly maxZoom = LARGEST_ZOOM
  readonly #regions: MapRegions
  readonly #world: () => Promise<string>
  readonly #files: TileFiles
  readonly #logger: Logger
  readonly #pool: Piscina<MapTask, MapResults[keyof MapResults]>
  readonly #kept = new LRUCache<string, MapContent>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ content }) => content.length + ENTRY_BYTES,
  })
  /** The parts that are being made, by key, so that none is made twice. */
  readonly #underWay = new Map<string, Promise<MapContent>>()
  #version: string

  /**
   * Starts without threads.
   * @param parts.world returns the path of the world database, or throws an ApiError
   * @param parts.files PMTiles files, in the order of precedence
   */
  constructor(parts: {
    readonly regions: MapRegions
    readonly world: () => Promise<string>
    readonly files: readonly string[]
    readonly clock: Clock
    readonly logger: Logger
  }) {
    const { regions, clock, logger } = parts
    this.#regions = regions
    this.#world = parts.world
    this.#logger = logger
    const facts = (path: string): Promise<TileFileFacts> => this.#run({ kind: 'facts', path })
    this.#files = new TileFiles({ paths: parts.files, facts, clock, logger })
    const change = (): void => void (this.#version = versionOf(regions.all, this.#files.shown))
    this.#version = versionOf(regions.all, [])
    regions.onChange(change)
    this.#files.onChange(change)
    this.#pool = openThreadPool({
      worker: MAP_WORKER,
      thread: 'a thread of maps',
      logger,
      mostWaiting: MOST_WAITING,
    })
  }

  get version(): string {
    return this.#version
  }

  get credits(): readonly MapCredit[] {
    const files = this.#files.shown.flatMap(({ credits }) => credits)
    const own = this.#regions.all.map(({ attribution }) => attribution)
    const known = new Set<string>()
    return [...files, ...own, OUTLINE_CREDIT, WORLD_ATTRIBUTION].filter((credit) => {
      const text = typeof credit === 'string' ? credit : credit.text
      return !known.has(text) && known.add(text)
    })
  }

  get view(): MapView {
    return firstView([...this.#files.shown, ...this.#regions.all].map(({ bounds }) => bounds))
  }

  /** A text for /readyz. */
  get condition(): string {
    return this.#files.condition
  }

  /**
   * Opens the operator's files.
   * @throws Error naming a file that cannot be read
   */
  start(): Promise<void> {
    return this.#files.start()
  }

  tile(address: TileAddress): Promise<MapContent> {
    const { z, x, y } = address
    const files = this.#files.around(address)
    // After another build of a map region, or with another file, all keys are different.
    return this.#file(`tile ${this.#version} ${z}/${x}/${y}`, async () => {
      for (const file of files) {
        const found = await this.#fileTile(address, file)
        if (found !== undefined) return found
      }
      const { all } = this.#regions
      const box = tileBounds(address)
      const inService = all.flatMap(({ map, places }) => [map, places]).filter((file) => file !== undefined)
      return this.#make({
        kind: 'tile',
        address,
        world: await this.#world(),
        regions: all.filter(({ bounds }) => overlap(bounds, box)).map(({ map, places }) => ({ map, places })),
        inService,
      })
    })
  }

  letters(font: FontName, start: number): Promise<MapContent> {
    return this.#file(`letters ${font} ${start}`, async () => {
      checkInstalled(GLYPH_PACKAGES)
      return this.#make({ kind: 'letters', font, start })
    })
  }

  icons(ratio: 1 | 2, form: 'json' | 'png'): Promise<MapContent> {
    return this.#file(`icons ${ratio} ${form}`, async () => {
      checkInstalled(SPRITE_PACKAGES)
      return this.#make({ kind: 'icons', ratio, form })
    })
  }

  prepare(): void {
    // Whoever asks for one of them is told what is wrong.
    for (const font of Object.keys(FONT_WEIGHTS) as FontName[]) this.letters(font, 0).catch(() => {})
  }

  /** Returns a part that is kept, or makes it. */
  #file(key: string, make: () => Promise<MapContent>): Promise<MapContent> {
    const kept = this.#kept.get(key)
    if (kept !== undefined) return Promise.resolve(kept)
    let file = this.#underWay.get(key)
    if (file === undefined) {
      file = make().finally(() => this.#underWay.delete(key))
      this.#underWay.set(key, file)
      file.then((made) => this.#kept.set(key, made)).catch(() => {})
    }
    return file
  }

  /**
   * A tile of the operator's file.
   * @throws {ApiError} 503 if the file cannot be read any more
   */
  async #fileTile(address: TileAddress, file: TileFileFacts): Promise<MapContent | undefined> {
    const inService = this.#files.shown
    try {
      return await this.#make({ kind: 'fileTile', address, file, inService })
    } catch (error) {
      if (error instanceof ApiError) throw error
      this.#logger.warn({ ...failureFields(error), file: file.path }, 'a tile of a file cannot be read')
      await this.#files.look()
      const sentence =
        'A file of the option mapFiles has changed, or cannot be read; the log of the server says why.'
      throw new ApiError(503, sentence, { retryAfter: 1 })
    }
  }

  async #make<Task extends MapTask>(task: Task): Promise<MapResults[Task['kind']]> {
    if (this.#pool.queueSize >= MOST_WAITING)
      throw new ApiError(503, 'Too many parts of maps at once.', { retryAfter: 1 })
    return await this.#run(task)
  }

  #run<Task extends MapTask>(task: Task): Promise<MapResults[Task['kind']]> {
    return this.#pool.run(task) as Promise<MapResults[Task['kind']]>
  }

  /** Ends the threads. What is being made is abandoned, but the server has drained its requests before. */
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

function versionOf(regions: readonly MapRegion[], files: readonly TileFileFacts[]): string {
  const hash = createHash('sha256')
  for (const { id, map, places } of regions)
    hash.update(`${id} ${map !== undefined} ${places !== undefined}\n`)
  for (const { path, version } of files) hash.update(`${path} ${version}\n`)
  return hash.digest('hex').slice(0, 12)
}
