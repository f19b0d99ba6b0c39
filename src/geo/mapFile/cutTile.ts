/**
 * Cuts a tile: the features of blocks, moved and scaled to it, without what its zoom does not show. The code is pure.
 */
import { BRIDGE, COAST, LAND, LINK, ONEWAY, TUNNEL, UNKNOWN, type BlockReader } from './block.ts'
import { clipLine, clipRing, squareBox, type ClipBox } from './clip.ts'
import { thinned } from './generalise.ts'
import {
  levelAt,
  TILE_BITS,
  TILE_MARGIN,
  TILE_UNITS,
  WORLD_BITS,
  type Level,
  type TileAddress,
} from './grid.ts'
import { kindNumber, kindOf, type MapShape } from './kinds.ts'
import { simplifyPolygon } from './simplifyPolygon.ts'
import { VectorTile, type TileValues } from './vectorTile.ts'

const EARTH = kindNumber('earth earth area')
const LOCALITIES: ReadonlySet<number> = new Set(
  ['city', 'town', 'village', 'hamlet'].map((detail) => kindNumber(`places locality ${detail} point`)),
)
const COUNTRY = kindNumber('places country point')
const COUNTRY_BORDER = kindNumber('boundaries country line')

/** The tile with its margin. */
const TILE_BOX = squareBox(TILE_UNITS, TILE_MARGIN)

/**
 * How far lines may be off, in units of a tile. Half a pixel; at the largest zoom, which clients enlarge, it is a
 * sixteenth.
 */
const TOLERANCE = 4
const FINE_TOLERANCE = 0
/** The least area in square units. A pixel has 64. */
const LEAST_AREA = 100
const LEAST_LAND = 1
/**
 * The lowest zoom with all buildings. In a city, most features are buildings. Below this zoom they are drawn to half a
 * pixel, which halves their size, and without those of less than four pixels.
 */
const ALL_BUILDINGS_ZOOM = 15
const COARSE = 4
const LEAST_BUILDING = 256

/** A map with blocks: that of a region, or of the world. */
export interface BlockSource {
  block(level: Level, x: number, y: number): BlockReader | undefined
}

/** How the units of a block are converted to those of a tile. */
interface Placing {
  readonly scale: number
  readonly left: number
  readonly top: number
}

/** A tile that is being made from one map after the other: regions in the order of precedence, then the world. */
export class TileCutter {
  readonly tile: VectorTile
  readonly #address: TileAddress
  /** The shapes that are in the tile, if regions may overlap. */
  readonly #known: Set<string> | undefined
  /** How many cells of zoom 14 the tile has in a row; 0 if they are not looked at. */
  readonly #inRow: number
  /** The land states of these cells, row by row. For tiles of larger zooms, it is the state of the cell around. */
  readonly #states: Uint8Array
  #hasLocality = false

  /**
   * An empty tile.
   * @param mayOverlap whether the tile may be made from more than one region
   */
  constructor(address: TileAddress, mayOverlap: boolean) {
    this.#address = address
    this.#known = mayOverlap ? new Set() : undefined
    const { z } = address
    this.tile = new VectorTile(z < ALL_BUILDINGS_ZOOM ? { buildings: TILE_UNITS / COARSE } : {})
    this.#inRow = z < 9 ? 0 : 2 ** Math.max(0, 14 - z)
    this.#states = new Uint8Array(this.#inRow ** 2)
  }

  /**
   * Adds a region.
   * @param levels the levels of the map
   */
  addRegion(map: BlockSource, levels: readonly Level[]): void {
    const found = this.#blockOf(map, levels)
    if (found === undefined) return
    const { block, level, placing } = found
    const accepted = this.#addStates(block, level)
    while (block.next()) {
      if (block.kind === EARTH) this.#addCoast(block, placing, accepted)
      else this.#addFeature(block, placing)
    }
  }

