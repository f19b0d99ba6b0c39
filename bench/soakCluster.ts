/**
 * `npm run bench -- soak-cluster [--minutes 60]`: whether a cluster stays stable, and loses nothing.
 *
 * Three NATS servers, two gateways, two hosts with partitions and one process that delivers take updates at a constant
 * rate, over streams that have the addresses of both gateways, beside the load of the fault suite
 * (test/clusterFaults), whose events are known beforehand. For the first part of the time nothing happens to them;
 * then each fault of the suite in turn, again and again. Every few seconds the memory of each process, what NATS
 * stores, its consumers, events that wait, and latencies are measured. In the end everything that was acknowledged is
 * compared with what is there.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { jetstreamManager } from '@nats-io/jetstream'
import { exitBySignal } from '../cluster/exitBySignal.ts'
import type { Member } from '../cluster/member.ts'
import {
  natsDiskFull,
  natsKilled,
  natsMajorityKilled,
  natsSurvivorKilled,
} from '../test/clusterFaults/natsServers.ts'
import {
  ownerFrozen,
  ownerKilled,
  ownersFrozenInTurn,
  ownersGone,
  ownersKilled,
  twoOwners,
} from '../test/clusterFaults/owners.ts'
import { deliveryKilled, gatewayKilled, rollingRestart } from '../test/clusterFaults/processes.ts'
import type { Scenario } from '../test/clusterFaults/scenario.ts'
import { Stage } from '../test/clusterFaults/stage.ts'
import { KEYS } from '../test/kit/server.ts'
import { rounded } from './figures.ts'
import { Fleet } from './load/clusterFleet.ts'
import { done, progress } from './progress.ts'
import { levelOf, livesOf, type Resident } from './soakMemory.ts'
import { plot } from './soakPlot.ts'

const MIB = 1024 * 1024
const WINDOW_MS = 5000
/** The share of the time without faults, and the part of it that warms up. */
const CALM_SHARE = 0.4
const WARM_UP_SHARE = 1 / 3
/** The pause between two faults. */
const PAUSE_MS = 10_000

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    /** Updates per second of the fleet. */
    rate: { type: 'string', default: '500' },
    devices: { type: 'string', default: '5000' },
    seed: { type: 'string', default: '1' },
    /** The names of the faults that are played, separated by commas; by default all of them. */
    faults: { type: 'string', default: '' },
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
  },
})
const minutes = options.smoke ? 1 : Number(options.minutes)
const rate = Number(options.rate)
const devices = Number(options.devices)
if (!(minutes > 0)) throw new Error('--minutes: a number above 0')
if (!(rate > 0)) throw new Error('--rate: a number above 0')

/** The faults of the fault suite that need no other cluster than this one. */
const ALL_FAULTS: readonly Scenario[] = [
  ownerKilled,
  gatewayKilled,
  natsKilled,
  deliveryKilled,
  ownersFrozenInTurn,
  twoOwners,
  ownersKilled,
  natsMajorityKilled,
  natsSurvivorKilled,
  ownerFrozen,
  natsDiskFull,
  ownersGone,
  rollingRestart,
]
const FAULTS = options.faults === '' ? ALL_FAULTS : options.faults.split(',').map(faultOf)

function faultOf(name: string): Scenario {
  const found = ALL_FAULTS.find((fault) => fault.name === name)
  if (found !== undefined) return found
  throw new Error(`--faults: ${name} is not one of ${ALL_FAULTS.map((fault) => fault.name).join(', ')}`)
}

