/** The parts of answers: polylines, points along a way, numbers and texts, instructions for maneuvers. */
import t from 'tap'
import { pointDistance } from '../../src/geometry/distance.ts'
import { resample, writeShape } from '../../src/geo/routing/geometryForm.ts'
import { decodePolyline, encodePolyline, type LonLatPoint } from '../../src/geo/routing/polyline.ts'
import { maneuverName } from '../../src/geo/routing/steps.ts'
import { distanceOf, durationOf, speedOf } from '../../src/geo/routing/units.ts'
import fc from '../kit/fastCheck.ts'

const numRuns = 200 * Number(process.env.RINGFENCE_TEST_RUNS ?? 1)

const point = fc.tuple(
  fc.double({ min: -180, max: 180, noNaN: true }),
  fc.double({ min: -90, max: 90, noNaN: true }),
)
const way = fc.array(point, { minLength: 1, maxLength: 30 })

/**
 * Google's description of the format, step by step: shift left, invert if negative, groups of five bits from the
 * right.
 */
function encodeSlowly(points: readonly LonLatPoint[], digits: number): string {
  let text = ''
  let last = [0n, 0n]
  for (const [lon, lat] of points) {
    const scaled = [lat, lon].map((degrees) => BigInt(Math.round(degrees * 10 ** digits)))
    for (const [i, value] of scaled.entries()) {
      const difference = value - last[i]!
      let bits = BigInt.asUintN(64, difference < 0n ? ~(difference << 1n) : difference << 1n).toString(2)
      bits = bits.padStart(Math.ceil(bits.length / 5) * 5, '0')
      const groups = bits.match(/.{5}/g)!.toReversed()
      text += groups
        .map((group, k) => parseInt(group, 2) + (k < groups.length - 1 ? 32 : 0) + 63)
        .map((code) => String.fromCharCode(code))
        .join('')
    }
    last = scaled
  }
  return text
}

t.test(
  'polylines: the example of the format’s description, and any way with five and six digits',
  async (t) => {
    const example: LonLatPoint[] = [
      [-120.2, 38.5],
      [-120.95, 40.7],
      [-126.453, 43.252],
    ]
    t.equal(encodePolyline(example, 5), '_p~iF~ps|U_ulLnnqC_mqNvxq`@')
    t.strictSame(decodePolyline('_p~iF~ps|U_ulLnnqC_mqNvxq`@', 5), example)
    fc.assert(
      fc.property(way, fc.constantFrom(5 as const, 6 as const), (points, digits) => {
        const text = encodePolyline(points, digits)
        const decoded = decodePolyline(text, digits)
        const half = 0.5000001 / 10 ** digits
        return (
          text === encodeSlowly(points, digits) &&
          decoded.length === points.length &&
          decoded.every(
            ([lon, lat], i) => Math.abs(lon - points[i]![0]) <= half && Math.abs(lat - points[i]![1]) <= half,
          )
        )
      }),
      { numRuns },
    )
    for (const text of ['_', '_p~iF~ps|', 'é', ' ']) t.throws(() => decodePolyline(text, 6), RangeError, text)
    const shape = encodePolyline(example, 6)
    t.strictSame(writeShape(shape, 'polyline6'), { type: 'polyline6', polyline: shape })
    t.strictSame(writeShape(shape, 'polyline5'), { type: 'polyline5', polyline: encodePolyline(example, 5) })
    t.strictSame(writeShape(shape, 'linestring'), { type: 'LineString', coordinates: example })
  },
)

t.test('a number of points evenly along a way', async () => {
  const near = fc.tuple(
    fc.double({ min: 0, max: 0.1, noNaN: true }),
    fc.double({ min: 0, max: 0.1, noNaN: true }),
  )
  fc.assert(
    fc.property(
      fc.array(near, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 2, max: 20 }),
      (points, count) => {
        const found = resample(points, count)
        // Compared with a walk in tiny steps.
        const fine: { readonly at: LonLatPoint; readonly along: number }[] = []
        let along = 0
        points.forEach(([lonB, latB], i) => {
          const [lonA, latA] = points[Math.max(0, i - 1)]!
          const length = pointDistance(latA, lonA, latB, lonB)
          for (let k = 0; k <= 400; k++) {
            const at: LonLatPoint = [lonA + ((lonB - lonA) * k) / 400, latA + ((latB - latA) * k) / 400]
            fine.push({ at, along: along + (length * k) / 400 })
          }
          along += length
        })
        return (
          found.length === count &&
          found.every(([lon, lat], k) => {
            const wanted = (along * k) / (count - 1)
            const nearest = fine.reduce((best, one) =>
              Math.abs(one.along - wanted) < Math.abs(best.along - wanted) ? one : best,
            )
            return pointDistance(lat, lon, nearest.at[1], nearest.at[0]) <= 0.3 + along / 400
          })
        )
      },
    ),
    { numRuns: numRuns / 4 },
  )
})

