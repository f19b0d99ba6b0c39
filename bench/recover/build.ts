/**
 * Makes the data folder of a server that has taken updates: a round of all devices, a snapshot of each partition, and
 * further rounds, which are the tail of the log. It uses the server's own engine in this process, without HTTP.
 * Frames contain as many updates as those of a server under load. It is a separate process, so that its memory is
 * freed afterwards.
 *
 * Usage: node bench/recover/build.ts --data FOLDER --devices N --geofences N --tail ROUNDS --seed N [--sample N
 * --requests FILE] The folder has a registry. `--requests` receives the updates of the first N devices as a request
 * file, three rounds.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Checkpointer } from '../../src/actor/checkpoint.ts'
import { ActorHost } from '../../src/actor/host.ts'
import { Partition } from '../../src/actor/partition.ts'
import { EventFeed } from '../../src/events/feed.ts'
import { openEventIndex } from '../../src/events/eventIndex.ts'
import { storeSalt } from '../../src/events/ids.ts'
import { updateFrom, type TrackBody } from '../../src/wire/trackSchema.ts'
import { openCommitLog } from '../../src/log/commitLog.ts'
import { openSnapshots } from '../../src/log/snapshots.ts'
import { openStore } from '../../src/log/store.ts'
import type { Update } from '../../src/model/update.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { ByteBound } from '../../src/runtime/byteBound.ts'
import { systemClock as clock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { loadOptions } from '../../config/options.ts'
import { BENCH_KEYS } from '../load/servers.ts'
import { Fleet, RecordFile, regionOf } from '../load/workload.ts'
import { progress } from '../progress.ts'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    devices: { type: 'string' },
    geofences: { type: 'string' },
    tail: { type: 'string' },
    seed: { type: 'string' },
    sample: { type: 'string' },
    requests: { type: 'string' },
  },
})
const data = values.data!
const devices = Number(values.devices)
const sample = Number(values.sample)
/** Updates per frame at some 60,000 a second. */
const FRAME_UPDATES = 250

const { options } = loadOptions({ argv: [], env: {}, readFile: () => '{}' })
const fatal = (error: Error): void => {
  throw error
}
const store = openStore(data, options)
const registry = openRegistry({ folder: data, clock, createIndex: createGeofenceIndex })
// The next process can read what is not flushed, too.
const log = openCommitLog({ store, ...options, durability: 'os', failed: fatal })
const snapshots = openSnapshots(data, store.storeId, (file, reason) => fatal(new Error(`${file} ${reason}`)))
const events = await openEventIndex({ file: join(data, 'events.sqlite'), failed: fatal })
const salt = storeSalt(store.storeId)
const partitions = Array.from(
  { length: store.partitions },
  (_, number) => new Partition(number, salt, Infinity),
)
const mailbox = new ByteBound(options.mailboxBytes)
const feed = new EventFeed(events)
const host = new ActorHost({ partitions, log, registry, events: feed, mailbox, clock })
const logger = createLogger('warn')
const { scope } = registry.keys.authenticate(BENCH_KEYS.testPublishable)!
const fleet = new Fleet(regionOf(Number(values.geofences)), devices, Number(values.seed))
const requests = values.requests === undefined ? undefined : new RecordFile(values.requests)
const sampled = new Set<string>()

/** Resolves once all are durable. */
function apply(updates: readonly Update[]): Promise<void> {
  return new Promise((resolve) => {
    let left = updates.length
    const one = () => {
      if (--left === 0) resolve()
    }
    host.submit(updates, updates.length, {
      rateLimited: false,
      wantsUser: false,
      wantsEvents: false,
      isBehind: false,
      applied: one,
      refused: fatal,
    })
  })
}

async function round(name: string): Promise<void> {
  let updates: Update[] = []
  let done = 0
  for (const body of fleet.round()) {
    const stamp = { scope, ip: '127.0.0.1', receivedAt: clock.now(), fromSdk: false }
    updates.push(updateFrom(body as TrackBody, stamp))
    keep(body)
    if (updates.length < FRAME_UPDATES && ++done < devices) continue
    await apply(updates)
    updates = []
    if (done % 100_000 < FRAME_UPDATES) progress(`${name}: ${done} of ${devices} updates`)
  }
  if (updates.length > 0) await apply(updates)
}

/** Kept for the load during which a server is killed: some of the devices, which continue from where they are. */
function keep(body: Record<string, unknown>): void {
  const id = body['deviceId'] as string
  if (requests === undefined) return
  if (sampled.size < sample) sampled.add(id)
  if (sampled.has(id)) requests.add(JSON.stringify(body))
}

await round('devices')
const checkpointer = new Checkpointer({ host, log, snapshots, events, registry, clock, logger }, Infinity)
await checkpointer.round()
for (let i = 1; i <= Number(values.tail); i++) await round(`tail ${i}`)
requests?.close()
while (events.durableLogOffset < log.offset && events.pendingBytes > 0)
  await new Promise((resolve) => setTimeout(resolve, 50))
const { updates, events: made } = host.counters
console.log(JSON.stringify({ frames: log.offset, updates, events: made, logBytes: log.bytes }))
await events.close()
await log.close()
registry.close()
store.release()
