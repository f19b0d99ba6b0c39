/**
 * What an exact answer costs: nanoseconds per signed distance and per coverage, for circles and for polygons of 10,
 * 100 and 2,000 positions, compared with naive versions that check every edge in one plane at the probe. Also:
 * microseconds to prepare a shape and to check a ring.
 *
 * Shapes are jagged stars of 200 m to 2 km; probes lie within 1.5 radii, accuracies are 5 to 100 m. `far` is a
 * distance from anywhere on Earth, which uses the spherical search.
 *
 * Not measured: caches that other work has used (256 shapes of a kind take turns), setting the probe.
 *
 * `node bench/micro/geometry.ts [--smoke] [--seed N] [--strict]`. The stated figure: a distance to a polygon of 2,000
 * positions takes at most a tenth of the naive version's time.
 */
import { parseArgs } from 'node:util'
import { Probe } from '../../src/geometry/probe.ts'
import { checkRing } from '../../src/geometry/ring.ts'
import { ShapeArena } from '../../src/geometry/shapeArena.ts'
import type { Position, Shape } from '../../src/model/geofence.ts'
import { median } from '../figures.ts'

const { values: options } = parseArgs({
  options: {
    strict: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
  },
})
const ROUNDS = options.smoke ? 1 : 7
const SHAPES = 256
const STATED = 10
const KINDS: readonly (readonly [name: string, positions: number, looks: number])[] = [
  ['circle', 0, 400_000],
  ['polygon10', 10, 200_000],
  ['polygon100', 100, 100_000],
  ['polygon2000', 2000, 30_000],
]

let sink = 0

/** Shapes of one kind with a probe and an accuracy for each. */
interface Case {
  readonly shapes: readonly Shape[]
  readonly arena: ShapeArena
  readonly refs: readonly number[]
  readonly probes: readonly Probe[]
  readonly far: readonly Probe[]
  readonly accuracies: Float64Array
}

function prepared(positions: number, random: () => number): Case {
  const shapes: Shape[] = []
  const probes: Probe[] = []
  const far: Probe[] = []
  const accuracies = new Float64Array(SHAPES)
  for (let i = 0; i < SHAPES; i++) {
    const longitude = -180 + 360 * random()
    const latitude = -60 + 120 * random()
    const radius = 200 * 10 ** random()
    const perDegree = 111_200 * Math.cos((latitude * Math.PI) / 180)
    const away = 1.5 * radius * Math.sqrt(random())
    const angle = 2 * Math.PI * random()
    const lon = longitude + (away * Math.cos(angle)) / perDegree
    const lat = latitude + (away * Math.sin(angle)) / 111_200
    probes.push(new Probe().set(lat, Math.max(-180, Math.min(180, lon))))
    far.push(new Probe().set(-80 + 160 * random(), -180 + 360 * random()))
    accuracies[i] = 5 + 95 * random()
    if (positions === 0) {
      shapes.push({ kind: 'circle', center: [longitude, latitude], radius })
      continue
    }
    const ring: Position[] = Array.from({ length: positions - 1 }, (_, k) => {
      const turn = (2 * Math.PI * k) / (positions - 1)
      const reach = radius * (0.8 + 0.15 * Math.sin(3 * turn) + 0.05 * random())
      return [longitude + (reach * Math.cos(turn)) / perDegree, latitude + (reach * Math.sin(turn)) / 111_200]
    })
    shapes.push({ kind: 'polygon', ring: [...ring, ring[0]!] })
  }
  const arena = new ShapeArena()
  const refs = shapes.map((shape) => arena.add(shape))
  return { shapes, arena, refs, probes, far, accuracies }
}

/**
 * Every edge, in one plane at the probe, as one would write it first. Correct to some parts in a thousand for small
 * geofences.
 */
function naiveDistance(shape: Shape, probe: Probe): number {
  const kx = 111_320 * probe.cosLatitude
  const ky = 111_132
  if (shape.kind === 'circle') {
    const x = (shape.center[0] - probe.longitude) * kx
    const y = (shape.center[1] - probe.latitude) * ky
    return Math.hypot(x, y) - shape.radius
  }
  const { ring } = shape
  let best2 = Infinity
  let inside = false
  for (let i = 1; i < ring.length; i++) {
    const ax = (ring[i - 1]![0] - probe.longitude) * kx
    const ay = (ring[i - 1]![1] - probe.latitude) * ky
    const bx = (ring[i]![0] - probe.longitude) * kx - ax
    const by = (ring[i]![1] - probe.latitude) * ky - ay
    const t = Math.max(0, Math.min(1, -(ax * bx + ay * by) / (bx * bx + by * by)))
    best2 = Math.min(best2, (ax + t * bx) ** 2 + (ay + t * by) ** 2)
    if (ay > 0 !== ay + by > 0 && ax - (ay * bx) / by > 0) inside = !inside
  }
  return inside ? -Math.sqrt(best2) : Math.sqrt(best2)
}

