import type { Bounds } from '../geometry/bounds.ts'
import { ShapeArena } from '../geometry/shapeArena.ts'
import type { Geofence } from '../model/geofence.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Box } from './cellGrid.ts'
import type { GeofenceIndex } from './port.ts'
import { RENEW_HOOKS_MS, Tile38Hooks } from './tile38Hooks.ts'
import { cornersOf, NO_LIMIT, Tile38Keys } from './tile38Texts.ts'
import { Tile38Cells, type CellAnswers, type CellSource, type Place } from './tile38Cells.ts'
import {
  Tile38Unreachable,
  type Tile38,
  type Tile38Command,
  type Tile38Follower,
  type Tile38Reply,
} from './tile38Port.ts'

/** Commands of one pipeline: more wait longer for each other, fewer cost more for each. */
const PIPELINE = 512
/** Changes that wait; with more, the scope is written anew. */
const MOST_WAITING = 100_000
/** Degrees, a centimetre: beyond any rounding on the way. */
const PAD_DEGREES = 1e-7
/** After the server refused something that it must take: it may be out of memory, or read-only. */
const REFUSED_MS = 5000

/** Where the geofences are that Tile38 is to have. */
export interface GeofenceSource {
  /** Rises with every change of any scope; when an index is told of a change, it is that change's. */
  readonly revision: number
  /** All of a scope as they stand when they are reached, while others change. */
  geofences(scope: ScopeId): Iterable<Geofence>
}

/** One scope, as far as it is written. */
interface Mirrored {
  readonly scope: ScopeId
  /** `unknown`: has to be written anew. */
  state: 'unknown' | 'writing' | 'current'
  /** Revision of the last change here. */
  changedAt: number
  /** What is not written yet; undefined: was removed. */
  readonly waiting: Map<string, Geofence | undefined>
}

/**
 * The geofences of all scopes in Tile38, as boxes that hold them: a collection per scope and beside it how far it is.
 *
 * The naive way writes a geofence when it changes and believes what it finds. But a server that was killed has lost its last
 * second, another has taken its place, or stands empty; and while it is written, some of it is new and some is old. So:
 * before changes are written their revision is noted as begun, and behind them as done. What is between the two may or may not
 * be in an answer. With each connection, and after each start, a scope is written anew unless all of it is known to be
 * there.
 *
 * Owns: what Tile38 holds of geofences. Does not own: whether somebody asks for it (tile38Cells.ts).
 */
export class Tile38Geofences implements CellSource, Tile38Follower {
  readonly #tile38: Tile38
  /** Undefined until {@link start}: the registry reads its geofences into indexes that are made here. */
  #source: GeofenceSource | undefined
  readonly #logger: Logger
  readonly #keys: Tile38Keys
  /** Tells what this process has written from what others did, or this one's data folder in another life. */
  readonly #writer: string
  readonly #hooks: Tile38Hooks
  readonly #scopes = new Map<ScopeId, Mirrored>()
  #timer: NodeJS.Timeout | undefined
  /** Those whose scope is known: the first geofence of an index tells. */
  readonly #scopeOf = new Map<Tile38Cells, ScopeId>()
  readonly #indexOf = new Map<ScopeId, Tile38Cells>()
  #working = false

  /**
   * @param parts.storeId keeps the data of one data folder apart from that of others in the same Tile38
   * @param parts.writer differs with every start
   * @param parts.hooksUrl see {@link Tile38Hooks}
   */
  constructor(parts: {
    readonly tile38: Tile38
    readonly storeId: string
    readonly writer: string
    readonly hooksUrl: string
    readonly logger: Logger
  }) {
    this.#tile38 = parts.tile38
    this.#keys = new Tile38Keys(parts.storeId)
    this.#hooks = new Tile38Hooks(this.#keys, parts.hooksUrl)
    this.#writer = parts.writer
    this.#logger = parts.logger
  }

