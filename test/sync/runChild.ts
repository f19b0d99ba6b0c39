/**
 * A process that does runs of a sync, on a registry of its own or one that it shares over NATS, and that kills itself at
 * one of the points of a run. Started by killed.slow.test.ts; it prints what there is once no run is under way.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import { Lease, makeLeases } from '../../src/cluster/ownership/jetStreamLease.ts'
import { openEditStream } from '../../src/cluster/registry/jetStreamEdits.ts'
import { openReplicatedRegistry } from '../../src/cluster/registry/replicatedRegistry.ts'
import { Jobs } from '../../src/jobs/jobs.ts'
import { aloneWith, type OpenLease } from '../../src/jobs/port.ts'
import { Notifier } from '../../src/notify/notifier.ts'
import { runMail } from '../../src/notify/mailTexts.ts'
import { openRegistry, type Registry } from '../../src/registry/registry.ts'
import type { SyncSettings } from '../../src/registry/sync/syncRows.ts'
import { systemTime as time } from '../../src/runtime/clock.ts'
import { Outgoing } from '../../src/runtime/outgoing.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { FETCH_LIMITS, fetchSource } from '../../src/sync/fetchSource.ts'
import { openSourceRows } from '../../src/sync/rowsThread.ts'
import { SecretBox } from '../../src/sync/secretBox.ts'
import { sourcesOf } from '../../src/sync/sourceRequest.ts'
import { SyncRunner, type SyncRunnerParts } from '../../src/sync/syncRunner.ts'
import { until } from '../kit/waiting.ts'

/** What it is to do. */
export interface ChildOrder {
  readonly folder: string
  /** The address of a NATS server; absent: the registry is its own. */
  readonly nats?: string
  readonly scope: number
  readonly urls: readonly string[]
  /** The number of the point of the second run at which it kills itself; 0: none. */
  readonly killAt: number
}

/** What there is in the end. */
export interface ChildReport {
  /** Names of the points that the second run passed, in order. */
  readonly points: readonly string[]
  /** Newest first. */
  readonly runs: readonly { readonly status: string; readonly repeats: boolean }[]
  readonly geofences: readonly (readonly [pair: string, radius: number])[]
  /** Of each mark the pair of its geofence, and which sources name it. */
  readonly marks: readonly (readonly [pair: string | undefined, sources: string])[]
  /** The ETags that are remembered, by source. */
  readonly etags: readonly (string | undefined)[]
  readonly subjects: readonly string[]
  /** What is left in the folder for files of sources. */
  readonly files: readonly string[]
}

const LEASE_MS = 900
const order = JSON.parse(process.argv[2]!) as ChildOrder
const { scope, urls, killAt } = order
const box = new SecretBox('00'.repeat(32))
const settings: SyncSettings = {
  enabled: false,
  protocol: 'http',
  http: { urls, passwordSet: false, headers: [] },
  time: '03:00',
  timeZone: 'UTC',
  deleteMissing: true,
  maxDeleteShare: 1,
  emails: ['ops@example.com'],
  notify: 'always',
  sealed: box.seal(scope, { urls }),
  scheduledSince: 0,
}

const points: string[] = []
let isCounting = false

/** A place at which the process may be killed. */
function point(name: string): void {
  if (!isCounting) return
  points.push(name)
  if (points.length === killAt) process.kill(process.pid, 'SIGKILL')
}

/** A point before the work; the one after it is the point before the next. */
async function pointBefore<T>(name: string, work: () => Promise<T>): Promise<T> {
  point(`before ${name}`)
  return work()
}

const { registry, openLease } = order.nats === undefined ? alone() : await shared(order.nats)
const { syncs, geofences, notifications } = registry
const edit = syncs.edit.bind(syncs)
syncs.edit = (work) => pointBefore('a write', () => edit(work))

const outgoing = new Outgoing(['127.0.0.1'])
const limits = { ...FETCH_LIMITS, maxBytes: 10_000_000 }
const mailer = { send: () => new Promise<never>(() => {}) }
const notifier = new Notifier({
  notifications,
  mailer,
  projectName: () => 'Fleet',
  publicUrl: '',
  clock: time,
})
const files = join(order.folder, 'sync')
const logger = { info() {}, warn() {}, error: (fields: object) => console.error(fields) }
const tell: SyncRunnerParts['tell'] = (run, refused, { emails: to }) =>
  notifier.queue({
    cause: 'run',
    of: run.id,
    run: run.id,
    scope,
    to,
    mail: runMail(run, refused, 0, notifier.environmentOf(scope)),
  })