t.test('distances, durations and speeds, in numbers and words', async (t) => {
  const distances: readonly (readonly [
    meters: number,
    metric: [number, string],
    imperial: [number, string],
  ])[] = [
    [0, [0, '0 m'], [0, '0 ft']],
    [49.4, [49, '49 m'], [162, '162 ft']],
    [50, [50, '0.1 km'], [164, '164 ft']],
    [80.47, [80, '0.1 km'], [264, '0.1 mi']],
    [949, [949, '0.9 km'], [3114, '0.6 mi']],
    [9012.3, [9012, '9.0 km'], [29_568, '5.6 mi']],
    [1_234_567, [1_234_567, '1234.6 km'], [4_050_417, '767.1 mi']],
  ]
  for (const [meters, [metric, metricText], [feet, imperialText]] of distances) {
    t.strictSame(distanceOf(meters, 'metric'), { value: metric, text: metricText })
    t.strictSame(distanceOf(meters, 'imperial'), { value: feet, text: imperialText })
  }
  const durations: readonly (readonly [seconds: number, value: number, text: string])[] = [
    [0, 0, '0 mins'],
    [29, 0.5, '0 mins'],
    [36, 0.6, '1 min'],
    [92, 1.5, '1 min'],
    [1194, 19.9, '20 mins'],
    [3570, 59.5, '59 mins'],
    [3576, 59.6, '1 hr 0 min'],
    [5910, 98.5, '1 hr 38 min'],
    [5916, 98.6, '1 hr 39 min'],
    [93_600, 1560, '26 hr 0 min'],
  ]
  for (const [seconds, value, text] of durations) t.strictSame(durationOf(seconds), { value, text })
  // Speed limits that are signed in miles, in the form of the engine: whole kilometres per hour.
  for (let mph = 5; mph <= 85; mph += 5) {
    t.strictSame(speedOf(Math.round(mph * 1.609344), 'imperial'), { value: mph, text: `${mph} mph` })
  }
  t.strictSame(speedOf(50, 'metric'), { value: 50, text: '50 km/h' })
})

t.test('maneuvers in the interface’s words', async (t) => {
  const words: readonly (readonly [type: string, modifier: string | undefined, word: string])[] = [
    ['depart', undefined, 'start'],
    ['depart', 'right', 'start'],
    ['turn', 'left', 'left'],
    ['end of road', 'right', 'right'],
    ['new name', 'left', 'left'],
    ['continue', 'slight right', 'slight-right'],
    ['turn', 'sharp left', 'sharp-left'],
    ['continue', 'uturn', 'uturn'],
    ['new name', 'straight', 'continue'],
    ['notification', undefined, 'continue'],
    ['fork', 'slight left', 'stay-left'],
    ['fork', 'slight right', 'stay-right'],
    ['fork', 'straight', 'stay-straight'],
    ['on ramp', 'slight left', 'ramp-left'],
    ['on ramp', 'right', 'ramp-right'],
    ['off ramp', 'slight right', 'exit-right'],
    ['off ramp', 'slight left', 'exit-left'],
    ['merge', undefined, 'merge'],
    ['merge', 'slight left', 'merge-left'],
    ['roundabout', 'right', 'roundabout'],
    ['exit rotary', 'right', 'roundabout-exit'],
    ['arrive', undefined, 'destination'],
    ['arrive', 'right', 'destination-right'],
    ['arrive', 'left', 'destination-left'],
  ]
  for (const [type, modifier, word] of words) {
    t.equal(maneuverName(modifier === undefined ? { type } : { type, modifier }), word, `${type} ${modifier}`)
  }
})
