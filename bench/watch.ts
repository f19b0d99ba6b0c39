/**
 * What a watch of 20,000 devices costs that move once a second: the server and the client, with a message for each
 * position and with batches. Windows with no watch, single messages and batches take turns, and medians count; what
 * the updates themselves cost is that without a watch, and subtracted.
 */
import { parseArgs } from 'node:util'
import { cityPosition } from '../src/simulation/streets.ts'
import { median, rounded, thousands } from './figures.ts'
import { benchFolder } from './folder.ts'
import { startLineChild, type LineChild } from './load/lineChild.ts'
import { BENCH_KEYS, seedGeofences, startRingfence, type ServerProcess } from './load/servers.ts'
import type { StreamSession } from './load/streamLoad.ts'
import { startStreamGenerator } from './load/streamLoad.ts'
import type { WatchCommand, WatchFigures } from './load/watchChild.ts'
import { drawGeofences, regionOf, writeWorkload } from './load/workload.ts'
import { done, progress } from './progress.ts'

/** Server CPU of a watch in batches, as a share of that with single messages, at most. */
const STATED_SHARE = 0.25
/** Limit of the client's CPU with batches, in seconds per second. */
const STATED_CLIENT = 0.4
const TOLERANCE = 0.1
/** How far the area reaches beyond the city on each side. */
const MARGIN_METERS = 10_000
const KINDS = ['none', 'single', 'batched'] as const

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** Duration of one window. */
    seconds: { type: 'string' },
    /** Devices, each of which moves once a second. */
    devices: { type: 'string' },
  },
})
const size = options.smoke
  ? { geofences: 200, devices: 500, windows: 1, seconds: 2 }
  : { geofences: 1_000, devices: 20_000, windows: 5, seconds: 8 }
const seed = Number(options.seed)
const seconds = Number(options.seconds ?? size.seconds)
const devices = Number(options.devices ?? size.devices)

interface Window {
  /** The server's CPU seconds per second. */
  readonly server: number
  readonly client: number
  readonly positions: number
  /** The updates per second that were acknowledged. */
  readonly updates: number
}

async function main(): Promise<number> {
  const folder = benchFolder('watch')
  seedGeofences(folder, drawGeofences(size.geofences, seed), (stored) => progress(`geofences: ${stored}`))
  const workload = writeWorkload({
    geofences: size.geofences,
    devices,
    seed,
    folder,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  const server = await startRingfence(folder)
  const generator = await startStreamGenerator(workload.trackBodies, devices * 2)
  const session = await generator.open({
    port: server.port,
    key: BENCH_KEYS.testPublishable,
    encoding: 'json',
    connections: 16,
    updatesPerFrame: 32,
    updatesPerRound: devices,
    events: false,
  })
  const client = await startLineChild<WatchCommand>('watchChild.ts', [
    '--url',
    `http://127.0.0.1:${server.port}`,
    '--key',
    BENCH_KEYS.testSecret,
  ])
  await session.run({ rate: 0, count: devices * 2, maxLagMs: 10_000 })
  const windows: Record<(typeof KINDS)[number], Window[]> = { none: [], single: [], batched: [] }
  for (let i = 1; i <= size.windows; i++) {
    for (const kind of KINDS) {
      progress(`window ${i} of ${size.windows}: ${kind}`)
      windows[kind].push(await measure(kind, { server, session, client }))
    }
  }
  await session.close()
  generator.stop()
  client.stop()
  await server.stop()
  done(`${thousands(devices)} devices, ${size.windows} windows`)
  return report(windows)
}

async function measure(
  kind: (typeof KINDS)[number],
  {
    server,
    session,
    client,
  }: { server: ServerProcess; session: StreamSession; client: LineChild<WatchCommand> },
): Promise<Window> {
  const send = (during: number) => session.run({ rate: devices, count: devices * during, maxLagMs: 10_000 })
  if (kind !== 'none') await client.ask({ do: 'watch', area: city(), isBatched: kind === 'batched' })
  // The first positions of all devices are not what is measured.
  await send(2)
  await client.ask({ do: 'look' })
  const before = server.cpuSeconds()
  const result = await send(seconds)
  const used = server.cpuSeconds() - before
  const { positions, cpuSeconds } = await client.ask<WatchFigures>({ do: 'look' })
  if (kind !== 'none') await client.ask({ do: 'stop' })
  return {
    server: used / result.seconds,
    client: cpuSeconds / result.seconds,
    positions: positions / result.seconds,
    updates: result.ok / result.seconds,
  }
}

/** An area that contains the whole city, so that the devices stay inside. */
function city(): { type: 'box'; box: [number, number, number, number] } {
  const region = regionOf(size.geofences)
  const low = cityPosition(region, -MARGIN_METERS, -MARGIN_METERS)
  const high = cityPosition(region, region.sizeMeters + MARGIN_METERS, region.sizeMeters + MARGIN_METERS)
  return { type: 'box', box: [low.longitude, low.latitude, high.longitude, high.latitude] }
}

function report(windows: Readonly<Record<(typeof KINDS)[number], readonly Window[]>>): number {
  const of = (kind: (typeof KINDS)[number], figure: keyof Window) =>
    median(windows[kind].map((window) => window[figure]))
  const base = of('none', 'server')
  const single = of('single', 'server') - base
  const batched = of('batched', 'server') - base
  const share = batched / single
  const rows = [
    { figure: 'server, batches / single messages', stated: `≤ ${STATED_SHARE}`, measured: rounded(share, 3) },
    {
      figure: 'client with batches, CPU seconds a second',
      stated: `≤ ${STATED_CLIENT}`,
      measured: rounded(of('batched', 'client'), 3),
    },
    {
      figure: 'client with single messages, the same',
      stated: '',
      measured: rounded(of('single', 'client'), 3),
    },
    { figure: 'server: the updates alone, CPU seconds a second', stated: '', measured: rounded(base, 3) },
    { figure: 'server: single messages besides', stated: '', measured: rounded(single, 3) },
    { figure: 'server: batches besides', stated: '', measured: rounded(batched, 3) },
    { figure: 'updates a second', stated: '', measured: Math.round(of('none', 'updates')) },
    { figure: 'positions a second, single', stated: '', measured: Math.round(of('single', 'positions')) },
    { figure: 'positions a second, batches', stated: '', measured: Math.round(of('batched', 'positions')) },
  ]
  console.table(rows)
  // If the machine could not take the rate, its figures say nothing about the stated ones.
  const partial = KINDS.some((kind) => of(kind, 'updates') < devices * (1 - TOLERANCE))
  if (partial)
    console.error(`fewer than ${thousands(devices)} updates a second were taken: nothing is stored`)
  const facts = {
    partial,
    devices,
    windows: size.windows,
    windowSeconds: seconds,
    seed,
    smoke: options.smoke,
  }
  console.log(JSON.stringify({ bench: 'watch', rows, ...facts, raw: windows }))
  const isMissed =
    share > STATED_SHARE * (1 + TOLERANCE) || of('batched', 'client') > STATED_CLIENT * (1 + TOLERANCE)
  return options.strict && isMissed ? 1 : 0
}

process.exitCode = await main()
