/**
 * The effect of the settings beyond the interface on noisy tracks: how many stays are detected, how many entries and
 * exits are wrong, and how much time the better answers cost. The true way is known, a simulated receiver adds its
 * errors, and the engine's events are compared with the true stays. See bench/README.md.
 *
 * Not measured: the battery that more frequent updates cost, indoor places, receivers that report a wrong accuracy.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { seededRandom } from '../src/simulation/streets.ts'
import { pointDistance } from '../src/geometry/distance.ts'
import type { Settings } from '../src/model/settings.ts'
import { eventsOf, viewOf } from './quality/engine.ts'
import { fixesOf, type Fix } from './quality/receiver.ts'
import { median } from './figures.ts'
import { Score } from './quality/score.ts'
import { cityScene, recordedScene, trueStays, type Scene } from './quality/truth.ts'

const SHARED_DATA = join(import.meta.dirname, '..', '..', 'shared', 'data')

const { values: options } = parseArgs({
  options: {
    strict: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    gpx: { type: 'string', default: join(SHARED_DATA, 'bus-304.gpx') },
    stops: { type: 'string', default: join(SHARED_DATA, 'bus-304-stops.csv') },
  },
})

interface Row {
  readonly name: string
  readonly settings: Partial<Settings>
}

/** The recommended settings for updates every few seconds. */
const RECOMMENDED: Partial<Settings> = { bufferExits: true, exitDelaySeconds: 15, maxAccuracyMeters: 50 }
/** The recommended settings for updates a minute apart, where an exit delay costs a whole update. */
const RECOMMENDED_SPARSE: Partial<Settings> = {
  bufferExits: true,
  maxAccuracyMeters: 50,
  detectCrossings: true,
}

const FREQUENT: readonly Row[] = [
  { name: 'baseline', settings: {} },
  { name: 'exitDelaySeconds 15', settings: { exitDelaySeconds: 15 } },
  { name: 'exitDelaySeconds 60', settings: { exitDelaySeconds: 60 } },
  { name: 'entryDelaySeconds 10', settings: { entryDelaySeconds: 10 } },
  { name: 'entryDelaySeconds 30', settings: { entryDelaySeconds: 30 } },
  { name: 'maxAccuracyMeters 50', settings: { maxAccuracyMeters: 50 } },
  { name: 'maxAccuracyMeters 20', settings: { maxAccuracyMeters: 20 } },
  { name: 'minimumConfidence 2', settings: { minimumConfidence: 2 } },
  { name: 'minimumConfidence 3', settings: { minimumConfidence: 3 } },
  { name: 'bufferEntries', settings: { bufferEntries: true } },
  { name: 'bufferExits', settings: { bufferExits: true } },
  { name: 'recommended', settings: RECOMMENDED },
]

const SPARSE: readonly Row[] = [
  { name: 'baseline', settings: {} },
  { name: 'detectCrossings', settings: { detectCrossings: true } },
  { name: 'bufferEntries', settings: { bufferEntries: true } },
  { name: 'bufferEntries, detectCrossings', settings: { bufferEntries: true, detectCrossings: true } },
  { name: 'recommended above', settings: RECOMMENDED },
  { name: 'recommended here', settings: RECOMMENDED_SPARSE },
]

/** With the recommended settings at most this share of the baseline's flaps and false exits is left, ... */
const STATED_LEFT = 0.05
/** ... and at least this share of the stays that it detects is kept. */
const STATED_KEPT = 0.97

const REPEATS = options.smoke ? 2 : 50
const VEHICLES = options.smoke ? 4 : 100
const FREQUENT_SECONDS = 5
const SPARSE_SECONDS = 60
/** An entry this long before or after a stay belongs to it. */
const FREQUENT_TOLERANCE = 15
const SPARSE_TOLERANCE = 30

/** The fixes of every way, `repeats` times with different errors; the same for every setting. */
function drawnFixes(scene: Scene, intervalSeconds: number, repeats: number): Fix[][] {
  const random = seededRandom(Number(options.seed) + intervalSeconds)
  return scene.ways.flatMap((way) =>
    Array.from({ length: repeats }, () => fixesOf(way, intervalSeconds, random)),
  )
}

/** The updates of the recording itself, at its own intervals. */
function recordedFixes(scene: Scene): Fix[][] {
  const recorded = scene.recorded ?? []
  return [recorded.map(({ time, ...point }) => ({ ...point, second: (time - recorded[0]!.time) / 1000 }))]
}