/** Every edge: the triangle with the probe and the sectors on both sides of it. */
function naiveCoverage(shape: Shape & { kind: 'polygon' }, probe: Probe, radius: number): number {
  const kx = 111_320 * probe.cosLatitude
  const ky = 111_132
  const { ring } = shape
  const r2 = radius * radius
  const angle = (ax: number, ay: number, bx: number, by: number) =>
    Math.atan2(ax * by - ay * bx, ax * bx + ay * by)
  let twice = 0
  for (let i = 1; i < ring.length; i++) {
    const ax = (ring[i - 1]![0] - probe.longitude) * kx
    const ay = (ring[i - 1]![1] - probe.latitude) * ky
    const bx = (ring[i]![0] - probe.longitude) * kx
    const by = (ring[i]![1] - probe.latitude) * ky
    const dx = bx - ax
    const dy = by - ay
    const a = dx * dx + dy * dy
    const b = ax * dx + ay * dy
    const root2 = b * b - a * (ax * ax + ay * ay - r2)
    const from = root2 > 0 ? Math.max(0, (-b - Math.sqrt(root2)) / a) : 1
    const to = root2 > 0 ? Math.min(1, (-b + Math.sqrt(root2)) / a) : 0
    if (from >= to) {
      twice += r2 * angle(ax, ay, bx, by)
      continue
    }
    const px = ax + from * dx
    const py = ay + from * dy
    const qx = ax + to * dx
    const qy = ay + to * dy
    if (from > 0) twice += r2 * angle(ax, ay, px, py)
    twice += px * qy - py * qx
    if (to < 1) twice += r2 * angle(qx, qy, bx, by)
  }
  return Math.abs(twice) / (2 * Math.PI * r2)
}

/** Nanoseconds per query, for every shape in turn. */
function perLook(looks: number, look: (i: number) => number): number {
  const start = performance.now()
  for (let done = 0; done < looks; done++) sink += look(done % SHAPES)
  return ((performance.now() - start) / looks) * 1e6
}

/** Mulberry32: uniform numbers in [0, 1) from a seed. */
function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

function measure(positions: number, looks: number) {
  const { shapes, arena, refs, probes, far, accuracies } = prepared(
    positions,
    generator(Number(options.seed)),
  )
  const scale = options.smoke ? 0.05 : 1
  const work: Record<string, (i: number) => number> = {
    distanceNs: (i) => arena.distance(refs[i]!, probes[i]!),
    naiveDistanceNs: (i) => naiveDistance(shapes[i]!, probes[i]!),
    farDistanceNs: (i) => arena.distance(refs[i]!, far[i]!),
    coverageNs: (i) => arena.coverage(refs[i]!, probes[i]!, accuracies[i]!),
  }
  if (positions > 0) {
    work.naiveCoverageNs = (i) => {
      const shape = shapes[i]!
      return shape.kind === 'polygon' ? naiveCoverage(shape, probes[i]!, accuracies[i]!) : 0
    }
  }
  const times = new Map<string, number[]>()
  for (let round = 0; round < ROUNDS + 1; round++) {
    for (const [name, look] of Object.entries(work)) {
      const naive = name.startsWith('naive') && positions > 100 ? 0.1 : 1
      const time = perLook(Math.max(SHAPES, looks * scale * naive), look)
      // the first round only warms up
      if (round > 0) times.set(name, [...(times.get(name) ?? []), time])
    }
  }
  const result: Record<string, number> = {}
  for (const [name, values] of times) {
    result[name] = Math.round(median(values))
    result[name.replace('Ns', 'MinNs')] = Math.round(Math.min(...values))
  }
  const scratch = new ShapeArena()
  result.prepareMicros = Math.round(perLook(SHAPES, (i) => scratch.add(shapes[i]!)) / 100) / 10
  if (positions > 0) {
    const check = (i: number) => {
      const shape = shapes[i]!
      return shape.kind === 'polygon' && checkRing(shape.ring) === undefined ? 1 : 0
    }
    result.checkMicros = Math.round(perLook(SHAPES, check) / 100) / 10
  }
  return result
}

const figures: Record<string, Record<string, number>> = {}
for (const [name, positions, looks] of KINDS) {
  const result = measure(positions, looks)
  figures[name] = result
  process.stderr.write(
    `${name}: ${Object.entries(result)
      .map(([key, value]) => `${key} ${value}`)
      .join(', ')}\n`,
  )
}
const large = figures.polygon2000!
const ratio = Math.round((large.naiveDistanceNs! / large.distanceNs!) * 10) / 10
const seed = Number(options.seed)
console.log(JSON.stringify({ bench: 'geometry', seed, ratio, stated: STATED, sink: sink !== 0, ...figures }))
if (options.strict && ratio < STATED * 0.9) process.exitCode = 1
