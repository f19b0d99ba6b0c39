/** Makes the parts of maps in a thread, from files that it opens when they are needed. */
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { TileCutter } from '../mapFile/cutTile.ts'
import {
  project,
  MAP_REGION_LEVELS,
  TILE_BITS,
  TILE_UNITS,
  tileBounds,
  WORLD_BITS,
  WORLD_LEVELS,
  type TileAddress,
} from '../mapFile/grid.ts'
import { MapFile } from '../mapFile/mapFile.ts'
import { MapRecords } from '../placeDatabase/mapRecords.ts'
import type { FontName } from './fonts.ts'
import { GlyphMaker } from './glyphs.ts'
import { iconOf } from './placeIcons.ts'
import type { MapContent } from './port.ts'
import { makeSprite } from './sprites.ts'
import { TileFile, versionOf, type TileFileFacts, type TileFileId } from './tileFile.ts'

/** The files of a map region. */
export interface MapFiles {
  /** The path of the map file; undefined if the region has no map. */
  readonly map: string | undefined
  /** The path of the place database; undefined if the region has none of this version. */
  readonly places: string | undefined
}

/** What is to be made. */
export type MapTask =
  | TileTask
  | FileTileTask
  | { readonly kind: 'facts'; readonly path: string }
  | { readonly kind: 'letters'; readonly font: FontName; readonly start: number }
  | { readonly kind: 'icons'; readonly ratio: 1 | 2; readonly form: 'json' | 'png' }

export interface TileTask {
  readonly kind: 'tile'
  readonly address: TileAddress
  /** The map regions around the tile, in the order of precedence. */
  readonly regions: readonly MapFiles[]
  /** The path of the world database, which also contains a map. */
  readonly world: string
  /** The files of all map regions in service. The thread closes all others. */
  readonly inService: readonly string[]
}

/** A tile of a file that the operator brings. */
export interface FileTileTask {
  readonly kind: 'fileTile'
  readonly address: TileAddress
  readonly file: TileFileId
  /** The files that maps show. The thread closes all others. */
  readonly inService: readonly TileFileId[]
}

/** What is made for a task. */
export interface MapResults {
  readonly tile: MapContent
  readonly letters: MapContent
  readonly icons: MapContent
  /** Undefined if the file has no tile there. */
  readonly fileTile: MapContent | undefined
  readonly facts: TileFileFacts
}

const HOUSES_ZOOM = 16
const PLACES_ZOOM = 15
/** One zoom before places are shown, only large ones are: stations, malls, parks. */
const LARGE_PLACES_ZOOM = 14
const LARGE_SQUARE_METERS = 20_000
/** This level compresses nearly as well as the usual one, in two thirds of the time. */
const COMPRESSION = { level: 4 }
const MAX_TEXT = 100

interface Closable {
  close(): void
}

export class MapThread {
  readonly #opened = new Map<string, Closable>()
  /** The open files by path. */
  readonly #files = new Map<string, TileFile>()
  readonly #glyphs = new GlyphMaker()
  /** The icons by ratio: clients ask for both of their forms. */
  readonly #sprites = new Map<1 | 2, ReturnType<typeof makeSprite>>()

