import { OpenDatabases } from '../placeDatabase/openDatabases.ts'
import type { PlaceRecords } from '../placeDatabase/port.ts'
import type { World } from '../world/port.ts'
import type { FoundById } from './foundById.ts'
import type { RegionCell } from './regionCell.ts'
import type { ChainCell, PlaceCell } from './placeCell.ts'
import { makeChainCell, makeCrowdedCell, makePlaceCell, placeNamed } from './placeCellMaker.ts'
import { makeRegionCell } from './regionCellMaker.ts'
import { regionNamed } from './regionNames.ts'

/** A cell to read. */
export interface CellTask {
  readonly kind: 'regions' | 'places' | 'crowdedPlaces' | 'chains' | 'placeById' | 'regionById'
  /** The number of the cell; absent in questions about an `_id`. */
  readonly cell: number
  readonly id?: string
  /** The slugs of the chains that are asked for. */
  readonly slugs?: readonly string[]
  /** The place databases of all map regions in service. The thread closes all others. */
  readonly regions: readonly CellRegionFile[]
  /** The path of the world database; undefined if there is none. */
  readonly world: string | undefined
}

export interface CellRegionFile {
  readonly file: string
  /** West, south, east and north in degrees. */
  readonly bounds: readonly [number, number, number, number]
}

/** Reads cells in a thread, from databases that it opens when they are needed. */
export class CellThread {
  readonly #openWorld: (file: string) => World
  readonly #places: OpenDatabases<PlaceRecords & { close(): void }>
  #world: World | undefined

  constructor(
    openPlaces: (file: string) => PlaceRecords & { close(): void },
    openWorld: (file: string) => World,
    stampOf: (file: string) => string,
  ) {
    // Cells are rarely read, and then kept, so the file is checked each time.
    this.#places = new OpenDatabases(openPlaces, stampOf, 0)
    this.#openWorld = openWorld
  }

  read(task: CellTask): RegionCell | PlaceCell | ChainCell | FoundById {
    const files = task.regions.map(({ file }) => file)
    this.#places.keep(files)
    try {
      return this.#read(task)
    } catch (error) {
      // The next reading opens the files again, because what was read of a damaged file before does not count.
      for (const file of files) this.#places.close(file)
      throw error
    }
  }

  #read({ kind, cell, id = '', slugs = [], regions: files, world }: CellTask) {
    if (kind === 'regionById') return { region: regionNamed(id) }
    const regions = files.map(({ file, bounds }) => ({ bounds, records: () => this.#places.at(file) }))
    if (kind === 'places') return makePlaceCell(cell, regions)
    if (kind === 'crowdedPlaces') return makeCrowdedCell(cell, regions)
    if (kind === 'chains') return makeChainCell(cell, slugs, regions)
    if (kind === 'placeById') return { place: placeNamed(id, regions) }
    if (world !== undefined) this.#world ??= this.#openWorld(world)
    return makeRegionCell(cell, { world: this.#world, regions })
  }
}
