import Type from 'typebox'
import { Name } from '../http/schemas.ts'
import type { LivePosition, PositionObserver, Positions } from '../actor/port.ts'
import { isSameShape } from '../geometry/shape.ts'
import type { Shape } from '../model/geofence.ts'
import type { ScopeId } from '../model/scope.ts'
import type { ScopeStore } from '../registry/scopeStore.ts'
import type { Pair } from '../registry/records/recordFields.ts'
import { KeyedBound, type Share } from '../runtime/keyedBound.ts'
import type { Clock } from '../runtime/clock.ts'
import { ApiError, badParam, notFound } from '../runtime/errors.ts'
import { Slice } from '../runtime/slices.ts'
import { areaBytes, AreaError, type LiveArea } from '../spatial/liveAreas.ts'
import type { RawMessage, WatchMessage } from './messages.ts'
import { SlowReaderTimer } from './slowReader.ts'
import type { StreamConnection, StreamFeature, StreamFeatureKind } from './port.ts'
import { rotate } from './rotation.ts'
import { BatchedStays } from './batchedStays.ts'
import { BatchedWatch } from './batchedWatch.ts'
import { SingleWatch, type Stay } from './singleWatch.ts'
import type { WatchOwner } from './watch.ts'
import { AreaSchema, readWatched } from './watchArea.ts'
import { deviceTest, watchFilterBytes, WatchFilterSchema } from './watchFilter.ts'
import { NO_DEVICE, WatchedDevices } from './watchedDevices.ts'
import { WatchedScope, type AnyWatch } from './watchedScope.ts'

/** How many watches a connection may have at a time. */
const MAX_WATCHES = 100
const DEFAULT_INTERVAL_MS = 1000
const MAX_INTERVAL_MS = 3_600_000
const MIB = 1024 * 1024
/** Approximate bytes of the devices in watched areas. */
const DEVICES_BOUNDS = { connection: 128 * MIB, key: 256 * MIB, all: 512 * MIB }
/** How often delayed moves, and batches, are sent. */
const TICK_MS = 100
/** How many ticks lie between two checks whether watched geofences have changed. */
const GEOFENCE_TICKS = 10

const Id = Name(64)
export const WatchSchema = Type.Object({
  id: Id,
  area: AreaSchema,
  minIntervalMs: Type.Optional(Type.Number({ minimum: 0, maximum: MAX_INTERVAL_MS })),
  filter: Type.Optional(WatchFilterSchema),
  batch: Type.Optional(Type.Boolean()),
})
export const UnwatchSchema = Type.Object({ id: Id })

export interface WatchesParts {
  readonly positions: Positions
  readonly registry: { scope(scope: ScopeId): Pick<ScopeStore, 'revision' | 'geofences'> }
  readonly clock: Clock
}

/**
 * `watch` and `unwatch`: live positions of the devices in an area.
 *
 * Owns: the watched scopes, the timer for delayed messages, the watched geofences. Does not own: which devices are in
 * an area (watchedScope.ts, batchedScope.ts), what a client is sent (singleWatch.ts, batchedWatch.ts).
 */
export class Watches implements StreamFeatureKind, PositionObserver {
  readonly messages = { watch: WatchSchema, unwatch: UnwatchSchema }
  readonly names = 'watch'
  readonly #parts: WatchesParts
  readonly #devices = new KeyedBound('Devices in watched areas', DEVICES_BOUNDS)
  readonly #scopes = new Map<ScopeId, WatchedScope>()
  readonly #batchedDevices = new WatchedDevices()
  readonly #batchedStays = new BatchedStays(this.#batchedDevices)
  readonly #watches = new Set<AnyWatch>()
  /** The watches of geofences, each with the geofence and its shape at the last check. */
  readonly #geofences = new Map<AnyWatch, { readonly pair: Pair; shape: Shape }>()
  /** The single watches with something to send in this turn. */
  readonly #changed = new Set<SingleWatch>()
  /** How many watches have filters that read the records of positions. */
  #readers = 0
  /** How many watches are told of each position, and not in batches. */
  #singles = 0
  #sends = false
  #beat: NodeJS.Timeout | undefined
  #ticks = 0
  /** Whether batches are sent when the commit in flight is durable. */
  #waitsForCommit = false

  constructor(parts: WatchesParts) {
    this.#parts = parts
  }

  /** How many watches there are. */
  get count(): number {
    return this.#watches.size
  }

  /** Approximate bytes of the devices in watched areas. */
  get devicesBytes(): number {
    return this.#devices.used
  }

  get wantsRecords(): boolean {
    return this.#readers > 0
  }

