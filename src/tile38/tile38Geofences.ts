import type { Bounds } from '../geometry/bounds.ts'
import { ShapeArena } from '../geometry/shapeArena.ts'
import type { Geofence } from '../model/geofence.ts'
import type { ScopeId } from '../model/scope.ts'
import { cornersOf, Tile38Keys } from './tile38Texts.ts'
import {
  Tile38Unreachable,
  type Tile38,
  type Tile38Command,
  type Tile38Follower,
  type Tile38Reply,
} from './tile38Port.ts'

/** Commands of one pipeline: with more they wait longer for each other, with fewer each costs more. */
const PIPELINE = 512
/** Waiting changes; with more, the scope is written again. */
const MOST_WAITING = 100_000
/** Degrees, about a centimetre: more than any rounding error on the way. */
const PAD_DEGREES = 1e-7
/** The pause after the server refused a necessary command: it may be out of memory, or read-only. */
const REFUSED_MS = 5000
/** Between two checks whether everything is still there; each moves the notes to the registry's revision. */
const BEAT_MS = 2000

/** The source of the geofences for Tile38. */
export interface GeofenceSource {
  /**
   * Increases with every change of any scope, the same in all processes. When an index is told of a change, it is
   * that change's revision.
   */
  readonly revision: number
  /** All geofences of a scope, in their state when they are reached, while others change. */
  geofences(scope: ScopeId): Iterable<Geofence>
}

/** How far one scope is written. */
interface Mirrored {
  readonly scope: ScopeId
  /** `unknown`: it must be written again. */
  state: 'unknown' | 'writing' | 'current'
  /** Revision of the last change here. */
  changedAt: number
  /** Of the last note. */
  noted: number
  /** What is not written yet; undefined: it was removed. */
  readonly waiting: Map<string, Geofence | undefined>
}

/**
 * The bounding boxes of the geofences of all scopes in Tile38, written by one process: a collection per scope, with
 * notes that say up to which revision it is complete.
 *
 * The obvious way writes a geofence when it changes, and trusts what Tile38 returns. But a server that was killed has
 * lost its last second of writes, or was replaced by another one or an empty one. During a write, a part of the
 * content is old. And a process that was suspended may overwrite what another process has written in the meantime.
 *
 * Invariants
 * - TILE38-1: The collections carry their writer's name. Two processes that both believe to be the writer do not
 *   collide, and what an earlier process left is never read. A process that begins to write drops the collections of
 *   all others.
 * - TILE38-2: Before changes are written, their revision is noted as begun, and after them as done. Changes between
 *   the two may or may not be in an answer.
 * - TILE38-3: Each connection writes everything anew, and so does a look-up that finds the notes missing. A note is
 *   only changed, never created, except when a scope has been written completely: so a collection that was emptied
 *   while it was written has no notes.
 *
 * Owns: the geofences in Tile38. Does not own: who may write, and queries (tile38Candidates.ts).
 */
export class Tile38Geofences implements Tile38Follower {
  readonly #tile38: Tile38
  readonly #troubled: (error: Error) => void
  readonly #keys: Tile38Keys
  readonly #writer: string
  readonly #scopes = new Map<ScopeId, Mirrored>()
  /** Undefined while another process writes. */
  #source: GeofenceSource | undefined
  #beat: NodeJS.Timeout | undefined
  #isBeatDue = false
  /** There are no collections of other writers. */
  #isAlone = false
  #working = false

  /**
   * @param parts.storeId separates the data of one store from that of others in the same Tile38
   * @param parts.writer identifies this run of the process
   */
  constructor(parts: {
    readonly tile38: Tile38
    readonly storeId: string
    readonly writer: string
    /** Called for each refusal; the write is tried again. */
    readonly troubled: (error: Error) => void
  }) {
    this.#tile38 = parts.tile38
    this.#keys = new Tile38Keys(parts.storeId)
    this.#writer = parts.writer
    this.#troubled = parts.troubled
    this.#tile38.follow(this)
  }

