/**
 * `npm run bench -- visits`: how often visits to places are found, in simulated days in the sample city, Montevideo. The
 * true way is known; a simulated phone adds the errors of its receiver and says, as SDKs do, when it has stopped. Beside
 * the engine stands the plain rule that whoever is within 50 m of a place visits the nearest one. See bench/README.md.
 *
 * Not measured: people who stay at the edge of a place, places that the map lacks, receivers that report a wrong accuracy.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parseGpx } from '../demo/gpx.ts'
import { pointDistance } from '../src/geometry/distance.ts'
import type { PlaceFootprint } from '../src/geo/placeDatabase/placeFootprints.ts'
import { seededRandom } from '../src/simulation/streets.ts'
import { samplePlaces } from '../test/kit/sampleRegion.ts'
import { rounded } from './figures.ts'
import { progress } from './progress.ts'
import { BOUNDS, visitsByBound } from './visits/bounds.ts'
import { placedCity, type PlacedCity } from './visits/city.ts'
import { dayIn, driveBy } from './visits/days.ts'
import { visitsByEngine, visitsByNearest } from './visits/engine.ts'
import { Misses } from './visits/misses.ts'
import { hasStopped, reportsOf, type Report } from './visits/phone.ts'
import { VisitScore } from './visits/score.ts'

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    gpx: {
      type: 'string',
      default: join(import.meta.dirname, '..', '..', 'shared', 'data', 'bus-304.gpx'),
    },
  },
})
const DAYS = options.smoke ? 5 : 300
const DRIVE_BYS = options.smoke ? 20 : 1000
/** The errors of the receivers: metres within which 68 % of the locations are. */
const ERRORS = [5, 15, 40]
/** How many other places are within 75 m of a place. */
const DENSITIES = [
  ['0 to 2', 0, 2],
  ['3 to 9', 3, 9],
  ['10 and more', 10, Infinity],
] as const
const NEIGHBOUR_METERS = 75
const METHODS = { engine: visitsByEngine, 'nearest within 50 m': visitsByNearest }

/**
 * The figures at an error of 15 m: shares of the stays of more than 10 minutes, and false visits in 100 drives past a
 * place.
 */
const STATED = { errorMeters: 15, rightOrAlternate: 0.9, right: 0.75, falseVisits: 2 }

type Method = keyof typeof METHODS

interface Row {
  readonly method: string
  readonly error: number
  readonly neighbours: string
  readonly visits: number
  readonly right: number
  readonly wrong: number
  readonly missed: number
  readonly long: number
  readonly longRight: number
  readonly longRightOrAlternate: number
  readonly falseOnTheWay?: number
  readonly falseIn100DriveBys?: number
}

function neighboursOf({ atlas }: PlacedCity, { key, position: [x, y] }: PlaceFootprint): number {
  const here = atlas.placesAt(y, x)
  if (!('near' in here)) throw new Error('the places are not known')
  return here.near.filter(({ place }) => {
    const [px, py] = place.position
    return place.id !== key && pointDistance(y, x, py, px) <= NEIGHBOUR_METERS
  }).length
}

/** Why the engine missed stays at the error for which figures are stated. */
let misses: Misses | undefined

function rowsOf(city: PlacedCity, error: number, method: Method): Row[] {
  progress(`${error} m, ${method}`)
  const find = METHODS[method]
  const random = seededRandom(Number(options.seed) + error)
  const whole = new VisitScore()
  const missed = new Misses(city)
  const scores = DENSITIES.map(() => new VisitScore())
  for (let i = 0; i < DAYS; i++) {
    const day = dayIn(city.places, random)
    const { way, visits } = day
    const reports = reportsOf(way, error, random)
    const found = find(city, reports)
    missed.add(day, reports, found)
    for (const visit of visits) {
      const neighbours = neighboursOf(city, visit.place)
      const place = DENSITIES.findIndex(([, least, most]) => neighbours >= least && neighbours <= most)
      for (const score of [whole, scores[place]!]) score.add(visit, found)
    }
    whole.addFalse(visits, found)
  }
  if (method === 'engine' && error === STATED.errorMeters) misses = missed
  const passing = new VisitScore()
  for (let i = 0; i < DRIVE_BYS; i++) {
    const { way, visits } = driveBy(city.places, random)
    passing.addFalse(visits, find(city, reportsOf(way, error, random)))
  }
  return [
    {
      ...rowOf(method, error, 'all', whole),
      falseOnTheWay: whole.false,
      falseIn100DriveBys: rounded((100 * passing.false) / DRIVE_BYS, 1),
    },
    ...DENSITIES.map(([name], i) => rowOf(method, error, name, scores[i]!)),
  ]
}

