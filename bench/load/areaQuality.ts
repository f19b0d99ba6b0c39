/**
 * How often countries and states are right, at points drawn evenly, by shapes of full resolution: the time zones of
 * OpenStreetMap, each of which belongs to a country, and the states of the Census Bureau at 1:500,000. They are not installed with
 * Ringfence; see bench/README.md.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { countryAt } from '../../src/geo/world/countries.ts'
import { WorldDatabase } from '../../src/geo/world/worldDatabase.ts'
import type { Position } from '../../src/model/geofence.ts'
import { rounded } from '../figures.ts'
import type { QualityRow } from './geocodingQuality.ts'

const LEAST = 99.9
/** Which country each time zone belongs to. Debian's package tzdata has it. */
const ZONES = '/usr/share/zoneinfo/zone.tab'
/** What only `zone1970.tab` beside that file says: the north of Vietnam has the time zone of Bangkok, and two countries claim the Crimea. */
const MORE: readonly (readonly [zone: string, country: string])[] = [
  ['Asia/Bangkok', 'VN'],
  ['Europe/Simferopol', 'RU'],
]
const STATES = '_plotly_geo/package_data/cb_2016_us_state_500k'
const ANTARCTICA = -60
/** The fifty states and the capital; the shapes also contain the islands. */
const STATE_COUNT = 51

export function measureAreas(job: {
  /** A folder that contains `node_modules/geo-tz` and `_plotly_geo`. */
  readonly shapes: string
  readonly world: string
  readonly count: number
  readonly random: () => number
}): QualityRow[] {
  const { shapes, count, random } = job
  const world = new WorldDatabase(job.world)
  const rows = [
    rowOf('countries', count, countriesAround(shapes, random), (at) => countryAt(at)?.code),
    rowOf('states', count, statesAround(shapes, random), (at) => world.stateAt(at)?.code),
  ]
  world.close()
  return rows
}

/** A point, and all names that are right there. */
type Truth = readonly [at: Position, names: ReadonlySet<string>]

function rowOf(
  region: string,
  count: number,
  draw: () => Truth,
  nameAt: (at: Position) => string | undefined,
): QualityRow {
  const misses = new Map<string, number>()
  let right = 0
  for (let i = 0; i < count; i++) {
    const [at, names] = draw()
    const name = nameAt(at) ?? 'none'
    if (names.has(name)) right++
    else {
      const miss = `${[...names].join('/')} as ${name}`
      misses.set(miss, (misses.get(miss) ?? 0) + 1)
    }
  }
  if (misses.size > 0)
    console.error(`${region}: ${[...misses].map(([miss, times]) => `${times} × ${miss}`).join(', ')}`)
  return {
    region,
    question: 'points',
    asked: count,
    percent: rounded((100 * right) / count, 2),
    least: LEAST,
  }
}

/**
 * Points on land that lie in a country, evenly over the Earth. Not in Antarctica, where claims of countries overlap and are not
 * recognised.
 */
function countriesAround(shapes: string, random: () => number): () => Truth {
  const { find } = createRequire(join(shapes, 'package.json'))('geo-tz/all') as {
    find: (latitude: number, longitude: number) => string[]
  }
  const land = landShapes()
  if (!existsSync(ZONES)) throw new Error(`${ZONES} is not there: apt-get install tzdata`)
  const countries = new Map<string, string[]>()
  const add = (zone: string, country: string): void => {
    countries.set(zone, [...(countries.get(zone) ?? []), country])
  }
  for (const line of readFileSync(ZONES, 'utf8').split('\n')) {
    const [code, , zone] = line.split('\t')
    if (zone !== undefined && !line.startsWith('#')) add(zone, code!)
  }
  for (const [zone, country] of MORE) add(zone, country)
  return () => {
    for (;;) {
      const at: Position = [360 * random() - 180, (Math.asin(2 * random() - 1) * 180) / Math.PI]
      if (at[1] < ANTARCTICA || !land.some(({ box, rings }) => isInBox(box, at) && isInside(rings, at)))
        continue
      const codes = find(at[1], at[0]).map((zone) => countries.get(zone))
      const known = codes.filter((code) => code !== undefined)
      if (known.length > 0 && known.length === codes.length) return [at, new Set(known.flat())]
    }
  }
}

