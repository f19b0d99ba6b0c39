/**
 * The drawn figures of docs/scaling.md: how evenly partitions lie on hosts and devices on partitions, what a host that
 * dies leaves to the others, and what one write in flight makes of batches and latency. Seeded; what is measured in it, by
 * `npm run bench -- journal`, are {@link FRAME_MS} and {@link BATCH_MS}.
 */
import { parseArgs } from 'node:util'
import { seededRandom } from '../../demo/streets.ts'
import { ownerAmong } from '../../src/cluster/ownership/rendezvous.ts'
import { deviceHash } from '../../src/model/deviceHash.ts'
import { median, quantile, rounded } from '../figures.ts'
import { simulateGroupCommit, type GroupCommitOutcome } from './groupCommit.ts'

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
  },
})
const random = seededRandom(Number(options.seed))
const DRAWS = options.smoke ? 5 : 200
const PARTITIONS = [64, 256, 1024] as const
const HOSTS = [2, 4, 8, 16, 32] as const
const DEVICES = options.smoke ? [10_000] : [100_000, 1_000_000]
/** Of a dense city: see `http`. */
const EVENTS_PER_UPDATE = 0.071
const RATES = [10_000, 100_000, 1_000_000] as const
const SIMULATED_SECONDS = options.smoke ? 0.5 : 5
/** In one data centre. */
const ROUND_TRIP_MS = 0.5
/** A follower's copy is taken to cost what the leader's does. */
const REPLICAS = 3
/** Of a frame, for an update: its row of the log, and its share of events as bytes (see `sizes`). */
const UPDATE_KB = (50 + EVENTS_PER_UPDATE * 687) / 1024
/** As the actor host gathers, and at most: 4 MB. */
const FRAME_GATHER_MS = 2
const FRAME_UPDATES = Math.floor(4096 / UPDATE_KB)
/** As the hosts publish events. */
const BATCH_GATHER_MS = 25
const BATCH_EVENTS = 900

/**
 * How long a nats-server is busy with what it is asked: bench `journal`, in milliseconds from one thing to the next, on a
 * machine whose processors and disk others used too; between the figures of two runs, which differ by half.
 */
const FRAME_MS = { '2m': { base: 0.025, perKb: 0.004 }, always: { base: 0.2, perKb: 0.0045 } } as const
const BATCH_MS = { base: 6, perEvent: 0.015 } as const

/** Microseconds of CPU. Those with a star are of a machine that others used too. */
const MICROS = {
  /** An update over a stream without the engine: 8 of a stream of frames of 32* (commit a231ad4), less the engine's. */
  gateway: 4.6,
  /** An update in the engine: bench `step`. */
  engine: 3.4,
  /** An event in the engine: ADR 27*. */
  event: 5.1,
  /** A request and its answer, or a frame and its acknowledgement, at the client: bench `journal`*. */
  request: 20,
  /** In the NATS server: bench `journal`*. */
  natsFrame: 15,
  natsKb: 1.9,
  natsBatch: 1600,
  natsEvent: 7.5,
} as const
/** No process is run at more. */
const MOST_BUSY = 0.6

/** Partitions of each host, by the rendezvous that hosts use. */
function spread(hosts: readonly string[], partitions: number): Map<string, number> {
  const counts = new Map(hosts.map((host) => [host, 0]))
  for (let partition = 0; partition < partitions; partition++) {
    const owner = ownerAmong(hosts, partition)!
    counts.set(owner, counts.get(owner)! + 1)
  }
  return counts
}

/** What the busiest host has, as a multiple of the mean; before and after one of them dies. */
function placement() {
  const rows = []
  for (const partitions of PARTITIONS) {
    for (const hosts of HOSTS) {
      const busiest: number[] = []
      const idle: number[] = []
      const after: number[] = []
      const taken: number[] = []
      for (let draw = 0; draw < DRAWS; draw++) {
        const names = Array.from({ length: hosts }, hostName)
        const before = spread(names, partitions)
        busiest.push((Math.max(...before.values()) * hosts) / partitions)
        idle.push((Math.min(...before.values()) * hosts) / partitions)
        const survivors = names.slice(1)
        const now = spread(survivors, partitions)
        after.push((Math.max(...now.values()) * (hosts - 1)) / partitions)
        taken.push(Math.max(...survivors.map((name) => now.get(name)! - before.get(name)!)))
      }
      rows.push({
        partitions,
        hosts,
        busiest: rounded(median(busiest), 2),
        busiestOf20: rounded(quantile(Float64Array.from(busiest).sort(), 0.95), 2),
        idlest: rounded(median(idle), 2),
        busiestAfterLoss: rounded(median(after), 2),
        mostTakenOver: median(taken),
      })
    }
  }
  return rows
}

