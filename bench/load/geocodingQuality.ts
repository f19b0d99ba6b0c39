/** Counts the right answers of geocoding for one place database. */
import { autocomplete } from '../../src/geo/geocoding/autocomplete.ts'
import { forward } from '../../src/geo/geocoding/forward.ts'
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
import { StreetCourses } from './streetCourse.ts'
import {
  distinctHouses,
  metersBetween,
  SAME_METERS,
  SPELLINGS,
  type House,
  type Manner,
} from './addressQuestions.ts'

export interface QualityRow {
  readonly region: string
  readonly question: string
  readonly asked: number
  /** The share of the answers that are right; for interpolation, the share of the houses that are within 20 m. */
  readonly percent: number
  /** The percentage to reach; undefined where none is stated. */
  readonly least: number | undefined
}

/** The percentages to reach, by row. */
const LEAST: Readonly<Record<string, number>> = {
  'as written': 99,
  'in lower case': 99,
  abbreviated: 98.5,
  'without the city': 98.5,
  'number at the other end': 98.5,
  'one wrong letter': 95,
}
const LEAST_COMPLETED = 88
const LEAST_COMPLETED_WEIGHTED = 93
const LEAST_NEAREST = 99.9
const LEAST_INTERPOLATED = 90
const INTERPOLATED_METERS = 20
/** The distance between two known numbers, as in the rule of interpolation. */
const MOST_NUMBERS_APART = 200
const MOST_LOOKED_AT = 100
const LETTERS_SHARE = 0.6
const FIRST = 5
const NOW = Date.UTC(2026, 0, 1)

export function measureQuality(job: {
  readonly name: string
  readonly file: string
  readonly bounds: readonly [number, number, number, number]
  readonly world: string
  readonly manner: Manner
  readonly count: number
  readonly random: () => number
  /** Told how far from the truth each house that was left out is placed, in metres. */
  readonly onPlaced?: (meters: readonly number[]) => void
}): QualityRow[] {
  const { name, file, bounds, manner, count, random, onPlaced } = job
  const records = new PlaceDatabase(file)
  const world = new WorldDatabase(job.world)
  const sources = new SearchSources([{ records, bounds }], world)
  const houses = distinctHouses(file)
  const drawn = someOf(houses, count, random)
  const draw = (): House => houses[Math.floor(random() * houses.length)]!
  const row = (question: string, asked: number, right: number, least: number | undefined): QualityRow => ({
    region: name,
    question,
    asked,
    percent: rounded((100 * right) / Math.max(1, asked), 2),
    least,
  })
  const common = { layers: SEARCH_LAYERS, countries: [], language: 'en', now: NOW } as const
  const rows: QualityRow[] = []
  for (const [spelling, write] of Object.entries(SPELLINGS)) {
    let [asked, right] = [0, 0]
    for (const house of drawn) {
      const query = write(house, manner, random)
      if (query === undefined) continue
      asked++
      const [first] = forward(sources, { ...common, query })
      if (first !== undefined && metersBetween(house.position, positionOf(first)) <= SAME_METERS) right++
    }
    rows.push(row(spelling, asked, right, LEAST[spelling]))
  }
  const streets = [...new Map(houses.map((house) => [house.streetId, house])).values()]
  const isCompleted = ({ street, position: near }: House): boolean => {
    const query = street.slice(0, Math.ceil(street.length * LETTERS_SHARE))
    const question = { ...common, query, near, limit: FIRST, postalCode: undefined, isMailable: false }
    const found = autocomplete(sources, { ...question, isAddressOnly: false })
    return found.some((one) => one.street?.toLowerCase() === street.toLowerCase())
  }
  const completed = (drawOne: () => House): number =>
    Array.from({ length: count }, drawOne).filter(isCompleted).length
  const drawStreet = (): House => streets[Math.floor(random() * streets.length)]!
  rows.push(row('a street after 60 % of its letters', count, completed(drawStreet), LEAST_COMPLETED))
  rows.push(row('the same, by houses', count, completed(draw), LEAST_COMPLETED_WEIGHTED))
  rows.push(row('the nearest house', count, nearest(records, houses, count, random), LEAST_NEAREST))
  const courses = new StreetCourses(file)
  const errors = leftOut(records, courses, drawn)
  courses.close()
  const [placed, best] = [errors.map(({ meters }) => meters), errors.map(({ atBest }) => atBest)]
  const alongStreet = errors.map(({ atStreet }) => atStreet)
  onPlaced?.(placed)
  rows.push(nearRow(name, placed))
  rows.push(row('the best place between them, 20 m', errors.length, best.filter(isNear).length, undefined))
  rows.push(
    row('the best place along the street, 20 m', errors.length, alongStreet.filter(isNear).length, undefined),
  )
  for (const [question, meters] of [
    ['between its neighbours, median in metres', placed],
    ['the best place between them, median in metres', best],
    ['the best place along the street, median in metres', alongStreet],
  ] as const)
    rows.push(medianRow(name, question, meters))
  records.close()
  world.close()
  return rows
}

/** How near the houses of all regions together are placed. */
export function allPlacedRows(meters: readonly number[]): QualityRow[] {
  const region = 'all together'
  return [nearRow(region, meters), medianRow(region, 'between its neighbours, median in metres', meters)]
}

function isNear(meters: number): boolean {
  return meters <= INTERPOLATED_METERS
}

function nearRow(region: string, meters: readonly number[]): QualityRow {
  const near = meters.filter(isNear).length
  return {
    region,
    question: 'between its neighbours, 20 m',
    asked: meters.length,
    percent: rounded((100 * near) / Math.max(1, meters.length), 2),
    least: LEAST_INTERPOLATED,
  }
}

function medianRow(region: string, question: string, meters: readonly number[]): QualityRow {
  const median = meters.length === 0 ? 0 : quantile(Float64Array.from(meters).sort(), 0.5)
  return { region, question, asked: meters.length, percent: rounded(median, 1), least: undefined }
}

function positionOf({ latitude, longitude }: { latitude: number; longitude: number }): Position {
  return [longitude, latitude]
}

/** Counts how often the answer is no further away than the nearest of all houses. */
function nearest(
  records: PlaceRecords,
  houses: readonly House[],
  count: number,
  random: () => number,
): number {
  let right = 0
  for (let i = 0; i < count; i++) {
    const [x, y] = houses[Math.floor(random() * houses.length)]!.position
    const point: Position = [x + (random() - 0.5) * 1e-3, y + (random() - 0.5) * 1e-3]
    const least = houses.reduce(
      (meters, house) => Math.min(meters, flatMeters(point, house.position)),
      Infinity,
    )
    const found = records.nearestAddress(point, 1000)
    if (found !== undefined && found.meters <= least * 1.01 + 0.1) right++
  }
  return right
}

/** An approximation that is quicker than the exact distance, and right to a per cent within a kilometre. */
function flatMeters([x, y]: Position, [px, py]: Position): number {
  return Math.hypot((px - x) * Math.cos((y * Math.PI) / 180), py - y) * 111_195
}

/** Draws this many of the houses at random, each at most once. */
function someOf(houses: readonly House[], count: number, random: () => number): House[] {
  const left = [...houses]
  return Array.from({ length: Math.min(count, left.length) }, () => {
    const at = Math.floor(random() * left.length)
    const [house] = left.splice(at, 1, left.at(-1)!)
    left.pop()
    return house!
  })
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
