/**
 * The protocol of docs/protocol.md in a simulated world. Hosts take partitions from each other, append, publish,
 * trim, die and are stopped at each crash point, while the network loses, doubles and delays messages. After each
 * life of a store, an oracle that sees everything checks the guarantees G1, G2, G3, G4, G5 and G7.
 */
import { ok, deepEqual } from 'node:assert/strict'
import t from 'tap'
import { EventPublisher } from '../../src/cluster/journal/eventPublisher.ts'
import { openJetStreamLog } from '../../src/cluster/journal/jetStreamLog.ts'
import { ownerOf, pointOf } from '../../src/cluster/journal/jetStreamRecords.ts'
import type { LogEvent, PartitionLog } from '../../src/log/port.ts'
import { CRASH_POINTS, nameOf } from './crashPoints.ts'
import {
  SimulatedEvents,
  SimulatedHost,
  SimulatedNetwork,
  SimulatedStream,
  type Doom,
  type Weather,
} from './jetStream.ts'
import { Scheduler } from './scheduler.ts'

const RUNS = Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)
const STORES = 250 * RUNS
const FIRST_SEED = Number(process.env['RINGFENCE_SEED'] ?? 1 + Math.floor(Math.random() * 1e9))
const PARTITIONS = 2
const DAY_MS = 86_400_000
const FAIR: Weather = { late: 0, lost: 0, doubled: 0, old: 0 }
/** Small, so that it is reached. */
const MAX_BACKLOG_BYTES = 500
/** Size of an event as the publisher counts it. */
const EVENT_BYTES = 202
/** More than fit into one batch. */
const MANY_EVENTS = 1003

const met = new Map<string, number>()

