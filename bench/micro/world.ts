/**
 * What places, regions, segments and fraud add to an update in the engine itself: from the update object to the row in the
 * commit, without HTTP, streams, JSON and disk. Devices drive through Montevideo as in `live`; engines with other settings take
 * the same updates in turns, so their quotients show which of them costs how much.
 *
 * Not measured: the text of users and events.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { FrameWriter } from '../../src/actor/commitCodec.ts'
import { Partition } from '../../src/actor/partition.ts'
import { storeSalt } from '../../src/events/ids.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { NO_ATLAS, type Atlas } from '../../src/rules/atlas.ts'
import type { ScopeView } from '../../src/rules/port.ts'
import { Unready } from '../../src/rules/unready.ts'
import { Driver, seededRandom } from '../../src/simulation/streets.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { makeWorld } from '../../test/kit/world.ts'
import { median, rounded } from '../figures.ts'
import { benchFolder } from '../folder.ts'
import { EVERYTHING } from '../live/everything.ts'
import { atlasOf } from '../live/atlasSpeed.ts'
import { montevideo } from '../live/cities.ts'
import { BENCH_KEYS, seedGeofences } from '../load/servers.ts'
import { drawGeofences } from '../load/workload.ts'
import { updateOf } from './driven.ts'

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** Only these engines. */
    only: { type: 'string', multiple: true },
    passes: { type: 'string' },
  },
})
const GEOFENCES = options.smoke ? 200 : 1_000
const DEVICES = options.smoke ? 500 : 20_000
/** Walks through the rounds, forwards and back. */
const PASSES = Number(options.passes ?? (options.smoke ? 2 : 6))
const ROUNDS = 6
const START = Date.UTC(2026, 0, 1)
const STEP_SECONDS = 2
const FRAME = 32

const ENGINES: Readonly<Record<string, Partial<Settings>>> = {
  alone: {},
  regions: { regions: true },
  places: { places: true },
  chains: { nearbyPlaceChains: EVERYTHING.nearbyPlaceChains },
  fraud: { fraud: { ...DEFAULT_SETTINGS.fraud, ...EVERYTHING.fraud } },
  segments: {
    segments: EVERYTHING.segments.map((one, i) => ({ ...one, number: i + 1 })) as Settings['segments'],
  },
}
const ALL: Readonly<Record<string, Partial<Settings>>> = {
  ...ENGINES,
  on: Object.assign({}, ...Object.values(ENGINES)) as Partial<Settings>,
}

interface Engine {
  readonly partition: Partition
  readonly view: ScopeView
  readonly cpu: number[]
  updates: number
  hits: number
  events: number
  bytes: number
}

const writer = new FrameWriter()

function engine(shared: ScopeView, atlas: Atlas, settings: Partial<Settings>): Engine {
  const { index, beacons, trips, zones } = shared
  const view: ScopeView = {
    settings: { ...DEFAULT_SETTINGS, ...settings },
    revision: 1,
    atlas,
    zones,
    beacons,
    index,
    trips,
    geofence: (id) => shared.geofence(id),
    geofenceNamed: () => undefined,
  }
  const partition = new Partition(0, storeSalt('0123456789abcdef'))
  return { partition, view, cpu: [], updates: 0, hits: 0, events: 0, bytes: 0 }
}

async function main(): Promise<void> {
  await makeWorld()
  const here = await montevideo()
  const [west, south, east, north] = [-180, -90, 180, 90]
  const atlas = atlasOf([{ file: here.places, bounds: [west, south, east, north] }])
  const folder = benchFolder('world')
  seedGeofences(folder, drawGeofences(GEOFENCES, Number(options.seed), 1, here.city), () => {})
  const registry = openRegistry({
    folder: join(folder, 'data'),
    clock: systemClock,
    createIndex: createGeofenceIndex,
  })
  const { scope } = registry.keys.authenticate(BENCH_KEYS.testSecret)!
  const names = Object.keys(ALL).filter((name) => options.only === undefined || options.only.includes(name))
  const engines = names.map((name) =>
    engine(registry.scope(scope), name === 'alone' ? NO_ATLAS : atlas, ALL[name]!),
  )
  const random = seededRandom(Number(options.seed) + 1)
  const drivers = Array.from({ length: DEVICES }, () => new Driver(here.city, random))
  const rounds: Update[][] = []
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push(drivers.map((driver, device) => updateOf(driver, device, START)))
    for (const driver of drivers) driver.advance(STEP_SECONDS)
  }
  let time = START
  for (let pass = 0; pass < PASSES + 2; pass++) {
    const walk = pass % 2 === 0 ? rounds : rounds.toReversed()
    for (const round of walk) {
      time += STEP_SECONDS * 1000
      for (const one of engines)
        await take(
          one,
          round.map((update) => ({ ...update, receivedAt: time })),
          time,
          pass >= 2,
        )
    }
  }
  registry.close()
  const [alone] = engines
  const rows = engines.map(({ cpu, updates, hits, events, bytes }, i) => ({
    engine: names[i],
    nsPerUpdate: Math.round(median(cpu)),
    /** Times the first engine. */
    ratio: rounded(median(cpu.map((value, round) => value / alone!.cpu[round]!)), 3),
    zoneHitShare: rounded(hits / updates, 3),
    eventsPerUpdate: rounded(events / updates, 4),
    logBytes: rounded(bytes / updates, 1),
  }))
  console.table(rows)
  const partial = options.only !== undefined
  console.log(JSON.stringify({ bench: 'world', partial, devices: DEVICES, geofences: GEOFENCES, rows }))
}

async function take(
  one: Engine,
  updates: readonly Update[],
  time: number,
  isCounted: boolean,
): Promise<void> {
  const { partition, view } = one
  const { zoneHits } = partition
  let events = 0
  let bytes = 0
  const before = process.cpuUsage()
  for (let i = 0; i < updates.length; i += FRAME) {
    writer.begin(time)
    const empty = writer.bytes
    partition.begin(writer, time, 1)
    for (const update of updates.slice(i, i + FRAME)) {
      let result = partition.apply(update, view, writer, false, false)
      while (result instanceof Unready) {
        await (result as unknown as { fetch(): Promise<void> }).fetch()
        result = partition.apply(update, view, writer, false, false)
      }
      if (typeof result === 'object' && 'events' in result) events += result.events.length
    }
    partition.end(writer, [])
    bytes += writer.bytes - empty
  }
  const { user, system } = process.cpuUsage(before)
  if (!isCounted) return
  one.cpu.push(((user + system) * 1000) / updates.length)
  one.updates += updates.length
  one.hits += partition.zoneHits - zoneHits
  one.events += events
  one.bytes += bytes
}

await main()
