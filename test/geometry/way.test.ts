import t from 'tap'
import { Probe } from '../../src/geometry/probe.ts'
import { ShapeArena } from '../../src/geometry/shapeArena.ts'
import { touch, Way } from '../../src/geometry/way.ts'
import fc from '../kit/fastCheck.ts'
import { contains, karney } from './oracle.ts'
import { circleScene, inRange, magnitude, offset, place, polygonScene, runs } from './shapes.ts'

/** A place at a bearing and distance (metres) from another, with longitude within ±180. */
function beside(at: { latitude: number; longitude: number }, bearing: number, meters: number) {
  return inRange(offset(at, meters * Math.sin(bearing), meters * Math.cos(bearing)))
}

// Made from integers, because fast-check mostly draws doubles near zero.
const bearing = fc.integer({ min: 0, max: 359 }).map((degrees) => (degrees * Math.PI) / 180)

t.test('a way is never shorter than stated, and hardly longer', async () => {
  fc.assert(
    fc.property(place(75), bearing, magnitude(1, 100_000), (from, angle, meters) => {
      const to = beside(from, angle, meters)
      const way = new Way(from, to)
      let length = 0
      for (let i = 0; i < 20; i++) {
        const [a, b] = [i / 20, (i + 1) / 20]
        length += karney(way.latitude(a), way.longitude(a), way.latitude(b), way.longitude(b))
      }
      if (way.lengthMeters < length) throw new Error(`${way.lengthMeters} m of ${length} m`)
      if (way.lengthMeters > length * 1.1 + 0.001)
        throw new Error(`${way.lengthMeters} m of only ${length} m`)
    }),
    runs(300),
  )
})

t.test('first and last touch are where a walk in small steps finds them', async (t) => {
  const STEPS = 3000
  const LONG = 16
  const probe = new Probe()
  let touched = 0
  let passed = 0
  fc.assert(
    fc.property(
      fc.oneof(circleScene(70), polygonScene(70, 20, 5000)),
      bearing,
      bearing,
      fc.integer({ min: 0, max: 150 }).map((percent) => percent / 100),
      magnitude(1.1, 20),
      ({ shape, center, size }, side, angle, off, reach) => {
        const aim = beside(center, side, off * size)
        const from = beside(aim, angle, size * reach)
        const to = beside(aim, angle + Math.PI, size * reach)
        const arena = new ShapeArena()
        const handle = arena.add(shape)
        const way = new Way(from, to)
        const at = (share: number) => ({ latitude: way.latitude(share), longitude: way.longitude(share) })
        const distanceAt = (share: number) =>
          arena.distance(handle, probe.set(at(share).latitude, at(share).longitude))
        fc.pre(distanceAt(0) > 0 && distanceAt(1) > 0)
        const found = touch(way.lengthMeters, distanceAt)

        const inside = Array.from({ length: STEPS + 1 }, (_, i) => contains(shape, at(i / STEPS)))
        const any = inside.indexOf(true)
        // The walk itself misses a corner that is cut by less than one of its steps.
        const isCorner = (step: number) =>
          Array.from({ length: 2001 }, (_, i) => step + (i - 1000) / 1000).some((near) =>
            contains(shape, at(near / STEPS)),
          )
        // Cut corners that are shorter than this may be missed.
        const isLong = (i: number) => inside.slice(i, i + LONG).every(Boolean)
        const first = inside.findIndex((_, i) => isLong(i))
        if (first >= 0) {
          touched++
          const last = inside.findLastIndex((_, i) => i >= LONG && isLong(i - LONG)) - 1
          if (found === undefined) throw new Error(`not found: inside from step ${first} to ${last}`)
          const [begin, end] = [found.first * STEPS, found.last * STEPS]
          if ((begin < any - 4 && !isCorner(begin)) || begin > first + 4)
            throw new Error(`first ${begin}, not ${any} to ${first}`)
          const anyLast = inside.lastIndexOf(true)
          if (end < last - 4 || (end > anyLast + 4 && !isCorner(end)))
            throw new Error(`last ${end}, not ${last} to ${anyLast}`)
        } else if (any < 0) {
          passed++
          if (found !== undefined && (found.last - found.first) * STEPS > 2) throw new Error('found nothing')
        }
      },
    ),
    runs(250),
  )
  t.ok(touched > 40 && passed > 20, `${touched} touched, ${passed} passed by`)
})

t.test('nothing is found on a way without length, nor on one that only comes near', async (t) => {
  const arena = new ShapeArena()
  const handle = arena.add({ kind: 'circle', center: [8, 50], radius: 100 })
  const probe = new Probe()
  const found = (from: [number, number], to: [number, number]) => {
    const way = new Way({ latitude: from[0], longitude: from[1] }, { latitude: to[0], longitude: to[1] })
    return touch(way.lengthMeters, (share) =>
      arena.distance(handle, probe.set(way.latitude(share), way.longitude(share))),
    )
  }
  t.equal(found([50.01, 8], [50.01, 8]), undefined)
  t.equal(found([50.001, 7.99], [50.001, 8.01]), undefined)
  t.match(found([50.0005, 7.99], [50.0005, 8.01]), { first: Number, last: Number })
})

t.test('a way across the antimeridian takes the shorter direction', async (t) => {
  const way = new Way({ latitude: 0, longitude: 179.9 }, { latitude: 0, longitude: -179.9 })
  t.equal(Math.abs(way.longitude(0.5)), 180)
  t.ok(Math.abs(way.longitude(0.75) - -179.95) < 1e-9)
  t.ok(way.lengthMeters < 25_000)
})
