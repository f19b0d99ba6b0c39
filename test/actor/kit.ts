import type { EventIndex, IntervalCounts, Scopes, StoredEvent, EventPage } from '../../src/events/port.ts'
import { storeSalt } from '../../src/events/ids.ts'
import type { BatchScheduler } from '../../src/actor/batchScheduler.ts'
import type { ActorType } from '../../src/actor/actorType.ts'
import type { FeedShortcut } from '../../src/actor/feedShortcut.ts'
import { ActorHost, type FeedDispatcher } from '../../src/actor/host.ts'
import type { Intake, Submitter } from '../../src/actor/port.ts'
import type { Applied } from '../../src/actor/applied.ts'
import { Partition } from '../../src/actor/partition.ts'
import { recover, snapshotOf, type Recovered } from '../../src/actor/recovery.ts'
import { REMOVAL } from '../../src/actor/removal.ts'
import type { CommitLog, Committed, LogEvent, LogFrame, Snapshot, SnapshotStore } from '../../src/log/port.ts'
import type { Beacon } from '../../src/model/beacon.ts'
import type { Geofence } from '../../src/model/geofence.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'
import { NO_ATLAS, type Atlas } from '../../src/rules/atlas.ts'
import type { RegistryView } from '../../src/rules/port.ts'
import { ScopeStore } from '../../src/registry/scopeStore.ts'
import { ByteBound } from '../../src/runtime/byteBound.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import type { Measurer } from '../../src/spatial/port.ts'

/**
 * A whole engine in memory: real actors, index and geometry, with substitutes for the log, the snapshots and the
 * event index.
 */

export const SALT = storeSalt('0123456789abcdef')

/** A Friday, 12:00 UTC. */
export const NOON = Date.UTC(2026, 0, 2, 12)

export const MINUTE = 60_000

/**
 * A substitute for the log. A frame becomes durable when it is released; by default that happens in a later turn of
 * the event loop.
 */
export class MemoryLog implements CommitLog {
  readonly frames: Uint8Array[] = []
  trimmedTo = 1
  /** While true, an append stays in flight until {@link release}. */
  holding = false
  private inFlight: { readonly payload: Uint8Array; readonly done: (offset: number) => void } | undefined

  get offset(): number {
    return this.frames.length
  }

  get bytes(): number {
    return this.frames.reduce((sum, frame) => sum + frame.length, 0)
  }

  get isFlushing(): boolean {
    return this.inFlight !== undefined
  }

  append<E extends LogEvent>(
    parts: readonly Uint8Array[],
    done: (frame: Committed<E>) => void,
    events: readonly E[] = [],
  ): void {
    if (this.inFlight !== undefined) throw new Error('two appends in flight')
    this.inFlight = { payload: Buffer.concat(parts), done: (offset) => done({ offset, events }) }
    if (!this.holding) setImmediate(() => this.release())
  }

  release(): void {
    if (this.inFlight === undefined) throw new Error('nothing in flight')
    const { payload, done } = this.inFlight
    this.inFlight = undefined
    this.frames.push(payload)
    done(this.offset)
  }

  /** What a process finds on the disk after this one was killed. The frame in flight is lost. */
  killed(): MemoryLog {
    const left = new MemoryLog()
    left.frames.push(...this.frames)
    left.trimmedTo = this.trimmedTo
    return left
  }

  *read(offset: number): Iterable<LogFrame> {
    for (let at = Math.max(offset, this.trimmedTo); at <= this.frames.length; at++) {
      yield { offset: at, payload: this.frames[at - 1]! }
    }
  }

  trim(offset: number): void {
    this.trimmedTo = Math.max(this.trimmedTo, offset)
  }

  async close(): Promise<void> {}
}

export class MemorySnapshots implements SnapshotStore {
  private readonly kept = new Map<number, Snapshot[]>()

  async write(partition: number, { offset, bytes }: Snapshot): Promise<void> {
    const kept = [{ offset, bytes: Uint8Array.from(bytes) }, ...(this.kept.get(partition) ?? [])]
    this.kept.set(partition, kept.slice(0, 2))
  }