/** What other ways to decide would give, for the same days as those of the methods. */
function boundsOf(city: PlacedCity, error: number): Row[] {
  progress(`${error} m, bounds`)
  const random = seededRandom(Number(options.seed) + error)
  const bounds = Object.entries(BOUNDS).map(([name, decide]) => ({ name, decide, score: new VisitScore() }))
  for (let i = 0; i < DAYS; i++) {
    const day = dayIn(city.places, random)
    const reports = reportsOf(day.way, error, random)
    for (const { decide, score } of bounds) {
      const found = visitsByBound(city, reports, day, error, decide)
      for (const visit of day.visits) score.add(visit, found)
    }
  }
  return bounds.map(({ name, score }) => rowOf(name, error, 'all', score))
}

function rowOf(method: string, error: number, neighbours: string, score: VisitScore): Row {
  const { visits, right, wrong, missed, long } = score
  const share = (count: number) => rounded(count / long, 3)
  return {
    method,
    error,
    neighbours,
    visits,
    right,
    wrong,
    missed,
    long,
    longRight: share(score.longRight),
    longRightOrAlternate: share(score.longRightOrAlternate),
  }
}

/**
 * The visits that the recorded bus makes: as it is, and moved so that it begins at places of the city, which are then
 * beside its whole way; there also without an SDK that says when the phone has stopped.
 */
function visitsOfBus(city: PlacedCity) {
  const points = parseGpx(readFileSync(options.gpx, 'utf8'))
  const [first] = points
  const reports: Report[] = []
  for (const { time, latitude, longitude } of points) {
    const second = Math.round((time - first!.time) / 1000)
    const stopped = hasStopped(reports, { latitude, longitude }, second)
    reports.push({ latitude, longitude, second, accuracy: 10, stopped })
  }
  const random = seededRandom(Number(options.seed))
  let movedHere = 0
  let movedWithoutStops = 0
  for (let i = 0; i < MOVES; i++) {
    const [x, y] = city.places[Math.floor(random() * city.places.length)]!.position
    const [east, north] = [x - first!.longitude, y - first!.latitude]
    const moved = reports.map((one) => ({
      ...one,
      latitude: one.latitude + north,
      longitude: one.longitude + east,
    }))
    movedHere += visitsByEngine(city, moved).length
    const without = moved.map((one) => ({ ...one, stopped: false }))
    movedWithoutStops += visitsByEngine(city, without).length
  }
  return {
    asRecorded: visitsByEngine(city, reports).length,
    movedHere: rounded(movedHere / MOVES, 2),
    movedWithoutStops: rounded(movedWithoutStops / MOVES, 2),
  }
}

const MOVES = options.smoke ? 2 : 20

const city = placedCity(await samplePlaces())
const rows = ERRORS.flatMap((error) => [
  ...Object.keys(METHODS).flatMap((method) => rowsOf(city, error, method as Method)),
  ...boundsOf(city, error),
])
console.table(rows)
console.table(misses!.rows)
const hasBus = existsSync(options.gpx)
if (!hasBus) console.error(`${options.gpx} is not there: without the bus.`)
const stated = rows.find(
  ({ method, error, neighbours }) =>
    method === 'engine' && error === STATED.errorMeters && neighbours === 'all',
)!
console.log(
  JSON.stringify({
    bench: 'visits',
    smoke: options.smoke,
    days: DAYS,
    driveBys: DRIVE_BYS,
    seed: Number(options.seed),
    places: city.places.length,
    stated: STATED,
    bus: hasBus ? visitsOfBus(city) : undefined,
    misses: misses!.rows,
    rows,
  }),
)
const isMissed =
  stated.longRightOrAlternate < STATED.rightOrAlternate * 0.9 ||
  stated.longRight < STATED.right * 0.9 ||
  stated.falseIn100DriveBys! > STATED.falseVisits * 1.1
if (options.strict && !options.smoke && isMissed) process.exitCode = 1
