/**
 * Writes the map file of a map region. The contents of a cell arrive at any time while an extract is read, so they are
 * sorted by cell on the disk, and only one cell is in memory.
 */
import type Database from 'better-sqlite3'
import fs from 'node:fs'
import type { Position } from '../../model/geofence.ts'
import { createSqlite } from '../../runtime/sqlite.ts'
import { BlockReader, writeBlock, type MapFeature, type Part } from './block.ts'
import { cutToCells } from './cells.ts'
import { doubleArea } from './clip.ts'
import { generalise } from './generalise.ts'
import { project, MAP_REGION_LEVELS, TILE_BITS, TILE_MARGIN, WORLD_BITS, type Level } from './grid.ts'
import { kindOf, type MapShape } from './kinds.ts'
import {
  BLOCK_SCHEMA,
  blockId,
  MAP_APPLICATION_ID,
  MAP_FILE_VERSION,
  MAP_PAGE_BYTES,
  packBlock,
} from './mapFile.ts'
import { isInside, type Rings } from '../records/areas.ts'

const NO_STATES = new Uint8Array()

/** What a map says about a feature besides its shape. */
export type MapLabels = Omit<MapFeature, 'parts'>

/** A block to be written. Blocks come in the order of their numbers. */
export interface BlockRow {
  readonly id: number
  readonly bytes: Uint8Array
}

/** Collects the features of a map and writes them as blocks. */
export class MapWriter {
  readonly #levels: readonly Level[]
  readonly #staging: Database.Database
  readonly #stagingFile: string
  readonly #add: Database.Statement
  /** The land states of cells, by block. */
  readonly #states = new Map<number, Uint8Array>()

  /**
   * Starts an empty map.
   * @param staging the path of a file for what is not sorted yet, in a folder with room
   * @param levels the levels of the map
   */
  constructor(staging: string, levels: readonly Level[] = MAP_REGION_LEVELS) {
    this.#levels = levels
    this.#stagingFile = staging
    this.#staging = createSqlite(staging)
    this.#staging.exec('CREATE TABLE piece (block INTEGER NOT NULL, bytes BLOB NOT NULL); BEGIN')
    this.#add = this.#staging.prepare('INSERT INTO piece VALUES (?, ?)')
  }

