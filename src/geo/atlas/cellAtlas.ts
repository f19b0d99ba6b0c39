import type { Place } from '../../model/place.ts'
import type { Region, RegionKind } from '../../model/region.ts'
import {
  NO_ATLAS,
  Unfetched,
  Unknown,
  type Atlas,
  type IpHere,
  type NearestOfChain,
  type PlaceNear,
  type PlacesHere,
  type RegionsHere,
} from '../../rules/atlas.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { CellCache } from './cellCache.ts'
import { cellOf, CROWDED_CELLS, PLACE_CELLS } from './grid.ts'
import { firstOfCell } from './firstPlaces.ts'
import type { FoundById } from './foundById.ts'
import {
  allOfCell,
  closestOfCell,
  nearestOfChains,
  placesOfCell,
  type ChainCell,
  type PlaceCell,
} from './placeCell.ts'
import { regionsIn, type RegionCell } from './regionCell.ts'
import { regionOf } from './regionNames.ts'

/** Reads cells from the data. cellThreads.ts implements it. Every call may reject, and may then be repeated. */
export interface CellReader {
  readRegions(cell: number): Promise<RegionCell>
  readPlaces(cell: number): Promise<PlaceCell>
  /** Reads one of the smaller cells of a crowded one. */
  readCrowdedPlaces(cell: number): Promise<PlaceCell>
  readChains(cell: number, slugs: readonly string[]): Promise<ChainCell>
  /**
   * Finds a place.
   * @param id the `_id` of a place
   */
  readPlace(id: string): Promise<FoundById>
  /**
   * Finds a region.
   * @param id the `_id` of a region
   */
  readRegion(id: string): Promise<FoundById>
}

/** What is known about IP addresses. geo/ip/ipFacts.ts implements it. */
export interface IpAtlas {
  at(ip: string): IpHere | Unknown | Unfetched
}

/** The approximate bytes of the cells of each kind that are kept in memory. */
const REGION_BYTES = 64 * 1024 * 1024
const PLACE_BYTES = 64 * 1024 * 1024
/** The bytes of the smaller cells of places. */
const CROWDED_BYTES = 32 * 1024 * 1024
const CHAIN_BYTES = 16 * 1024 * 1024
/** The bytes of places and regions that clients have named. */
const NAMED_BYTES = 4 * 1024 * 1024
/** The bytes of a cell and its objects besides its arrays. */
const CELL_BYTES = 2000
/** The bytes of a place with its texts. */
const BYTES_A_PLACE = 500
const BYTES_A_RING = 150
const BYTES_A_CHAIN = 100
/** The bytes of a name: its key and entry. */
const BYTES_A_NAME = 300

const PLACE_KEY = 'place/'
const REGION_KEY = 'region/'

/**
 * The atlas: cells of the world in memory, see cellCache.ts.
 *
 * Owns: which cells are kept. Does not own: what a cell says (regionCell.ts, placeCell.ts), how it is read
 * (cellThread.ts).
 */
export class CellAtlas implements Atlas {
  revision = 0
  readonly #ips: IpAtlas | undefined
  readonly #regions: CellCache<number, RegionCell>
  readonly #places: CellCache<number, PlaceCell>
  readonly #crowded: CellCache<number, PlaceCell>
  readonly #chains: CellCache<string, ChainCell>
  readonly #named: CellCache<string, FoundById>
  /** The lists of chains that are watched, by their number, for as long as somebody uses them. */
  readonly #watched = new Map<number, WeakRef<readonly string[]>>()
  readonly #numbers = new WeakMap<readonly string[], number>()
  #lists = 0
  /** The last question about chains, and its key. The next question is mostly about the same cell. */
  #lastSlugs: readonly string[] | undefined
  #lastNumber = -1
  #lastKey = ''

