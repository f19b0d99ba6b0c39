/**
 * The same geofences and the same moves for Ringfence and for Tile38: what an update costs each, and whether both
 * report the same visits.
 *
 * Tile38 does the job in two ways. `channels`: each geofence is a channel with DETECT enter,exit, and the server
 * reports visits. `search`: geofences are objects of one collection. At each move the client queries which ones
 * contain the device, and finds visits by comparing with what it found before; this is what one does if there are too
 * many geofences for channels.
 *
 * All geofences are polygons here, a circle one of 64 sides, because Tile38 measures circles on a sphere, which alone
 * makes a difference of 0.2 % in the visits.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { circleRing } from '../src/geometry/shape.ts'
import { serverBinary, ServerMissing, TILE38_SERVER } from '../test/kit/goServers.ts'
import { median, rounded, thousands } from './figures.ts'
import { benchFolder } from './folder.ts'
import { startLineChild, type LineChild } from './load/lineChild.ts'
import { GEOFENCES_KEY, MOVING_KEY, type Peer, type Visits } from './load/peerConnections.ts'
import type { PeerCommand, PeerLoad, PeerResult } from './load/peersGenerator.ts'
import { command, RespConnection, type Reply } from './load/resp.ts'
import { BENCH_KEYS, seedGeofences, startRingfence, startTile38, type ServerProcess } from './load/servers.ts'
import { drawGeofences, writeWorkload } from './load/workload.ts'
import { flushMs, machineCpuSeconds } from './machine.ts'
import { done, progress } from './progress.ts'

/** Ringfence / Tile38 with channels: updates per second, and the inverse for CPU per update, at least. */
const STATED_RATIO = 3
/** Share of the visits that may differ, at most. */
const STATED_DIFFERENCE = 0.001
/** How far below the ratio `--strict` lets a noisy machine measure. */
const TOLERANCE = 0.1
const SENT_ROUNDS = 3
const CONNECTIONS = 16
/** A frame or pipeline size for both, and a larger pipeline that favours Tile38 and is also used for Ringfence. */
const BATCHES = [32, 256] as const
/** What a client does that neither gathers nor pipelines. Measured last, so that it changes nothing for the others. */
const ONE_BY_ONE = 1
/** The updates of a window one by one, as a share of those of other windows: each costs several times as much. */
const ONE_BY_ONE_SHARE = 0.5
/** Windows of each size and server before the measurement. */
const WARM_UPS = 5
/** The common rate, as a share of what the slowest answers without a pause. */
const OFFERED_SHARE = 0.85
const CIRCLE_CORNERS = 64
/** The number of geofences that Tile38 receives in one pipeline. */
const GIVEN_AT_ONCE = 256
const MIB = 1024 * 1024

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** Duration of one window at the common rate. */
    seconds: { type: 'string' },
    /** Windows of each server. */
    rounds: { type: 'string' },
    /** Windows of each size and server before the measurement. */
    'warm-ups': { type: 'string' },
    /** Updates of one window without a pause. */
    updates: { type: 'string' },
    /** The common rate, updates per second. */
    rate: { type: 'string' },
  },
})
const size = options.smoke
  ? { geofences: 2_000, devices: 2_000, windows: 1, seconds: 0.5, updates: 2_000 }
  : { geofences: 100_000, devices: 100_000, windows: 5, seconds: 2, updates: 50_000 }
const windows = Number(options.rounds ?? size.windows)
const warmUps = Number(options['warm-ups'] ?? (options.smoke ? 1 : WARM_UPS))
const seconds = Number(options.seconds ?? size.seconds)
const updatesPerWindow = Number(options.updates ?? size.updates)
const seed = Number(options.seed)

interface Window extends PeerResult {
  /** CPU of the server, including the events of these updates. */
  readonly serverCpuSeconds: number
  readonly othersCpuSeconds: number
}

/** A server and its results. */
class Contender {
  readonly name: string
  readonly peer: Peer
  readonly server: ServerProcess
  readonly #generator: LineChild<PeerCommand>
  readonly #session: number
  /** The windows without a pause, by batch size. */
  readonly closed = new Map<number, Window[]>()
  readonly atRate: Window[] = []
  visits: Visits = { entered: 0, exited: 0 }