/** The life of one store. Throws if a guarantee is broken. */
async function live(seed: number): Promise<void> {
  const draw = drawer(seed)
  const scheduler = new Scheduler()
  const foul: Weather = { late: draw() * 0.1, lost: draw() * 0.15, doubled: draw() * 0.1, old: draw() * 0.2 }
  let weather = foul
  const partitions = Array.from({ length: PARTITIONS }, () => {
    return {
      stream: new SimulatedStream(),
      /** Frames whose `done` was called. */
      acknowledged: [] as string[],
      /** The offset up to which a host asked to trim. */
      trimmed: 0,
    }
  })
  /** All frames that hosts tried to append, with their events. */
  const tried = new Map<string, readonly LogEvent[]>()
  let mostWaiting = 0
  /** Faults that a log must never report about its stream. */
  const damage: string[] = []
  /** Events that were visible before their frames were stored. */
  const early: string[] = []
  const published = new SimulatedEvents((partition, { id }) => {
    const frame = id.split('/')[0]!
    const { history } = partitions[partition]!.stream
    const isCommitted = history.some(({ subject, data }) => {
      return subject === 'commit' && Buffer.from(data).toString().trimEnd() === frame
    })
    if (!isCommitted) early.push(id)
  })

  /** One process, with what it needs to open logs. */
  function process(self: SimulatedHost) {
    const network = new SimulatedNetwork(self, scheduler, draw, () => weather)
    const { pause } = self
    const troubled = (): void => {}
    const publisher = new EventPublisher({
      stream: network.events(published),
      maxBacklogBytes: MAX_BACKLOG_BYTES,
      troubled,
      pause,
    })
    const open = (
      partition: number,
      owner: string,
      fencedOut: () => void,
    ): Promise<PartitionLog | undefined> => {
      const opened = openJetStreamLog({
        partition,
        journal: network.journal(partitions[partition]!.stream),
        publisher,
        owner,
        eventsOf: (frame) => tried.get(Buffer.from(frame).toString())!,
        fencedOut,
        troubled,
        pause,
      })
      return opened.catch((error: Error) => {
        if (error.name !== 'LogDamaged') return undefined
        damage.push(error.message)
        return new Promise<never>(() => {})
      })
    }
    return { publisher, open }
  }

  async function host(name: string, doom: Doom): Promise<void> {
    const frames = 2 + Math.floor(draw() * 5)
    const trimShare = doom.operation === 'purge' ? 1 : 0.2
    const self = new SimulatedHost(scheduler, doom, (point) =>
      met.set(nameOf(point), (met.get(nameOf(point)) ?? 0) + 1),
    )
    const { publisher, open } = process(self)

    async function own(partition: number): Promise<void> {
      const { acknowledged } = partitions[partition]!
      for (let life = 0; life < 3; life++) {
        const owner = `${name}${partition}${life}`
        let ended = (): void => {}
        let log: PartitionLog | undefined
        while (log === undefined) {
          log = await open(partition, owner, () => ended())
          await self.pause(draw() * 2000)
        }
        for (let i = 0; i < frames; i++) {
          const id = `${owner}.${i}`
          const frame = draw() < 0.1 ? id.padEnd(5000) : id
          const many = draw() < 0.01 ? MANY_EVENTS : draw() < 0.5 ? Math.floor(draw() * 4) : 0
          const events = Array.from({ length: many }, (_, n): LogEvent => {
            return { scope: 2, id: `${id}/${n}`, type: 'bought', deviceId: 'd', json: '{}' }
          })
          tried.set(frame, events)
          const isDurable = await new Promise<boolean>((resolve) => {
            ended = () => resolve(false)
            log.append([Buffer.from(frame)], () => resolve(true), events)
          })
          if (!isDurable) break
          acknowledged.push(frame)
          mostWaiting = Math.max(mostWaiting, publisher.backlogBytes)
          if (draw() < trimShare) {
            // Time to publish events; otherwise nothing would be trimmed.
            if (draw() < 0.5) await self.pause(draw() * 1000)
            partitions[partition]!.trimmed = Math.max(partitions[partition]!.trimmed, log.offset - 1)
            log.trim(log.offset - 1)
          }
        }
        if (draw() < 0.3) await log.close()
      }
    }
    await Promise.all(partitions.map((_, partition) => own(partition)))
  }

  // The first host gets each crash point in turn, the others a random one.
  const points = [seed, Math.floor(draw() * 1e6), Math.floor(draw() * 1e6)]
  for (const [i, name] of ['a', 'b', 'c'].entries()) {
    const [operation, moment, fate] = CRASH_POINTS[points[i]! % CRASH_POINTS.length]!
    const suspendedMs = fate === 'dies' ? undefined : draw() * 60_000
    const doom = {
      operation,
      moment,
      spared: Math.floor(draw() * (operation === 'purge' ? 1 : 3)),
      suspendedMs,
    }
    scheduler.after(draw() * 3000, () => void host(name, doom))
  }
  await scheduler.run(DAY_MS)

  // The network is good again: a last owner finds a complete store, and publishes what is missing.
  weather = FAIR
  const last = new SimulatedHost(scheduler, undefined, () => {})
  const { publisher, open } = process(last)
  const found: { readonly offset: number; readonly frame: string }[][] = []
  async function look(partition: number): Promise<void> {
    let log: PartitionLog | undefined
    while (log === undefined) {
      log = await open(partition, `last${partition}`, () => {})
      await last.pause(1000)
    }
    const frames: (typeof found)[number] = []
    for await (const { offset, payload } of log.read(Math.max(1, partitions[partition]!.trimmed))) {
      frames.push({ offset, frame: Buffer.from(payload).toString() })
    }
    found[partition] = frames
  }
  for (const partition of partitions.keys()) void look(partition)
  await scheduler.run(2 * DAY_MS)
  const largest = Math.max(0, ...[...tried.values()].map((events) => events.length)) * EVENT_BYTES
  ok(mostWaiting <= MAX_BACKLOG_BYTES + PARTITIONS * largest, 'G7: what waits to be published is bounded')
  deepEqual(damage, [], 'nothing is missing in a stream')
  ok(publisher.backlogBytes === 0, 'everything is published')
  deepEqual(early, [], 'G5: an event is published after the commit of its frame')

  for (const [partition, { stream, acknowledged, trimmed }] of partitions.entries()) {
    const frames = framesOf(stream)
    deepEqual(
      found[partition]?.map(({ frame }) => frame),
      frames.slice(Math.max(1, trimmed) - 1),
      'the store can be opened, and what is read is what was stored',
    )
    const stored = new Set(frames)
    ok(stored.size === frames.length, 'G1: no frame is there twice')
    ok(
      acknowledged.every((frame) => stored.has(frame)),
      'G1: what was acknowledged is there',
    )
    ok(
      frames.every((frame) => tried.has(frame)),
      'nothing else is there',
    )
    const places = new Map(frames.map((frame, i) => [frame, i]))
    const newest = new Map<string, number>()
    for (const frame of acknowledged) {
      const [owner, place] = [frame.split('.')[0]!, places.get(frame)!]
      ok(place > (newest.get(owner) ?? -1), 'G3: an owner has its frames acknowledged in their order')
      newest.set(owner, place)
    }
    deepEqual(
      (published.published[partition] ?? []).map(({ id }) => id),
      frames.flatMap((frame) => tried.get(frame)!.map(({ id }) => id)),
      'G2, G3: EVENTS holds the events of all frames, once and in order',
    )
  }
}

/** The frames that were ever stored, in order. Also checks what the stream must look like at each step. */
function framesOf({ history }: SimulatedStream): string[] {
  const frames: string[] = []
  let claimer = ''
  let frame = ''
  let offset = 0
  for (const message of history) {
    const { subject, data } = message
    if (subject.startsWith('claim.')) claimer = ownerOf(message)
    else {
      ok(ownerOf(message) === claimer, 'G4: only the last who claimed the partition appends')
      const point = pointOf(message)
      if (subject !== 'commit') continue
      if (point.part === 1) {
        ok(point.offset === ++offset, 'offsets ascend by one')
        frame = ''
      }
      frame += Buffer.from(data).toString()
      if (point.part === point.parts) frames.push(frame)
    }
  }
  return frames
}

/** SplitMix32: even similar seeds give different numbers. */
function drawer(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}

t.test(`${STORES} lives of a store, starting with seed ${FIRST_SEED}`, async (t) => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + STORES; seed++) {
    try {
      await live(seed)
    } catch (error) {
      t.fail(`RINGFENCE_SEED=${seed}: ${(error as Error).message}`)
      break
    }
  }
  const missed = CRASH_POINTS.map(nameOf).filter((point) => !met.has(point))
  // With this many lives, each crash point is certainly met.
  if (STORES > CRASH_POINTS.length) t.strictSame(missed, [], 'every crash point was met')
  t.comment([...met].map(([point, times]) => `${point}: ${times}`).join('; '))
})
