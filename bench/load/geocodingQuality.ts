/** Counts the right answers of geocoding for one place database. */
import { autocomplete } from '../../src/geo/geocoding/autocomplete.ts'
import { forward } from '../../src/geo/geocoding/forward.ts'
import type { Address } from '../../src/geo/geocoding/port.ts'
import { reverse } from '../../src/geo/geocoding/reverse.ts'
import { houseBetween } from '../../src/geo/geocoding/interpolation.ts'
import { SEARCH_LAYERS } from '../../src/geo/geocoding/parameters.ts'
import { SearchSources } from '../../src/geo/geocoding/sources.ts'
import type { PlaceRecords } from '../../src/geo/placeDatabase/port.ts'
import { PlaceDatabase } from '../../src/geo/placeDatabase/reader.ts'
import { nearestOnLine } from '../../src/geo/records/areas.ts'
import { numberKey, numberValue } from '../../src/geo/records/houseNumbers.ts'
import { WorldDatabase } from '../../src/geo/world/worldDatabase.ts'
import type { Position } from '../../src/model/geofence.ts'
import { quantile, rounded } from '../figures.ts'
import { metersBetween, type House } from './addressQuestions.ts'
import { askAll, type Geocoder, type Questions } from './geocoderQuestions.ts'
import { StreetCourses } from './streetCourse.ts'

export interface QualityRow {
  readonly region: string
  readonly question: string
  readonly asked: number
  /** The share of the answers that are right; for interpolation, the share of the houses that are within 20 m. */
  readonly percent: number
  /** The percentage to reach; undefined where none is stated. */
  readonly least: number | undefined
  /** CPU of a search, milliseconds, where that is measured. */
  readonly cpuMs?: number
  /** The share of the other geocoder's answers that are right, and its CPU of a search, where it is asked. */
  readonly addok?: number
  readonly addokCpuMs?: number
}

/** The percentages to reach, by row. */
const LEAST: Readonly<Record<string, number>> = {
  'as written': 99,
  'in lower case': 99,
  abbreviated: 98.5,
  'without the city': 98.5,
  'number at the other end': 98.5,
  'one wrong letter': 95,
  'a street after 60 % of its letters': 88,
  'the same, by houses': 93,
  'the nearest house': 99.9,
}
const BETWEEN = 'between its neighbours'
const LEAST_INTERPOLATED = 90
const INTERPOLATED_METERS = 20
/** The distance between two known numbers, as in the rule of interpolation. */
const MOST_NUMBERS_APART = 200
const MOST_LOOKED_AT = 100
const FIRST = 5
const NOW = Date.UTC(2026, 0, 1)

export async function measureQuality(job: {
  readonly name: string
  readonly file: string
  readonly bounds: readonly [number, number, number, number]
  readonly world: string
  readonly questions: Questions
  /** Told how far from the truth each house that was left out is placed, in metres. */
  readonly onPlaced?: (meters: readonly number[]) => void
}): Promise<QualityRow[]> {
  const { name, file, bounds, questions, onPlaced } = job
  const records = new PlaceDatabase(file)
  const world = new WorldDatabase(job.world)
  const answers = await askAll(ringfence(records, bounds, world), questions)
  const rows = answers.map(({ question, asked, right, milliseconds }): QualityRow => ({
    region: name,
    question,
    asked,
    percent: percentOf(right, asked),
    least: LEAST[question],
    cpuMs: rounded(milliseconds, 2),
  }))
  const courses = new StreetCourses(file)
  const errors = leftOut(records, courses, questions.drawn)
  courses.close()
  records.close()
  world.close()
  const [placed, best] = [errors.map(({ meters }) => meters), errors.map(({ atBest }) => atBest)]
  const alongStreet = errors.map(({ atStreet }) => atStreet)
  onPlaced?.(placed)
  rows.push(
    nearRow(name, BETWEEN, placed, LEAST_INTERPOLATED),
    nearRow(name, 'the best place between them', best),
    nearRow(name, 'the best place along the street', alongStreet),
    medianRow(name, BETWEEN, placed),
    medianRow(name, 'the best place between them', best),
    medianRow(name, 'the best place along the street', alongStreet),
  )
  return rows
}

