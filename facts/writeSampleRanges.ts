/**
 * `npm run facts:sample-ranges -- FILE`: writes src/geo/extract/santaCruz.csv, the house number ranges of Santa Cruz
 * County, California, in TIGER/Line of 2015 (U.S. Census Bureau, public domain). FILE is test/fixtures/tiger.mbtiles of
 * the npm package tile-reduce 3.1.1: vector tiles that cut edges into pieces and lose their direction. Pieces become one
 * edge again. Its direction is found by the nodes at its ends: each has a number, and is where edges with it meet.
 */
import { writeFileSync } from 'node:fs'
import { inflateSync, gunzipSync } from 'node:zlib'
import { VectorTile } from '@mapbox/vector-tile'
import Database from 'better-sqlite3'
import { PbfReader } from 'pbf'
import { joinPieces } from '../src/geo/addressFiles/edgePieces.ts'
import type { Position } from '../src/model/geofence.ts'

const FILE = new URL('../src/geo/extract/santaCruz.csv', import.meta.url)
const COLUMNS = [
  'TLID',
  'FULLNAME',
  'MTFCC',
  'LFROMADD',
  'LTOADD',
  'RFROMADD',
  'RTOADD',
  'ZIPL',
  'ZIPR',
] as const
/** Five digits are a metre; the tiles have half of it. */
const DIGITS = 6
const GZIP = 0x1f

type Properties = Readonly<Record<string, string | number | boolean>>

interface Edge {
  readonly properties: Properties
  readonly pieces: Position[][]
}

const [source] = process.argv.slice(2)
if (source === undefined)
  throw new Error('npm run facts:sample-ranges -- tile-reduce/test/fixtures/tiger.mbtiles')
const edges = readEdges(source)
const nodes = new Map<number, Position[]>()
const joined = edges.map(({ properties, pieces }) => ({ properties, line: [...joinPieces(pieces)] }))
for (const { properties, line } of joined)
  for (const node of [properties['TNIDF'], properties['TNIDT']] as number[])
    nodes.set(node, [...(nodes.get(node) ?? []), line[0]!, line.at(-1)!])

const rows = joined
  .filter(({ properties }) => properties['LFROMADD'] !== undefined || properties['RFROMADD'] !== undefined)
  .sort((a, b) => Number(a.properties['TLID']) - Number(b.properties['TLID']))
  .map(({ properties, line }) => {
    const [from, to] = [properties['TNIDF'], properties['TNIDT']].map((node) => nodes.get(node as number)!)
    const [start, end] = [line[0]!, line.at(-1)!]
    // How many ends of edges lie where this one would begin and end.
    const asIs = countAt(from!, start) + countAt(to!, end)
    const reversed = countAt(from!, end) + countAt(to!, start)
    const directed = reversed > asIs ? line.toReversed() : line
    const wkt = directed
      .map((position) => position.map((degrees) => degrees.toFixed(DIGITS)).join(' '))
      .join(',')
    return [...COLUMNS.map((column) => String(properties[column] ?? '')), `"LINESTRING(${wkt})"`].join(',')
  })
writeFileSync(FILE, `${[...COLUMNS, 'WKT'].join(',')}\n${rows.join('\n')}\n`)
console.log(`${rows.length} edges`)

function countAt(positions: readonly Position[], [x, y]: Position): number {
  return positions.filter(([px, py]) => Math.abs(px - x) + Math.abs(py - y) < 5e-5).length
}

/** The pieces of each edge, from all tiles. */
function readEdges(path: string): Edge[] {
  const byId = new Map<number, Edge>()
  const tiles = new Database(path, { readonly: true })
    .prepare(
      'SELECT zoom_level AS z, tile_column AS x, tile_row AS y, tile_data AS data FROM tiles ORDER BY x, y',
    )
    .all() as { z: number; x: number; y: number; data: Buffer }[]
  for (const { z, x, y, data } of tiles) {
    const bytes = data[0] === GZIP ? gunzipSync(data) : inflateSync(data)
    const layer = new VectorTile(new PbfReader(bytes)).layers['tiger']!
    for (let index = 0; index < layer.length; index++) {
      const feature = layer.feature(index)
      const { properties } = feature
      // Rows are counted from the south.
      const { geometry } = feature.toGeoJSON(x, 2 ** z - 1 - y, z) as unknown as {
        geometry: { type: string; coordinates: Position[] | Position[][] }
      }
      const lines = (
        geometry.type === 'MultiLineString' ? geometry.coordinates : [geometry.coordinates]
      ) as Position[][]
      const id = Number(properties['TLID'])
      const edge = byId.get(id)
      if (edge === undefined) byId.set(id, { properties, pieces: lines })
      else edge.pieces.push(...lines)
    }
  }
  return [...byId.values()].filter(({ properties }) => properties['FULLNAME'] !== '')
}
