/**
 * How often geocoding is right: addresses drawn from the sample city and from the extracts that are there, written in six
 * ways; streets after 60 % of their letters; the nearest record; and houses that are left out of their street. And how often
 * countries and states are right.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { seededRandom } from '../src/simulation/streets.ts'
import { placesIn } from '../src/geo/extract/mapRegionFiles.ts'
import { writeSampleCity } from '../src/geo/extract/sampleCity.ts'
import { buildWorld } from '../src/geo/world/worldBuilder.ts'
import { measureAreas } from './load/areaQuality.ts'
import { buildPlacesOf } from './load/placesOf.ts'
import { allPlacedRows, measureQuality, type QualityRow } from './load/geocodingQuality.ts'
import type { Manner } from './load/addressQuestions.ts'
import { done, progress } from './progress.ts'

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** A folder with shapes of full resolution; without it, countries and states are left out. */
    shapes: { type: 'string' },
  },
})
const SHARED = join(import.meta.dirname, '../../shared/data')
/** Extracts beside the sample, where they are. */
const EXTRACTS: readonly (readonly [name: string, manner: Manner])[] = [
  ['queens-village', { city: 'Queens Village, NY', isNumberFirst: true }],
  ['liechtenstein', { city: 'Liechtenstein', isNumberFirst: false }],
]
const count = options.smoke ? 40 : 2000
const folder = mkdtempSync(join(tmpdir(), 'ringfence-bench-'))
try {
  progress('writing the sample city')
  const sample = join(folder, 'sample.osm.pbf')
  await writeSampleCity(sample)
  const regions: [name: string, extract: string, manner: Manner][] = [
    ['montevideo', sample, { city: 'Montevideo', isNumberFirst: false }],
  ]
  for (const [name, manner] of EXTRACTS) {
    const extract = join(SHARED, `${name}.osm.pbf`)
    if (existsSync(extract)) regions.push([name, extract, manner])
  }
  const world = buildWorld(join(folder, 'world'))
  const rows: QualityRow[] = []
  const placed: number[] = []
  const onPlaced = (meters: readonly number[]): void => void placed.push(...meters)
  for (const [name, extract, manner] of regions) {
    progress(`building ${name}`)
    const places = join(folder, name)
    const bounds = await buildPlacesOf(extract, places)
    progress(`asking ${name}`)
    const random = seededRandom(Number(options.seed))
    const file = placesIn(places)
    rows.push(...measureQuality({ name, file, bounds, world, manner, count, random, onPlaced }))
  }
  rows.push(...allPlacedRows(placed))
  if (options.shapes !== undefined) {
    progress('asking for countries and states')
    const random = seededRandom(Number(options.seed))
    const points = options.smoke ? 100 : 10_000
    rows.push(...measureAreas({ shapes: resolve(options.shapes), world, count: points, random }))
  }
  done('')
  console.table(rows)
  const misses = rows.filter(({ percent, least }) => least !== undefined && percent < least)
  if (options.strict && misses.length > 0) {
    for (const { region, question, percent, least } of misses)
      console.error(`missed: ${region}, ${question}: ${percent} %, to reach: ${least} %`)
    process.exitCode = 1
  }
  console.log(JSON.stringify({ bench: 'geocode-quality', smoke: options.smoke, rows }))
} finally {
  rmSync(folder, { recursive: true })
}