  constructor(
    name: string,
    peer: Peer,
    server: ServerProcess,
    generator: LineChild<PeerCommand>,
    session: number,
  ) {
    this.name = name
    this.peer = peer
    this.server = server
    this.#generator = generator
    this.#session = session
  }

  async open(): Promise<void> {
    const { peer, server } = this
    const target = { peer, port: server.port, key: BENCH_KEYS.testSecret, connections: CONNECTIONS }
    await this.#generator.ask({ do: 'open', session: this.#session, ...target })
  }

  async run(load: Omit<PeerLoad, 'updatesPerConnection'>, updates: number): Promise<Window> {
    const machineBefore = machineCpuSeconds()
    const before = this.server.cpuSeconds()
    const result = await this.#generator.ask<PeerResult>({
      do: 'run',
      session: this.#session,
      updatesPerConnection: Math.ceil(updates / CONNECTIONS),
      ...load,
    })
    const serverCpuSeconds = this.server.cpuSeconds() - before
    this.visits = result.visits
    const spent = machineCpuSeconds() - machineBefore
    return { ...result, serverCpuSeconds, othersCpuSeconds: spent - serverCpuSeconds - result.cpuSeconds }
  }

  get micros(): number {
    return median(this.atRate.map((window) => (window.serverCpuSeconds / window.updates) * 1e6))
  }

  perSecond(batch: number): number {
    return median(this.closed.get(batch)!.map((window) => window.updates / window.seconds))
  }
}

