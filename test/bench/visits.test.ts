import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import t from 'tap'
import { visitsByEngine } from '../../bench/visits/engine.ts'
import { hasStopped, type Report } from '../../bench/visits/phone.ts'
import { parseGpx } from '../../demo/gpx.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import { NO_ATLAS, type Atlas, type PlaceNear } from '../../src/rules/atlas.ts'

const DATA = join(import.meta.dirname, '..', '..', '..', 'shared', 'data')
const GPX = join(DATA, 'bus-304.gpx')
const STOPS = join(DATA, 'bus-304-stops.csv')
const noBus = existsSync(GPX) && existsSync(STOPS) ? false : '../shared/data/bus-304.gpx is not there'

const RADIUS = 30

/** A café at each stop of the bus, where passengers wait: the bus comes as near as it can. */
function cafesAt(file: string): Atlas {
  const stops: { readonly description: string; readonly coordinates: string }[] = parse(
    readFileSync(file, 'utf8'),
    { columns: true },
  )
  const places = stops.map(({ description, coordinates }, i) => ({
    id: i.toString(16).padStart(24, '0'),
    name: description,
    categories: ['food-beverage', 'cafe'],
    position: JSON.parse(coordinates) as [number, number],
    chain: undefined,
    extentMeters: RADIUS,
  }))
  const placesAt: Atlas['placesAt'] = (latitude, longitude) => {
    const near = places.map((place): PlaceNear => {
      const [x, y] = place.position
      const pointMeters = pointDistance(latitude, longitude, y, x)
      return { place, meters: pointMeters - RADIUS, pointMeters, area: Math.PI * RADIUS ** 2 }
    })
    return { isCovered: true, near, restMeters: 20_000 }
  }
  return { ...NO_ATLAS, revision: 1, placesAt, placesAround: placesAt }
}

/**
 * The recorded journey.
 * @param hasSdk whether the phone says when it has stopped, by the rule of the SDKs
 */
function journey(hasSdk: boolean): Report[] {
  const points = parseGpx(readFileSync(GPX, 'utf8'))
  const reports: Report[] = []
  for (const { time, latitude, longitude, accuracy } of points) {
    const second = Math.round((time - points[0]!.time) / 1000)
    const stopped = hasSdk && hasStopped(reports, { latitude, longitude }, second)
    reports.push({ latitude, longitude, second, accuracy, stopped })
  }
  return reports
}

function visitsOf(reports: readonly Report[]) {
  return visitsByEngine({ atlas: cafesAt(STOPS), places: [], bounds: [0, 0, 0, 0] }, reports)
}

t.test('a bus that passes 36 cafés visits none of them', { skip: noBus }, async (t) => {
  t.same(visitsOf(journey(false)), [])
})

t.test('a phone in the bus that says where it stops is in a café only there', { skip: noBus }, async (t) => {
  const reports = journey(true)
  const standings = reports.filter(({ stopped }, i) => stopped && reports[i - 1]?.stopped !== true)
  const visits = visitsOf(reports)
  t.ok(visits.length > 0 && visits.length < 36)
  t.same(
    visits.map(({ from }) => from),
    standings.map(({ second }) => second),
    'each time that it stood for 140 s within 70 m, at its first such update',
  )
  t.ok(
    visits.every(({ from, to }) => to - from < 150),
    'and not for long',
  )
})