function tableOf(scene: Scene, tracks: readonly Fix[][], rows: readonly Row[], tolerance: number) {
  const perWay = tracks.length / scene.ways.length
  const stays = scene.ways.map((way) => trueStays(way, scene.circles))
  return rows.map(({ name, settings }) => {
    const score = new Score()
    const view = viewOf(scene.circles, settings)
    tracks.forEach((fixes, i) => score.add(stays[Math.floor(i / perWay)]!, eventsOf(view, fixes), tolerance))
    const { detected, missed, missedLong, falseEntries, falseExits, flaps } = score
    return {
      setting: name,
      stays: score.stays,
      longStays: score.longStays,
      detected,
      missed,
      missedLong,
      falseEntries,
      falseExits,
      flaps,
      entryLateSeconds: tenths(median(score.entriesLate)),
      exitLateSeconds: tenths(median(score.exitsLate)),
    }
  })
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10
}

/** The share of fixes that lie within their accuracy of the truth; 0.68 is correct. */
function honestShare(scene: Scene, tracks: readonly Fix[][]): number {
  let fixes = 0
  let within = 0
  tracks.forEach((track, i) => {
    const way = scene.ways[Math.floor((i * scene.ways.length) / tracks.length)]!
    for (const { latitude, longitude, second, accuracy } of track) {
      const truth = way[second]!
      fixes++
      if (pointDistance(latitude, longitude, truth.latitude, truth.longitude) <= accuracy) within++
    }
  })
  return within / fixes
}

type Table = ReturnType<typeof tableOf>

/** Prints the table as Markdown, in the form of bench/README.md. */
function print(title: string, table: Table): void {
  const columns = Object.keys(table[0]!) as (keyof Table[number])[]
  const cells = table.map((row) => columns.map((column) => String(row[column])))
  const widths = columns.map((column, i) => Math.max(column.length, ...cells.map((row) => row[i]!.length)))
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join(' | ')} |`
  console.log(`\n${title}\n`)
  console.log([line(columns), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)].join('\n'))
}

const hasBus = existsSync(options.gpx) && existsSync(options.stops)
if (!hasBus) console.error(`${options.gpx} is not there: only the drawn city.`)
const scenes = [cityScene(VEHICLES, Number(options.seed))]
if (hasBus) scenes.push(await recordedScene(options.gpx, options.stops))

const tables: Record<string, Table> = {}
const honest: Record<string, number> = {}
for (const scene of scenes) {
  const repeats = scene.recorded === undefined ? 1 : REPEATS
  if (scene.recorded !== undefined) {
    tables[`${scene.name}AsRecorded`] = tableOf(scene, recordedFixes(scene), FREQUENT, FREQUENT_TOLERANCE)
  }
  const frequent = drawnFixes(scene, FREQUENT_SECONDS, repeats)
  const sparse = drawnFixes(scene, SPARSE_SECONDS, repeats)
  honest[scene.name] = Math.round(honestShare(scene, frequent) * 1000) / 1000
  tables[`${scene.name}Every5s`] = tableOf(scene, frequent, FREQUENT, FREQUENT_TOLERANCE)
  tables[`${scene.name}Every60s`] = tableOf(scene, sparse, SPARSE, SPARSE_TOLERANCE)
}
for (const [name, table] of Object.entries(tables)) print(name, table)

const frequentTables = scenes.map(({ name }) => tables[`${name}Every5s`]!)
const sumOf = (setting: string, of: (row: Table[number]) => number) =>
  frequentTables.reduce((sum, table) => sum + of(table.find((row) => row.setting === setting)!), 0)
const wrongExits = (row: Table[number]) => row.falseExits + row.flaps
const leftShare = sumOf('recommended', wrongExits) / sumOf('baseline', wrongExits)
const keptShare = sumOf('recommended', (row) => row.detected) / sumOf('baseline', (row) => row.detected)
console.log(
  `\n${JSON.stringify({
    bench: 'quality',
    ratio: Math.round(leftShare * 10_000) / 10_000,
    statedRatio: STATED_LEFT,
    keptShare: Math.round(keptShare * 10_000) / 10_000,
    statedKeptShare: STATED_KEPT,
    honestShare: honest,
    tracks: { city: VEHICLES, bus: hasBus ? REPEATS : 0 },
    tables,
  })}`,
)
const isMissed = leftShare > STATED_LEFT * 1.1 || keptShare < STATED_KEPT * 0.9
if (options.strict && !options.smoke && isMissed) process.exitCode = 1
