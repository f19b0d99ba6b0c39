import type { Bounds } from '../geometry/bounds.ts'
import type { Geofence } from '../model/geofence.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Box } from '../spatial/cellGrid.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import { cornersOf, NO_LIMIT, Tile38Keys } from './tile38Texts.ts'
import { Tile38Cells, type CellAnswers, type CellSource, type Point } from './tile38Cells.ts'
import type { Tile38, Tile38Command, Tile38Reply } from './tile38Port.ts'

/** Questions of one pipeline. */
const PIPELINE = 512

/**
 * The geofences near a place, according to what one process has written into Tile38 (tile38Geofences.ts): this
 * process, or another one with the same registry.
 *
 * An answer is used if its notes say that the registry here contains everything that may be in it. Changes since then
 * are added (tile38Cells.ts). So it does not matter how far the writer is, or whether it still runs.
 *
 * Owns: the index of each scope, the questions. Does not own: who writes.
 */
export class Tile38Candidates implements CellSource {
  readonly #tile38: Tile38
  readonly #keys: Tile38Keys
  readonly #writer: () => string | undefined
  readonly #told: (scope: ScopeId, id: string, geofence: Geofence | undefined) => void
  /** Undefined until {@link start}, because the registry reads its geofences into indexes that are created here. */
  #registry: { readonly revision: number } | undefined
  readonly #indexes = new Set<Tile38Cells>()
  /** The scopes that are known; the first geofence of an index tells its scope. */
  readonly #scopeOf = new Map<Tile38Cells, ScopeId>()
  readonly #indexOf = new Map<ScopeId, Tile38Cells>()

  /**
   * @param parts.writer the process whose geofences are queried; undefined: it is not known, and memory answers
   * @param parts.told called for each change
   */
  constructor(parts: {
    readonly tile38: Tile38
    readonly storeId: string
    readonly writer: () => string | undefined
    readonly told: (scope: ScopeId, id: string, geofence: Geofence | undefined) => void
  }) {
    this.#tile38 = parts.tile38
    this.#keys = new Tile38Keys(parts.storeId)
    this.#writer = parts.writer
    this.#told = parts.told
  }

  get revision(): number {
    return this.#registry?.revision ?? 0
  }

  /** An index whose candidates may be queried in Tile38. */
  index(memory: GeofenceIndex): GeofenceIndex {
    const index = new Tile38Cells(memory, this)
    this.#indexes.add(index)
    return index
  }

  /** Queries may begin. What was put before has no revision. */
  start(registry: { readonly revision: number }): void {
    this.#registry = registry
    for (const index of this.#indexes) index.knowFrom(registry.revision)
  }

  /** How many look-ups of candidates were answered by a cell, and how many by memory. */
  get looks(): { readonly cells: number; readonly memory: number } {
    let [cells, memory] = [0, 0]
    for (const { looks } of this.#indexes) {
      cells += looks.cells
      memory += looks.memory
    }
    return { cells, memory }
  }

  /** See {@link Tile38Cells.prepare}, for positions in any scope. */
  async prepare(places: readonly (Point & { readonly scope: ScopeId })[]): Promise<void> {
    const byScope = Map.groupBy(places, ({ scope }) => scope)
    await Promise.all([...byScope].map(([scope, those]) => this.#indexOf.get(scope)?.prepare(those)))
  }

  changed(index: Tile38Cells, id: string, geofence: Geofence | undefined): void {
    if (geofence !== undefined && !this.#scopeOf.has(index)) {
      this.#scopeOf.set(index, geofence.scope)
      this.#indexOf.set(geofence.scope, index)
    }
    const scope = this.#scopeOf.get(index)
    if (scope !== undefined) this.#told(scope, id, geofence)
  }

  async ask(index: Tile38Cells, boxes: readonly Readonly<Box>[]): Promise<CellAnswers | undefined> {
    const scope = this.#scopeOf.get(index)
    const writer = this.#writer()
    if (scope === undefined || writer === undefined || this.#registry === undefined) return undefined
    // The part that writes to Tile38 reports if it is unreachable.
    return this.#ask(this.#keys.geofences(scope, writer), boxes).catch(() => undefined)
  }

  async #ask(key: string, boxes: readonly Readonly<Box>[]): Promise<CellAnswers | undefined> {
    const questions = boxes.flatMap((box, cell) => turnsOf(box).map((bounds) => ({ cell, bounds })))
    const ids = boxes.map(() => new Set<string>())
    let revision = Infinity
    for (let from = 0; from < questions.length; from += PIPELINE) {
      const part = questions.slice(from, from + PIPELINE)
      const replies = await this.#tile38.send([
        ['GET', key, 'done'],
        ...part.map(({ bounds }) => intersects(key, bounds)),
        ['GET', key, 'begun'],
      ])
      const done = noteOf(replies[0])
      const begun = noteOf(replies.at(-1))
      // If Tile38 is newer than the registry here, something may be gone there that still exists here.
      if (done === undefined || begun === undefined || begun > this.revision) return undefined
      revision = Math.min(revision, done)
      part.forEach(({ cell }, i) => {
        for (const id of idsOf(replies[i + 1])) ids[cell]!.add(id)
      })
    }
    return { revision, ids: ids.map((found) => [...found]) }
  }
}

function intersects(key: string, bounds: Bounds): Tile38Command {
  return ['INTERSECTS', key, 'LIMIT', NO_LIMIT, 'IDS', 'BOUNDS', ...cornersOf(bounds)]
}

/** A revision; undefined if none was recorded. */
function noteOf(reply: Tile38Reply | undefined): number | undefined {
  return typeof reply === 'string' ? Number(reply) : undefined
}

/** The parts of a box within ±180 degrees; its east may be beyond 180. */
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
