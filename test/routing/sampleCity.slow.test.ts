/**
 * The routing endpoints in the sample city, compared with Valhalla called directly on the same tiles: the same
 * distances and durations, orders of stops that no other order beats, and simulated drives that are matched to the
 * streets that were driven. RINGFENCE_TEST_RUNS=50 tries a thousand pairs of places per mode.
 */
import t from 'tap'
import { pointDistance } from '../../src/geometry/distance.ts'
import type { TravelMode } from '../../src/model/geofence.ts'
import { resample } from '../../src/geo/routing/geometryForm.ts'
import { decodePolyline, type LonLatPoint } from '../../src/geo/routing/polyline.ts'
import type { MatrixAnswer, RouteAnswer } from '../../src/geo/routing/valhallaJson.ts'
import { costingOf, SNAP_METERS } from '../../src/geo/routing/travel.ts'
import { distanceOf, durationOf } from '../../src/geo/routing/units.ts'
import { valhallaConfig } from '../../src/geo/routing/valhallaConfig.ts'
import { Seeded } from '../crash/seeded.ts'
import { sampleTiles } from '../kit/sampleRegion.ts'
import { serveRoutes } from './served.ts'

const runs = Number(process.env.RINGFENCE_TEST_RUNS ?? 1)
const seed = Number(process.env.RINGFENCE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const random = new Seeded(seed)
const MODES: readonly TravelMode[] = ['car', 'truck', 'foot', 'bike', 'motorbike']
/** The built-up area. */
const [WEST, SOUTH, EAST, NORTH] = [-56.22, -34.915, -56.1, -34.83]

/**
 * Its nearest road is a piece of 107 metres that is connected to no other road. All routes begin on the avenue behind
 * it.
 */
const BESIDE_NOWHERE: LonLatPoint = [-56.168667, -34.847143]

/** The parts of Valhalla's binding that are used here. */
interface Actor {
  route(request: object): Promise<RouteAnswer>
  matrix(request: object): Promise<MatrixAnswer>
}

/** Normally distributed, by the Box–Muller method. */
function gaussian(): number {
  return Math.sqrt(-2 * Math.log(1 - random.fraction())) * Math.cos(2 * Math.PI * random.fraction())
}

const somewhere = (): LonLatPoint => [
  Number((WEST + (EAST - WEST) * random.fraction()).toFixed(6)),
  Number((SOUTH + (NORTH - SOUTH) * random.fraction()).toFixed(6)),
]

/** A place from which the middle of the city can be reached, and vice versa. */
async function reachable(): Promise<LonLatPoint> {
  for (;;) {
    const place = somewhere()
    const locations = [located(place), located([-56.165, -34.89]), located(place)]
    const found = await valhalla.route({ locations, costing: 'auto' }).catch(() => undefined)
    if (found !== undefined) return place
  }
}

const text = (places: readonly LonLatPoint[]) => places.map(([lon, lat]) => `${lat},${lon}`).join('|')
const located = ([lon, lat]: LonLatPoint) => ({ lat, lon, search_cutoff: SNAP_METERS })

const tiles = await sampleTiles()
const binding = (await import('@valhallajs/valhallajs')) as unknown as {
  Actor: new (config: string) => Actor
}
const valhalla = new binding.Actor(valhallaConfig({ tiles, tileCacheBytes: 2 ** 28 }))
const { get, post } = await serveRoutes(t, tiles)

t.test(`distances and durations are Valhalla's, seed ${seed}`, async (t) => {
  for (const mode of MODES) {
    let ways = 0
    for (let i = 0; i < 20 * runs; i++) {
      const [from, to] = [somewhere(), somewhere()]
      const request = {
        locations: [located(from), located(to)],
        costing: costingOf(mode),
        directions_type: 'none',
      }
      const direct = await valhalla.route(request).catch((error: Error) => error)
      const query = { origin: text([from]), destination: text([to]), modes: mode, units: 'metric' }
      const { status, body } = await get('distance', { ...query, geometry: 'polyline6' })
      if (direct instanceof Error) {
        t.equal(status, 404, `${text([from, to])}: ${direct.message}`)
        continue
      }
      ways++
      const { summary, legs } = direct.trip
      const found = body.routes?.[mode]
      const wanted = {
        distance: distanceOf(summary.length * 1000, 'metric'),
        duration: durationOf(summary.time),
        geometry: { type: 'polyline6', polyline: legs[0]!.shape },
      }
      if (JSON.stringify(found) !== JSON.stringify(wanted))
        t.strictSame(found, wanted, `${mode} ${text([from, to])}`)
      if (i % 5 > 0) continue
      const { routes } = (await get('directions', { locations: text([from, to]), mode, units: 'metric' }))
        .body
      t.ok(Math.abs(routes[0].distance.value - wanted.distance.value) <= 1, `directions by ${mode}`)
      // In this format Valhalla rounds milliseconds; in its own it truncates them.
      const rounded = durationOf(summary.time + 0.001)
      t.ok(
        [wanted.duration.value, rounded.value].includes(routes[0].duration.value),
        `directions' time by ${mode}`,
      )
    }
    t.ok(ways > 10 * runs, `${ways} ways by ${mode}`)
  }
  const places: LonLatPoint[] = [BESIDE_NOWHERE]
  for (let i = 1; i < 8; i++) places.push(await reachable())
  const { sources_to_targets: direct } = await valhalla.matrix({
    sources: places.map(located),
    targets: places.map(located),
    costing: 'auto',
    verbose: false,
  })
  const query = { origins: text(places), destinations: text(places), mode: 'car', units: 'metric' }
  const { matrix } = (await get('matrix', query)).body
  let missing = 0
  let asRoute = 0
  for (const [i, row] of direct.durations.entries()) {
    for (const [k, seconds] of row.entries()) {
      const cell = matrix[i][k]
      if (seconds === null) {
        missing++
        const locations = [located(places[i]!), located(places[k]!)]
        const { summary } = (await valhalla.route({ locations, costing: 'auto' })).trip
        t.ok(cell.duration.value > 0, 'a route is found')
        if (Math.abs(cell.duration.value - durationOf(summary.time).value) < 0.15) asRoute++
        continue
      }
      t.strictSame(cell.duration, durationOf(seconds))
      t.equal(cell.distance.value, Math.round(direct.distances[i]![k]! * 1000))
    }
  }
  t.ok(missing >= 7, `${missing} cells that the matrix search gives up, where routes are found`)
  // One of 500 differs from the route, as in the cells that Valhalla finds at once, because its limits are not
  // exactly those of a route.
  t.ok(asRoute >= missing - 1, `${asRoute} of ${missing} are the route's`)
  const alone = { origins: text([BESIDE_NOWHERE]), destinations: text([places[1]!]), mode: 'car' }
  t.same(
    (await get('matrix', { ...alone, units: 'metric' })).body.matrix[0][0].duration,
    matrix[0][1].duration,
  )
  // Nearly every cell equals the route between its points. Not every one, because both searches are heuristics that
  // skip some ways.
  let equal = 0
  for (const [i, from] of places.entries()) {
    const to = places[(i + 1) % places.length]!
    const { body } = await get('distance', {
      origin: text([from]),
      destination: text([to]),
      modes: 'car',
      units: 'metric',
    })
    const cell = matrix[i][(i + 1) % places.length]
    if (Math.abs(body.routes.car.duration.value - cell.duration.value) < 0.15) equal++
  }
  t.ok(equal >= places.length - 2, `${equal} of ${places.length}`)
})

/** All orders of a list. */
function* orders(list: readonly number[]): Generator<readonly number[]> {
  if (list.length === 0) yield []
  for (const first of list) {
    for (const rest of orders(list.filter((one) => one !== first))) yield [first, ...rest]
  }
}

t.test(`no order of stops is better than the answered one, seed ${seed}`, async (t) => {
  for (let i = 0; i < 4 * runs; i++) {
    const mode = (['car', 'car', 'bike'] as const)[i % 3]!
    const places: LonLatPoint[] = []
    for (let k = 0; k < 4 + (i % 4); k++) places.push(await reachable())
    const last = places.length - 1
    const costing = costingOf(mode)
    // Each leg separately, because the legs of a route are exactly these.
    const seconds = await Promise.all(
      places.map((from) =>
        Promise.all(
          places.map(async (to) => {
            const request = { locations: [located(from), located(to)], costing, directions_type: 'none' }
            return from === to ? 0 : (await valhalla.route(request)).trip.summary.time
          }),
        ),
      ),
    )
    const cost = (order: readonly number[]) =>
      order.slice(1).reduce((sum, to, k) => sum + seconds[order[k]!]![to]!, 0)
    const asGiven = places.map((_, k) => k)
    const { body } = await get('optimize', { locations: text(places), mode })
    const order = [0, ...body.route.legs.map((leg: { endIndex: number }) => leg.endIndex)]
    t.equal(order.at(-1), last)
    t.strictSame(order.toSorted(), asGiven, 'each once')
    t.ok(cost(order) <= cost(asGiven) + 0.1, `${cost(asGiven)} s as given`)
    // The best of all orders according to a matrix. Its cells are those of the legs, except for one in hundreds, and
    // in whole seconds.
    const { sources_to_targets: matrix } = await valhalla.matrix({
      sources: places.map(located),
      targets: places.map(located),
      costing,
      verbose: false,
    })
    const matrixCost = (one: readonly number[]) =>
      one.slice(1).reduce((sum, to, k) => sum + matrix.durations[one[k]!]![to]!, 0)
    const best = Math.min(...[...orders(asGiven.slice(1, -1))].map((some) => matrixCost([0, ...some, last])))
    t.ok(
      matrixCost(order) === best || order.join() === asGiven.join(),
      `${matrixCost(order)} s, best ${best} s`,
    )
    // The milliseconds of each leg are truncated.
    const atMost = durationOf(cost(order) + 0.001 * last).value
    t.ok([durationOf(cost(order)).value, atMost].includes(body.route.duration.value), 'as its legs take')
  }
})

/** A drive along a way: one point per second and ten metres, with normally distributed noise in each direction. */
function drive(way: readonly LonLatPoint[], meters: number, noiseMeters: number) {
  const degrees = 1 / 111_195
  return resample(way, Math.ceil(meters / 10) + 1).map(([lon, lat], second) => ({
    coordinates: text([
      [
        lon + (gaussian() * noiseMeters * degrees) / Math.cos((lat * Math.PI) / 180),
        lat + gaussian() * noiseMeters * degrees,
      ],
    ]),
    createdAt: new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString(),
    accuracy: noiseMeters,
  }))
}

/** Metres from a point to the nearest part of a way, in a plane. */
function distanceToWay([lon, lat]: LonLatPoint, way: readonly LonLatPoint[]): number {
  const x = 111_195 * Math.cos((lat * Math.PI) / 180)
  const y = 111_195
  let nearest = Infinity
  for (let i = 1; i < way.length; i++) {
    const [ax, ay] = [(way[i - 1]![0] - lon) * x, (way[i - 1]![1] - lat) * y]
    const [bx, by] = [(way[i]![0] - lon) * x - ax, (way[i]![1] - lat) * y - ay]
    const length2 = bx * bx + by * by
    const share = length2 === 0 ? 0 : Math.min(1, Math.max(0, -(ax * bx + ay * by) / length2))
    nearest = Math.min(nearest, Math.hypot(ax + bx * share, ay + by * share))
  }
  return nearest
}

t.test(`drives are matched to the streets that were driven, seed ${seed}`, async (t) => {
  for (const [noise, least] of [
    [5, 0.95],
    [20, 0.85],
  ] as const) {
    let driven = 0
    let found = 0
    let matched = 0
    for (let i = 0; i < 5 * runs; i++) {
      const locations = [located(await reachable()), located(await reachable())]
      const { trip } = await valhalla.route({ locations, costing: 'auto', directions_type: 'none' })
      const way = decodePolyline(trip.legs[0]!.shape, 6)
      const meters = way
        .slice(1)
        .reduce((sum, [lon, lat], k) => sum + pointDistance(lat, lon, way[k]![1], way[k]![0]), 0)
      const path = drive(way, meters, noise)
      const { status, body } = await post('match', { path, geometry: 'linestring', units: 'metric' })
      t.equal(status, 200)
      const streets = body.geometry.coordinates as LonLatPoint[]
      const places = resample(way, Math.ceil(meters / 5))
      driven += meters
      found += (meters * places.filter((place) => distanceToWay(place, streets) < 3).length) / places.length
      matched += body.distance.value
    }
    const share = found / driven
    t.ok(
      share >= least,
      `${noise} m of noise: ${(share * 100).toFixed(1)} % of ${Math.round(driven / 1000)} km`,
    )
    t.ok(matched < driven * 1.15, `${Math.round(matched / 1000)} km matched of ${Math.round(driven / 1000)}`)
  }
})
