/**
 * The sample region: Montevideo in 2017, from OpenStreetMap, in the package @mapbox/mvt-fixtures.
 *
 * Its eight vector tiles (https://osmlab.github.io/osm-qa-tiles) contain every object with all its tags, precise to a
 * centimetre: nodes with tags, and ways, which are cut at the edges of the tiles. Nodes without tags are missing.
 * Here each point of a way becomes a node again, so that ways that met still meet.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeOsmPbf, type OsmNode, type OsmTags, type OsmWay } from './osmPbfWriter.ts'

/** A package that the sample needs is not installed. */
export class SampleMissing extends Error {
  override name = 'SampleMissing'
}

/** The first id for nodes that have lost theirs, and for parts of ways. It is higher than all ids of OpenStreetMap. */
const FIRST_OWN_ID = 100e9
/** The units of a side of a tile of zoom 12. */
const TILE_UNITS = 2 ** 20
const WORLD_UNITS = 2 ** 32
const TILE_NAME = /^12-(\d+)-(\d+)\.mvt$/

/** A position in units of the world, from its north-west corner. */
interface Place {
  readonly x: number
  readonly y: number
}

interface Feature {
  readonly id: number
  readonly tags: OsmTags
  /** In epoch seconds. */
  readonly timestamp: number
  /** The lines. A node has one line with one position. */
  readonly lines: readonly (readonly Place[])[]
}

/**
 * Writes the sample as an extract.
 * @throws {SampleMissing} and the system's errors
 */
export async function writeSampleCity(path: string): Promise<void> {
  const read = await openTiles()
  const nodes = new SampleNodes()
  let dataOf = 0
  for (const { id, tags, lines, timestamp } of read('node')) {
    dataOf = Math.max(dataOf, timestamp * 1000)
    nodes.add(id, lines[0]![0]!, tags)
  }
  let ownId = FIRST_OWN_ID
  const known = new Set<number>()
  const ways: OsmWay[] = []
  for (const { id, tags, lines, timestamp } of read('way')) {
    dataOf = Math.max(dataOf, timestamp * 1000)
    for (const line of lines) {
      ways.push({ id: known.has(id) ? ++ownId : id, nodes: line.map((place) => nodes.idAt(place)), tags })
      known.add(id)
    }
  }
  ways.sort((a, b) => a.id - b.id)
  writeOsmPbf(path, { dataOf, nodes: nodes.sorted(), ways, relations: [] })
}

/** The nodes by their position. Ways that go through one position share its node. */
class SampleNodes {
  readonly #byPlace = new Map<string, OsmNode>()
  /** Further nodes at a position. */
  readonly #others: OsmNode[] = []
  #ownId = FIRST_OWN_ID

  add(id: number, place: Place, tags: OsmTags): void {
    const node = { id, ...degrees(place), tags }
    if (this.#byPlace.has(keyOf(place))) this.#others.push(node)
    else this.#byPlace.set(keyOf(place), node)
  }

  idAt(place: Place): number {
    const key = keyOf(place)
    if (!this.#byPlace.has(key)) this.#byPlace.set(key, { id: ++this.#ownId, ...degrees(place), tags: {} })
    return this.#byPlace.get(key)!.id
  }

  sorted(): OsmNode[] {
    return [...this.#byPlace.values(), ...this.#others].sort((a, b) => a.id - b.id)
  }
}

function keyOf({ x, y }: Place): string {
  return `${x},${y}`
}

/**
 * A position in degrees, from the Mercator projection of vector tiles,
 * https://wiki.openstreetmap.org/wiki/Slippy_map_tilenames.
 */
function degrees({ x, y }: Place): { longitude: number; latitude: number } {
  const longitude = (x / WORLD_UNITS) * 360 - 180
  const latitude = (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / WORLD_UNITS))) * 180) / Math.PI
  return { longitude, latitude }
}

/**
 * Opens the tiles.
 * @throws {SampleMissing}
 */
async function openTiles(): Promise<(type: 'node' | 'way') => Generator<Feature>> {
  const { VectorTile, PbfReader, folder } = await openPackages()
  return function* read(type) {
    for (const file of readdirSync(folder)) {
      const [, column, row] = TILE_NAME.exec(file)!.map(Number) as [number, number, number]
      const layer = new VectorTile(new PbfReader(readFileSync(join(folder, file)))).layers['osm']!
      for (let index = 0; index < layer.length; index++) {
        const feature = layer.feature(index)
        const { properties } = feature
        if (properties['@type'] !== type) continue
        const place = ({ x, y }: Place): Place => ({ x: column * TILE_UNITS + x, y: row * TILE_UNITS + y })
        const lines = feature.loadGeometry().map((line) => line.map(place))
        const timestamp = Number(properties['@timestamp'])
        yield { id: Number(properties['@id']), tags: tagsOf(properties), timestamp, lines }
      }
    }
  }
}

function tagsOf(properties: Readonly<Record<string, unknown>>): OsmTags {
  const tags: Record<string, string> = {}
  for (const key in properties) if (!key.startsWith('@')) tags[key] = String(properties[key])
  return tags
}

/**
 * Loads the packages, which are only needed here.
 * @throws {SampleMissing}
 */
async function openPackages() {
  try {
    const folder = dirname(fileURLToPath(import.meta.resolve('@mapbox/mvt-fixtures/package.json')))
    const [{ VectorTile }, { PbfReader }] = await Promise.all([import('@mapbox/vector-tile'), import('pbf')])
    return { VectorTile, PbfReader, folder: join(folder, 'real-world', 'osm-qa-montevideo') }
  } catch (cause) {
    const names = '@mapbox/mvt-fixtures @mapbox/vector-tile pbf'
    throw new SampleMissing(`The packages of the sample region are not installed: npm install ${names}.`, {
      cause,
    })
  }
}
