/**
 * The sample region: Montevideo of 2017, as OpenStreetMap had it, out of the package @mapbox/mvt-fixtures.
 *
 * Its eight vector tiles (https://osmlab.github.io/osm-qa-tiles) have every object with all its tags, to a centimetre: nodes that
 * have tags, and ways, cut at the edges of the tiles. Nodes without tags are gone; here each place that ways go through becomes one
 * again, so that ways that met still meet.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeOsmPbf, type OsmNode, type OsmTags, type OsmWay } from './osmPbfWriter.ts'

/** A package that the sample needs is not installed. */
export class SampleMissing extends Error {
  override name = 'SampleMissing'
}

/** Above all ids of OpenStreetMap: for nodes that have lost theirs, and parts of ways. */
const FIRST_OWN_ID = 100e9
/** Sides of a tile of zoom 12 and of the world. */
const TILE_UNITS = 2 ** 20
const WORLD_UNITS = 2 ** 32
const TILE_NAME = /^12-(\d+)-(\d+)\.mvt$/

/** In units of the world from its corner in the north-west. */
interface Place {
  readonly x: number
  readonly y: number
}

interface Feature {
  readonly id: number
  readonly isNode: boolean
  readonly tags: OsmTags
  /** Seconds of the epoch. */
  readonly timestamp: number
  /** Of a node one line of one place. */
  readonly lines: readonly (readonly Place[])[]
}

/**
 * Writes the sample as an extract.
 * @throws {SampleMissing} and the system's errors
 */
export async function writeSampleCity(path: string): Promise<void> {
  const features = await readFeatures()
  const nodes = new SampleNodes()
  for (const { isNode, id, tags, lines } of features) if (isNode) nodes.add(id, lines[0]![0]!, tags)
  let ownId = FIRST_OWN_ID
  const known = new Set<number>()
  const ways: OsmWay[] = []
  for (const feature of features) {
    for (const line of feature.isNode ? [] : feature.lines) {
      const id = known.has(feature.id) ? ++ownId : feature.id
      known.add(id)
      ways.push({ id, nodes: line.map((place) => nodes.idAt(place)), tags: feature.tags })
    }
  }
  writeOsmPbf(path, {
    dataOf: features.reduce((latest, { timestamp }) => Math.max(latest, timestamp), 0) * 1000,
    nodes: nodes.sorted(),
    ways: ways.sort((a, b) => a.id - b.id),
    relations: [],
  })
}

/** Nodes by their place: one each, for ways that go through it. */
class SampleNodes {
  readonly #byPlace = new Map<string, OsmNode>()
  /** Further ones at a place. */
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

/** Out of the Mercator projection of vector tiles, https://wiki.openstreetmap.org/wiki/Slippy_map_tilenames. */
function degrees({ x, y }: Place): { longitude: number; latitude: number } {
  const longitude = (x / WORLD_UNITS) * 360 - 180
  const latitude = (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / WORLD_UNITS))) * 180) / Math.PI
  return { longitude, latitude }
}

/** @throws {SampleMissing} */
async function readFeatures(): Promise<Feature[]> {
  const { VectorTile, PbfReader, folder } = await openPackages()
  return readdirSync(folder).flatMap((file) => {
    const [, column, row] = TILE_NAME.exec(file)!.map(Number) as [number, number, number]
    const layer = new VectorTile(new PbfReader(readFileSync(join(folder, file)))).layers['osm']!
    return Array.from({ length: layer.length }, (_, index) => {
      const feature = layer.feature(index)
      const { '@id': id, '@type': type, '@timestamp': timestamp } = feature.properties
      const tags = Object.entries(feature.properties).filter(([key]) => !key.startsWith('@'))
      return {
        id: Number(id),
        isNode: type === 'node',
        timestamp: Number(timestamp),
        tags: Object.fromEntries(tags.map(([key, value]) => [key, String(value)])),
        lines: feature
          .loadGeometry()
          .map((line) => line.map(({ x, y }) => ({ x: column * TILE_UNITS + x, y: row * TILE_UNITS + y }))),
      }
    })
  })
}

/** Loaded only then. @throws {SampleMissing} */
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