  /**
   * Makes a part of a map.
   * @throws the errors of SQLite, of the system and of {@link TileFile}
   */
  async make(task: MapTask): Promise<MapResults[keyof MapResults]> {
    if (task.kind === 'facts') return this.#factsOf(task.path)
    if (task.kind === 'fileTile') return this.#fileTile(task)
    if (task.kind === 'letters') return packed(this.#glyphs.range(task.font, task.start))
    if (task.kind === 'icons') {
      const { json, png } = this.#sprites.get(task.ratio) ?? makeSprite(task.ratio)
      this.#sprites.set(task.ratio, { json, png })
      return task.form === 'json' ? packed(Buffer.from(json)) : whole(png, false)
    }
    return packed(this.#cut(task))
  }

  #cut({ address, regions, world, inService }: TileTask): Uint8Array {
    this.#closeOthers(new Set([...inService, world]))
    const cutter = new TileCutter(address, regions.length > 1)
    for (const { map } of regions)
      if (map !== undefined) cutter.addRegion(this.#open(map, MapFile), MAP_REGION_LEVELS)
    cutter.addWorld(this.#open(world, MapFile), WORLD_LEVELS)
    for (const { places } of regions)
      if (places !== undefined) addRecords(cutter, address, this.#open(places, MapRecords))
    return cutter.tile.bytes()
  }

  async #factsOf(path: string): Promise<TileFileFacts> {
    const file = await TileFile.open(path)
    try {
      return await file.facts()
    } finally {
      file.close()
    }
  }

  async #fileTile({ address, file: id, inService }: FileTileTask): Promise<MapContent | undefined> {
    for (const [path, file] of this.#files) {
      if (inService.some((one) => one.path === path && one.version === file.id.version)) continue
      file.close()
      this.#files.delete(path)
    }
    let file = this.#files.get(id.path)
    if (file === undefined) {
      file = await TileFile.open(id.path)
      this.#files.set(id.path, file)
    }
    // The file has changed, and what was read may belong to both versions.
    if (file.id.version !== id.version || versionOf(statSync(id.path)) !== id.version)
      throw new Error('has changed')
    const { z, x, y } = address
    const up = Math.max(0, z - file.maxZoom)
    const found = await file.tile(z - up, x >> up, y >> up)
    if (found === undefined) return undefined
    if (up === 0) return found.packed === undefined ? packed(found.bytes) : whole(found.packed, true)
    // The module is loaded here, because its packages are optional.
    const { enlarged } = await import('./enlarge.ts')
    return packed(enlarged(found.bytes, file.maxZoom, address))
  }

  #open<File extends Closable>(file: string, Kind: new (path: string) => File): File {
    let opened = this.#opened.get(file)
    if (opened === undefined) this.#opened.set(file, (opened = new Kind(file)))
    return opened as File
  }

  #closeOthers(files: ReadonlySet<string>): void {
    for (const [file, opened] of this.#opened) {
      if (files.has(file)) continue
      opened.close()
      this.#opened.delete(file)
    }
  }
}

function packed(bytes: Uint8Array): MapContent {
  return whole(gzipSync(bytes, COMPRESSION), true)
}

function whole(content: Uint8Array, isPacked: boolean): MapContent {
  return { content, isPacked, etag: createHash('sha256').update(content).digest('hex').slice(0, 32) }
}

/** Adds house numbers and places, which are read from the place database. */
function addRecords({ tile }: TileCutter, address: TileAddress, records: MapRecords): void {
  const { z } = address
  if (z < LARGE_PLACES_ZOOM) return
  const bounds = tileBounds(address)
  const placeOf = placing(address)
  for (const place of records.places(bounds, z < PLACES_ZOOM ? LARGE_SQUARE_METERS : 0)) {
    const { name, names, categories, size } = place
    const values: Record<string, string | number> = {
      kind: categories.at(-1)!,
      icon: iconOf(categories),
      name: name.slice(0, MAX_TEXT),
      min_zoom: size > LARGE_SQUARE_METERS ? LARGE_PLACES_ZOOM : size > 0 ? PLACES_ZOOM : PLACES_ZOOM + 1,
    }
    for (const language in names) values[`name:${language}`] = names[language]!.slice(0, MAX_TEXT)
    tile.add('pois', 'point', values, [placeOf(place)])
  }
  if (z < HOUSES_ZOOM) return
  const known = new Set<string>()
  for (const house of records.houses(bounds)) {
    const at = placeOf(house)
    const key = `${house.number} ${at.join()}`
    if (known.has(key)) continue
    known.add(key)
    tile.add('buildings', 'point', { kind: 'address', addr_housenumber: house.number.slice(0, MAX_TEXT) }, [
      at,
    ])
  }
}

/** Returns a function that converts degrees to units of the tile. */
function placing({ z, x, y }: TileAddress): (at: { longitude: number; latitude: number }) => number[] {
  const scale = 2 ** (z + TILE_BITS - WORLD_BITS)
  return ({ longitude, latitude }) => {
    const [worldX, worldY] = project([longitude, latitude])
    return [Math.round(worldX * scale) - x * TILE_UNITS, Math.round(worldY * scale) - y * TILE_UNITS]
  }
}