  /** Geofences that are here and not in Tile38 yet, or the other way about; Infinity: a scope has to be written anew. */
  get waiting(): number {
    let waiting = 0
    for (const { state, waiting: ids } of this.#scopes.values())
      waiting += state === 'current' ? ids.size : Infinity
    return waiting
  }

  get revision(): number {
    return this.#source?.revision ?? 0
  }

  /** An index whose geofences are in Tile38 too. */
  index(memory: GeofenceIndex): Tile38Cells {
    return new Tile38Cells(memory, this)
  }

  /** Begins to write. Before it, geofences may be put that are read from the disk. */
  start(source: GeofenceSource): void {
    this.#source = source
    for (const mirrored of this.#scopes.values()) mirrored.changedAt = source.revision
    this.#tile38.follow(this)
    this.#timer = setInterval(() => void this.#renewHooks(), RENEW_HOOKS_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** How many looks for candidates a cell answered, and how many memory did. */
  get looks(): { readonly cells: number; readonly memory: number } {
    let [cells, memory] = [0, 0]
    for (const { looks } of this.#indexOf.values()) {
      cells += looks.cells
      memory += looks.memory
    }
    return { cells, memory }
  }

  /** See {@link Tile38Cells.prepare}, for places of any scope. */
  async prepare(places: readonly (Place & { readonly scope: ScopeId })[]): Promise<void> {
    const byScope = Map.groupBy(places, ({ scope }) => scope)
    await Promise.all([...byScope].map(([scope, those]) => this.#indexOf.get(scope)?.prepare(those)))
  }

  connected(): void {
    for (const mirrored of this.#scopes.values()) this.#forget(mirrored)
    void this.#work()
  }

  disconnected(): void {
    for (const mirrored of this.#scopes.values()) this.#forget(mirrored)
  }

  changed(index: Tile38Cells, id: string, geofence: Geofence | undefined): void {
    if (geofence !== undefined && !this.#scopeOf.has(index)) {
      this.#scopeOf.set(index, geofence.scope)
      this.#indexOf.set(geofence.scope, index)
    }
    const scope = this.#scopeOf.get(index)
    if (scope === undefined) return
    let mirrored = this.#scopes.get(scope)
    if (mirrored === undefined) {
      mirrored = { scope, state: 'unknown', changedAt: 0, waiting: new Map() }
      this.#scopes.set(scope, mirrored)
    }
    mirrored.changedAt = this.revision
    if (mirrored.state !== 'unknown') mirrored.waiting.set(id, geofence)
    if (mirrored.waiting.size > MOST_WAITING) this.#forget(mirrored)
    if (this.#tile38.isConnected) void this.#work()
  }

  async ask(index: Tile38Cells, boxes: readonly Readonly<Box>[]): Promise<CellAnswers | undefined> {
    const scope = this.#scopeOf.get(index)
    if (scope === undefined || this.#scopes.get(scope)!.state !== 'current') return undefined
    // Tile38 being gone or unwell is told by what writes to it.
    return this.#ask(scope, boxes).catch(() => undefined)
  }

  async #ask(scope: ScopeId, boxes: readonly Readonly<Box>[]): Promise<CellAnswers | undefined> {
    const questions = boxes.flatMap((box, cell) => turnsOf(box).map((bounds) => ({ cell, bounds })))
    const ids = boxes.map(() => new Set<string>())
    let revision = Infinity
    for (let from = 0; from < questions.length; from += PIPELINE) {
      const part = questions.slice(from, from + PIPELINE)
      const replies = await this.#tile38.send([
        ['GET', this.#keys.geofencesState(scope), 'done'],
        ...part.map(({ bounds }) => this.#intersects(scope, bounds)),
        ['GET', this.#keys.geofencesState(scope), 'begun'],
      ])
      const done = this.#revisionOf(replies[0])
      const begun = this.#revisionOf(replies.at(-1))
      // Of what is newer than the registry here, something may be gone that here is still there.
      if (done === undefined || begun === undefined || begun > this.revision) return undefined
      revision = Math.min(revision, done)
      part.forEach(({ cell }, i) => {
        for (const id of idsOf(replies[i + 1])) ids[cell]!.add(id)
      })
    }
    return { revision, ids: ids.map((found) => [...found]) }
  }

  #intersects(scope: ScopeId, bounds: Bounds): Tile38Command {
    return [
      'INTERSECTS',
      this.#keys.geofences(scope),
      'LIMIT',
      NO_LIMIT,
      'IDS',
      'BOUNDS',
      ...cornersOf(bounds),
    ]
  }

  #forget(mirrored: Mirrored): void {
    mirrored.state = 'unknown'
    mirrored.waiting.clear()
  }

  /** Writes what there is to write, one scope after the other, until nothing waits. */
  async #work(): Promise<void> {
    if (this.#working) return
    this.#working = true
    try {
      // What changes in one turn of the event loop goes together.
      await new Promise((resolve) => setImmediate(resolve))
      for (let more = true; more && this.#tile38.isConnected;) {
        more = false
        for (const mirrored of this.#scopes.values()) {
          if (mirrored.state === 'current' && mirrored.waiting.size === 0) continue
          more = true
          if (mirrored.state === 'unknown') await this.#writeAnew(mirrored)
          else await this.#writeChanges(mirrored)
        }
      }
    } catch (error) {
      for (const mirrored of this.#scopes.values()) this.#forget(mirrored)
      if (error instanceof Tile38Unreachable) return
      this.#logger.error({ err: error }, 'geofences cannot be written to Tile38; trying again')
      const again = setTimeout(() => void this.#work(), REFUSED_MS)
      again.unref()
    } finally {
      this.#working = false
    }
  }

  async #renewHooks(): Promise<void> {
    // What fails is made anew with the scope.
    if (this.#tile38.isConnected) await this.#tile38.send(this.#hooks.renewals()).catch(() => {})
  }

  async #writeAnew(mirrored: Mirrored): Promise<void> {
    const { scope } = mirrored
    mirrored.state = 'writing'
    const { changedAt } = mirrored
    await this.#tile38.send([
      ['DEL', this.#keys.geofencesState(scope), 'done'],
      ['DROP', this.#keys.geofences(scope)],
      ...this.#hooks.forget(scope),
    ])
    let batch: Geofence[] = []
    for (const geofence of this.#source!.geofences(scope)) {
      batch.push(geofence)
      if (batch.length < PIPELINE) continue
      await this.#tile38.send(this.#puts(scope, batch))
      if (mirrored.state !== 'writing') return
      batch = []
    }
    // Those that were reached late may be as newer changes left them.
    await this.#tile38.send([
      ...this.#puts(scope, batch),
      this.#note(scope, 'begun', mirrored.changedAt),
      this.#note(scope, 'done', changedAt),
    ])
    if (mirrored.state === 'writing') mirrored.state = 'current'
  }

  async #writeChanges(mirrored: Mirrored): Promise<void> {
    const { scope, waiting, changedAt } = mirrored
    const commands: Tile38Command[] = [this.#note(scope, 'begun', changedAt)]
    for (const [id, geofence] of waiting) {
      if (geofence === undefined) commands.push(...this.#removal(scope, id))
      else commands.push(...this.#puts(scope, [geofence]))
    }
    commands.push(this.#note(scope, 'done', changedAt))
    waiting.clear()
    for (let from = 0; from < commands.length; from += PIPELINE) {
      await this.#tile38.send(commands.slice(from, from + PIPELINE))
      if (mirrored.state !== 'current') return
    }
  }

  /** The boxes of a geofence have its id, and that with `/1`, …, where it has several. */
  #puts(scope: ScopeId, geofences: readonly Geofence[]): Tile38Command[] {
    const arena = new ShapeArena()
    return geofences.flatMap((geofence) => [
      ...arena
        .bounds(arena.add(geofence.shape))
        .map((bounds, i) => [
          'SET',
          this.#keys.geofences(scope),
          i === 0 ? geofence.id : `${geofence.id}/${i}`,
          'BOUNDS',
          ...cornersOf(bounds, PAD_DEGREES),
        ]),
      ...this.#hooks.changed(scope, geofence.id, geofence),
    ])
  }

  /** A second box may be left of a shape that the geofence had before its last: a superset all the same. */
  #removal(scope: ScopeId, id: string): Tile38Command[] {
    const boxes = [id, `${id}/1`].map((each) => ['DEL', this.#keys.geofences(scope), each])
    return [...boxes, ...this.#hooks.changed(scope, id, undefined)]
  }

  #note(scope: ScopeId, what: 'begun' | 'done', revision: number): Tile38Command {
    return ['SET', this.#keys.geofencesState(scope), what, 'STRING', `${revision} ${this.#writer}`]
  }

  /** Undefined where there is none, or it is not of this writer. */
  #revisionOf(reply: Tile38Reply | undefined): number | undefined {
    const [revision, writer] = typeof reply === 'string' ? reply.split(' ') : []
    return writer === this.#writer ? Number(revision) : undefined
  }
}

/** The parts of a box, whose east may be past 180, that lie within ±180 degrees. */
function turnsOf({ west, south, east, north }: Readonly<Box>): Bounds[] {
  if (west < -180)
    return [
      { west: west + 360, south, east: 180, north },
      { west: -180, south, east, north },
    ]
  if (east > 180)
    return [
      { west, south, east: 180, north },
      { west: -180, south, east: east - 360, north },
    ]
  return [{ west, south, east, north }]
}

/** Of a reply `[cursor, [id, …]]`. */
function idsOf(reply: unknown): string[] {
  const [, ids] = reply as readonly [unknown, readonly string[]]
  return ids.map((id) => id.split('/', 1)[0]!)
}