/** Ringfence with one region, in this thread. */
function ringfence(
  records: PlaceRecords,
  bounds: readonly [number, number, number, number],
  world: WorldDatabase,
): Geocoder {
  const sources = new SearchSources([{ records, bounds }], world)
  const common = { language: 'en', now: NOW } as const
  const search = { ...common, layers: SEARCH_LAYERS, countries: [] }
  const completion = { limit: FIRST, postalCode: undefined, isMailable: false, isAddressOnly: false }
  const positionOf = (first: Address | undefined): Position | undefined =>
    first && [first.longitude, first.latitude]
  let searches = 0
  return {
    find(query) {
      searches++
      return positionOf(forward(sources, { ...search, query })[0])
    },
    complete(query, near) {
      searches++
      const found = autocomplete(sources, { ...search, ...completion, query, near })
      return found.flatMap(({ street }) => street ?? [])
    },
    nearest(position) {
      searches++
      const question = { ...common, position, layers: ['address'] } as const
      return positionOf(reverse({ regions: [records], world }, question)[0])
    },
    spent() {
      const { user, system } = process.cpuUsage()
      return { searches, cpuSeconds: (user + system) / 1e6 }
    },
  }
}

/** How near the houses of all regions together are placed. */
export function allPlacedRows(meters: readonly number[]): QualityRow[] {
  const region = 'all together'
  return [nearRow(region, BETWEEN, meters, LEAST_INTERPOLATED), medianRow(region, BETWEEN, meters)]
}

function isNear(meters: number): boolean {
  return meters <= INTERPOLATED_METERS
}

/** @param least the percentage to reach, where one is stated */
function nearRow(region: string, what: string, meters: readonly number[], least?: number): QualityRow {
  const percent = percentOf(meters.filter(isNear).length, meters.length)
  return { region, question: `${what}, 20 m`, asked: meters.length, percent, least }
}

function medianRow(region: string, what: string, meters: readonly number[]): QualityRow {
  const median = meters.length === 0 ? 0 : quantile(Float64Array.from(meters).sort(), 0.5)
  const question = `${what}, median in metres`
  return { region, question, asked: meters.length, percent: rounded(median, 1), least: undefined }
}

/** @returns with two digits */
export function percentOf(right: number, asked: number): number {
  return rounded((100 * right) / Math.max(1, asked), 2)
}

/**
 * How far from the truth a house that is left out is placed, the best place on the line between its neighbours, and the
 * best one along the street or on that line.
 */
interface LeftOut {
  readonly meters: number
  readonly atBest: number
  readonly atStreet: number
}

/** Measures only the houses that are placed between known numbers. */
function leftOut(records: PlaceRecords, courses: StreetCourses, houses: readonly House[]): LeftOut[] {
  return houses.flatMap((house) => {
    const value = numberValue(house.number)
    const key = numberKey(house.number)
    const without = Object.create(records) as PlaceRecords
    without.housesOf = (...question) =>
      records.housesOf(...question).filter((one) => numberValue(one.number) !== value)
    without.rangesOf = (...question) => records.rangesOf(...question)
    const street = records.streetById(house.streetId)
    const between = houseBetween(without, street, { first: 0, end: 1, key, value })
    if (between === undefined) return []
    const line = neighbours(without, house.streetId, value)
    const meters = metersBetween(house.position, between.position)
    // In a number range, the place is on the line of the range.
    const onLine = line === undefined ? meters : nearestOnLine(line, house.position).meters
    const atBest = Math.min(meters, onLine)
    const along = line && courses.metersToBest(street.name, line, house.position)
    return [{ meters, atBest, atStreet: Math.min(atBest, along ?? Infinity) }]
  })
}

/** The nearest known numbers of its side of the street below and above, at most 200 apart. */
function neighbours(
  records: PlaceRecords,
  streetId: number,
  value: number,
): [Position, Position] | undefined {
  const find = (range: [number, number], order: 'ascending' | 'descending'): Position | undefined =>
    records
      .housesOf(streetId, range, MOST_LOOKED_AT, order)
      .find(({ number }) => (numberValue(number) - value) % 2 === 0)?.position
  const below = find([value - MOST_NUMBERS_APART, value - 1], 'descending')
  const above = find([value + 1, value + MOST_NUMBERS_APART], 'ascending')
  return below === undefined || above === undefined ? undefined : [below, above]
}
