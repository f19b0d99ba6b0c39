/**
 * What routing costs compared with Valhalla itself, and how it affects tracking.
 *
 * First the routing port with its child process, compared with direct calls of Valhalla's binding, in turns over the
 * same requests in the sample city, one after another. Then a server that takes updates at a constant rate: alone,
 * next to two clients that request matrices of 25 × 25 without a pause, beside the same with another server, and those
 * alone. The cost of a matrix by itself is subtracted.
 */
import { parseArgs } from 'node:util'
import { AnswerCache } from '../src/geo/routing/cache.ts'
import { CachedEngine } from '../src/geo/routing/engine.ts'
import type { RoutingAction } from '../src/geo/routing/port.ts'
import { valhallaConfig } from '../src/geo/routing/valhallaConfig.ts'
import { ValhallaProcess } from '../src/geo/routing/valhallaProcess.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { createLogger } from '../src/runtime/logger.ts'
import { seededRandom } from '../src/simulation/streets.ts'
import { sampleTiles } from '../test/kit/sampleRegion.ts'
import { median, rounded } from './figures.ts'
import { measureTracking } from './load/trackedServer.ts'
import { done, progress } from './progress.ts'

/** Time of a request through the port / that of the binding, at most. */
const STATED_OVERHEAD = 1.15
/** 99th percentile of the delay of the server's event loop during matrices, milliseconds, at most. */
const STATED_LOOP_MS = 5
/** CPU of an update during matrices, as a multiple of that alone, at most. */
const STATED_UPDATE = 1.1
/** How far beyond it `--strict` lets a noisy machine measure. */
const TOLERANCE = 0.1
const MATRIX_SIDE = 25
/** The built-up part of the sample city. */
const [WEST, SOUTH, EAST, NORTH] = [-56.22, -34.915, -56.1, -34.83]

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** Duration of one window. */
    seconds: { type: 'string' },
    /** Updates per second. */
    rate: { type: 'string', default: '2000' },
  },
})
const size = options.smoke
  ? { requests: 5, windows: 1, seconds: 1, geofences: 1000, devices: 1000, questions: 20 }
  : { requests: 200, windows: 5, seconds: 5, geofences: 100_000, devices: 20_000, questions: 500 }
const seconds = Number(options.seconds ?? size.seconds)
const rate = Number(options.rate)
const random = seededRandom(Number(options.seed))

interface Place {
  readonly lat: number
  readonly lon: number
}

function place(): Place {
  const between = (low: number, high: number) => rounded(low + (high - low) * random(), 6)
  return { lat: between(SOUTH, NORTH), lon: between(WEST, EAST) }
}

function places(count: number): Place[] {
  return Array.from({ length: count }, place)
}

// First part: the port compared with the binding.

interface Kind {
  readonly name: string
  readonly action: RoutingAction
  readonly method: 'route' | 'matrix' | 'isochrone'
  readonly draw: () => object
}

const costing = 'auto'
const KINDS: readonly Kind[] = [
  {
    name: 'route',
    action: 'route',
    method: 'route',
    draw: () => ({ locations: places(2), costing }),
  },
  {
    name: 'matrix 25 × 25',
    action: 'sources_to_targets',
    method: 'matrix',
    draw: () => ({
      sources: places(MATRIX_SIDE),
      targets: places(MATRIX_SIDE),
      costing,
      verbose: false,
    }),
  },
  {
    name: 'isochrone of 10 minutes',
    action: 'isochrone',
    method: 'isochrone',
    draw: () => ({ locations: places(1), costing, contours: [{ time: 10 }], polygons: true }),
  },
]

type Binding = Readonly<Record<Kind['method'], (request: object) => Promise<unknown>>>

async function measureOverhead() {
  const tiles = await sampleTiles()
  const { Actor } = (await import('@valhallajs/valhallajs')) as unknown as {
    Actor: new (config: string) => Binding
  }
  const binding = new Actor(valhallaConfig({ tiles, tileCacheBytes: 2 ** 28 }))
  const valhalla = new ValhallaProcess({
    tiles,
    name: 'bench',
    threads: 2,
    timeoutMs: 60_000,
    memoryBytes: 2 ** 30,
    maxWaiting: 10,
    logger: createLogger('warn'),
    ended() {},
  })
  const engine = new CachedEngine({
    valhalla,
    cache: new AnswerCache(0, systemClock),
    attribution: undefined,
    key: 'bench',
    maxAgeMs: 0,
    observer: { asked() {} },
  })
  const rows = []
  for (const { name, action, method, draw } of KINDS) {
    progress(`overhead: ${name}`)
    const direct: number[] = []
    const through: number[] = []
    for (let i = 0; i < size.requests; i++) {
      const request = draw()
      // Some places cannot be reached, and then both report that.
      const directly = () => binding[method](request).catch(() => {})
      const byPort = () => engine.ask(action, request as never).catch(() => {})
      // The first of two may warm up caches for the other, so they take turns in going first.
      if (i % 2 === 0) direct.push(await timed(directly))
      through.push(await timed(byPort))
      if (i % 2 === 1) direct.push(await timed(directly))
    }
    const [directMs, portMs] = [median(direct), median(through)]
    rows.push({
      case: name,
      directMs: rounded(directMs, 2),
      portMs: rounded(portMs, 2),
      ratio: rounded(portMs / directMs, 3),
    })
  }
  await valhalla.stop()
  return rows
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

// Second part: tracking during matrices.

function drawMatrix(): string {
  const list = () =>
    places(MATRIX_SIDE)
      .map(({ lat, lon }) => `${lat},${lon}`)
      .join('|')
  const query = new URLSearchParams({ origins: list(), destinations: list(), mode: 'car' })
  return `/v1/route/matrix?${query}`
}

const overhead = await measureOverhead()
const tracking = await measureTracking('routing', {
  ...size,
  name: 'matrices',
  draw: drawMatrix,
  seed: Number(options.seed),
  seconds,
  rate,
})
const { beside } = tracking
const table = [...overhead, ...tracking.rows]
const worstRatio = Math.max(...overhead.map(({ ratio }) => ratio))
const updateRatio = beside.times!
const misses = [
  worstRatio > STATED_OVERHEAD * (1 + TOLERANCE) && `overhead ${worstRatio}, stated ${STATED_OVERHEAD}`,
  beside.loopP99Ms > STATED_LOOP_MS * (1 + TOLERANCE) &&
    `event loop p99 ${beside.loopP99Ms} ms, stated ${STATED_LOOP_MS}`,
  updateRatio > STATED_UPDATE * (1 + TOLERANCE) && `update ${updateRatio} times, stated ${STATED_UPDATE}`,
].filter((miss) => miss !== false)
done('')
for (const row of table) console.log(JSON.stringify(row))
console.log(
  JSON.stringify({
    smoke: options.smoke,
    rate,
    worstRatio,
    updateRatio,
    matrixMicros: tracking.requestMicros,
    misses,
    rows: table,
  }),
)
process.exit(options.strict && misses.length > 0 ? 1 : 0)