/** The measurements of one window. */
interface Sample {
  readonly seconds: number
  /** By process. */
  readonly resident: ReadonlyMap<string, Omit<Resident, 'seconds'>>
  /** What the three servers store, MiB. */
  readonly storedMiB: number
  readonly consumers: number
  /** Times that an owner of a partition was recorded. */
  readonly ownersRecorded: number
  /** Events that are not published, or not in the index of a gateway, MiB. */
  readonly waitingMiB: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

interface FaultRow {
  readonly fault: string
  readonly times: number
  readonly recoveredS: number
  readonly longestAnswerS: number
  readonly refused: number
}

const samples: Sample[] = []
let calmSeconds = 0
let compared = 0
let acknowledged = 0
let faultRows: FaultRow[] = []

/** The course of the soak, as a scenario of the fault suite, which compares everything afterwards. */
const soak: Scenario = {
  name: 'soak-cluster',
  story: 'A cluster under load for a long time, and each fault in turn.',
  isDrawn: false,
  cluster: { nats: 3 },
  async play(stage) {
    const urls = stage.gateways.map(({ options: { url } }) => url)
    const fleet = new Fleet(urls, KEYS.testPublishable, devices, (sentence) => stage.fault(sentence))
    fleet.start(rate)
    const began = performance.now()
    const left = () => minutes * 60_000 - (performance.now() - began)
    const watch = new Watch(stage, fleet, began)
    await sleep(left() * CALM_SHARE)
    calmSeconds = (performance.now() - began) / 1000
    const played = new Map<string, ReturnType<typeof rowOf>[]>()
    for (let turn = 0; left() > 0; turn++) {
      const { name, story, play } = FAULTS[turn % FAULTS.length]!
      progress(`${Math.round(left() / 1000)} s left; ${name}: ${story}`)
      const before = stage.happenings.length
      // What happened until then is still compared, and the table tells it.
      await play(stage).catch((error: unknown) => stage.fault(`${name} did not end: ${String(error)}`))
      const row = rowOf(stage.happenings.slice(before))
      played.set(name, [...(played.get(name) ?? []), row])
      await sleep(Math.max(0, Math.min(left(), PAUSE_MS)))
    }
    faultRows = [...played].map(([fault, rows]) => ({
      fault,
      times: rows.length,
      recoveredS: rounded(Math.max(...rows.map(({ recoveredMs }) => recoveredMs)) / 1000, 1),
      longestAnswerS: rounded(Math.max(...rows.map(({ longestMs }) => longestMs)) / 1000, 1),
      refused: rows.reduce((sum, { refused }) => sum + refused, 0),
    }))
    await fleet.stop()
    await watch.stop()
    compared = await fleet.compare(async (deviceId) => {
      const ask = () => stage.ask(`users/${deviceId}`)
      // A kept connection may be closed at the moment when it is used.
      const { body } = await ask().catch(ask)
      return body.user?.location.coordinates
    })
    acknowledged = fleet.acknowledged
  },
}

function rowOf(happenings: Stage['happenings']) {
  const most = (value: (one: Stage['happenings'][number]) => number) => Math.max(0, ...happenings.map(value))
  return {
    recoveredMs: most(({ httpMs, streamMs }) => Math.max(httpMs, streamMs)),
    longestMs: most(({ longestAnswerMs }) => longestAnswerMs),
    refused: happenings.reduce((sum, { refused }) => sum + refused, 0),
  }
}

/** Measures all processes every few seconds. */
class Watch {
  readonly #stage: Stage
  readonly #fleet: Fleet
  readonly #began: number
  readonly #stopped = new AbortController()
  readonly #running: Promise<void>