  open(connection: StreamConnection): StreamFeature {
    const scope = this.#scopeOf(connection.scope)
    return new ConnectionWatches(connection, scope, this.#devices, this)
  }

  /**
   * Begins to tell the watch's owner which devices are in the area and how they move.
   * @throws {ApiError}
   */
  begin(watch: AnyWatch, scope: WatchedScope, area: LiveArea | Pair): void {
    const shape = 'kind' in area ? area : this.#shapeOf(scope, area)
    if (shape === undefined) throw notFound('Geofence')
    const readsRecords = watch.test?.readsRecords === true
    watch.keep(areaBytes(shape))
    try {
      scope.put(watch, shape)
    } catch (error) {
      watch.keep(0)
      throw error instanceof AreaError ? badParam('area', error.message) : error
    }
    if (!('kind' in area)) this.#geofences.set(watch, { pair: area, shape: shape as Shape })
    this.#watches.add(watch)
    if (readsRecords) this.#readers++
    if (!watch.isBatched) this.#singles++
    this.#parts.positions.observer = this
    this.#beat ??= setInterval(() => this.tick(), TICK_MS)
    this.#look(watch, scope, shape)
  }

  end(watch: AnyWatch, scope: WatchedScope): void {
    scope.remove(watch)
    this.#geofences.delete(watch)
    watch.keep(0)
    if (!this.#watches.delete(watch)) return
    if (!watch.isBatched) this.#singles--
    if (watch.test?.readsRecords === true && --this.#readers === 0) this.#parts.positions.observer = this
    if (this.#watches.size > 0) return
    this.#parts.positions.observer = undefined
    clearInterval(this.#beat)
    this.#beat = undefined
  }

  /** Sends the due messages of the single watches of a connection, unless its client reads slowly. */
  send(watches: Iterable<AnyWatch>): void {
    const now = this.#parts.clock.now()
    for (const watch of watches) if (!watch.isBatched) watch.send(now)
  }

  /** While there are batched watches alone, a device in one of their areas is only marked until the next tick. */
  stirred(handle: number): boolean {
    if (this.#singles > 0) return false
    const device = this.#batchedDevices.ofHandle(handle)
    if (device === NO_DEVICE) return false
    if (this.#batchedDevices.isStirred(device)) return true
    const { batched } = this.#scopes.get(this.#batchedDevices.scope(device))!
    // The stays of a watch that has ended take several turns to go.
    if (batched.watches === 0) return false
    batched.stir(device)
    return true
  }

  moved(position: LivePosition): void {
    const scope = this.#scopes.get(position.scope)
    if (scope === undefined) return
    scope.moved(position, this.#parts.clock, this.#changed)
    this.#sendSoon()
  }

  removed(scope: ScopeId, deviceId: string, recordId: string): void {
    this.#scopes.get(scope)?.removed(deviceId, recordId, this.#changed)
    this.#sendSoon()
  }

  /** Called when all positions of a commit have been processed. */
  #sendSoon(): void {
    if (this.#sends || this.#changed.size === 0) return
    this.#sends = true
    queueMicrotask(() => void this.#sendChanged())
  }

  /** Sends what is due to all watches that have changed. There may be thousands, which takes several turns. */
  readonly #sendChanged = async (): Promise<void> => {
    const slice = new Slice()
    // Those that change meanwhile come last.
    for (const watch of this.#changed) {
      this.#changed.delete(watch)
      watch.send(this.#parts.clock.now())
      if (slice.isOver) await slice.next()
    }
    this.#sends = false
  }

  /** Does the periodic work. */
  tick(): void {
    if (++this.#ticks % GEOFENCE_TICKS === 0) this.#followGeofences()
    for (const watch of this.#watches) if (!watch.isBatched) this.#changed.add(watch)
    if (!this.#sends) {
      this.#sends = true
      void this.#sendChanged()
    }
    if (this.#waitsForCommit) return
    this.#waitsForCommit = true
    const { committed } = this.#parts.positions
    if (committed === undefined) this.#sendBatches()
    else committed.whenCommitted(this.#sendBatches)
  }

  /** Looks at what has moved, and sends the batches. Positions can be read now. */
  readonly #sendBatches = (): void => {
    this.#waitsForCommit = false
    const now = this.#parts.clock.now()
    for (const { batched } of this.#scopes.values()) batched.tick(now)
    for (const watch of this.#watches) if (watch.isBatched) watch.send(now)
  }

  #look(watch: AnyWatch, scope: WatchedScope, area: LiveArea): void {
    const viewer = {
      get isEnded() {
        return watch.isEnded
      },
      wantsRecords: watch.test?.readsRecords === true,
      found: (position: LivePosition) => scope.found(watch, position, this.#parts.clock.now()),
      pause: () => this.send([watch]),
    }
    this.#parts.positions.look(scope.scope, area, viewer).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      if (!watch.isEnded) watch.owner.failed(watch, error)
    })
  }

  #followGeofences(): void {
    for (const [watch, known] of this.#geofences) {
      const scope = this.#scopeOf(watch.owner.connection.scope)
      const shape = this.#shapeOf(scope, known.pair)
      if (shape === undefined) {
        watch.owner.failed(watch, new ApiError(404, 'The geofence was deleted.'))
      } else if (!isSameShape(shape, known.shape)) {
        this.#change(watch, scope, known, shape)
      }
    }
  }

  #change(watch: AnyWatch, scope: WatchedScope, known: { shape: Shape }, shape: Shape): void {
    try {
      watch.keep(areaBytes(shape))
    } catch (error) {
      watch.owner.failed(watch, error as ApiError)
      return
    }
    known.shape = shape
    scope.put(watch, shape)
    this.#look(watch, scope, shape)
  }

  /** The tag of a geofence by its `_id`. */
  tagOf(scope: ScopeId, geofenceId: string): string | undefined {
    return this.#parts.registry.scope(scope).geofences.get(geofenceId)?.tag
  }

  #shapeOf({ scope }: WatchedScope, { tag, externalId }: Pair): Shape | undefined {
    const { geofences } = this.#parts.registry.scope(scope)
    const geofence = geofences.byPair(tag, externalId)
    return geofence && geofences.whole(geofence).shape
  }

  #scopeOf(scope: ScopeId): WatchedScope {
    let watched = this.#scopes.get(scope)
    if (watched === undefined) {
      const { committed } = this.#parts.positions
      const parts = { devices: this.#batchedDevices, stays: this.#batchedStays, committed }
      this.#scopes.set(scope, (watched = new WatchedScope(scope, parts)))
    }
    return watched
  }
}

/** The watches of one connection. */
class ConnectionWatches implements StreamFeature, WatchOwner {
  readonly connection: StreamConnection
  readonly slowReader: SlowReaderTimer
  readonly devices: Share
  readonly #scope: WatchedScope
  readonly #all: Watches
  readonly #watches = new Map<string, AnyWatch>()

  constructor(connection: StreamConnection, scope: WatchedScope, devices: KeyedBound, all: Watches) {
    this.connection = connection
    this.slowReader = new SlowReaderTimer(connection)
    this.devices = devices.share(connection.keyName)
    this.#scope = scope
    this.#all = all
  }

  receive(message: RawMessage): void {
    if (message.type === 'watch') this.#watch(message as unknown as WatchMessage)
    else this.#unwatch(message.id as string)
  }

  drained(): void {
    this.slowReader.restore()
    this.#all.send(this.#watches.values())
    rotate(this.#watches)
  }

  closed(): void {
    this.slowReader.restore()
    for (const watch of this.#watches.values()) this.#all.end(watch, this.#scope)
    this.#watches.clear()
  }

  forget(stay: Stay): void {
    this.#scope.forget(stay)
  }

  failed(watch: AnyWatch, { code, param, message, retryAfter }: ApiError): void {
    this.#all.end(watch, this.#scope)
    this.#watches.delete(watch.id)
    this.connection.send({ type: 'error', watch: watch.id, code, param, message, retryAfter })
  }

  #watch(message: WatchMessage): void {
    const { id, area, minIntervalMs = DEFAULT_INTERVAL_MS, filter = {}, batch = false } = message
    if (!this.connection.isSecret) throw new ApiError(403, 'Forbidden. Watches need a secret key.')
    if (this.#watches.has(id)) throw badParam('id', 'Another watch of this connection has this id.')
    if (this.#watches.size === MAX_WATCHES)
      throw badParam('id', `A connection may have ${MAX_WATCHES} watches at one time.`)
    const { scope } = this.connection
    const test = deviceTest(filter, (geofenceId) => this.#all.tagOf(scope, geofenceId))
    const terms = { id, intervalMs: minIntervalMs, test, testBytes: watchFilterBytes(filter) }
    const watch = batch ? new BatchedWatch(terms, this, this.#scope.batched) : new SingleWatch(terms, this)
    this.#all.begin(watch, this.#scope, readWatched(area))
    this.#watches.set(id, watch)
    this.connection.send({ type: 'watching', id })
  }

  #unwatch(id: string): void {
    const watch = this.#watches.get(id)
    if (watch === undefined) throw notFound('Watch')
    this.#watches.delete(id)
    this.#all.end(watch, this.#scope)
    this.connection.send({ type: 'unwatched', id })
  }
}