/** It stands still: how often counts are shown depends on the time, and the points must be the same in each run. */
const began = time.now()
const runTime: typeof time = { now: () => began, after: (...args) => time.after(...args) }
const runner = new SyncRunner({
  syncs,
  geofences,
  box,
  time: runTime,
  logger,
  tell,
  folder: files,
  finder: { positionOf: async () => undefined, placeArea: async () => undefined },
  fetch: (source, file, known, signal) =>
    pointBefore('fetching', () => fetchSource(outgoing, source, file, known, limits, signal)),
  async openRows() {
    const rows = await openSourceRows()
    return {
      survey: (paths) => pointBefore('reading the files', () => rows.survey(paths)),
      next: () => pointBefore('reading rows', () => rows.next()),
      named: (pairs) => rows.named(pairs),
      close: () => rows.close(),
    }
  },
})

const isNew = syncs.settings(scope) === undefined
if (isNew) {
  await syncs.edit(() => syncs.save(scope, settings))
  await runner.request(scope, { trigger: 'manual' })
}
const job = new Jobs({ time, logger, openLease }).service(runner)
await job.start?.()
const isIdle = () => syncs.active(scope) === undefined
await until(isIdle)
if (isNew) {
  await runner.request(scope, { trigger: 'manual' })
  isCounting = true
  await until(isIdle)
}
await job.stop?.()
// Until the last write has been answered: others may see it before.
await runner.stopped()
isCounting = false
console.log(JSON.stringify(report()))
process.exit(0)

function alone(): { registry: Registry; openLease: OpenLease } {
  const { folder } = order
  return {
    registry: openRegistry({ folder, clock: time, createIndex: createGeofenceIndex }),
    openLease: aloneWith,
  }
}

async function shared(server: string): Promise<{ registry: Registry; openLease: OpenLease }> {
  const connection = await connect({ servers: server })
  await makeLeases(connection, 1, LEASE_MS)
  const holderId = `${process.pid}`
  return {
    registry: await openReplicatedRegistry({
      folder: order.folder,
      clock: time,
      createIndex: createGeofenceIndex,
      isMaintainer: true,
      async openStream(firstSequence) {
        const stream = await openEditStream(connection, { replicas: 1, firstSequence })
        const append = stream.append.bind(stream)
        // The stream has it, and this process does not know that yet.
        stream.append = async (...args) => {
          const answer = await append(...args)
          point('after an append')
          return answer
        }
        return stream
      },
      unreadable: (entry, reason) => console.error(entry, reason),
      troubled: () => {},
    }),
    openLease: (name, holder, isAble) =>
      Lease.open({ connection, name, holderId, ttlMs: LEASE_MS, isAble, troubled() {} }, holder),
  }
}

function report(): ChildReport {
  const store = geofences.store(scope)
  const sources = sourcesOf(settings, { urls })
  const pairOf = (id: string) => {
    const geofence = store.get(id)
    return geofence && `${geofence.tag}/${geofence.externalId}`
  }
  const radiusOf = ({ shape }: { shape: object }) => ('radius' in shape ? Number(shape.radius) : 0)
  return {
    points,
    runs: syncs
      .list(scope, { limit: 100 })
      .runs.map(({ status, repeats }) => ({ status, repeats: repeats !== undefined })),
    geofences: [...store.inOrder()]
      .map((geofence) => [`${geofence.tag}/${geofence.externalId}`, radiusOf(geofence)] as const)
      .toSorted(([a], [b]) => a.localeCompare(b)),
    marks: syncs
      .marksAfter(scope, '', 10_000)
      .map(({ id, sources: ids }) => {
        const names = ids.map((each) => sources.findIndex((source) => source.id === each))
        return [pairOf(id), names.toSorted().join()] as const
      })
      .toSorted(([a = ''], [b = '']) => a.localeCompare(b)),
    etags: sources.map(({ id }) => syncs.sourceState(scope, id)?.etag),
    subjects: notifications
      .due(1000)
      .filter((mail) => mail.scope === scope)
      .map(({ subject }) => subject)
      .toSorted(),
    files: readdirSync(files),
  }
}
