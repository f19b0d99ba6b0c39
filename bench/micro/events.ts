/**
 * What an event costs from its transition to the query index: microseconds of CPU in the main thread (id, JSON,
 * commit, feed, hand-over; with V8's helpers) and in the thread of the index (unpacking, SQLite, checkpoints). Also
 * what a query costs during this: milliseconds until a list is there.
 *
 * 6,000 events a second of 100,000 devices arrive for some seconds, 24 in a frame, as from 90,000 updates a second,
 * in addition to 300,000 that are already there. The cost of the same timers without events is subtracted.
 *
 * Not measured: the step that finds the transition, the log, readers of the feed, an index larger than memory.
 *
 * `node bench/micro/events.ts [--smoke] [--seed N] [--strict]`. Stated: at most 6 µs in the main thread, 5 in the
 * other.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { seededRandom } from '../../src/simulation/streets.ts'
import { FrameWriter } from '../../src/actor/commitCodec.ts'
import { openEventIndex } from '../../src/events/eventIndex.ts'
import { EventFeed } from '../../src/events/feed.ts'
import { eventId, storeSalt } from '../../src/events/ids.ts'
import { eventJson, outlineIn } from '../../src/events/record.ts'
import type { EventIndex, EventQuery, StoredEvent } from '../../src/events/port.ts'
import type { Transition } from '../../src/model/event.ts'
import type { Geofence } from '../../src/model/geofence.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { median, rounded } from '../figures.ts'
import { benchFolder } from '../folder.ts'
import * as progress from '../progress.ts'

const { values: options } = parseArgs({
  options: {
    strict: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
  },
})
const STATED_MAIN_MICROS = 6
const STATED_WORKER_MICROS = 5
const TOLERANCE = 0.1
const SCOPE = 2
const START = Date.UTC(2026, 0, 1)
const DEVICES = 100_000
const GEOFENCES = 20_000
const BEFORE = options.smoke ? 5_000 : 300_000
const SECONDS = options.smoke ? 1 : 10
const FRAME_EVENTS = 24
const FRAME_MS = 4
const ASKED = 50

const random = seededRandom(Number(options.seed))
const salt = storeSalt('0123456789abcdef')
const writer = new FrameWriter()

const geofences = Array.from({ length: GEOFENCES }, (_, i): Geofence => ({
  id: i.toString(16).padStart(24, '0'),
  scope: SCOPE,
  tag: 'bench',
  externalId: String(i),
  description: `Geofence ${i}`,
  type: 'circle',
  shape: { kind: 'circle', center: [13, 52], radius: 100 },
  enabled: true,
  timeZone: 'Europe/Berlin',
  createdAt: START,
  updatedAt: START,
}))
const outlines = createGeofenceIndex()
for (const geofence of geofences) outlines.put(geofence)
const users = Array.from({ length: DEVICES }, (_, i) => ({
  id: (i * 7919).toString(16).padStart(24, 'a'),
  deviceId: `device-${i}`,
}))

/** Generated before the measurement, and used again and again. */
const DRAWS = Array.from({ length: 1 << 16 }, () => ({
  user: users[Math.floor(random() * DEVICES)]!,
  geofence: geofences[Math.floor(random() * GEOFENCES)]!,
  minutes: random() < 0.5 ? undefined : random() * 100,
  latitude: 52 + Math.round(random() * 1e6) / 1e6,
  longitude: 13 + Math.round(random() * 1e6) / 1e6,
  accuracy: Math.round(random() * 250) / 10,
}))
let drawn = 0
let offset = 0

/** What the host and a partition do for one commit of one frame. */
function commit(feed: EventFeed, time: number): void {
  writer.begin(time)
  writer.beginCommit(0, ++offset, 1)
  const events: StoredEvent[] = []
  for (let i = 0; i < FRAME_EVENTS; i++) events.push(happening(time, i))
  for (const event of events) writer.event(event)
  writer.endCommit()
  feed.committed({ offset, events })
}