  newest(partition: number): Snapshot | undefined {
    return this.kept.get(partition)?.[0]
  }

  trimOffset(partition: number): number {
    return this.kept.get(partition)?.[1]?.offset ?? 0
  }
}

/** The part of the event index that the actors need, and what tests read. */
export class MemoryEvents implements EventIndex {
  readonly all: StoredEvent[] = []
  /** For each event, the offset of its frame. */
  readonly offsets: number[] = []
  durableLogOffset = 0
  pendingBytes = 0
  private last = 0

  committed({ offset, events }: Committed<StoredEvent>): void {
    this.add(offset, events)
  }

  add(offset: number, events: readonly StoredEvent[]): void {
    if (offset < this.last) throw new Error(`offset ${offset} after ${this.last}`)
    if (offset === this.last) return
    this.last = offset
    for (const event of events) {
      this.all.push(event)
      this.offsets.push(offset)
    }
    this.durableLogOffset = offset
  }

  async list(): Promise<{ events: string[]; hasMore: boolean }> {
    return { events: this.all.map((event) => event.json), hasMore: false }
  }

  async total(): Promise<number> {
    return this.all.length
  }

  async count(): Promise<IntervalCounts[]> {
    throw new Error('not counted here')
  }

  get lastOffset(): number {
    return this.all.length
  }

  async read(scopes: Scopes, after: number, limit: number): Promise<EventPage> {
    const placed = this.all.map((event, i) => ({ offset: i + 1, event }))
    const events = placed
      .filter(({ offset, event }) => offset > after && (scopes === 'all' || event.scope === scopes))
      .slice(0, limit)
    return { events, offset: events.length < limit ? this.lastOffset : events.at(-1)!.offset }
  }

  async offsetOf(_scope: number, id: string): Promise<number | undefined> {
    return this.all.findIndex((event) => event.id === id) + 1 || undefined
  }

  async get(_scope: number, id: string): Promise<string | undefined> {
    return this.all.find((event) => event.id === id)?.json
  }

  async verify(): Promise<undefined> {}

  async delete(): Promise<boolean> {
    return false
  }

  async prune(): Promise<number> {
    return 0
  }

  async close(): Promise<void> {}
}

/** Geofences, beacons and settings of all scopes, in the form in which the registry shows them to the actors. */
export class World implements RegistryView {
  revision = 1
  private readonly clock: ManualClock
  private readonly stores = new Map<number, ScopeStore>()
  private readonly byScope = new Map<number, Map<string, Geofence>>()
  private readonly beaconsByScope = new Map<number, Map<string, Beacon>>()
  private readonly atlas: Atlas

  constructor(clock: ManualClock, atlas: Atlas = NO_ATLAS) {
    this.clock = clock
    this.atlas = atlas
  }

  scope(scope: number): ScopeStore {
    let store = this.stores.get(scope)
    if (store === undefined) {
      store = new ScopeStore(createGeofenceIndex(), this.clock, this.revision, this.atlas)
      this.stores.set(scope, store)
    }
    return store
  }

  /** What was put and not removed. The oracle checks all of them. */
  geofences(scope: number): Map<string, Geofence> {
    let all = this.byScope.get(scope)
    if (all === undefined) this.byScope.set(scope, (all = new Map()))
    return all
  }

  put(geofence: Geofence): void {
    this.geofences(geofence.scope).set(geofence.id, geofence)
    const store = this.scope(geofence.scope)
    store.geofences.put(geofence)
    store.revision = ++this.revision
  }

  remove(geofence: Geofence): void {
    this.geofences(geofence.scope).delete(geofence.id)
    const store = this.scope(geofence.scope)
    store.geofences.remove(geofence.id)
    store.revision = ++this.revision
  }

  /** What was put and not removed, as for geofences. */
  beacons(scope: number): Map<string, Beacon> {
    let all = this.beaconsByScope.get(scope)
    if (all === undefined) this.beaconsByScope.set(scope, (all = new Map()))
    return all
  }

  putBeacon(beacon: Beacon): void {
    this.beacons(beacon.scope).set(beacon.id, beacon)
    const store = this.scope(beacon.scope)
    store.beacons.put(beacon)
    store.revision = ++this.revision
  }