/**
 * The land of Natural Earth at 1:10,000,000. It is coarse, but what it misses near coasts and what it counts at sea
 * does not matter here.
 */
function landShapes(): Pick<Shape, 'box' | 'rings'>[] {
  const require = createRequire(import.meta.url)
  const topology = require('world-atlas/land-10m.json')
  const { features } = require('topojson-client').feature(topology, topology.objects.land) as {
    features: { geometry: { coordinates: Position[][][] } }[]
  }
  return features
    .flatMap(({ geometry }) => geometry.coordinates)
    .map((rings) => {
      const [xs, ys] = [0, 1].map((axis) => rings[0]!.map((position) => position[axis]!))
      const least = (values: readonly number[]): number => values.reduce((a, b) => Math.min(a, b))
      const most = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b))
      return { rings, box: [least(xs!), least(ys!), most(xs!), most(ys!)] }
    })
}

interface Shape {
  readonly name: string
  readonly box: readonly [number, number, number, number]
  readonly rings: readonly (readonly Position[])[]
}

/** Points that lie in a state, evenly. */
function statesAround(shapes: string, random: () => number): () => Truth {
  const states = readPolygons(join(shapes, STATES), 'STUSPS').filter(
    ({ name }) => !['AS', 'GU', 'MP', 'PR', 'VI'].includes(name),
  )
  if (states.length !== STATE_COUNT) throw new Error(`${STATES} has ${states.length} states.`)
  return () => {
    for (;;) {
      const at: Position = [360 * random() - 180, (Math.asin(2 * random() - 1) * 180) / Math.PI]
      const state = states.find(({ box, rings }) => isInBox(box, at) && isInside(rings, at))
      if (state !== undefined) return [at, new Set([state.name])]
    }
  }
}

/** The polygons of a shapefile, by a column of its table. */
function readPolygons(path: string, column: string): Shape[] {
  const [shapes, table] = [readFileSync(`${path}.shp`), readFileSync(`${path}.dbf`)]
  const names = columnOf(table, column)
  const found: Shape[] = []
  for (let at = 100; at < shapes.length; at += 8 + 2 * shapes.readInt32BE(at + 4)) {
    const start = at + 8
    const double = (index: number): number => shapes.readDoubleLE(start + 4 + 8 * index)
    const [parts, points] = [shapes.readInt32LE(start + 36), shapes.readInt32LE(start + 40)]
    const first = start + 44 + 4 * parts
    const bounds = Array.from({ length: parts }, (_, part) => shapes.readInt32LE(start + 44 + 4 * part))
    const rings = bounds.map((from, part) =>
      Array.from({ length: (bounds[part + 1] ?? points) - from }, (_, i): Position => {
        const place = first + 16 * (from + i)
        return [shapes.readDoubleLE(place), shapes.readDoubleLE(place + 8)]
      }),
    )
    found.push({ name: names[found.length]!, box: [double(0), double(1), double(2), double(3)], rings })
  }
  return found
}

function columnOf(table: Buffer, column: string): string[] {
  const [rows, headerBytes, rowBytes] = [table.readUInt32LE(4), table.readUInt16LE(8), table.readUInt16LE(10)]
  let from = 1
  for (let at = 32; table[at] !== 0x0d; at += 32) {
    const length = table[at + 16]!
    const name = table.toString('latin1', at, at + 11).replace(/\0.*$/s, '')
    if (name === column)
      return Array.from({ length: rows }, (_, row) => {
        const start = headerBytes + row * rowBytes + from
        return table.toString('latin1', start, start + length).trim()
      })
    from += length
  }
  throw new Error(`There is no column ${column}.`)
}

function isInBox([west, south, east, north]: Shape['box'], [x, y]: Position): boolean {
  return x >= west && x <= east && y >= south && y <= north
}

function isInside(rings: Shape['rings'], [x, y]: Position): boolean {
  let inside = false
  for (const ring of rings)
    for (let i = 1; i < ring.length; i++) {
      const [[ax, ay], [bx, by]] = [ring[i - 1]!, ring[i]!]
      if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) inside = !inside
    }
  return inside
}
