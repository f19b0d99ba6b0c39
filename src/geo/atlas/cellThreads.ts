import type { Piscina } from 'piscina'
import { ATLAS_WORKER } from '../../../workers/urls.ts'
import { ApiError } from '../../runtime/errors.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { openThreadPool } from '../../runtime/threadPool.ts'
import type { MapRegions } from '../extract/port.ts'
import type { CellReader } from './cellAtlas.ts'
import type { CellTask } from './cellThread.ts'
import type { FoundById } from './foundById.ts'
import type { ChainCell, PlaceCell } from './placeCell.ts'
import type { RegionCell } from './regionCell.ts'

/** Reads cells in a thread of its own, so that neither tracking nor geocoding waits for it. It starts with the first cell. */
export class CellThreads implements CellReader, Service {
  readonly name = 'atlas'
  readonly #regions: Pick<MapRegions, 'all'>
  readonly #world: () => Promise<string>
  readonly #pool: Piscina<CellTask, object>
  #worldFile: string | undefined

  /**
   * Starts without a thread.
   * @param world returns the path of the world database, or throws an ApiError
   */
  constructor(regions: Pick<MapRegions, 'all'>, world: () => Promise<string>, logger: Logger) {
    this.#regions = regions
    this.#world = world
    this.#pool = openThreadPool({
      worker: ATLAS_WORKER,
      thread: 'the thread of the atlas',
      logger,
      threads: 1,
    })
  }

  readPlaces(cell: number): Promise<PlaceCell> {
    return this.#run({ kind: 'places', cell })
  }

  readCrowdedPlaces(cell: number): Promise<PlaceCell> {
    return this.#run({ kind: 'crowdedPlaces', cell })
  }

  readChains(cell: number, slugs: readonly string[]): Promise<ChainCell> {
    return this.#run({ kind: 'chains', cell, slugs })
  }

  readPlace(id: string): Promise<FoundById> {
    return this.#run({ kind: 'placeById', cell: 0, id })
  }

  readRegion(id: string): Promise<FoundById> {
    return this.#run({ kind: 'regionById', cell: 0, id })
  }

  async readRegions(cell: number): Promise<RegionCell> {
    const first: RegionCell = await this.#run({ kind: 'regions', cell })
    // Other countries do not wait until the data of the world are made.
    if (this.#worldFile !== undefined || !first.countries.codes.includes('US')) return first
    this.#worldFile = await this.#findWorld()
    return this.#worldFile === undefined ? first : this.#run({ kind: 'regions', cell })
  }

  #run<Cell>(task: Omit<CellTask, 'regions' | 'world'>): Promise<Cell> {
    const regions = this.#regions.all.flatMap(({ places, bounds }) =>
      places === undefined ? [] : [{ file: places, bounds }],
    )
    return this.#pool.run({ ...task, regions, world: this.#worldFile }) as Promise<Cell>
  }

  /** The path of the world database; undefined if its packages are not installed. */
  async #findWorld(): Promise<string | undefined> {
    try {
      return await this.#world()
    } catch (error) {
      if (error instanceof ApiError && error.retryAfter === undefined) return undefined
      throw error
    }
  }

  /** Ends the thread. Cells that are being read are abandoned. */
  stop(): Promise<void> {
    return this.#pool.destroy()
  }
}