  /**
   * An atlas without cells.
   * @param waitMs how long somebody waits for a cell, in milliseconds
   */
  constructor(reader: CellReader, clock: Clock, logger: Logger, ips?: IpAtlas, waitMs?: number) {
    this.#ips = ips
    const common = { clock, logger, ...(waitMs !== undefined && { waitMs }) }
    this.#regions = new CellCache({
      read: (cell) => reader.readRegions(cell),
      bytesOf: bytesOfRegions,
      maxBytes: REGION_BYTES,
      ...common,
    })
    this.#places = new CellCache({
      read: (cell) => reader.readPlaces(cell),
      bytesOf: bytesOfPlaces,
      maxBytes: PLACE_BYTES,
      ...common,
    })
    this.#crowded = new CellCache({
      read: (cell) => reader.readCrowdedPlaces(cell),
      bytesOf: bytesOfPlaces,
      maxBytes: CROWDED_BYTES,
      ...common,
    })
    this.#chains = new CellCache({
      read: (key) => this.#readChains(reader, key),
      bytesOf: bytesOfChains,
      maxBytes: CHAIN_BYTES,
      ...common,
    })
    this.#named = new CellCache({
      read: (key) =>
        key.startsWith(PLACE_KEY)
          ? reader.readPlace(key.slice(PLACE_KEY.length))
          : reader.readRegion(key.slice(REGION_KEY.length)),
      bytesOf: ({ place }) => (place === undefined ? BYTES_A_NAME : BYTES_A_NAME + BYTES_A_PLACE),
      maxBytes: NAMED_BYTES,
      ...common,
    })
  }

  /** Approximate bytes of the cells in memory. */
  get bytes(): number {
    return this.#caches.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** How many cells of places could not be read when they were last asked for. */
  get failingPlaces(): number {
    return this.#places.failing + this.#crowded.failing + this.#chains.failing
  }

  regionsAt(latitude: number, longitude: number): RegionsHere | Unknown | Unfetched {
    const cell = this.#regions.get(cellOf(latitude, longitude))
    if (cell instanceof Unknown || cell instanceof Unfetched) return cell
    return regionsIn(cell, latitude, longitude)
  }

  placesAt(latitude: number, longitude: number, reach?: number): PlacesHere | Unknown | Unfetched {
    const cell = this.#placeCellAt(latitude, longitude)
    if (cell instanceof Unknown || cell instanceof Unfetched) return cell
    return placesOfCell(cell, latitude, longitude, reach)
  }

  firstAt(latitude: number, longitude: number): Place | undefined | Unknown | Unfetched {
    const cell = this.#placeCellAt(latitude, longitude)
    if (cell instanceof Unknown || cell instanceof Unfetched) return cell
    return firstOfCell(cell, latitude, longitude)
  }

  closestAt(
    latitude: number,
    longitude: number,
    isWanted?: (place: Place) => boolean,
  ): readonly PlaceNear[] | Unknown | Unfetched {
    const cell = this.#placeCellAt(latitude, longitude)
    if (cell instanceof Unknown || cell instanceof Unfetched) return cell
    return closestOfCell(cell, latitude, longitude, isWanted)
  }

  placesAround(latitude: number, longitude: number): PlacesHere | Unknown | Unfetched {
    const cell = this.#placeCellAt(latitude, longitude)
    if (cell instanceof Unknown || cell instanceof Unfetched) return cell
    return allOfCell(cell, latitude, longitude)
  }

  #placeCellAt(latitude: number, longitude: number): PlaceCell | Unknown | Unfetched {
    let cell = this.#places.get(cellOf(latitude, longitude, PLACE_CELLS))
    if (!(cell instanceof Unknown || cell instanceof Unfetched) && cell.isCrowded)
      cell = this.#crowded.get(cellOf(latitude, longitude, CROWDED_CELLS))
    return cell
  }

  chainsAt(
    slugs: readonly string[],
    latitude: number,
    longitude: number,
  ): readonly NearestOfChain[] | Unknown | Unfetched {
    const number = cellOf(latitude, longitude, PLACE_CELLS)
    if (slugs !== this.#lastSlugs || number !== this.#lastNumber) {
      this.#lastSlugs = slugs
      this.#lastNumber = number
      this.#lastKey = `${this.#numberOf(slugs)}/${number}`
    }
    const cell = this.#chains.get(this.#lastKey)
    if (cell instanceof Unknown || cell instanceof Unfetched) return cell
    return nearestOfChains(cell, latitude, longitude)
  }

  ipAt(ip: string): IpHere | Unknown | Unfetched {
    return this.#ips === undefined ? NO_ATLAS.ipAt(ip) : this.#ips.at(ip)
  }

  placeById(id: string): Place | undefined | Unknown | Unfetched {
    const named = this.#named.get(PLACE_KEY + id)
    return named instanceof Unknown || named instanceof Unfetched ? named : named.place
  }

  regionById(id: string): Region | undefined | Unknown | Unfetched {
    const named = this.#named.get(REGION_KEY + id)
    return named instanceof Unknown || named instanceof Unfetched ? named : named.region
  }

  region(kind: RegionKind, code: string): Region {
    return regionOf(kind, code)
  }

  /** Forgets all cells, because the data have changed. */
  changed(): void {
    this.revision++
    for (const cache of this.#caches) cache.clear()
  }

  get #caches(): { readonly bytes: number; clear(): void }[] {
    return [this.#regions, this.#places, this.#crowded, this.#chains, this.#named]
  }

  #numberOf(slugs: readonly string[]): number {
    let number = this.#numbers.get(slugs)
    if (number === undefined) {
      number = ++this.#lists
      this.#numbers.set(slugs, number)
      for (const [old, list] of this.#watched) if (list.deref() === undefined) this.#watched.delete(old)
      this.#watched.set(number, new WeakRef(slugs))
    }
    return number
  }

  #readChains(reader: CellReader, key: string): Promise<ChainCell> {
    const [number, cell] = key.split('/').map(Number) as [number, number]
    // If nobody uses the list any more, nobody reads the answer.
    return reader.readChains(cell, this.#watched.get(number)?.deref() ?? [])
  }
}

function bytesOfRegions({ countries, unitedStates }: RegionCell): number {
  let bytes = CELL_BYTES + countries.edges.byteLength + countries.areas.byteLength
  if (unitedStates === undefined) return bytes
  const { states, counties, addresses, ranges } = unitedStates
  for (const areas of [states, counties, ranges])
    if (areas !== undefined) bytes += areas.edges.byteLength + areas.areas.byteLength
  return bytes + addresses.x.byteLength * 2 + addresses.coded.byteLength + addresses.starts.byteLength
}

function bytesOfPlaces({ places, points, starts, members, memberMeters, rest, ...cell }: PlaceCell): number {
  let bytes = CELL_BYTES + points.byteLength + starts.byteLength + rest.byteLength
  bytes += members.byteLength + memberMeters.byteLength
  const { firsts } = cell
  bytes += firsts.starts.byteLength + firsts.members.byteLength + firsts.rows.byteLength
  for (const { rings } of places)
    bytes += BYTES_A_PLACE + rings.reduce((sum, ring) => sum + BYTES_A_RING + ring.byteLength, 0)
  return bytes
}

function bytesOfChains({ chains }: ChainCell): number {
  return chains.reduce((sum, { places }) => sum + BYTES_A_CHAIN + places.length * BYTES_A_PLACE, CELL_BYTES)
}
