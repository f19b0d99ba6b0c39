/**
 * What an update amid very many geofences costs the main thread: milliseconds of its CPU where all of them are measured
 * there (`inlineMs`), and where a thread of the pool measures them (`pooledMs`; docs/adr/0032-geometry-in-a-pool.md).
 * `answeredMs`: from the look to the facts by way of the pool, by the clock. Medians.
 *
 * The geofences are stars over each other, a kilometre wide, of 8 to 1,999 corners, or circles. Where
 * the program itself finds that little, `asked` is false and the pool is not measured.
 *
 * Not measured: the step and the texts of events, which stay in the main thread (some 1.5 µs an event); other updates beside
 * it; more than one such update at a time.
 *
 * `node bench/micro/measuring.ts [--smoke] [--seed N]`
 */
import { parseArgs } from 'node:util'
import { GeofenceFinder } from '../../src/rules/geofenceFinder.ts'
import { measureElsewhere, Unmeasured } from '../../src/rules/measured.ts'
import { NO_STATE } from '../../src/rules/deviceState.ts'
import { BeaconStore } from '../../src/registry/beacons/beaconStore.ts'
import { circumstancesOf } from '../../src/rules/circumstances.ts'
import type { Geofence, Position, Shape } from '../../src/model/geofence.ts'
import { DEFAULT_SETTINGS } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { createGeofenceIndex } from '../../src/spatial/cellIndex.ts'
import { MeasuringPool } from '../../src/spatial/measuringPool.ts'
import type { GeofenceIndex } from '../../src/spatial/port.ts'
import { median, rounded } from '../figures.ts'
import * as progress from '../progress.ts'

const { values: options } = parseArgs({
  options: { smoke: { type: 'boolean', default: false }, seed: { type: 'string', default: '1' } },
})
const COUNTS = options.smoke ? [300] : [300, 1_000, 10_000]
const CORNERS = [0, 8, 100, 500, 1_999]
const ACCURACIES = [20, 500, 5_000]
const ROUNDS = options.smoke ? 2 : 15
const CENTER = { latitude: 52.5, longitude: 13.4 }
const START = Date.UTC(2026, 0, 1)

const VIEW = {
  settings: DEFAULT_SETTINGS,
  revision: 1,
  beacons: new BeaconStore(),
  geofence: () => undefined,
}

interface Figures {
  readonly inlineMs: number
  readonly asked: boolean
  readonly pooledMs?: number
  readonly answeredMs?: number
}

async function main(): Promise<void> {
  const pool = new MeasuringPool(createLogger('warn'))
  const results: Record<string, Figures> = {}
  for (const corners of CORNERS) {
    for (const count of COUNTS) {
      const index = createGeofenceIndex()
      const random = generator(Number(options.seed))
      for (let i = 0; i < count; i++) index.put(geofence(i, corners, random))
      for (const accuracy of ACCURACIES) {
        const name = `${count} of ${corners} corners, ${accuracy} m`
        const figures = await measure(pool, index, accuracy, random)
        results[name] = figures
        const { inlineMs, pooledMs, answeredMs } = figures
        const other = figures.asked
          ? `with the pool ${pooledMs}, answered after ${answeredMs} ms`
          : 'the pool is not asked'
        progress.done(`${name.padEnd(34)} inline ${inlineMs} ms; ${other}`)
      }
    }
  }
  await pool.close()
  console.log(JSON.stringify({ bench: 'measuring', seed: Number(options.seed), rounds: ROUNDS, ...results }))
}

async function measure(
  pool: MeasuringPool,
  index: GeofenceIndex,
  accuracy: number,
  random: () => number,
): Promise<Figures> {
  const finder = new GeofenceFinder()
  const now = circumstancesOf({ ...UPDATE, accuracy }, START, DEFAULT_SETTINGS)
  const inline: number[] = []
  const pooled: number[] = []
  const answered: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const latitude = CENTER.latitude + 0.002 * random()
    const longitude = CENTER.longitude + 0.002 * random()
    const begin = cpuMs()
    const update = { ...UPDATE, latitude, longitude, accuracy }
    const situation = { update, view: { ...VIEW, index }, now }
    const facts = finder.find(NO_STATE, situation)
    inline.push(cpuMs() - begin)
    if (!('candidates' in facts) || facts.candidates.length === 0) throw new Error('the update is amid none')

    const asked = performance.now()
    const before = cpuMs()
    const unmeasured = finder.find(NO_STATE, { ...situation, measuring: 'elsewhere' })
    if (!(unmeasured instanceof Unmeasured)) continue
    finder.find(NO_STATE, { ...situation, measuring: await measureElsewhere(pool, unmeasured) })
    pooled.push(cpuMs() - before)
    answered.push(performance.now() - asked)
  }
  const inlineMs = rounded(median(inline), 2)
  if (answered.length === 0) return { inlineMs, asked: false }
  return {
    inlineMs,
    asked: true,
    pooledMs: rounded(median(pooled), 2),
    answeredMs: rounded(median(answered), 2),
  }
}

/** Of this thread. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function geofence(i: number, corners: number, random: () => number): Geofence {
  const shape = corners === 0 ? circle(random) : star(corners, random)
  const id = i.toString(16).padStart(24, '0')
  const properties = { id, scope: 1, tag: 'zone', externalId: id, enabled: true, timeZone: 'Europe/Berlin' }
  return {
    ...properties,
    description: `Zone ${i}`,
    type: shape.kind,
    shape,
    createdAt: START,
    updatedAt: START,
  }
}

function circle(random: () => number): Shape {
  const center: Position = [CENTER.longitude + 0.004 * random(), CENTER.latitude + 0.004 * random()]
  return { kind: 'circle', center, radius: 1000 }
}

function star(corners: number, random: () => number): Shape {
  const longitude = CENTER.longitude + 0.004 * random()
  const latitude = CENTER.latitude + 0.004 * random()
  const ring = Array.from({ length: corners }, (_, i): Position => {
    const angle = (2 * Math.PI * i) / corners
    const degrees = 0.009 * (0.9 + 0.1 * random())
    return [
      decimal(longitude + 1.6 * degrees * Math.cos(angle)),
      decimal(latitude + degrees * Math.sin(angle)),
    ]
  })
  return { kind: 'polygon', ring: [...ring, ring[0]!] }
}

function decimal(degrees: number): number {
  return Math.round(degrees * 1e7) / 1e7
}

const UPDATE: Update = {
  scope: 1,
  deviceId: 'device',
  ...CENTER,
  foreground: true,
  stopped: false,
  replayed: false,
  receivedAt: START,
  ip: '203.0.113.7',
}

/** Mulberry32: 0 to 1. */
function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

await main()
