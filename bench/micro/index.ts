/**
 * What a query of the geofence index costs: nanoseconds per `candidates()` in 100 thousand and 1 million circles. It
 * is compared with an R-tree (flatbush) search over bounds padded by the same reach, and with a scan of all with the
 * exact geometry on a sample of the same points. Also: candidates and clearance of a query, time to build, time of a
 * change.
 *
 * The density is that of the HTTP bench: 28 geofences of 30 to 300 m per km²; the region grows with their number.
 *
 * Not measured: the exact distances that follow a query, queries wider than the padding, caches that other work has
 * used.
 *
 * `node bench/micro/index.ts [--smoke] [--seed N] [--strict]`. The stated figure: a query in a million takes at most
 * half of the R-tree's time.
 */
import { parseArgs } from 'node:util'
import Flatbush from 'flatbush'
import { Probe } from '../../src/geometry/probe.ts'
import { ShapeArena } from '../../src/geometry/shapeArena.ts'
import type { Geofence } from '../../src/model/geofence.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import type { GeofenceIndex } from '../../src/spatial/port.ts'
import { median } from '../figures.ts'

const { values: options } = parseArgs({
  options: {
    strict: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
  },
})
const SIZES = options.smoke ? [10_000] : [100_000, 1_000_000]
const POINTS = options.smoke ? 2_000 : 100_000
const ROUNDS = options.smoke ? 2 : 7
const SCANNED = options.smoke ? 5 : 20
const PER_SQUARE_DEGREE = 245_000
const SOUTH = 45
const WEST = 5
const REACH_METERS = 20
const STATED_RATIO = 0.5

/** Used so that the compiler cannot leave out any call. */
let sink = 0

function main(): void {
  const results: Record<string, ReturnType<typeof measure>> = {}
  for (const size of SIZES) results[`circles${size}`] = measure(size)
  const largest = results[`circles${SIZES.at(-1)}`]!
  const ratio = Math.round((largest.cellsMinNs / largest.treeMinNs) * 1000) / 1000
  console.log(
    JSON.stringify({
      bench: 'index',
      seed: Number(options.seed),
      points: POINTS,
      rounds: ROUNDS,
      ratio,
      ...results,
    }),
  )
  if (options.strict && ratio > STATED_RATIO * 1.1) process.exitCode = 1
  if (!Number.isFinite(sink)) throw new Error('unreachable')
}

function measure(size: number) {
  const random = generator(Number(options.seed))
  const side = Math.sqrt(size / PER_SQUARE_DEGREE)
  const geofences = Array.from({ length: size }, (_, i) => circle(i, side, random))

  const index = createGeofenceIndex()
  const buildMs = timed(() => geofences.forEach((geofence) => index.put(geofence)))
  const edits = Array.from({ length: size / 10 }, (_, i) => circle(i * 10, side, random))
  const putNs = (timed(() => edits.forEach((geofence) => index.put(geofence))) / edits.length) * 1e6

  const arena = new ShapeArena()
  const shapes = Array.from({ length: size }, (_, i) => arena.add(index.shape(index.slotOf(idOf(i)))))
  const tree = new Flatbush(size)
  const treeBuildMs = timed(() => {
    for (const shape of shapes) {
      const { west, south, east, north } = arena.bounds(shape)[0]!
      tree.add(west, south, east, north)
    }
    tree.finish()
  })

  const points = new Float64Array(POINTS * 3)
  for (let at = 0; at < points.length; at += 3) {
    const latitude = SOUTH + side * random()
    points.set([latitude, WEST + side * random(), Math.cos((latitude * Math.PI) / 180)], at)
  }
  const cells: number[] = []
  const trees: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    cells.push((timed(() => lookAtAll(index, points)) / POINTS) * 1e6)
    trees.push((timed(() => searchAll(tree, points)) / POINTS) * 1e6)
  }
  const probe = new Probe()
  const scanMs = timed(() => {
    for (let at = 0; at < SCANNED * 3; at += 3) {
      probe.set(points[at]!, points[at + 1]!)
      for (const shape of shapes) if (arena.distance(shape, probe) <= 0) sink++
    }
  })

  let candidates = 0
  let clearance = 0
  const out: number[] = []
  for (let at = 0; at < points.length; at += 3) {
    out.length = 0
    probe.set(points[at]!, points[at + 1]!)
    clearance += index.candidates(probe, REACH_METERS, out)
    candidates += out.length
  }
  const result = {
    cellsNs: rounded(median(cells)),
    cellsMinNs: rounded(Math.min(...cells)),
    treeNs: rounded(median(trees)),
    treeMinNs: rounded(Math.min(...trees)),
    scanNs: rounded((scanMs / SCANNED) * 1e6),
    candidates: rounded(candidates / POINTS),
    clearanceMeters: rounded(clearance / POINTS),
    buildMs: rounded(buildMs),
    treeBuildMs: rounded(treeBuildMs),
    putNs: rounded(putNs),
  }
  console.log(
    `${size} circles: cells ${result.cellsNs} ns, R-tree ${result.treeNs} ns, scan ${result.scanNs} ns a look; ` +
      `${result.candidates} candidates for ${result.clearanceMeters} m; ` +
      `built in ${result.buildMs} ms (R-tree ${result.treeBuildMs} ms), ${result.putNs} ns an edit`,
  )
  return result
}

/** Points are latitude, longitude and the cosine of the latitude. For each, the probe contains what a query reads. */
function lookAtAll(index: GeofenceIndex, points: Float64Array): void {
  const out: number[] = []
  const probe = new Probe()
  for (let at = 0; at < points.length; at += 3) {
    out.length = 0
    probe.latitude = points[at]!
    probe.longitude = points[at + 1]!
    probe.cosLatitude = points[at + 2]!
    sink += index.candidates(probe, REACH_METERS, out) + out.length
  }
}

function searchAll(tree: Flatbush, points: Float64Array): void {
  const latitudes = REACH_METERS / 110_574
  for (let at = 0; at < points.length; at += 3) {
    const latitude = points[at]!
    const longitude = points[at + 1]!
    const longitudes = latitudes / points[at + 2]!
    const { length } = tree.search(
      longitude - longitudes,
      latitude - latitudes,
      longitude + longitudes,
      latitude + latitudes,
    )
    sink += length
  }
}

function circle(i: number, side: number, random: () => number): Geofence {
  const id = idOf(i)
  return {
    id,
    scope: 0,
    tag: 'bench',
    externalId: id,
    description: '',
    type: 'circle',
    shape: {
      kind: 'circle',
      center: [WEST + side * random(), SOUTH + side * random()],
      // Small ones are more frequent: density falls with the square of the radius.
      radius: 30 / (1 - 0.9 * random()),
    },
    enabled: true,
    timeZone: 'Europe/Zurich',
    createdAt: 0,
    updatedAt: 0,
  }
}

function idOf(i: number): string {
  return i.toString(16).padStart(24, '0')
}

function timed(work: () => void): number {
  const start = performance.now()
  work()
  return performance.now() - start
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}

/** Mulberry32: uniform numbers in [0, 1) from a seed. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

main()