  removeBeacon({ scope, id }: Beacon): void {
    this.beacons(scope).delete(id)
    const store = this.scope(scope)
    store.beacons.remove(id)
    store.revision = ++this.revision
  }

  set(scope: number, change: Partial<Settings>): void {
    const store = this.scope(scope)
    store.settings = { ...DEFAULT_SETTINGS, ...store.settings, ...change }
    store.revision = ++this.revision
  }
}

export interface EngineOptions {
  readonly partitions?: number
  readonly mailboxBytes?: number
  readonly log?: MemoryLog
  readonly snapshots?: MemorySnapshots
  readonly events?: MemoryEvents
  readonly clock?: ManualClock
  readonly world?: World
  readonly atlas?: Atlas
  readonly measurer?: Measurer
  readonly types?: readonly ActorType[]
  readonly dispatcher?: FeedDispatcher
  readonly scheduler?: BatchScheduler
  /** Makes what moves trips at once. Without it, all go through the feed. */
  readonly shortcut?: ((partitions: readonly Partition[]) => FeedShortcut) | undefined
}

export class Engine {
  readonly clock: ManualClock
  readonly world: World
  readonly log: MemoryLog
  readonly snapshots: MemorySnapshots
  readonly events: MemoryEvents
  readonly partitions: readonly Partition[]
  readonly host: ActorHost
  readonly recovered: Recovered

  /** Starts like the real process, with recovery from log and snapshots. */
  constructor(options: EngineOptions = {}) {
    this.clock = options.clock ?? new ManualClock(NOON)
    this.world = options.world ?? new World(this.clock, options.atlas)
    this.log = options.log ?? new MemoryLog()
    this.snapshots = options.snapshots ?? new MemorySnapshots()
    this.events = options.events ?? new MemoryEvents()
    this.partitions = Array.from(
      { length: options.partitions ?? 4 },
      (_, number) => new Partition(number, SALT, 1, options.types),
    )
    const { partitions, log, snapshots, events, clock } = this
    this.recovered = recover(partitions, log, snapshots, events, clock.now())
    this.host = new ActorHost({
      partitions,
      log,
      registry: this.world,
      events,
      mailbox: new ByteBound(options.mailboxBytes ?? 64 * 1024 * 1024),
      clock,
      measurer: options.measurer,
      shortcut: options.shortcut?.(partitions),
      ...(options.dispatcher && { dispatcher: options.dispatcher }),
      ...(options.scheduler && { scheduler: options.scheduler }),
    })
  }

  /** A new process on the same disk; `options` may replace what it finds there. */
  restarted(options: EngineOptions = {}): Engine {
    const { log, snapshots, events, clock, world } = this
    return new Engine({
      partitions: this.partitions.length,
      log,
      snapshots,
      events,
      clock,
      world,
      ...options,
    })
  }

  /** Submits one update and waits until it is durable. */
  track(update: Update, rateLimited = false): Promise<Told> {
    return new Promise((resolve) => {
      this.host.submitOne(update, 100, new Once(resolve, rateLimited))
    })
  }

  async snapshot(): Promise<void> {
    for (const partition of this.partitions) {
      await this.snapshots.write(partition.number, {
        offset: this.log.offset,
        bytes: snapshotOf(partition, this.world.revision, this.clock.now()),
      })
    }
  }

  counters(): ActorHost['counters'] {
    return this.host.counters
  }

  /** An update with the current time. Fields that are not given get the smallest valid value. */
  update(given: Partial<Update> & Pick<Update, 'deviceId' | 'latitude' | 'longitude'>): Update {
    return {
      scope: 0,
      foreground: false,
      stopped: false,
      replayed: false,
      receivedAt: this.clock.now(),
      ip: '192.0.2.1',
      accuracy: 5,
      ...given,
    }
  }
}

/** The answer to the sender of an update. */
export type Told = Applied | ApiError

export function applied(told: Told): Applied {
  if (told instanceof ApiError) throw told
  return told
}

