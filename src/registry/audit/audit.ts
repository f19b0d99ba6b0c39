import type { Clock } from '../../runtime/clock.ts'
import { MAX_CHANGES, type EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import type { AuditedEdits } from './auditedEdits.ts'
import { firstAuditId, isOfMany, type AuditRow } from './auditRows.ts'

/** A page ends when its entries have this many characters: one entry may have half a million. */
export const AUDIT_PAGE_CHARACTERS = 2_000_000
/** Entries that are looked at in one step. */
const LOOKED_AT = 500

/** Which entries are wanted. All members that are present must match. */
export interface AuditQuery {
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly target?: string | undefined
  readonly before?: string | undefined
  readonly limit: number
}

/** How much is kept of one project. */
export interface AuditBounds {
  readonly entries: number
  /** The size of the values before and after. */
  readonly bytes: number
}

type AuditHead = Omit<AuditRow, 'detail'>

/** An id that comes after all others. */
const END = 'g'

/** Who changed what in the registry. Entries are read from the file, because nobody needs them often. */
export class Audit {
  readonly #edits: AuditedEdits
  readonly #clock: Clock
  readonly #heads
  readonly #detail
  readonly #sizes
  readonly #old
  readonly #projects

  constructor(replica: RegistryReplica, edits: AuditedEdits, clock: Clock) {
    this.#edits = edits
    this.#clock = clock
    const { database } = replica
    const before = `FROM audit WHERE project = ? AND id < ? ORDER BY id DESC LIMIT ${LOOKED_AT}`
    this.#heads = database.prepare(`SELECT id, project, actor, action, target ${before}`)
    // SQLite knows the length of a value without reading it.
    this.#sizes = database.prepare(`SELECT id, octet_length(detail) AS bytes ${before}`)
    this.#detail = database.prepare('SELECT detail FROM audit WHERE project = ? AND id = ?').pluck()
    this.#old = database
      .prepare('SELECT id FROM audit WHERE project = ? AND id < ? ORDER BY id LIMIT ?')
      .pluck()
    this.#projects = database.prepare('SELECT id FROM projects').pluck()
  }

  get edits(): Pick<EditLog, 'edit'> & Pick<AuditedEdits, 'note' | 'takeBack'> {
    return this.#edits
  }

  /** The entries, newest first, some of them in each step, because a filter may look at all of them. */
  *listSteps(
    project: number,
    { actor, action, target, before = END, limit }: AuditQuery,
  ): Generator<void, { readonly rows: AuditRow[]; readonly hasMore: boolean }> {
    const rows: AuditRow[] = []
    let characters = 0
    for (let next: string | undefined = before; next !== undefined;) {
      const heads = this.#heads.all(project, next) as AuditHead[]
      for (const head of heads) {
        if (actor !== undefined && head.actor !== actor) continue
        if (action !== undefined && head.action !== action) continue
        if (target !== undefined && head.target !== target) continue
        if (rows.length === limit || characters >= AUDIT_PAGE_CHARACTERS) return { rows, hasMore: true }
        const detail = this.#detail.get(project, head.id) as string
        characters += detail.length
        rows.push({ ...head, detail })
      }
      next = heads.length === LOOKED_AT ? heads.at(-1)!.id : undefined
      yield
    }
    return { rows, hasMore: false }
  }

  /** The projects. Each has its own entries. */
  get projects(): number[] {
    return this.#projects.all() as number[]
  }

  /**
   * The ids of entries that are too many or take too much, newest first, some entries a step.
   * @param most of commits of many changes, and of others
   */
  *surplusSteps(project: number, most: AuditBounds): Generator<void, string[]> {
    const surplus: string[] = []
    const few = { entries: 0, bytes: 0 }
    const many = { entries: 0, bytes: 0 }
    for (let next: string | undefined = END; next !== undefined;) {
      const heads = this.#sizes.all(project, next) as { id: string; bytes: number }[]
      for (const { id, bytes } of heads) {
        const sum = isOfMany(id) ? many : few
        sum.entries++
        sum.bytes += bytes
        if (sum.entries > most.entries || sum.bytes > most.bytes) surplus.push(id)
      }
      next = heads.length === LOOKED_AT ? heads.at(-1)!.id : undefined
      yield
    }
    return surplus
  }

  /**
   * Removes entries, within an edit.
   * @param ids at most {@link MAX_CHANGES}
   */
  remove(project: number, ids: readonly string[]): void {
    this.#edits.commit(ids.map((id) => ({ kind: 'audit', key: `${project}.${id}`, row: undefined })))
  }

  /** Removes some entries that are older than this many days, within an edit. Returns whether there may be more. */
  removeOld(project: number, days: number): boolean {
    const end = firstAuditId(this.#clock.now() - days * 86_400_000)
    const ids = this.#old.all(project, end, MAX_CHANGES) as string[]
    if (ids.length > 0) this.remove(project, ids)
    return ids.length === MAX_CHANGES
  }
}