function happening(time: number, index: number): StoredEvent {
  const { user, geofence, minutes, latitude, longitude, accuracy } = DRAWS[drawn++ % DRAWS.length]!
  const transition: Transition =
    minutes === undefined
      ? { type: 'user.entered_geofence', geofence, confidence: 2 }
      : { type: 'user.exited_geofence', geofence, confidence: 3, duration: minutes }
  const id = eventId(salt, time, 0, offset, index)
  const json = eventJson(id, transition, {
    outlineOf: (one) => outlineIn(outlines, one),
    live: false,
    user,
    latitude,
    longitude,
    accuracy,
    foreground: false,
    stopped: false,
    replayed: false,
    time,
    receivedAt: time,
  })
  return {
    scope: SCOPE,
    id,
    type: transition.type,
    deviceId: user.deviceId,
    userId: undefined,
    userRecordId: user.id,
    createdAt: time,
    actualCreatedAt: time,
    tag: geofence.tag,
    externalId: geofence.externalId,
    json,
  }
}

const threads = (): string[] => readdirSync('/proc/self/task')

/** Microseconds on a processor. */
function threadMicros(thread: string): number {
  return Number(readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1000
}

/**
 * Runs `work` every {@link FRAME_MS} for some seconds. Returns the CPU microseconds of the index's thread and of all
 * others.
 */
async function measure(
  thread: string,
  work: () => void,
): Promise<{ readonly main: number; readonly worker: number }> {
  const before = process.cpuUsage()
  const workerBefore = threadMicros(thread)
  const start = performance.now()
  for (let frame = 1; frame * FRAME_MS <= SECONDS * 1000; frame++) {
    work()
    const wait = start + frame * FRAME_MS - performance.now()
    if (wait > 0) await sleep(wait)
  }
  const used = process.cpuUsage(before)
  const worker = threadMicros(thread) - workerBefore
  return { main: used.user + used.system - worker, worker }
}

async function settled(index: EventIndex): Promise<void> {
  while (index.durableLogOffset < offset) await sleep(20)
}

async function main(): Promise<void> {
  const known = threads()
  const file = join(benchFolder('events'), 'events.sqlite')
  const index = await openEventIndex({
    file,
    failed(error) {
      throw error
    },
  })
  const thread = threads().find((each) => !known.includes(each))!
  const feed = new EventFeed(index)

  let time = START
  while (offset * FRAME_EVENTS < BEFORE) {
    commit(feed, (time += FRAME_MS))
    if (index.pendingBytes > 8 << 20) await sleep(5)
  }
  await settled(index)
  progress.done(`${offset * FRAME_EVENTS} events are there`)
  const idle = await measure(thread, () => {})
  const first = offset
  const busy = await measure(thread, () => commit(feed, (time += FRAME_MS)))
  const beforeRest = threadMicros(thread)
  await settled(index)
  const events = (offset - first) * FRAME_EVENTS
  const rest = threadMicros(thread) - beforeRest
  const mainMicros = rounded((busy.main - idle.main) / events, 2)
  const workerMicros = rounded((busy.worker - idle.worker + rest) / events, 2)

  const ask = async (query: () => Partial<EventQuery>): Promise<number> => {
    const times: number[] = []
    for (let i = 0; i < ASKED; i++) {
      const begin = performance.now()
      await index.list(SCOPE, { limit: 100, ...query() })
      times.push(performance.now() - begin)
    }
    return rounded(median(times), 2)
  }
  const listMs = {
    device: await ask(() => ({ deviceId: `device-${Math.floor(random() * DEVICES)}` })),
    nobody: await ask(() => ({ deviceId: 'nobody' })),
    type: await ask(() => ({ type: 'user.exited_geofence' })),
    all: await ask(() => ({})),
  }
  await index.close()

  const rows = [{ events, mainMicros, workerMicros }]
  console.table(rows)
  console.table(listMs)
  console.log(JSON.stringify({ bench: 'events', rows, listMs, before: BEFORE, seed: Number(options.seed) }))
  const missed =
    mainMicros > STATED_MAIN_MICROS * (1 + TOLERANCE) || workerMicros > STATED_WORKER_MICROS * (1 + TOLERANCE)
  if (options.strict && !options.smoke && missed) process.exitCode = 1
}

await main()