  constructor(stage: Stage, fleet: Fleet, began: number) {
    this.#stage = stage
    this.#fleet = fleet
    this.#began = began
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    let last = performance.now()
    while (!this.#stopped.signal.aborted) {
      await sleep(WINDOW_MS)
      const now = performance.now()
      samples.push(await this.#sample((now - last) / 1000))
      last = now
    }
  }

  async #sample(windowSeconds: number): Promise<Sample> {
    const { cluster } = this.#stage
    const taken = this.#fleet.take()
    const ringfence = [...cluster.gateways, ...cluster.actors, ...cluster.deliveries]
    const waiting = await Promise.all(ringfence.map(waitingBytes))
    const stores = await Promise.all(cluster.nats.map(storeOf))
    const reached = stores.filter((store) => store !== undefined)
    return {
      seconds: (performance.now() - this.#began) / 1000,
      resident: new Map(
        cluster.members.map((member) => [
          member.options.name,
          { pid: member.pid, rssMiB: residentMiB(member) },
        ]),
      ),
      storedMiB: reached.reduce((sum, { storage }) => sum + storage, 0) / MIB,
      consumers: reached.length === 0 ? Number.NaN : Math.max(...reached.map(({ consumers }) => consumers)),
      ownersRecorded: await ownersRecorded(this.#stage).catch(() => Number.NaN),
      waitingMiB: waiting.reduce((sum, bytes) => sum + bytes, 0) / MIB,
      perSecond: taken.acknowledged / windowSeconds,
      p50Ms: taken.p50Ms,
      p99Ms: taken.p99Ms,
    }
  }
}

function residentMiB({ pid, isRunning }: Member): number {
  if (!isRunning) return Number.NaN
  try {
    return Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1024
  } catch {
    return Number.NaN
  }
}

/** What the monitoring of a NATS server says about JetStream. */
interface Store {
  readonly storage: number
  readonly consumers: number
}

/** Reads the monitoring page of a server; undefined while the server cannot be reached. */
function storeOf({ options: { readyUrl } }: Member): Promise<Store | undefined> {
  return fetch(readyUrl.replace('healthz', 'jsz'), { signal: AbortSignal.timeout(WINDOW_MS) })
    .then((answer) => answer.json() as Promise<Store>)
    .catch(() => undefined)
}

/** Bytes of events that a process has not published, or not put into its index; 0 while it cannot be reached. */
async function waitingBytes({ options: { url } }: Member): Promise<number> {
  const text = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(WINDOW_MS) })
    .then((answer) => answer.text())
    .catch(() => '')
  const read = (name: string) => Number(new RegExp(`^ringfence_${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
  return read('event_backlog_bytes') + read('event_index_pending_bytes')
}

async function ownersRecorded({ streams }: Stage): Promise<number> {
  const manager = await jetstreamManager(streams.connection, { timeout: WINDOW_MS })
  return (await manager.streams.info('KV_ringfence-partitions')).state.last_seq
}

/** The consumers when a server was last asked and could answer. */
function lastConsumers(some: readonly Sample[]): number | undefined {
  return some.findLast(({ consumers }) => Number.isFinite(consumers))?.consumers
}

function report(faults: readonly string[]): number {
  const warmUpSeconds = calmSeconds * WARM_UP_SHARE
  const names = [...samples[0]!.resident.keys()]
  const calm = samples.filter(({ seconds }) => seconds > warmUpSeconds && seconds <= calmSeconds)
  const residentOf = (name: string, some: readonly Sample[]): Resident[] =>
    some.map(({ seconds, resident }) => ({ seconds, ...resident.get(name)! }))
  const lives = new Map(names.map((name) => [name, livesOf(residentOf(name, samples))]))
  const memory = names.map((name) => ({
    process: name,
    ...levelOf(residentOf(name, calm)),
    mostMiB: Math.max(...lives.get(name)!.map(({ mostMiB }) => mostMiB)),
    lastMiB: lives.get(name)!.at(-1)!.lastMiB,
  }))
  const growing = memory.filter(({ isSteady }) => !isSteady).map(({ process }) => process)
  const owners = calm.map(({ ownersRecorded: recorded }) => recorded).filter(Number.isFinite)
  const takenOver = owners.at(-1)! - owners[0]!
  const verdict =
    `${acknowledged.toLocaleString('en-US')} updates of ${compared.toLocaleString('en-US')} devices acknowledged; ` +
    `${faults.length === 0 ? 'all there, every event once' : `${faults.length} RULES BROKEN`}; ` +
    `memory without faults ${growing.length === 0 ? 'steady' : `GROWS: ${growing.join(', ')}`}; ` +
    `${takenOver} partitions changed hands without a fault`
  done(verdict)
  for (const sentence of faults) done(sentence)
  console.table(memory)
  console.table(faultRows)
  const column = (value: (sample: Sample) => number) => samples.map(value)
  const colors = ['#1f6feb', '#d1242f', '#8250df', '#1a7f37', '#bf8700', '#0598bc', '#cf222e', '#6e7781']
  const svg = plot({
    title: `Soak of a cluster: 3 NATS servers, ${rate} updates/s of ${devices.toLocaleString('en-US')} devices, and the load of the fault suite`,
    verdict,
    seconds: column(({ seconds }) => seconds),
    warmUpSeconds,
    panels: [
      {
        title: `Resident memory, MiB (faults from ${Math.round(calmSeconds / 60)} min on)`,
        series: names.map((name, i) => ({
          name,
          values: column(({ resident }) => resident.get(name)!.rssMiB),
          color: colors[i % colors.length]!,
        })),
      },
      {
        title: 'Updates of the fleet acknowledged per second',
        series: [{ name: 'updates/s', values: column(({ perSecond }) => perSecond), color: colors[0]! }],
      },
      {
        title: 'Until an update of the fleet is acknowledged, ms',
        series: [
          { name: 'p50', values: column(({ p50Ms }) => p50Ms), color: colors[0]! },
          { name: 'p99', values: column(({ p99Ms }) => p99Ms), color: colors[1]! },
        ],
      },
      {
        title: 'Stored by the three NATS servers, MiB',
        series: [{ name: 'JetStream', values: column(({ storedMiB }) => storedMiB), color: colors[0]! }],
      },
      {
        title: 'Events that are not published or not indexed yet, MiB',
        series: [{ name: 'waiting', values: column(({ waitingMiB }) => waitingMiB), color: colors[0]! }],
      },
      {
        title: 'Consumers of a NATS server',
        series: [{ name: 'consumers', values: column(({ consumers }) => consumers), color: colors[0]! }],
      },
    ],
  })
  if (!options.smoke && options.faults === '')
    writeFileSync(join(import.meta.dirname, 'results', 'soak-cluster.svg'), svg)
  console.log(
    JSON.stringify({
      bench: 'soak-cluster',
      verdict,
      rows: faultRows,
      memory,
      lives: Object.fromEntries(lives),
      faults,
      minutes,
      ratePerSecond: rate,
      devices,
      acknowledged,
      takenOver,
      consumers: [lastConsumers(calm), lastConsumers(samples)],
      seed: Number(options.seed),
      smoke: options.smoke,
      partial: options.faults !== '',
    }),
  )
  return faults.length > 0 || (options.strict && growing.length > 0) ? 1 : 0
}

exitBySignal()
const { faults } = await Stage.play(soak, Number(options.seed), progress)
if (samples.length === 0) {
  for (const sentence of faults) done(sentence)
  process.exit(1)
}
process.exit(report(faults))