  get isWriting(): boolean {
    return this.#source !== undefined
  }

  /**
   * Geofences that differ between here and Tile38; Infinity: a scope must be written again. 0 while another process
   * writes.
   */
  get waiting(): number {
    if (!this.isWriting) return 0
    let waiting = 0
    for (const { state, waiting: ids } of this.#scopes.values())
      waiting += state === 'current' ? ids.size : Infinity
    return waiting
  }

  /** Begins to write. */
  begin(source: GeofenceSource): void {
    this.#source = source
    for (const mirrored of this.#scopes.values()) mirrored.changedAt = source.revision
    this.#beat = setInterval(() => {
      this.#isBeatDue = true
      void this.#work()
    }, BEAT_MS).unref()
    this.connected()
  }

  end(): void {
    clearInterval(this.#beat)
    this.#source = undefined
    this.disconnected()
  }

  connected(): void {
    this.disconnected()
    void this.#work()
  }

  disconnected(): void {
    this.#isAlone = false
    this.#forgetAll()
  }

  /** A geofence has changed; undefined: it was removed. */
  changed(scope: ScopeId, id: string, geofence: Geofence | undefined): void {
    let mirrored = this.#scopes.get(scope)
    if (mirrored === undefined) {
      mirrored = { scope, state: 'unknown', changedAt: 0, noted: 0, waiting: new Map() }
      this.#scopes.set(scope, mirrored)
    }
    if (this.#source === undefined) return
    mirrored.changedAt = this.#source.revision
    if (mirrored.state !== 'unknown') mirrored.waiting.set(id, geofence)
    if (mirrored.waiting.size > MOST_WAITING) this.#forget(mirrored)
    void this.#work()
  }

  #forget(mirrored: Mirrored): void {
    mirrored.state = 'unknown'
    mirrored.waiting.clear()
  }

  #forgetAll(): void {
    for (const mirrored of this.#scopes.values()) this.#forget(mirrored)
  }

  /** Writes changes, one scope after the other, until nothing waits. */
  async #work(): Promise<void> {
    if (this.#working || this.#source === undefined || !this.#tile38.isConnected) return
    this.#working = true
    try {
      // Changes in one turn of the event loop are written together.
      await new Promise((resolve) => setImmediate(resolve))
      for (;;) {
        const source: GeofenceSource | undefined = this.#source
        if (source === undefined || !this.#tile38.isConnected || !(await this.#workOnce(source))) break
      }
    } catch (error) {
      this.disconnected()
      if (error instanceof Tile38Unreachable) return
      this.#troubled(error as Error)
      setTimeout(() => void this.#work(), REFUSED_MS).unref()
    } finally {
      this.#working = false
    }
  }

  /** Returns false if there is nothing to do. */
  async #workOnce(source: GeofenceSource): Promise<boolean> {
    if (!this.#isAlone) {
      this.#isAlone = true
      await this.#dropOthers()
      return true
    }
    if (this.#isBeatDue) {
      this.#isBeatDue = false
      await this.#look(source)
      return true
    }
    let worked = false
    for (const mirrored of this.#scopes.values()) {
      if (mirrored.state === 'current' && mirrored.waiting.size === 0) continue
      worked = true
      if (mirrored.state === 'unknown') await this.#writeAnew(mirrored, source)
      else await this.#writeChanges(mirrored)
    }
    return worked
  }

  async #dropOthers(): Promise<void> {
    const [reply] = await this.#tile38.send([['KEYS', this.#keys.allGeofences]])
    const others = (reply as readonly string[]).filter((key) => !key.endsWith(`:${this.#writer}`))
    await this.#send(others.map((key) => ['DROP', key]))
  }

  /**
   * Checks that everything is still there and up to date: a scope without waiting changes is at the registry's
   * revision.
   */
  async #look(source: GeofenceSource): Promise<void> {
    const { revision } = source
    const settled = [...this.#scopes.values()].filter(
      ({ state, waiting }) => state === 'current' && waiting.size === 0,
    )
    const before = settled.map(({ noted }) => noted)
    // Each write makes Tile38's file grow, so notes that are up to date are only read.
    const late = settled.filter(({ noted }) => noted !== revision)
    const replies = await this.#send([
      ...settled.map(({ scope }) => ['GET', this.#key(scope), 'done']),
      ...late.flatMap((mirrored) => [
        this.#note(mirrored, 'begun', revision),
        this.#note(mirrored, 'done', revision),
      ]),
    ])
    settled.forEach((mirrored, i) => {
      if (Number(replies[i]) !== before[i]) this.#forget(mirrored)
    })
  }

