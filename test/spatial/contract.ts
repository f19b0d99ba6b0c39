import { isDeepStrictEqual } from 'node:util'
import geodesic from 'geographiclib-geodesic'
import type { Test } from 'tap'
import { Probe } from '../../src/geometry/probe.ts'
import { ShapeArena } from '../../src/geometry/shapeArena.ts'
import type { Geofence, GeofenceProperties, Position, Shape } from '../../src/model/geofence.ts'
import type { Box } from '../../src/spatial/cellGrid.ts'
import type { GeofenceIndex } from '../../src/spatial/port.ts'
import fc from '../kit/fastCheck.ts'

const RUNS = Math.ceil(Number(process.env.RINGFENCE_TEST_RUNS ?? 1) * 150)

/** A geofence of which only id and shape matter here. */
function fence(id: string, shape: Shape): Geofence {
  return {
    id,
    scope: 0,
    tag: 'test',
    externalId: id,
    description: id,
    type: shape.kind,
    shape,
    enabled: true,
    timeZone: 'Etc/UTC',
    createdAt: 0,
    updatedAt: 0,
  }
}

const normal = (longitude: number) => ((((longitude + 180) % 360) + 360) % 360) - 180

/** A slow and obvious implementation: all geofences in a map, and every query a scan with the same geometry. */
class LinearIndex {
  readonly geofences = new Map<string, { geofence: Geofence; shape: number }>()
  readonly #arena = new ShapeArena()

  put(geofence: Geofence): void {
    this.remove(geofence.id)
    this.geofences.set(geofence.id, { geofence, shape: this.#arena.add(geofence.shape) })
  }

  remove(id: string): void {
    const known = this.geofences.get(id)
    if (known !== undefined) this.#arena.remove(known.shape)
    this.geofences.delete(id)
  }

  /** By id. */
  distances(probe: Probe): Map<string, number> {
    const distances = new Map<string, number>()
    for (const [id, { shape }] of this.geofences) distances.set(id, this.#arena.distance(shape, probe))
    return distances
  }

  nearest(probe: Probe, limit: number, radius: number | undefined, accept: (geofence: Geofence) => boolean) {
    return [...this.geofences.values()]
      .filter(({ geofence }) => accept(geofence))
      .map(({ geofence, shape }) => ({
        id: geofence.id,
        distance: Math.max(0, this.#arena.distance(shape, probe)),
      }))
      .filter(({ distance }) => distance <= (radius ?? Infinity))
      .toSorted((a, b) => a.distance - b.distance || (a.id < b.id ? -1 : 1))
      .slice(0, limit)
  }
}

// Places where degrees, cells and metres differ most, and where most geofences are.
const hubs: Position[] = [
  [0, 0],
  [13.4, 52.5],
  [179.9995, -17],
  [-179.9999, 65],
  [25, 89.9995],
  [-100, -90],
  [15, 78.2],
  [180, 0],
  [180, 62],
  [90, 90],
  [45, 45],
]

const anywhere = fc
  .tuple(fc.double({ min: -180, max: 180, noNaN: true }), fc.double({ min: -90, max: 90, noNaN: true }))
  .map(([longitude, latitude]): Position => [normal(longitude), latitude])

/** Near a hub, at any distance from metres to hundreds of kilometres. */
const nearHub = fc
  .tuple(
    fc.constantFrom(...hubs),
    fc.double({ min: 0, max: 6, noNaN: true }),
    fc.double({ min: 0, max: 360, noNaN: true }),
  )
  .map(([hub, power, azimuth]) => travel(hub, 10 ** power, azimuth))

export const place = fc.oneof(
  { weight: 8, arbitrary: nearHub },
  { weight: 2, arbitrary: anywhere },
  { weight: 1, arbitrary: fc.constantFrom(...hubs) },
)

/** The point that many metres away along a geodesic. */
function travel(from: Position, meters: number, azimuth: number): Position {
  const { lon2, lat2 } = geodesic.Geodesic.WGS84.Direct(from[1], from[0], azimuth, meters)
  return [normal(lon2!), Math.max(-90, Math.min(90, lat2!))]
}

const circle = fc
  .tuple(place, fc.oneof(fc.constantFrom(10, 10_000), fc.integer({ min: 10, max: 10_000 })))
  .map(([center, radius]): Shape => ({ kind: 'circle', center, radius }))

/** A rectangle of any size and proportion, which may cross the antimeridian. */
const rectangle = fc
  .tuple(
    place,
    fc.double({ min: -5, max: 2, noNaN: true }),
    fc.double({ min: -5, max: 1.5, noNaN: true }),
    fc.boolean(),
  )
  .map(([[longitude, latitude], widthPower, heightPower, unwrapped]): Shape => {
    const west = Math.min(longitude, 179.9)
    const south = Math.min(latitude, 89)
    const north = Math.min(90, south + 10 ** heightPower)
    const past = west + 10 ** widthPower
    const east = unwrapped ? past : normal(past)
    return {
      kind: 'polygon',
      ring: [
        [west, south],
        [east, south],
        [east, north],
        [west, north],
        [west, south],
      ],
    }
  })

/** A ring around a pole. */
const cap = fc
  .tuple(fc.double({ min: 60, max: 89.999, noNaN: true }), fc.boolean())
  .map(([parallel, south]): Shape => {
    const latitude = south ? -parallel : parallel
    return {
      kind: 'polygon',
      ring: [
        [0, latitude],
        [90, latitude],
        [180, latitude],
        [-90, latitude],
        [0, latitude],
      ],
    }
  })

export const shape = fc.oneof(
  { weight: 6, arbitrary: circle },
  { weight: 3, arbitrary: rectangle },
  { weight: 1, arbitrary: cap },
)

const reach = fc.oneof(
  fc.constantFrom(0, 50, 100, 152, 50_000),
  fc.double({ min: 0, max: 400, noNaN: true }),
  fc.double({ min: 0, max: 50_000, noNaN: true }),
)

type Step =
  | { readonly do: 'put'; readonly id: number; readonly shape: Shape }
  | { readonly do: 'touch'; readonly id: number }
  | { readonly do: 'remove'; readonly id: number }
  | { readonly do: 'look'; readonly at: Position; readonly reach: number }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('put' as const), id: fc.nat(24), shape }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('touch' as const), id: fc.nat(24) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), id: fc.nat(24) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('look' as const), at: place, reach }) },
  ),
  { minLength: 5, maxLength: 80, size: 'max' },
)

