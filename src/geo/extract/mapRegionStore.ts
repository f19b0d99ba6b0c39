/**
 * The map regions that a running server serves, as named in regions.json, which the operator's commands change.
 *
 * It checks the file's times once a second. A notification (by the operator's socket, or by the system's watch of a
 * folder) would be missed if there is no socket, or if the folder is on another machine or mounted into a container.
 *
 * A build that is no longer named stays on the disk for a minute, for the requests and processes that use it. Then
 * the server that served it removes it. What is left by a server that ended in the meantime is removed at the next
 * start.
 */
import { failureFields } from '../../runtime/errors.ts'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Position } from '../../model/geofence.ts'
import type { Time } from '../../runtime/clock.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { containingMapRegion, mapRegionAt, type CoveredMapRegion } from './choice.ts'
import type { PlacedPoint, MapRegion, MapRegions, RoutedMapRegion } from './port.ts'
import { PRODUCT_ENGINES, type ProductStage } from './products.ts'
import {
  manifestPath,
  readCoverage,
  readManifest,
  readRecord,
  mapIn,
  mapRegionsFolder,
  placesIn,
  stageFolder,
  sweepBuilds,
  tilesIn,
} from './mapRegionFiles.ts'

const LOOK_MS = 1000
const KEEP_MS = 60_000

export interface MapRegionStoreParts {
  readonly dataFolder: string
  /** Takes the lock of a folder, or throws because an import is running. */
  readonly lock: (folder: string) => () => void
  /** A message for when there is no map region: what is coming, or what to do. */
  readonly coming: () => string
  readonly time: Time
  readonly logger: Logger
}

export class MapRegionStore implements MapRegions, Service {
  readonly name = 'regions'
  readonly #parts: MapRegionStoreParts
  readonly #folder: string
  readonly #listeners = new Set<() => void>()
  /** Functions that cancel work that is planned for later. */
  readonly #later = new Set<() => void>()
  #all: readonly CoveredMapRegion[] = []
  #routed: readonly (CoveredMapRegion & RoutedMapRegion)[] = []
  /** The stamp of the manifest that was read last. */
  #stamp: string
  #isStopped = false

  /**
   * Reads the present map regions.
   * @throws {MapRegionsRefused} and the system's errors, for the manifest
   */
  constructor(parts: MapRegionStoreParts) {
    this.#parts = parts
    this.#folder = mapRegionsFolder(resolve(parts.dataFolder))
    this.#stamp = stampOf(fs.statSync(manifestPath(this.#folder), { bigint: true, throwIfNoEntry: false }))
    this.#read()
  }

  get all(): readonly MapRegion[] {
    return this.#all
  }

  /** The name of each map region and what it was made of, so that processes can compare their imports. */
  get imports(): string[] {
    return this.#all.map(({ name, contents }) => `${name} ${contents}`)
  }

  get routed(): readonly RoutedMapRegion[] {
    return this.#routed
  }

  at(position: Position): RoutedMapRegion | undefined {
    return mapRegionAt(this.#routed, position)
  }

  containing(points: readonly PlacedPoint[]): RoutedMapRegion {
    return containingMapRegion(this.#routed, points, this.#parts.coming())
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async start(): Promise<void> {
    await this.#sweep()
    this.#lookLater()
  }

  stop(): void {
    this.#isStopped = true
    for (const callOff of this.#later) callOff()
  }

  /**
   * Checks whether there is another manifest. It never rejects: if the manifest cannot be read, the present map
   * regions stay in service.
   */
  async look(): Promise<void> {
    const { logger } = this.#parts
    try {
      const stamp = stampOf(await stat(manifestPath(this.#folder), { bigint: true }).catch(noFile))
      if (stamp === this.#stamp) return
      this.#stamp = stamp
      const before = this.#all
      this.#read()
      logger.info({ regions: this.#all.map(({ name }) => name) }, 'regions changed')
      for (const { id, name } of before)
        if (!this.#all.some((region) => region.id === id)) this.#letGo(id, name)
      for (const listener of this.#listeners) listener()
    } catch (error) {
      logger.error(
        failureFields(error),
        'the regions cannot be read; the server continues to use those that it had',
      )
    }
  }

  #read(): void {
    const { regions } = readManifest(this.#folder)
    const known = new Map(this.#all.map((region) => [region.id, region]))
    this.#all = regions.flatMap(({ name, folder }) => known.get(folder) ?? this.#opened(name, folder))
    this.#routed = this.#all.filter(isRouted)
  }

  /**
   * Opens a map region. Tracking needs no roads, so a map region that cannot be read prevents neither the start nor
   * the use of the others.
   */
  #opened(name: string, folder: string): CoveredMapRegion[] {
    try {
      return [openRegion(this.#folder, folder)]
    } catch (error) {
      // The build that is served under its name stays in service.
      if (this.#all.some((region) => region.name === name)) throw error
      this.#parts.logger.error(
        { ...failureFields(error), region: name },
        'a region cannot be read: import it again',
      )
      return []
    }
  }

  #letGo(id: string, region: string): void {
    this.#after(KEEP_MS, () => {
      rm(join(this.#folder, id), { recursive: true, force: true }).catch((error: Error) =>
        this.#parts.logger.warn(
          { ...failureFields(error), region },
          'a region that is no longer served cannot be removed',
        ),
      )
    })
  }

  #lookLater(): void {
    this.#after(LOOK_MS, () => void this.look().then(() => this.#lookLater()))
  }

  #after(milliseconds: number, work: () => void): void {
    if (this.#isStopped) return
    const callOff = this.#parts.time.after(milliseconds, () => {
      this.#later.delete(callOff)
      work()
    })
    this.#later.add(callOff)
  }

  /** Removes what an earlier server left. If an import is running, the next start does it. */
  async #sweep(): Promise<void> {
    if (!fs.existsSync(this.#folder)) return
    let release: () => void
    try {
      release = this.#parts.lock(this.#folder)
    } catch {
      return
    }
    try {
      await sweepBuilds(this.#folder)
    } catch (error) {
      this.#parts.logger.warn(failureFields(error), 'files of old regions cannot be removed')
    } finally {
      release()
    }
  }
}

function isRouted<R extends MapRegion>(region: R): region is R & RoutedMapRegion {
  return region.tiles !== undefined
}

function openRegion(folder: string, id: string): CoveredMapRegion {
  const build = join(folder, id)
  const { name, bounds, attribution, stages, sources } = readRecord(build)
  const tiles = stages.routing === undefined ? undefined : tilesIn(stageFolder(build, 'routing'))
  const isCurrent = (stage: ProductStage): boolean => stages[stage]?.engine === PRODUCT_ENGINES[stage]
  const places = isCurrent('places') ? placesIn(stageFolder(build, 'places')) : undefined
  const map = isCurrent('map') ? mapIn(stageFolder(build, 'map')) : undefined
  const madeOf = [
    sources.map(({ sha256 }) => sha256),
    Object.entries(stages).map(([stage, { engine, chains }]) => `${stage} ${engine} ${chains ?? ''}`),
  ]
  const contents = createHash('sha256').update(JSON.stringify(madeOf)).digest('hex').slice(0, 8)
  return { id, name, bounds, attribution, tiles, places, map, contents, coverage: readCoverage(build) }
}

/** A text that differs whenever the file is replaced. It is empty if the file does not exist. */
function stampOf(stats: fs.BigIntStats | undefined): string {
  return stats === undefined ? '' : `${stats.ino}:${stats.mtimeNs}:${stats.size}`
}

function noFile(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