  async #writeAnew(mirrored: Mirrored, source: GeofenceSource): Promise<void> {
    const { scope } = mirrored
    mirrored.state = 'writing'
    const { changedAt } = mirrored
    // The notes are removed with it.
    await this.#tile38.send([
      ['DROP', this.#key(scope)],
      ['SET', this.#key(scope), 'begun', 'STRING', '0'],
    ])
    let batch: Geofence[] = []
    for (const geofence of source.geofences(scope)) {
      batch.push(geofence)
      if (batch.length < PIPELINE) continue
      await this.#tile38.send(this.#puts(scope, batch))
      if (mirrored.state !== 'writing') return
      batch = []
    }
    // Geofences that were reached late may already include newer changes.
    await this.#tile38.send([
      ...this.#puts(scope, batch),
      this.#note(mirrored, 'begun', mirrored.changedAt),
      ['SET', this.#key(scope), 'done', 'STRING', `${changedAt}`],
    ])
    mirrored.noted = changedAt
    if (mirrored.state === 'writing') mirrored.state = 'current'
  }

  async #writeChanges(mirrored: Mirrored): Promise<void> {
    const { scope, waiting, changedAt } = mirrored
    const commands: Tile38Command[] = [this.#note(mirrored, 'begun', changedAt)]
    for (const [id, geofence] of waiting) {
      if (geofence === undefined) commands.push(...this.#removal(scope, id))
      else commands.push(...this.#puts(scope, [geofence]))
    }
    commands.push(this.#note(mirrored, 'done', changedAt))
    waiting.clear()
    for (let from = 0; from < commands.length; from += PIPELINE) {
      await this.#tile38.send(commands.slice(from, from + PIPELINE))
      if (mirrored.state !== 'current') return
    }
  }

  /** The boxes of a geofence have its id, and if there are several, that with `/1`, …. */
  #puts(scope: ScopeId, geofences: readonly Geofence[]): Tile38Command[] {
    const arena = new ShapeArena()
    return geofences.flatMap((geofence) =>
      arena
        .bounds(arena.add(geofence.shape))
        .map((bounds: Bounds, i) => [
          'SET',
          this.#key(scope),
          i === 0 ? geofence.id : `${geofence.id}/${i}`,
          'BOUNDS',
          ...cornersOf(bounds, PAD_DEGREES),
        ]),
    )
  }

  /** A second box may be left from an earlier shape of the geofence: the result is still a superset. */
  #removal(scope: ScopeId, id: string): Tile38Command[] {
    return [id, `${id}/1`].map((each) => ['DEL', this.#key(scope), each])
  }

  #key(scope: ScopeId): string {
    return this.#keys.geofences(scope, this.#writer)
  }

  /** If there is such a note. */
  #note(mirrored: Mirrored, what: 'begun' | 'done', revision: number): Tile38Command {
    if (what === 'done') mirrored.noted = revision
    return ['SET', this.#key(mirrored.scope), what, 'XX', 'STRING', `${revision}`]
  }

  async #send(commands: readonly Tile38Command[]): Promise<Tile38Reply[]> {
    const replies: Tile38Reply[] = []
    for (let from = 0; from < commands.length; from += PIPELINE)
      replies.push(...(await this.#tile38.send(commands.slice(from, from + PIPELINE))))
    return replies
  }
}