  /** Adds the outline of the world where regions do not say what is land. */
  addWorld(map: BlockSource, levels: readonly Level[]): void {
    const found = this.#blockOf(map, levels)
    const gaps = this.#rectangles(UNKNOWN)
    for (const rectangle of this.#rectangles(LAND)) this.#addLand([ringOf(rectangle)])
    if (found === undefined) return
    const { block, placing } = found
    // The level has no more points than tiles of its largest zoom need.
    const tolerance = placing.scale < 1 ? TOLERANCE : FINE_TOLERANCE
    while (block.next()) {
      if (block.kind === EARTH) {
        // Points are removed before it is cut, because a cut ring has edges along the box that would then cross.
        const rings = simplifyPolygon(placed(block, placing), tolerance, LEAST_LAND)
        for (const gap of this.#inRow === 0 ? [TILE_BOX] : gaps)
          this.#addLand(rings.map((ring) => clipRing(ring, gap)).filter((ring) => ring.length > 0))
      } else if (!(this.#hasLocality && LOCALITIES.has(block.kind))) this.#addFeature(block, placing)
    }
  }

  #blockOf(
    map: BlockSource,
    levels: readonly Level[],
  ): { block: BlockReader; level: Level; placing: Placing } | undefined {
    const { z, x, y } = this.#address
    const level = levelAt(levels, z)
    if (level === undefined) return undefined
    const up = z - level.zoom
    const [cellX, cellY] = [x >> up, y >> up]
    const block = map.block(level, cellX, cellY)
    if (block === undefined) return undefined
    // The number of units in the world's side: for the level, and for tiles of this zoom.
    const scale = 2 ** (z + TILE_BITS - (WORLD_BITS - level.shift))
    const [left, top] = [(x - cellX * 2 ** up) * TILE_UNITS, (y - cellY * 2 ** up) * TILE_UNITS]
    return { block, level, placing: { scale, left, top } }
  }

  #addFeature(block: BlockReader, placing: Placing): void {
    const { z } = this.#address
    const kind = kindOf(block.kind)
    if (kind.zoom > z) return
    if (block.population !== undefined && z < zoomOf(block.population) - (block.kind === COUNTRY ? 2 : 0))
      return
    const parts = this.#cut(kind.shape, block, placing, kind.layer === 'buildings')
    if (parts.length === 0) return
    if (this.#isKnown(block.kind, parts)) return
    if (LOCALITIES.has(block.kind)) this.#hasLocality = true
    this.tile.add(kind.layer, kind.shape, valuesOf(block), parts)
  }

  /** Whether another region has the same object: the same points in the same places. */
  #isKnown(kind: number, parts: readonly ArrayLike<number>[]): boolean {
    if (this.#known === undefined) return false
    const key = `${kind} ${parts.map((part) => Array.prototype.join.call(part)).join(' ')}`
    if (this.#known.has(key)) return true
    this.#known.add(key)
    return false
  }

  /**
   * Cuts a shape.
   * @returns points in units of the tile; empty if nothing of it is seen
   */
  #cut(shape: MapShape, block: BlockReader, placing: Placing, isBuilding: boolean): ArrayLike<number>[] {
    const { z } = this.#address
    const parts = placed(block, placing)
    if (shape === 'point') {
      const [x, y] = [parts[0]![0]!, parts[0]![1]!]
      // Points are used without the margin, because a label belongs to one tile.
      return x >= 0 && y >= 0 && x < TILE_UNITS && y < TILE_UNITS ? parts : []
    }
    const inside =
      shape === 'line'
        ? parts.flatMap((part) => clipLine(part, TILE_BOX))
        : parts.map((part) => clipRing(part, TILE_BOX)).filter((part) => part.length > 0)
    if (inside.length === 0) return []
    if (!isBuilding) return thinned(shape, inside, this.#tolerance, LEAST_AREA)
    if (z >= ALL_BUILDINGS_ZOOM) return thinned(shape, inside, FINE_TOLERANCE, 0)
    const coarse = inside.map((part) => scaledDown(part, COARSE))
    return thinned(shape, coarse, TOLERANCE / COARSE, LEAST_BUILDING / COARSE ** 2)
  }

  /**
   * Adds the states of a region.
   * @returns for each cell of zoom 14, whether its land is that of this region
   */
  #addStates(block: BlockReader, level: Level): Uint8Array {
    const accepted = new Uint8Array(this.#states.length)
    const { states } = block
    if (states.length === 0 || this.#inRow === 0) return accepted
    const { z, x, y } = this.#address
    const inBlock = 2 ** (14 - level.zoom)
    // The position of the tile's first cell in the block.
    const shift = 14 - z
    const [left, top] = [x, y].map((at) => (shift >= 0 ? at << shift : at >> -shift) % inBlock) as [
      number,
      number,
    ]
    for (let i = 0; i < this.#states.length; i++) {
      const column = left + (i % this.#inRow)
      const row = top + Math.floor(i / this.#inRow)
      const state = states[row * inBlock + column]!
      if (this.#states[i] !== UNKNOWN || state === UNKNOWN) continue
      this.#states[i] = state
      accepted[i] = 1
    }
    return accepted
  }

  #addCoast(block: BlockReader, placing: Placing, accepted: Uint8Array): void {
    if (this.#inRow === 0) return
    const rings = placed(block, placing)
    // The state is that of the cell that contains its middle.
    const [x, y] = middleOf(rings)
    const side = TILE_UNITS / this.#inRow
    const place = (at: number): number => Math.min(this.#inRow - 1, Math.max(0, Math.floor(at / side)))
    const cell = place(y) * this.#inRow + place(x)
    if (accepted[cell] !== 1 || this.#states[cell] !== COAST) return
    const inside = rings.map((ring) => clipRing(ring, TILE_BOX)).filter((ring) => ring.length > 0)
    this.#addLand(thinned('area', inside, this.#tolerance, LEAST_LAND))
  }

  /** Adds rings of land, without those that have hardly any area. */
  #addLand(rings: readonly ArrayLike<number>[]): void {
    const parts = thinned('area', rings, 0, LEAST_LAND)
    if (parts.length > 0) this.tile.add('earth', 'area', { kind: 'earth' }, parts)
  }

  get #tolerance(): number {
    return this.#address.z >= 15 ? FINE_TOLERANCE : TOLERANCE
  }

  /** The cells of zoom 14 in this state, with cells beside each other joined. At the edges they include the margin. */
  #rectangles(state: number): ClipBox[] {
    const side = TILE_UNITS / this.#inRow
    const boxes: ClipBox[] = []
    const edge = (cell: number): number =>
      cell === 0 ? -TILE_MARGIN : cell === this.#inRow ? TILE_UNITS + TILE_MARGIN : cell * side
    for (let row = 0; row < this.#inRow; row++) {
      for (let column = 0; column < this.#inRow; column++) {
        if (this.#states[row * this.#inRow + column] !== state) continue
        const first = column
        while (column < this.#inRow && this.#states[row * this.#inRow + column] === state) column++
        boxes.push({ west: edge(first), east: edge(column), north: edge(row), south: edge(row + 1) })
      }
    }
    return boxes
  }
}

function placed({ numbers, ends }: BlockReader, { scale, left, top }: Placing): number[][] {
  let at = 0
  return ends.map((end) => {
    // Most parts are small, and creating a typed array would take longer than filling it.
    const part: number[] = []
    while (at < end)
      part.push(Math.round(numbers[at++]! * scale) - left, Math.round(numbers[at++]! * scale) - top)
    return part
  })
}

function scaledDown(part: ArrayLike<number>, by: number): number[] {
  const scaled: number[] = []
  for (let i = 0; i < part.length; i++) scaled.push(Math.round(part[i]! / by))
  return scaled
}

function valuesOf(block: BlockReader): TileValues {
  const { kind: number, flags, name, ref, population } = block
  const { kind, detail, layer } = kindOf(number)
  const values: Record<string, string | number | boolean> = { kind }
  if (detail !== undefined) values['kind_detail'] = detail
  if (name !== undefined) values['name'] = name
  for (const [language, text] of block.names) values[`name:${language}`] = text
  if (ref !== undefined) values['ref'] = ref
  if (layer === 'places') values['population_rank'] = rankOf(population ?? 0)
  if (number === COUNTRY_BORDER) values['kind_detail'] = 2
  if (flags & LINK) values['is_link'] = true
  if (flags & TUNNEL) values['is_tunnel'] = true
  if (flags & BRIDGE) values['is_bridge'] = true
  if (flags & ONEWAY) values['oneway'] = 'yes'
  return values
}

/** From 0 to 17, as in the schema; larger settlements have a higher rank. */
const RANKS = [
  200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 5_000_000,
  10_000_000, 20_000_000, 50_000_000, 1_000_000_000,
]

function rankOf(population: number): number {
  return RANKS.filter((limit) => population >= limit).length
}

/** The lowest zoom at which a settlement with this population is shown. */
const LEAST_PEOPLE: readonly (readonly [people: number, zoom: number])[] = [
  [5_000_000, 3],
  [1_000_000, 4],
  [500_000, 5],
  [200_000, 6],
  [100_000, 7],
  [30_000, 8],
  [10_000, 9],
  [0, 10],
]

function zoomOf(population: number): number {
  return LEAST_PEOPLE.find(([people]) => population >= people)![1]
}

function ringOf({ west, north, east, south }: ClipBox): number[] {
  return [west, north, east, north, east, south, west, south]
}

function middleOf(rings: readonly number[][]): [number, number] {
  let [west, north, east, south] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const ring of rings) {
    for (let i = 0; i < ring.length; i += 2) {
      west = Math.min(west, ring[i]!)
      east = Math.max(east, ring[i]!)
      north = Math.min(north, ring[i + 1]!)
      south = Math.max(south, ring[i + 1]!)
    }
  }
  return [(west + east) / 2, (north + south) / 2]
}
