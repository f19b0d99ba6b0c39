/**
 * How often geocoding is right: addresses drawn from the sample city and from the extracts that are there, written in six
 * ways; streets after 60 % of their letters; the nearest record; and houses that are left out of their street. And how often
 * countries and states are right. With `--peer`, another geocoder is asked the same.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { seededRandom } from '../src/simulation/streets.ts'
import { placesIn } from '../src/geo/extract/mapRegionFiles.ts'
import { writeSampleCity } from '../src/geo/extract/sampleCity.ts'
import { buildWorld } from '../src/geo/world/worldBuilder.ts'
import { benchFolder } from './folder.ts'
import { rounded } from './figures.ts'
import { Addok, addokIn, AddokMissing } from './load/addokPeer.ts'
import { distinctHouses, housesIn, streetsIn, type Manner } from './load/addressQuestions.ts'
import { measureAreas } from './load/areaQuality.ts'
import { askAll, drawQuestions, type RightAnswers } from './load/geocoderQuestions.ts'
import { allPlacedRows, measureQuality, percentOf, type QualityRow } from './load/geocodingQuality.ts'
import { buildPlacesOf } from './load/placesOf.ts'
import { done, progress } from './progress.ts'

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** A folder with shapes of full resolution; without it, countries and states are left out. */
    shapes: { type: 'string' },
    /** A folder with addok, which is then asked the same questions. */
    peer: { type: 'string' },
  },
})
const SHARED = join(import.meta.dirname, '../../shared/data')
/** Extracts beside the sample, where they are. */
const EXTRACTS: readonly (readonly [name: string, manner: Manner])[] = [
  ['queens-village', { city: 'Queens Village, NY', isNumberFirst: true }],
  ['liechtenstein', { city: 'Liechtenstein', isNumberFirst: false }],
]
const count = options.smoke ? 40 : 2000
const folder = benchFolder('geocode-quality')

async function main(): Promise<number> {
  const peer = options.peer === undefined ? undefined : addokIn(resolve(options.peer))
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
    const file = placesIn(places)
    const houses = housesIn(file)
    const questions = drawQuestions(distinctHouses(houses), manner, count, seededRandom(Number(options.seed)))
    const own = await measureQuality({ name, file, bounds, world, questions, onPlaced })
    if (peer === undefined) rows.push(...own)
    else {
      progress(`addok imports ${name}`)
      const known = { houses, streets: streetsIn(file), city: manner.city }
      const addok = await Addok.start(peer, join(folder, `addok-${name}`), known)
      progress(`asking addok about ${name}`)
      const answers = await askAll(addok, questions)
      await addok.stop()
      rows.push(...own.map((row) => beside(row, answers)))
    }
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
  console.log(JSON.stringify({ bench: 'geocode-quality', smoke: options.smoke, rows }))
  const misses = rows.filter(({ percent, least }) => least !== undefined && percent < least)
  if (!options.strict || misses.length === 0) return 0
  for (const { region, question, percent, least } of misses)
    console.error(`missed: ${region}, ${question}: ${percent} %, to reach: ${least} %`)
  return 1
}

/** A row with what addok answered to the same questions. */
function beside(row: QualityRow, answers: readonly RightAnswers[]): QualityRow {
  const same = answers.find(({ question }) => question === row.question)
  if (same === undefined) return row
  const { asked, right, milliseconds } = same
  return { ...row, addok: percentOf(right, asked), addokCpuMs: rounded(milliseconds, 2) }
}

process.exitCode = await main().catch((error: unknown) => {
  if (!(error instanceof AddokMissing)) throw error
  console.error(error.message)
  return 2
})
