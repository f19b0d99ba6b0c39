/** The borders of countries: points whose country is known, and the cells of the file against the whole borders. */
import t from 'tap'
import { countryEdges } from '../../src/geo/atlas/countryEdges.ts'
import { areaAt } from '../../src/geo/atlas/areaEdges.ts'
import { countryBorders } from '../../src/geo/world/borders.ts'
import { coarseCountryAt, countryAt } from '../../src/geo/world/countries.ts'
import type { Position } from '../../src/model/geofence.ts'
import fc from '../kit/fastCheck.ts'
import { Random } from '../actor/world.ts'

const EVERYWHERE = { west: -180, south: -90, east: 180, north: 90 }
const numRuns = Math.ceil(300 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1))
const borders = countryBorders()

/** Points near borders, where the simplified ones of country-coder have the country beyond. */
const NEAR: readonly (readonly [country: string, longitude: number, latitude: number])[] = [
  ['CD', 19.5381, 4.4663],
  ['TG', 0.3805, 10.2407],
  ['TD', 17.6173, 22.7046],
  ['PE', -70.6287, -10.7023],
  ['US', -78.7346, 43.6135],
  ['GE', 45.7448, 41.2598],
  ['CN', 93.007, 45.0078],
  ['ZA', 17.3722, -28.3473],
  ['ZA', 22.781, -25.746],
  ['MA', -1.1989, 32.6439],
  ['DE', 6.0152, 50.7795],
  ['CO', -71.232, -2.3082],
  ['CD', 19.5747, 4.6063],
  ['SO', 46.1289, 6.188],
  ['BO', -64.4641, -12.3892],
  ['ID', 115.5393, 3.2797],
  ['RU', 62.0599, 53.1176],
  ['CD', 19.2363, 3.9595],
  ['MW', 34.273, -15.8016],
  ['BR', -55.1271, -31.2933],
  ['CY', 33.5504, 35.1908],
  ['TD', 21.4083, 20.8256],
  ['AO', 20.6483, -17.9687],
  ['RU', 116.4367, 49.9802],
  ['KP', 129.591, 42.4448],
  ['CF', 20.7168, 9.3691],
  ['US', -132.3601, 57.333],
  ['NA', 19.1067, -28.871],
  ['SS', 30.6044, 3.6132],
  ['AR', -54.2794, -27.4414],
  ['CY', 33.6944, 35.1419],
  ['RU', 128.1813, 49.5684],
  ['CD', 19.8057, 5.0573],
  ['GY', -59.9023, 3.1937],
  ['HN', -84.0387, 14.7642],
  ['US', -81.165, 42.1844],
  ['CN', 120.1399, 52.812],
  ['GE', 45.5573, 42.5299],
  ['US', -81.5022, 42.0828],
  ['CL', -70.8997, -38.6995],
]

t.test('points near borders', async (t) => {
  for (const [country, ...at] of NEAR) {
    t.equal(countryAt(at)?.code, country, at.join())
    t.not(coarseCountryAt(at), country, 'the simplified border has the other country')
  }
})

t.test('both banks, enclaves, and territories with a code of their own', async (t) => {
  const places: Readonly<Record<string, readonly (readonly [number, number])[]>> = {
    US: [
      [-106.487, 31.7587],
      [-83.0458, 42.3314],
      [-117.03, 32.555],
    ],
    MX: [
      [-106.487, 31.7387],
      [-117.03, 32.52],
    ],
    CA: [[-83.0364, 42.3149]],
    // Baarle-Hertog, whose parts lie within the Netherlands, and Büsingen, which lies within Switzerland.
    BE: [[4.935, 51.434]],
    DE: [[8.69, 47.697]],
    VA: [[12.4534, 41.9029]],
    SM: [[12.4478, 43.9361]],
    LI: [[9.5215, 47.141]],
    HK: [[114.17, 22.3]],
    MO: [[113.55, 22.19]],
    PR: [[-66.1, 18.4]],
    GI: [[-5.353, 36.14]],
    GF: [[-52.3, 4.9]],
    PF: [[-149.57, -17.55]],
    SJ: [[15.64, 78.22]],
    TW: [[121.5, 25.05]],
    XK: [[21.16, 42.66]],
    // The Western Sahara, on both sides of the wall through it.
    EH: [
      [-13.2, 27.15],
      [-15.93, 23.69],
      [-9.5, 27.1],
      [-10.5, 27],
    ],
    NL: [[4.935, 51.446]],
    MA: [
      [-6.83, 34.02],
      [-11.1, 28.45],
    ],
  }
  for (const [country, points] of Object.entries(places))
    for (const at of points) t.equal(countryAt(at)?.code, country, at.join())
  t.equal(countryAt([-140, 40]), undefined, 'the Pacific')
  for (const at of [
    [-180, -90],
    [180, 90],
    [180, 0],
    [-180, 90],
  ] as const)
    t.doesNotThrow(() => countryAt(at), at.join())
})

/** By the whole borders: a line to the east crosses the border of a country around the point an odd number of times. */
const all = borders.edgesIn(EVERYWHERE)
function slowCodesAt([x, y]: Position): string[] {
  const inside = new Set<string>()
  const { edges, codes } = all
  for (let i = 0; i < codes.length; i++) {
    const [ax, ay, bx, by] = [edges[4 * i]!, edges[4 * i + 1]!, edges[4 * i + 2]!, edges[4 * i + 3]!]
    if (ay > y === by > y || ((bx - ax) * (y - ay)) / (by - ay) + ax <= x) continue
    if (!inside.delete(codes[i]!)) inside.add(codes[i]!)
  }
  return borders.inOrder(inside)
}

/** Somewhere, or within kilometres of an edge of a border. */
function draw(random: Random): Position {
  if (random.chance(0.2)) return [random.between(-180, 180), random.between(-90, 90)]
  const i = 4 * random.below(all.codes.length)
  const share = random.next()
  const along = (axis: number): number =>
    all.edges[i + axis]! + share * (all.edges[i + 2 + axis]! - all.edges[i + axis]!)
  const off = (): number => random.magnitude(1e-5, 0.1) * (random.chance(0.5) ? 1 : -1)
  return [Math.max(-180, Math.min(180, along(0) + off())), Math.max(-90, Math.min(90, along(1) + off()))]
}

t.test('a cell says of each point what the whole borders say', async (t) => {
  let several = 0
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const at = draw(new Random(seed))
      const slow = slowCodesAt(at)
      if (slow.length > 1) several++
      return borders.codesAt(at).join() === slow.join()
    }),
    { numRuns },
  )
  t.ok(several < numRuns / 10, `${several} points in several countries`)
})

t.test('the edges around a point say which country another point of the box is in', async (t) => {
  let others = 0
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = new Random(seed)
      const [west, south] = draw(random)
      const box = { west, south, east: west + 0.05, north: south + 0.05 }
      const inBox = (): Position => [random.between(box.west, box.east), random.between(box.south, box.north)]
      const reference = inBox()
      const near = countryEdges(box, reference)
      const [x, y] = inBox()
      const code = near.codes[areaAt(near, reference, x, y)]
      if (code !== countryAt(reference)?.code) others++
      return code === countryAt([x, y])?.code
    }),
    { numRuns },
  )
  t.ok(others > numRuns / 50, `${others} points in another country`)
})