async function main(): Promise<number> {
  const binary = await serverBinary(TILE38_SERVER).catch((error: unknown) => {
    if (error instanceof ServerMissing) return error
    throw error
  })
  if (binary instanceof ServerMissing) {
    const why = binary.message.split('\n')[0]!
    console.log(`SKIPPED: ${why}`)
    console.log(JSON.stringify({ bench: 'peers', skipped: why, partial: true }))
    return 0
  }
  const folder = benchFolder('peers')
  const workload = writeWorkload({
    geofences: size.geofences,
    devices: size.devices,
    seed,
    folder,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  seedGeofences(folder, polygons(), (stored) => progress(`Ringfence: ${thousands(stored)} geofences`))
  const generator = await startLineChild<PeerCommand>(
    'peersGenerator.ts',
    ['--updates', workload.trackBodies, '--rounds', String(SENT_ROUNDS)].concat([
      '--devices',
      String(size.devices),
    ]),
  )
  const channels = await startTile38(folder, 'channels', binary)
  const channelSeconds = await give('channels', channels.port, channelOf)
  const search = await startTile38(folder, 'search', binary)
  const objectSeconds = await give('search', search.port, objectOf)
  const contenders = [
    new Contender('Tile38, channels', 'channels', channels, generator, 1),
    new Contender('Tile38, search', 'search', search, generator, 2),
    new Contender('Ringfence', 'ringfence', await startRingfence(folder), generator, 3),
  ]
  const rate = await measure(contenders)
  await requireAllEvents(contenders.at(-1)!)
  for (const name of ['channels', 'search']) {
    if (statSync(join(folder, name, 'appendonly.aof')).size === 0)
      throw new Error(`Tile38 (${name}) has written no append-only file`)
  }
  const version = await tile38Version(channels.port)
  const rows = rowsOf(contenders)
  generator.stop()
  for (const { server } of contenders) await server.stop()
  return report(contenders, rows, {
    ratePerSecond: rate,
    tile38: {
      version,
      channelSeconds,
      objectSeconds,
      durability: 'written before each answer, fsync once a second',
    },
    ringfence: { durability: 'written and flushed by fdatasync before each answer' },
    flushMs: rounded(flushMs(folder), 3),
  })
}

/** The geofences of the other benches, each as a polygon. */
function* polygons(): Generator<Record<string, unknown>> {
  for (const fields of drawGeofences(size.geofences, seed)) {
    const { type, radius, ...rest } = fields
    if (type !== 'circle') yield fields
    else {
      const center = fields['coordinates'] as [number, number]
      yield {
        ...rest,
        type: 'polygon',
        coordinates: circleRing(center, radius as number, CIRCLE_CORNERS + 1),
      }
    }
  }
}

function geoJson({ coordinates }: Record<string, unknown>): string {
  return JSON.stringify({ type: 'Polygon', coordinates: [coordinates] })
}

function channelOf(fields: Record<string, unknown>): string {
  const fence = ['WITHIN', MOVING_KEY, 'FENCE', 'DETECT', 'enter,exit', 'OBJECT', geoJson(fields)]
  return command('SETCHAN', String(fields['externalId']), ...fence)
}

function objectOf(fields: Record<string, unknown>): string {
  return command('SET', GEOFENCES_KEY, String(fields['externalId']), 'OBJECT', geoJson(fields))
}

/**
 * Sends the geofences to a server.
 * @returns the seconds that it took
 */
async function give(name: string, port: number, asCommand: (fields: Record<string, unknown>) => string) {
  const connection = new RespConnection(port)
  const start = performance.now()
  let given = 0
  let some: string[] = []
  for (const fields of polygons()) {
    some.push(asCommand(fields))
    if (some.length < GIVEN_AT_ONCE && given + some.length < size.geofences) continue
    await connection.send(some)
    given += some.length
    some = []
    progress(`Tile38, ${name}: ${thousands(given)} geofences`)
  }
  connection.close()
  return rounded((performance.now() - start) / 1000, 2)
}

/** @throws Error if Ringfence has made other events than its client received */
async function requireAllEvents({ server, visits }: Contender): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`)
  const made = Number(/^ringfence_events_total (\d+)$/m.exec(await answer.text())?.[1])
  if (made !== visits.entered + visits.exited)
    throw new Error(`Ringfence made ${made} events, its client got ${JSON.stringify(visits)}`)
}

async function tile38Version(port: number): Promise<string> {
  const connection = new RespConnection(port)
  const [reply] = await connection.send([command('SERVER')])
  connection.close()
  // The reply contains keys and values in turn.
  const words = reply as readonly Reply[]
  return words.includes('version') ? String(words[words.indexOf('version') + 1]) : 'unknown'
}

/**
 * All contenders take the same updates.
 * @returns the common rate
 */
async function measure(contenders: readonly Contender[]): Promise<number> {
  const [small] = BATCHES
  for (const contender of contenders) {
    progress(`${contender.name}: every device appears`)
    await contender.open()
    await contender.run({ rate: 0, batch: small }, size.devices)
    for (const batch of [...BATCHES, ONE_BY_ONE]) contender.closed.set(batch, [])
  }
  const withoutPause = (contender: Contender, batch: number) =>
    contender.run({ rate: 0, batch }, updatesPerWindow)
  await interleave(contenders, 'warms up', warmUps, async (contender) => {
    for (const batch of BATCHES) await withoutPause(contender, batch)
  })
  // The sizes take turns within a round, so whatever changes with time counts for both.
  await interleave(contenders, 'without a pause', windows, async (contender) => {
    for (const batch of BATCHES) contender.closed.get(batch)!.push(await withoutPause(contender, batch))
  })
  const slowest = Math.min(...contenders.map((contender) => contender.perSecond(small)))
  const rate = Number(options.rate ?? Math.floor(OFFERED_SHARE * slowest))
  await interleave(contenders, `${thousands(rate)}/s`, windows, async (contender) => {
    contender.atRate.push(await contender.run({ rate, batch: small }, rate * seconds))
  })
  const oneByOne = (contender: Contender) =>
    contender.run({ rate: 0, batch: ONE_BY_ONE }, updatesPerWindow * ONE_BY_ONE_SHARE)
  await interleave(contenders, 'one by one, warms up', 1, async (contender) => {
    await oneByOne(contender)
  })
  await interleave(contenders, 'one by one', windows, async (contender) => {
    contender.closed.get(ONE_BY_ONE)!.push(await oneByOne(contender))
  })
  return rate
}

async function interleave(
  contenders: readonly Contender[],
  what: string,
  rounds: number,
  take: (contender: Contender) => Promise<void>,
): Promise<void> {
  for (let round = 1; round <= rounds; round++) {
    for (const contender of contenders) {
      progress(`${contender.name}: ${what}, ${round} of ${rounds}`)
      await take(contender)
    }
  }
}

function rowsOf(contenders: readonly Contender[]) {
  return contenders.flatMap((contender) =>
    [ONE_BY_ONE, ...BATCHES].map((batch) => {
      const closed = contender.closed.get(batch)!
      const isSmall = batch === BATCHES[0]
      return {
        case: `${contender.name}, ${batch === ONE_BY_ONE ? 'one by one' : `batches of ${batch}`}`,
        updatesPerSecond: Math.round(contender.perSecond(batch)),
        closedMicros: rounded(median(closed.map((w) => (w.serverCpuSeconds / w.updates) * 1e6)), 2),
        micros: isSmall ? rounded(contender.micros, 2) : undefined,
        clientMicros: isSmall
          ? rounded(median(contender.atRate.map((w) => (w.cpuSeconds / w.updates) * 1e6)), 2)
          : undefined,
        entered: contender.visits.entered,
        exited: contender.visits.exited,
        rssMiB: Math.round(contender.server.rssBytes() / MIB),
      }
    }),
  )
}

function report(
  contenders: readonly Contender[],
  rows: readonly object[],
  circumstances: Record<string, unknown>,
): number {
  const [channels, search, own] = contenders as [Contender, Contender, Contender]
  const best = (contender: Contender) => Math.max(...BATCHES.map((batch) => contender.perSecond(batch)))
  const ratio = rounded(own.perSecond(BATCHES[0]) / best(channels), 2)
  const cpuRatio = rounded(channels.micros / own.micros, 2)
  const searchRatio = rounded(own.perSecond(BATCHES[0]) / best(search), 2)
  const searchCpuRatio = rounded(search.micros / own.micros, 2)
  const difference = (other: Contender) =>
    Math.max(
      Math.abs(other.visits.entered - own.visits.entered) / own.visits.entered,
      Math.abs(other.visits.exited - own.visits.exited) / own.visits.exited,
    )
  const differenceShare = Number(Math.max(difference(channels), difference(search)).toPrecision(2))
  const others = contenders.flatMap(({ atRate }) => atRate.map((w) => w.othersCpuSeconds / w.seconds))
  console.table(rows)
  const stated = options.smoke ? '(a smoke run)' : `(stated: ${STATED_RATIO})`
  done(`updates per second, Ringfence with batches of ${BATCHES[0]} / Tile38 with its better ones:`)
  console.log(`Ringfence / Tile38 with channels: ${ratio} × the updates, 1/${cpuRatio} of the CPU ${stated}`)
  console.log(`Ringfence / Tile38 as an index: ${searchRatio} × the updates, 1/${searchCpuRatio} of the CPU`)
  const oneByOne = rounded(own.perSecond(ONE_BY_ONE) / channels.perSecond(ONE_BY_ONE), 2)
  console.log(`Ringfence / Tile38 with channels, both one by one: ${oneByOne} × the updates`)
  console.log(`visits that differ: ${100 * differenceShare} % (stated: ${100 * STATED_DIFFERENCE} %)`)
  console.log(
    JSON.stringify({
      bench: 'peers',
      ratio,
      cpuRatio,
      statedRatio: STATED_RATIO,
      searchRatio,
      searchCpuRatio,
      oneByOneRatio: oneByOne,
      differenceShare,
      statedDifferenceShare: STATED_DIFFERENCE,
      rows,
      ...circumstances,
      othersCpu: rounded(Math.max(0, median(others)), 2),
      geofences: size.geofences,
      devices: size.devices,
      connections: CONNECTIONS,
      seed,
      windows,
      warmUps,
      /** In their order, so that one sees whether the servers were warm. */
      perSecondByWindow: contenders.map(({ name, closed }) => ({
        name,
        ...Object.fromEntries(
          [...closed].map(([batch, taken]) => [batch, taken.map((w) => Math.round(w.updates / w.seconds))]),
        ),
      })),
      updatesPerWindow,
      windowSeconds: seconds,
      smoke: options.smoke,
    }),
  )
  if (differenceShare > STATED_DIFFERENCE) return 1
  const least = STATED_RATIO * (1 - TOLERANCE)
  return options.strict && !options.smoke && (ratio < least || cpuRatio < least) ? 1 : 0
}

process.exit(await main())
