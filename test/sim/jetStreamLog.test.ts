/**
 * The protocol of docs/protocol.md in a simulated world: hosts take a partition from each other, append, trim, die and stand
 * still at each crash point, while the network loses, doubles and delays. An oracle that sees everything checks after each
 * life of a store what is guaranteed: G1, G2, G3, G4, G5.
 */
import { ok, deepEqual } from 'node:assert/strict'
import t from 'tap'
import { openJetStreamLog } from '../../src/log/jetStreamLog.ts'
import { ownerOf, pointOf } from '../../src/log/jetStreamRecords.ts'
import type { LogEvent, PartitionLog } from '../../src/log/port.ts'
import { CRASH_POINTS, nameOf } from './crashPoints.ts'
import { SimulatedHost, SimulatedStream, simulatedJournal, type Doom, type Weather } from './jetStream.ts'
import { Scheduler } from './scheduler.ts'

const STORES = 500 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)
const FIRST_SEED = Number(process.env['RINGFENCE_SEED'] ?? 1 + Math.floor(Math.random() * 1e9))
const YEAR_MS = 365 * 86_400_000
const FAIR: Weather = { late: 0, lost: 0, doubled: 0, old: 0 }

const met = new Map<string, number>()

/** The life of one store; throws where a guarantee is broken. */
async function live(seed: number): Promise<void> {
  const draw = drawer(seed)
  const scheduler = new Scheduler()
  const stream = new SimulatedStream(scheduler, draw)
  const foul: Weather = { late: draw() * 0.1, lost: draw() * 0.15, doubled: draw() * 0.1, old: draw() * 0.2 }
  let weather = foul
  /** Frames of which `done` was called, and all that were tried; with the ids of their events. */
  const acknowledged: string[] = []
  const tried = new Map<string, string[]>()
  /** Up to where a host asked to trim. */
  let trimmed = 0

  async function host(name: string, doom: Doom): Promise<void> {
    const frames = 2 + Math.floor(draw() * 5)
    /** So that it gets there. */
    const manyShare = doom.operation === 'more' ? 0.5 : 0.01
    const trimShare = doom.operation === 'mark' || doom.operation === 'purge' ? 1 : 0.2
    const self = new SimulatedHost(scheduler, doom, (point) =>
      met.set(nameOf(point), (met.get(nameOf(point)) ?? 0) + 1),
    )
    const journal = simulatedJournal(stream, self, scheduler, draw, () => weather)
    for (let life = 0; life < 3; life++) {
      let ended = (): void => {}
      let log: PartitionLog | undefined
      while (log === undefined) {
        log = await openJetStreamLog({
          partition: 0,
          journal,
          owner: `${name}${life}`,
          encode: (json) => Buffer.from(json),
          fencedOut: () => ended(),
          troubled: () => {},
          pause: self.pause,
        }).catch(() => undefined)
        await self.pause(draw() * 2000)
      }
      for (let i = 0; i < frames; i++) {
        const id = `${name}${life}.${i}`
        const frame = draw() < 0.1 ? id.padEnd(5000) : id
        const many = draw() < manyShare ? 1003 : draw() < 0.4 ? Math.floor(draw() * 4) : 0
        const events = Array.from({ length: many }, (_, n): LogEvent => {
          return { scope: 2, id: `${id}/${n}`, type: 'bought', deviceId: 'd', json: '{}' }
        })
        tried.set(
          frame,
          events.map((event) => event.id),
        )
        const isDurable = await new Promise<boolean>((resolve) => {
          ended = () => resolve(false)
          log.append([Buffer.from(frame)], () => resolve(true), events)
        })
        if (!isDurable) break
        acknowledged.push(frame)
        if (draw() < trimShare) {
          trimmed = Math.max(trimmed, log.position - 1)
          log.trim(log.position - 1)
        }
      }
    }
  }

  // One meets each crash point in turn, the others any.
  const points = [seed, Math.floor(draw() * 1e6), Math.floor(draw() * 1e6)]
  for (const [i, name] of ['a', 'b', 'c'].entries()) {
    const [operation, moment, fate] = CRASH_POINTS[points[i]! % CRASH_POINTS.length]!
    const stillMs = fate === 'dies' ? undefined : draw() * 60_000
    const doom = { operation, moment, spared: Math.floor(draw() * (operation === 'purge' ? 1 : 3)), stillMs }
    scheduler.after(draw() * 3000, () => void host(name, doom))
  }
  await scheduler.run(YEAR_MS)

  // The next day is fair: a last owner finds a store that is whole.
  weather = FAIR
  const last = new SimulatedHost(scheduler, undefined, () => {})
  let found: { readonly position: number; readonly frame: string }[] | undefined
  void (async () => {
    const journal = simulatedJournal(stream, last, scheduler, draw, () => weather)
    let log: PartitionLog | undefined
    while (log === undefined) {
      log = await openJetStreamLog({
        partition: 0,
        journal,
        owner: 'last',
        encode: (json) => Buffer.from(json),
        fencedOut: () => {},
        troubled: () => {},
        pause: last.pause,
      }).catch(() => undefined)
      await last.pause(1000)
    }
    const frames: typeof found = []
    for await (const { position, payload } of log.read(Math.max(1, trimmed))) {
      frames.push({ position, frame: Buffer.from(payload).toString() })
    }
    found = frames
  })()
  await scheduler.run(2 * YEAR_MS)
  ok(found !== undefined, 'the store can be opened and read')

  const frames = framesOf(stream)
  deepEqual(
    found.map(({ frame }) => frame),
    frames.slice(Math.max(1, trimmed) - 1),
    'what is read is what was stored',
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
    stream.events.map((sequence) => stream.history[sequence - 1]!.header('Nats-Msg-Id')),
    frames.flatMap((frame) => tried.get(frame)!),
    'G2, G3: EVENTS holds the events of all frames, once and in order',
  )
}

/** The frames that were ever stored, in order; checks what the stream must look like on the way. */
function framesOf({ history }: SimulatedStream): string[] {
  const frames: string[] = []
  let claimer = ''
  let frame = ''
  let position = 0
  for (const message of history) {
    const { subject, data } = message
    if (subject.startsWith('claim.')) claimer = ownerOf(message)
    else if (subject.startsWith('events.')) {
      const of = message.header('Nats-Msg-Id').split('/')[0]
      ok(of === frames.at(-1)?.trimEnd(), 'G5: an event comes after its frame, and before the next')
    } else {
      ok(ownerOf(message) === claimer, 'G4: only the last who claimed the partition appends')
      const point = pointOf(message)
      if (subject !== 'commit') continue
      if (point.part === 1) {
        ok(point.position === ++position, 'positions ascend by one')
        frame = ''
      }
      if (point.part <= point.parts) frame += Buffer.from(data).toString()
      if (point.part === point.parts + point.eventParts) frames.push(frame)
    }
  }
  return frames
}

/** SplitMix32: close seeds give unlike draws. */
function drawer(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}

t.test(`${STORES} lives of a store, from seed ${FIRST_SEED} on`, async (t) => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + STORES; seed++) {
    try {
      await live(seed)
    } catch (error) {
      t.fail(`RINGFENCE_SEED=${seed}: ${(error as Error).message}`)
      break
    }
  }
  const missed = CRASH_POINTS.map(nameOf).filter((point) => !met.has(point))
  t.strictSame(missed, [], 'every crash point was met')
  t.comment([...met].map(([point, times]) => `${point}: ${times}`).join('; '))
})