  /**
   * Adds a feature.
   * @param lines a point has one with one position; an area has closed rings, each outer one before its holes
   */
  add(labels: MapLabels, lines: readonly (readonly Position[])[]): void {
    const { shape, zoom } = kindOf(labels.kind)
    const parts = gridParts(shape, lines)
    for (const level of this.#levels)
      if (zoom <= level.until) this.addToLevel(labels, generalise(shape, parts, level), level)
  }

  /**
   * Adds a feature to one level.
   * @param parts in units of the level
   */
  addToLevel(labels: MapLabels, parts: readonly Part[], level: Level): void {
    if (parts.length === 0) return
    cutToCells(kindOf(labels.kind).shape, parts, level, marginOf(level), (x, y, inside) =>
      this.#stage(level, x, y, { ...labels, parts: inside }),
    )
  }

  /**
   * Adds a feature to a cell.
   * @param parts in units of the level, from the corner of the cell
   */
  addToCell(labels: MapLabels, parts: readonly Part[], level: Level, x: number, y: number): void {
    if (parts.length > 0) this.#stage(level, x, y, { ...labels, parts })
  }

  /**
   * Sets the land states of a cell.
   * @param states the states of the cells of zoom 14 in it, row by row
   */
  setStates(level: Level, x: number, y: number, states: Uint8Array): void {
    this.#states.set(blockId(level.zoom, x, y), states)
  }

  /**
   * Returns all blocks, and then removes the staging file.
   * @param onBlock called with the share that is done, from 0 to 1
   */
  *blocks(onBlock: (share: number) => void = () => {}): Generator<BlockRow> {
    this.#staging.exec('COMMIT')
    const all = this.#staging.prepare('SELECT COUNT(*) FROM piece').pluck().get() as number
    const rows = this.#staging.prepare('SELECT block, bytes FROM piece ORDER BY block').raw()
    const withStates = [...this.#states.keys()].sort((a, b) => a - b)
    let features: MapFeature[] = []
    let id = -1
    let done = 0
    const block = (): BlockRow => {
      const bytes = packBlock(writeBlock(features, this.#states.get(id) ?? NO_STATES))
      features = []
      onBlock(done / all)
      return { id, bytes }
    }
    // Cells that only have land states also make blocks.
    const before = function* (limit: number): Generator<BlockRow> {
      while (withStates.length > 0 && withStates[0]! < limit) {
        id = withStates.shift()!
        yield block()
      }
      if (withStates[0] === limit) withStates.shift()
    }
    for (const [next, bytes] of rows.iterate() as IterableIterator<[number, Uint8Array]>) {
      if (next !== id) {
        if (features.length > 0) yield block()
        yield* before(next)
        id = next
      }
      features.push(featureOf(bytes))
      done++
    }
    if (features.length > 0) yield block()
    yield* before(Infinity)
    this.abandon()
  }

  /** Removes the staging file. */
  abandon(): void {
    this.#staging.close()
    fs.rmSync(this.#stagingFile, { force: true })
  }

  #stage(level: Level, x: number, y: number, feature: MapFeature): void {
    this.#add.run(blockId(level.zoom, x, y), writeBlock([feature], NO_STATES))
  }
}

/** Writes the blocks as a map file. The caller makes it durable. */
export function writeMapFile(file: string, blocks: Iterable<BlockRow>): void {
  const database = createSqlite(file, MAP_PAGE_BYTES)
  try {
    database.exec(`${BLOCK_SCHEMA}; BEGIN`)
    const add = database.prepare('INSERT INTO block VALUES (?, ?)')
    for (const { id, bytes } of blocks) add.run(id, bytes)
    database.exec('COMMIT')
    database.pragma(`application_id = ${MAP_APPLICATION_ID}`)
    database.pragma(`user_version = ${MAP_FILE_VERSION}`)
  } finally {
    database.close()
  }
}

/**
 * The rings of an area in the order that maps need: each outer one is followed by its holes.
 * @param outer closed rings
 * @param inner closed rings
 */
export function ringsInOrder(outer: Rings, inner: Rings): Rings {
  if (inner.length === 0 || outer.length === 1) return [...outer, ...inner]
  const left = new Set(inner)
  return outer.flatMap((ring) => {
    const holes = [...left].filter((hole) => isInside([ring], hole[0]!))
    for (const hole of holes) left.delete(hole)
    return [ring, ...holes]
  })
}

/** How many units around a cell of a level also belong to it, which is the margin of its tiles. */
export function marginOf({ zoom, shift }: Level): number {
  return TILE_MARGIN * 2 ** (WORLD_BITS - zoom - TILE_BITS - shift)
}

/**
 * Shapes in units of the grid. Rings are open; outer ones run clockwise, holes anticlockwise.
 * @param lines as for {@link MapWriter.add}
 */
function gridParts(shape: MapShape, lines: readonly (readonly Position[])[]): number[][] {
  const parts = lines.map((line) => line.flatMap(project))
  if (shape !== 'area') return parts
  let outer: readonly Position[] | undefined
  return parts.map((part, i) => {
    const ring = part.slice(0, -2)
    const isHole = outer !== undefined && isInside([outer], lines[i]![0]!)
    if (!isHole) outer = lines[i]
    return doubleArea(ring) >= 0 === isHole ? reversed(ring) : ring
  })
}

function reversed(ring: readonly number[]): number[] {
  const other: number[] = []
  for (let i = ring.length - 2; i >= 0; i -= 2) other.push(ring[i]!, ring[i + 1]!)
  return other
}

function featureOf(bytes: Uint8Array): MapFeature {
  const reader = new BlockReader(bytes)
  reader.next()
  const { kind, flags, name, names, ref, population, numbers, ends } = reader
  const parts = ends.map((end, i) => numbers.slice(ends[i - 1] ?? 0, end))
  return { kind, flags, name, names, ref, population, parts }
}