/** Removes a user's record. Resolves to whether it existed. */
export function removeRecord(intake: Pick<Intake, 'execute'>, recordId: string, scope = 0): Promise<boolean> {
  return intake.execute(REMOVAL, { scope, recordId }, 0)
}

class Once implements Submitter {
  readonly wantsUser = true
  readonly wantsEvents = true
  isBehind = false
  readonly rateLimited: boolean
  private readonly tell: (told: Told) => void

  constructor(tell: (told: Told) => void, rateLimited: boolean) {
    this.tell = tell
    this.rateLimited = rateLimited
  }

  applied(result: Applied): void {
    this.tell(result)
  }

  refused(error: ApiError): void {
    this.tell(error)
  }
}

/** All durable state of the partitions, in a form that can be compared. */
export function stateOf(partitions: readonly Partition[]) {
  return partitions.map(({ number, sequence, table }) => {
    const rows = []
    for (let row = 0; row < table.length; row++) {
      if (!table.exists(row)) continue
      const { visitsBefore, ...profile } = table.peek(row)
      rows.push({
        row,
        scope: table.scope(row),
        latitude: table.latitude(row),
        longitude: table.longitude(row),
        accuracy: table.accuracy(row),
        updatedAt: table.updatedAt(row),
        receivedAt: table.receivedAt(row),
        createdAt: table.createdAt(row),
        flags: table.flags(row),
        sameDevice: [...recordsOf(table, row)].sort((a, b) => a - b),
        sameUser:
          profile.userId === undefined
            ? []
            : [...table.rowsOfUser(table.scope(row), profile.userId)].sort((a, b) => a - b),
        profile,
        visitsBefore,
      })
    }
    return { number, sequence, count: table.count, rows }
  })
}

/** The records of the row's device. */
function* recordsOf(table: Partition['table'], row: number): Iterable<number> {
  const first = table.firstOf(table.scope(row), table.peek(row).deviceId)
  for (let at = first; at >= 0; at = table.nextOf(at)) yield at
}

/** A circular geofence of 100 m at 0° 0°, with the given changes. */
export function aGeofence(id: string | number, change: Partial<Geofence> = {}): Geofence {
  const hex = typeof id === 'number' ? id.toString(16).padStart(24, '0') : id
  return {
    id: hex,
    scope: 0,
    tag: 'test',
    externalId: hex,
    description: `Geofence ${hex}`,
    type: change.shape?.kind ?? 'circle',
    shape: { kind: 'circle', center: [0, 0], radius: 100 },
    enabled: true,
    timeZone: 'UTC',
    createdAt: NOON - 86_400_000,
    updatedAt: NOON - 86_400_000,
    ...change,
  }
}

/** An iBeacon at 0° 0°, with the given changes. */
export function aBeacon(id: string | number, change: Partial<Beacon> = {}): Beacon {
  const hex = typeof id === 'number' ? id.toString(16).padStart(24, 'b') : id
  return {
    id: hex,
    scope: 0,
    description: `Beacon ${hex}`,
    ...IBEACON,
    coordinates: [0, 0],
    enabled: true,
    createdAt: NOON - 86_400_000,
    updatedAt: NOON - 86_400_000,
    ...change,
  }
}

const IBEACON = {
  type: 'ibeacon',
  uuid: 'f7826da6-4fa2-4e98-8024-bc5b71e0893e',
  major: '1',
  minor: '2',
} as const

/** In the middle of {@link aGeofence}, and far away from it. */
export const HERE = { latitude: 0, longitude: 0 }
export const AWAY = { latitude: 1, longitude: 0 }

export function engineWithGeofence(options: EngineOptions = {}): Engine {
  const engine = new Engine(options)
  engine.world.put(aGeofence(1))
  return engine
}

/** Such as `entered`, `exited`, `dwelled`, in order. */
export function kinds({ events }: Applied): string[] {
  return events.map((json) => JSON.parse(json).type.split(/[._]/)[1])
}

/** How often each property runs; RINGFENCE_TEST_RUNS multiplies it. */
export function runs(count: number): { numRuns: number } {
  return { numRuns: Math.max(1, Math.ceil(count * Number(process.env.RINGFENCE_TEST_RUNS ?? 1))) }
}