function hostName(): string {
  return `host-${Math.floor(random() * 2 ** 32).toString(16)}`
}

/** Load of the busiest partition as a multiple of the mean, devices being alike, or one in a thousand a hundred times as busy. */
function devicesOnPartitions() {
  const rows = []
  for (const devices of DEVICES) {
    const hashes = Uint32Array.from({ length: devices }, (_, i) => deviceHash(`${i}-${hostName()}`))
    for (const partitions of PARTITIONS) {
      const load = (weight: (i: number) => number) => {
        const loads = new Float64Array(partitions)
        let sum = 0
        for (let i = 0; i < devices; i++) {
          loads[hashes[i]! % partitions]! += weight(i)
          sum += weight(i)
        }
        return rounded((Math.max(...loads) * partitions) / sum, 3)
      }
      rows.push({
        devices,
        partitions,
        alike: load(() => 1),
        someBusy: load((i) => (i % 1000 === 0 ? 100 : 1)),
      })
    }
  }
  return rows
}

/** What rate, partitions and servers make of frames. The leaders of the streams are spread evenly. */
function frames() {
  const rows = []
  for (const sync of ['2m', 'always'] as const) {
    for (const rate of RATES) {
      for (const servers of [3, 12]) {
        for (const partitions of PARTITIONS) {
          const found = writeFrames(sync, rate, servers, partitions)
          rows.push({
            sync,
            updatesPerSecond: rate,
            servers,
            partitions,
            updatesPerFrame: rounded(found.itemsPerWrite, 1),
            framesPerSecond: Math.round(found.writesPerSecond * servers),
            busy: rounded(found.busy, 2),
            ...times(found),
          })
        }
      }
    }
  }
  return rows
}

/**
 * Each gateway has one request under way to each partition, for as long as a commit takes, and what came meanwhile is the
 * next. So the more gateways and partitions there are, the fewer updates are in a request.
 */
function updatesPerRequest(rate: number, gateways: number, partitions: number, underWayMs: number): number {
  const whileUnderWay = (rate / 1000 / (gateways * partitions)) * underWayMs
  // Where none came meanwhile, the next to come goes alone.
  return whileUnderWay + Math.exp(-whileUnderWay)
}

function requests() {
  const rows = []
  for (const rate of RATES) {
    for (const gateways of [2, 16]) {
      for (const partitions of PARTITIONS) {
        const [now, gathering] = [4, 14].map((ms) => updatesPerRequest(rate, gateways, partitions, ms))
        rows.push({
          updatesPerSecond: rate,
          gateways,
          partitions,
          updatesPerRequest: rounded(now!, 2),
          requestsPerSecond: Math.round(rate / now!),
          gathering10Ms: Math.round(rate / gathering!),
        })
      }
    }
  }
  return rows
}

