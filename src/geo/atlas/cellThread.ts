import { OpenDatabases } from '../placeDatabase/openDatabases.ts'
import type { PlaceRecords } from '../placeDatabase/port.ts'
import type { World } from '../world/port.ts'
import type { RegionCell } from './regionCell.ts'
import type { ChainCell, PlaceCell } from './placeCell.ts'
import { makeChainCell, makeCrowdedCell, makePlaceCell } from './placeCellMaker.ts'
import { makeRegionCell } from './regionCellMaker.ts'

/** A cell to read. */
export interface CellTask {
  readonly kind: 'regions' | 'places' | 'crowdedPlaces' | 'chains'
  readonly cell: number
  /** The slugs of chains. */
  readonly slugs?: readonly string[]
  /** The place databases of all map regions in service; the thread closes any other. */
  readonly regions: readonly CellRegionFile[]
  /** The world database; undefined if there is none. */
  readonly world: string | undefined
}

export interface CellRegionFile {
  readonly file: string
  /** West, south, east, north. */
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
  ) {
    this.#places = new OpenDatabases(openPlaces)
    this.#openWorld = openWorld
  }

  read({ kind, cell, slugs = [], regions: files, world }: CellTask): RegionCell | PlaceCell | ChainCell {
    this.#places.keep(files.map(({ file }) => file))
    const regions = files.map(({ file, bounds }) => ({ bounds, records: () => this.#places.at(file) }))
    if (kind === 'places') return makePlaceCell(cell, regions)
    if (kind === 'crowdedPlaces') return makeCrowdedCell(cell, regions)
    if (kind === 'chains') return makeChainCell(cell, slugs, regions)
    if (world !== undefined) this.#world ??= this.#openWorld(world)
    return makeRegionCell(cell, { world: this.#world, regions })
  }
}
