/**
 * What an update costs that is within the safe zone of its device, and nothing else: from the bytes of a frame in JSON to the
 * row in the commit and the receipt of its frame, in one process; no sockets, no flush, no event, no geofence. 100,000 devices,
 * in another order in each round, so that each update finds its sender and its row out of the cache.
 *
 * CPU microseconds per update with all threads of the process, garbage collection included: best and median of the rounds.
 * Start it with the flags of `npm start` for the figures of a server:
 *
 *     node --no-flush-bytecode --max-semi-space-size=32 --no-allocation-site-pretenuring bench/micro/skip.ts
 *     … bench/micro/skip.ts --frames 64      # 2,048 updates on their way at a time, instead of 512
 */
import { parseArgs } from 'node:util'
import { ActorHost } from '../../src/actor/host.ts'
import { Partition } from '../../src/actor/partition.ts'
import { Turns } from '../../src/actor/turns.ts'
import { storeSalt } from '../../src/events/ids.ts'
import { FrameEncoder } from '../../src/log/frame.ts'
import { DEFAULT_SETTINGS } from '../../src/model/settings.ts'
import { BeaconStore } from '../../src/registry/beacons/beaconStore.ts'
import type { ScopeView } from '../../src/rules/port.ts'
import { ByteBound } from '../../src/runtime/byteBound.ts'
import { createGeofenceIndex } from '../../src/spatial/cellIndex.ts'
import { scanJsonTrack } from '../../src/wire/jsonScanner.ts'
import { FrameReceipt, type FrameOwner } from '../../src/stream/receipt.ts'
import { median, rounded } from '../figures.ts'
import { Fleet, regionOf } from '../load/workload.ts'

const { values: options } = parseArgs({
  options: {
    strict: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    frames: { type: 'string', default: '16' },
  },
})
const DEVICES = options.smoke ? 2_000 : 100_000
const ROUNDS = options.smoke ? 2 : 10
/** Rounds of updates that are made; they come again and again. */
const DRAWN = 3
const UPDATES = 32
const PARTITIONS = 64
const START = Date.UTC(2026, 0, 1)
const STEP_MS = 5
const SCOPE = 2
/** Frames of a batch. */
const BATCH = Number(options.frames)
const STORE = '0123456789abcdef'

function drawFrames(): Buffer[] {
  const fleet = new Fleet(regionOf(100_000), DEVICES, Number(options.seed))
  const frames: Buffer[] = []
  for (let round = 0; round < DRAWN; round++) {
    const updates = [...fleet.round()]
    for (let i = 0; i < DEVICES; i += UPDATES)
      frames.push(
        Buffer.from(JSON.stringify({ type: 'track', id: 1, updates: updates.slice(i, i + UPDATES) })),
      )
  }
  return frames
}

/** Turns that are taken by hand. */
class Turn extends Turns {
  take: (() => void) | undefined

  override soon(turn: () => void): void {
    this.take = turn
  }

  override gathered(turn: () => void): void {
    this.take = turn
  }
}

/** A host whose turns and flushes are those of {@link Engine.batch}. */
class Engine {
  readonly host: ActorHost
  private readonly encoder = new FrameEncoder(STORE)
  private readonly received = Buffer.alloc(64 * 1024)
  private now = START
  private position = 0
  private readonly turns = new Turn()
  private durable: (() => void) | undefined
  private readonly owner: FrameOwner = {
    rateLimited: false,
    frameDone() {},
    updateRefused: (_id, _index, error) => {
      throw error
    },
    updateUnanswered() {},
  }

  constructor() {
    const view: ScopeView = {
      settings: DEFAULT_SETTINGS,
      revision: 1,
      beacons: new BeaconStore(),
      index: createGeofenceIndex(),
      geofence: () => undefined,
    }
    const salt = storeSalt(STORE)
    this.host = new ActorHost({
      partitions: Array.from({ length: PARTITIONS }, (_, number) => new Partition(number, salt)),
      log: {
        append: (parts, done) => {
          const bytes = parts.reduce((sum, part) => sum + part.length, 0)
          this.encoder.encode(parts, bytes, ++this.position, 0)
          const frame = { position: this.position, events: [] }
          this.durable = () => done(frame)
        },
      },
      registry: { revision: 1, scope: () => view },
      mailbox: new ByteBound(1024 ** 3),
      clock: { now: () => this.now },
      turns: this.turns,
    })
  }

  /** Takes frames in as from a socket, whose memory is the same for each, and makes them durable together. */
  batch(frames: readonly Buffer[]): void {
    const stamp = { scope: SCOPE, ip: '127.0.0.1', fromSdk: false, receivedAt: this.now }
    for (const frame of frames) {
      frame.copy(this.received)
      const read = scanJsonTrack(this.received.subarray(0, frame.length), stamp)!
      this.host.submit(read.updates, frame.length, new FrameReceipt(this.owner, read, frame.length))
    }
    this.now += STEP_MS
    this.turns.take!()
    this.durable!()
  }
}

const frames = drawFrames()
const engine = new Engine()

/** All updates once. */
async function takeRound(): Promise<number> {
  const before = process.cpuUsage()
  for (let i = 0; i < frames.length; i += BATCH) {
    engine.batch(frames.slice(i, i + BATCH))
    // V8 collects garbage in turns of the event loop, as in a server.
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (DEVICES * DRAWN)
}

await takeRound()
const micros: number[] = []
for (let i = 0; i < ROUNDS; i++) micros.push(await takeRound())
const { zoneHits, counters } = engine.host
console.log(
  JSON.stringify({
    bench: 'skip',
    micros: rounded(median(micros), 3),
    microsMin: rounded(Math.min(...micros), 3),
    skipRate: rounded(zoneHits / counters.updates, 3),
    updatesOnTheirWay: BATCH * UPDATES,
    devices: DEVICES,
    rssMiB: Math.round(process.memoryUsage.rss() / 1024 ** 2),
    seed: Number(options.seed),
  }),
)