/** Whether a slot holds exactly this geofence, including its shape to the last bit. */
function isHeld(index: GeofenceIndex, slot: number, geofence: Geofence): boolean {
  // First without being kept.
  return [index.glimpse(slot), index.geofence(slot), index.glimpse(slot)].every((properties) =>
    isDeepStrictEqual({ ...properties, shape: index.shape(slot) }, geofence),
  )
}

/** What every implementation of the geofence index must do. */
export function geofenceIndexContract(t: Test, name: string, create: () => GeofenceIndex): void {
  /**
   * Checks one query at a point: each candidate occurs once, none is foreign, and none is missing, at the point or
   * within the clearance. A point that moves straight towards a geofence is within reach of it after its distance
   * minus the reach.
   * @returns how many candidates
   */
  function look(index: GeofenceIndex, twin: LinearIndex, at: Position, reachMeters: number, azimuth: number) {
    const probe = new Probe().set(at[1], at[0])
    const slots: number[] = [-7]
    const clearance = index.candidates(probe, reachMeters, slots)
    if (slots.shift() !== -7) throw new Error('candidates() did not append')
    if (!(clearance >= 0)) throw new Error(`clearance ${clearance}`)
    const distances = twin.distances(probe)
    const ids = new Set<string>()
    for (const slot of slots) {
      const { id } = index.geofence(slot)
      if (ids.has(id)) throw new Error(`${id} twice among ${slots.length} candidates`)
      ids.add(id)
      const distance = index.distance(slot, probe)
      if (distances.get(id) !== distance) {
        throw new Error(`${id} is ${distances.get(id)} m away, its slot says ${distance}`)
      }
    }
    for (const [id, distance] of distances) {
      const least = index.distanceAtLeast(index.slotOf(id), probe)
      if (!(least <= Math.max(0, distance)))
        throw new Error(`${id} is at least ${least} m away, but ${distance} m`)
    }
    const where = `${at}, reach ${reachMeters} m, clearance ${clearance} m`
    for (const [id, distance] of distances) {
      if (distance > reachMeters + clearance || ids.has(id)) continue
      throw new Error(`${id}, ${distance} m away, is no candidate of ${where}`)
    }
    const [longitude, latitude] = travel(at, Math.min(clearance, 19_000_000), azimuth)
    for (const [id, distance] of twin.distances(probe.set(latitude, longitude))) {
      if (distance > reachMeters || ids.has(id)) continue
      throw new Error(`${id}, ${distance} m from ${longitude},${latitude}, is no candidate of ${where}`)
    }
    return slots.length
  }

  t.test(
    `${name}: candidates and clearance agree with a scan, through puts, replacements and removals`,
    async () => {
      fc.assert(
        fc.property(steps, fc.double({ min: 0, max: 360, noNaN: true }), (sequence, azimuth) => {
          const index = create()
          const twin = new LinearIndex()
          for (const step of sequence) {
            if (step.do === 'look') {
              look(index, twin, step.at, step.reach, azimuth)
              continue
            }
            const id = String(step.id).padStart(24, '0')
            if (step.do === 'remove') {
              index.remove(id)
              twin.remove(id)
            } else if (step.do === 'put') {
              const geofence = fence(id, step.shape)
              index.put(geofence)
              twin.put(geofence)
            } else {
              const known = twin.geofences.get(id)
              if (known === undefined) continue
              const edited = { ...known.geofence, shape: structuredClone(known.geofence.shape) }
              index.put(edited)
              twin.put(edited)
            }
            if (index.size !== twin.geofences.size) throw new Error(`size ${index.size}`)
            const slot = index.slotOf(id)
            const expected = twin.geofences.get(id)?.geofence
            if (expected === undefined ? slot !== -1 : !isHeld(index, slot, expected)) {
              throw new Error(`slot ${slot} is not that of ${id}`)
            }
          }
          // All places at the end; the geofences themselves are the most likely to be missed.
          for (const { geofence } of twin.geofences.values()) {
            const at = geofence.shape.kind === 'circle' ? geofence.shape.center : geofence.shape.ring[0]!
            look(index, twin, [normal(at[0]), at[1]], 30, azimuth)
          }
        }),
        { numRuns: RUNS },
      )
    },
  )

  t.test(`${name}: in a crowd no geofence is missed just beyond the clearance`, async () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...hubs),
        fc.double({ min: 2.5, max: 5.5, noNaN: true }),
        fc.integer(),
        (hub, power, seed) => {
          // As many sizes of geofences as of the crowd, so that each level of any index is used.
          const random = generator(seed)
          const meters = 10 ** power
          const index = create()
          const twin = new LinearIndex()
          const somewhere = () => travel(hub, meters * Math.sqrt(random()), 360 * random())
          const largest = Math.min(10_000, meters / 10)
          for (let i = 0; i < 200; i++) {
            const radius = Math.max(10, largest * random() ** 3)
            const geofence = fence(String(i), { kind: 'circle', center: somewhere(), radius })
            index.put(geofence)
            twin.put(geofence)
          }
          for (let i = 0; i < 15; i++) {
            const reachMeters = random() < 0.7 ? 100 * random() : meters * random() ** 3
            look(index, twin, i === 0 ? hub : somewhere(), reachMeters, 360 * random())
          }
        },
      ),
      {
        numRuns: RUNS,
        // Exactly on the antimeridian, which belongs to the first column and to the last.
        examples: [[[180, 62], 3.6768554838641627, 9]],
      },
    )
  })

  t.test(`${name}: nearest gives the order of a scan`, async (t) => {
    fc.assert(
      fc.property(
        fc.array(shape, { maxLength: 40, size: 'max' }),
        fc.array(
          fc.record({
            at: place,
            limit: fc.integer({ min: 1, max: 45 }),
            radius: fc.option(fc.oneof(fc.nat(50_000), fc.nat(20_000_000)), { nil: undefined }),
            every: fc.integer({ min: 1, max: 8 }),
          }),
          { minLength: 1, maxLength: 5 },
        ),
        (shapes, questions) => {
          const index = create()
          const twin = new LinearIndex()
          shapes.forEach((each, i) => {
            index.put(fence(String(i).padStart(24, '0'), each))
            twin.put(fence(String(i).padStart(24, '0'), each))
          })
          for (const { at, limit, radius, every } of questions) {
            const probe = new Probe().set(at[1], at[0])
            const accept = (geofence: GeofenceProperties) => Number(geofence.id) % every === 0
            const found = index
              .nearest(probe, limit, radius, accept)
              .found.map(({ geofence, distance }) => ({ id: geofence.id, distance }))
            const expected = twin.nearest(probe, limit, radius, accept)
            if (JSON.stringify(found) !== JSON.stringify(expected)) {
              throw new Error(`found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`)
            }
            const ended = index.nearest(probe, limit, radius, accept, 20)
            const early = ended.found.map(({ geofence }) => geofence.id)
            const within = expected.filter(({ distance }) => distance <= ended.radiusMeters)
            if (
              early.length < within.length ||
              JSON.stringify(early) !== JSON.stringify(expected.slice(0, early.length).map(({ id }) => id))
            )
              throw new Error(
                `ended early it found ${early.join()}, expected the first of ${JSON.stringify(expected)}`,
              )
          }
        },
      ),
      { numRuns: RUNS },
    )
    t.same(
      create().nearest(new Probe().set(1, 2), 10, undefined, () => true).found,
      [],
      'an empty index has none',
    )
  })

  t.test(`${name}: thousands of geofences, narrow and wide queries`, async (t) => {
    const random = generator(20_26)
    const index = create()
    const twin = new LinearIndex()
    const positions: Position[] = []
    for (let i = 0; i < 5000; i++) {
      const center = travel(hubs[i % 3]!, 60_000 * Math.sqrt(random()), 360 * random())
      positions.push(center)
      const geofence = fence(String(i).padStart(24, '0'), {
        kind: 'circle',
        center,
        radius: 20 + 300 * random(),
      })
      index.put(geofence)
      twin.put(geofence)
    }
    let narrow = 0
    for (let i = 0; i < 150; i++) {
      const at = travel(positions[Math.floor(random() * 5000)]!, 2000 * random(), 360 * random())
      const azimuth = 360 * random()
      narrow += look(index, twin, at, 50, azimuth)
      look(index, twin, at, 3000 * random(), azimuth)
      look(index, twin, at, 50_000 * random(), azimuth)
      const probe = new Probe().set(at[1], at[0])
      const found = index.nearest(probe, 7, undefined, () => true).found.map(({ geofence }) => geofence.id)
      t.same(
        found,
        twin.nearest(probe, 7, undefined, () => true).map(({ id }) => id),
      )
      // The geofences change between queries, so that what was built for the wide ones is outdated.
      const id = String(i * 7).padStart(24, '0')
      if (i % 2 === 0) {
        index.remove(id)
        twin.remove(id)
      } else {
        const moved = fence(id, { kind: 'circle', center: at, radius: 40 })
        index.put(moved)
        twin.put(moved)
      }
    }
    t.ok(narrow / 150 < 1, `a narrow look sees ${narrow / 150} of 5,000 geofences`)
    t.equal(index.size, twin.geofences.size)
  })

  t.test(`${name}: a crowd seen from afar, from its edge and from within`, async (t) => {
    const random = generator(20_27)
    const index = create()
    const twin = new LinearIndex()
    for (let i = 0; i < 4000; i++) {
      const center = travel(hubs[i % 2 === 0 ? 1 : 2]!, 15_000 * Math.sqrt(random()), 360 * random())
      const geofence = fence(String(i).padStart(24, '0'), {
        kind: 'circle',
        center,
        radius: 20 + 300 * random(),
      })
      index.put(geofence)
      twin.put(geofence)
    }
    let most = 0
    for (const away of [0, 3000, 14_000, 16_000, 20_000, 44_000, 90_000, 2_000_000]) {
      for (const hub of [hubs[1]!, hubs[2]!]) {
        const at = travel(hub, away, 360 * random())
        const probe = new Probe().set(at[1], at[0])
        for (const [limit, radius] of [
          [10, undefined],
          [10, 100_000],
          [1000, 50_000],
        ] as const) {
          const found = index
            .nearest(probe, limit, radius, () => true)
            .found.map(({ geofence }) => geofence.id)
          t.same(
            found,
            twin.nearest(probe, limit, radius, () => true).map(({ id }) => id),
            `${limit} from ${away} m away`,
          )
        }
        let asked = 0
        const none = index.nearest(probe, 10, 100_000, () => ++asked < 0, 500)
        t.same(none.found, [])
        most = Math.max(most, asked)
      }
    }
    t.ok(most < 4000, `at most ${most} of 4,000 are looked at where none is taken`)
  })

  t.test(
    `${name}: bounds contain the points of a shape, and a box finds what it meets, each once`,
    async () => {
      fc.assert(
        fc.property(fc.array(shape, { minLength: 1, maxLength: 20 }), place, reach, (shapes, at, metres) => {
          const index = create()
          for (const [i, one] of shapes.entries()) index.put(fence(String(i), one))
          const half = metres / 100_000
          const box = { west: at[0] - half, south: at[1] - half, east: at[0] + half, north: at[1] + half }
          const found: number[] = []
          index.meeting(box, found)
          if (new Set(found).size !== found.length) throw new Error(`one is found twice: ${found}`)
          const bounds = { west: 0, south: 0, east: 0, north: 0 }
          for (const [i, one] of shapes.entries()) {
            const slot = index.slotOf(String(i))
            index.bounds(slot, bounds)
            const points = pointsOf(one)
            for (const point of points)
              if (!isWithin(point, bounds)) throw new Error(`${point} of ${JSON.stringify(one)} is outside`)
            if (points.some((point) => isWithin(point, box)) && !found.includes(slot))
              throw new Error(`${JSON.stringify(one)} is not found in ${JSON.stringify(box)}`)
          }
        }),
        { numRuns: RUNS },
      )
    },
  )

  t.test(`${name}: the corners of a polygon are those of its ring, and a circle has none`, async (t) => {
    fc.assert(
      fc.property(fc.oneof(circle, rectangle), (one) => {
        const index = create()
        const slot = index.put(fence('a', one))
        const read: number[] = [7]
        const corners = index.readCorners(slot, read)
        const ring = one.kind === 'circle' ? [] : one.ring.slice(0, -1)
        if (corners !== ring.length) throw new Error(`${corners} corners`)
        // In another turn of the world, the last bits may differ.
        const textOf = (longitude: number, latitude: number) =>
          `${normal(Number(longitude.toFixed(9))).toFixed(9)} ${latitude}`
        const texts = Array.from({ length: corners }, (_, i) => textOf(read[2 * i]!, read[2 * i + 1]!))
        t.strictSame(texts.toSorted(), ring.map(([x, y]) => textOf(x, y)).toSorted())
      }),
      { numRuns: RUNS },
    )
  })

  t.test(`${name}: ten thousand geofences on one point`, async (t) => {
    const index = create()
    const at: Position = [-73.9857, 40.7484]
    for (let i = 0; i < 10_000; i++) {
      index.put(fence(String(i), { kind: 'circle', center: at, radius: 10 + (i % 500) }))
    }
    const probe = new Probe().set(at[1], at[0])
    const slots: number[] = []
    index.candidates(probe, 0, slots)
    t.equal(new Set(slots).size, 10_000)
    t.equal(slots.length, 10_000)
    t.same(
      index.nearest(probe, 3, 100, () => true).found.map(({ geofence }) => geofence.id),
      ['0', '1', '10'],
      'ties are by id',
    )
    const line = fence('1', {
      kind: 'polygon',
      ring: [
        [0, 0],
        [1, 0],
        [0, 0],
        [0, 0],
      ],
    })
    t.throws(() => index.put(line), RangeError, 'a ring that is none is refused')
    t.equal(index.geofence(index.slotOf('1')).type, 'circle', 'and what was there stays')
    for (let i = 0; i < 10_000; i++) index.remove(String(i))
    index.remove('unknown')
    slots.length = 0
    t.equal(index.candidates(probe, 100, slots), Infinity, 'nothing can come near when there is nothing')
    t.same(slots, [])
    t.equal(index.size, 0)
  })

  t.test(`${name}: a slot gives distance and coverage of its geofence`, async (t) => {
    const index = create()
    index.put(fence('a', { kind: 'circle', center: [10, 50], radius: 500 }))
    index.put(fence('b', { kind: 'circle', center: [10, 50.1], radius: 100 }))
    const probe = new Probe().set(50, 10)
    t.equal(Math.round(index.distance(index.slotOf('a'), probe)), -500)
    t.equal(index.coverage(index.slotOf('a'), probe, 100), 1)
    t.equal(index.coverage(index.slotOf('b'), probe, 100), 0)
    t.equal(index.slotOf('c'), -1)
  })
}

/** Points of a shape: corners of a polygon, or the outline of a circle. */
function pointsOf(one: Shape): Position[] {
  if (one.kind === 'polygon') return [...one.ring]
  return Array.from({ length: 12 }, (_, i) => travel(one.center, one.radius, 30 * i))
}

/** Whether a point is in a box of any turn of the world. */
function isWithin([longitude, latitude]: Position, box: Box): boolean {
  if (latitude < box.south || latitude > box.north) return false
  return [-360, 0, 360].some((turn) => longitude + turn >= box.west && longitude + turn <= box.east)
}

/** Mulberry32: uniform numbers in [0, 1) from a seed. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