/** Cores by role, with three replicas, in a dense city. */
function costs() {
  const cases = [
    { rate: 10_000, gateways: 2, hosts: 2, servers: 3, partitions: 64, streams: 1, gatherMs: 0 },
    { rate: 100_000, gateways: 3, hosts: 4, servers: 3, partitions: 64, streams: 1, gatherMs: 10 },
    { rate: 1_000_000, gateways: 16, hosts: 24, servers: 12, partitions: 256, streams: 4, gatherMs: 0 },
    { rate: 1_000_000, gateways: 16, hosts: 24, servers: 12, partitions: 256, streams: 4, gatherMs: 10 },
  ]
  return cases.map(({ rate, gateways, hosts, servers, partitions, streams, gatherMs }) => {
    const frame = writeFrames('2m', rate, servers, partitions)
    const batch = writeEvents(rate * EVENTS_PER_UPDATE, hosts, streams)
    const underWayMs = frame.p50Ms + 2 * ROUND_TRIP_MS + gatherMs
    const requestsPerSecond = rate / updatesPerRequest(rate, gateways, partitions, underWayMs)
    const framesPerSecond = frame.writesPerSecond * servers
    const eventsPerSecond = rate * EVENTS_PER_UPDATE
    const cores = {
      gateways: rate * MICROS.gateway + requestsPerSecond * MICROS.request,
      hosts:
        rate * MICROS.engine +
        eventsPerSecond * MICROS.event +
        (requestsPerSecond + framesPerSecond) * MICROS.request,
      nats:
        REPLICAS *
        (framesPerSecond * MICROS.natsFrame +
          rate * UPDATE_KB * MICROS.natsKb +
          batch.writesPerSecond * streams * MICROS.natsBatch +
          eventsPerSecond * MICROS.natsEvent),
    }
    const sum = cores.gateways + cores.hosts + cores.nats
    return {
      updatesPerSecond: rate,
      gatherMs,
      partitions,
      gateways: rounded(cores.gateways / 1e6, 1),
      hosts: rounded(cores.hosts / 1e6, 1),
      nats: rounded(cores.nats / 1e6, 1),
      microsPerUpdate: rounded(sum / rate, 1),
      coresToHave: Math.ceil(sum / 1e6 / MOST_BUSY),
      logMbPerSecond: rounded((rate * UPDATE_KB) / 1024, 1),
      eventsGbPerDay: Math.round((eventsPerSecond * 690 * 86_400) / 1e9),
    }
  })
}

function writeEvents(eventsPerSecond: number, hosts: number, streams: number): GroupCommitOutcome {
  return simulateGroupCommit({
    rate: eventsPerSecond / streams,
    writers: hosts,
    gatherMs: BATCH_GATHER_MS,
    most: BATCH_EVENTS,
    busyMs: (count) => BATCH_MS.base + BATCH_MS.perEvent * count,
    roundTripMs: ROUND_TRIP_MS,
    seconds: SIMULATED_SECONDS,
    random,
  })
}

function writeFrames(
  sync: keyof typeof FRAME_MS,
  rate: number,
  servers: number,
  partitions: number,
): GroupCommitOutcome {
  const { base, perKb } = FRAME_MS[sync]
  return simulateGroupCommit({
    rate: rate / servers,
    writers: Math.round(partitions / servers),
    gatherMs: FRAME_GATHER_MS,
    most: FRAME_UPDATES,
    busyMs: (updates) => REPLICAS * (base + perKb * UPDATE_KB * updates),
    roundTripMs: ROUND_TRIP_MS,
    seconds: SIMULATED_SECONDS,
    random,
  })
}

/** What becomes of the stream of events: each host has one batch in flight. */
function events() {
  const rows = []
  for (const rate of RATES) {
    for (const share of [1, 0.1]) {
      for (const [hosts, streams] of [
        [4, 1],
        [16, 1],
        [32, 1],
        [32, 4],
      ] as const) {
        const found = writeEvents(rate * EVENTS_PER_UPDATE * share, hosts, streams)
        rows.push({
          updatesPerSecond: rate,
          eventsPerUpdate: rounded(EVENTS_PER_UPDATE * share, 4),
          hosts,
          streams,
          eventsPerBatch: rounded(found.itemsPerWrite, 1),
          batchesPerSecond: Math.round(found.writesPerSecond * streams),
          busy: rounded(found.busy, 2),
          ...times(found),
        })
      }
    }
  }
  return rows
}

/** A dash where ever more waits. */
function times({ p50Ms, p99Ms }: GroupCommitOutcome) {
  const shown = (ms: number) => (Number.isNaN(ms) ? '–' : rounded(ms, 1))
  return { p50Ms: shown(p50Ms), p99Ms: shown(p99Ms) }
}

const result = {
  placement: placement(),
  devices: devicesOnPartitions(),
  requests: requests(),
  frames: frames(),
  events: events(),
  costs: costs(),
}
for (const [name, rows] of Object.entries(result)) {
  console.log(name)
  console.table(rows)
}
console.log(
  JSON.stringify({
    bench: 'scaling',
    ...result,
    frameMs: FRAME_MS,
    batchMs: BATCH_MS,
    replicas: REPLICAS,
    micros: MICROS,
    eventsPerUpdate: EVENTS_PER_UPDATE,
    draws: DRAWS,
    seed: Number(options.seed),
    smoke: options.smoke,
  }),
)
