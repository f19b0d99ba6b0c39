import type { Clock } from '../../runtime/clock.ts'
import { MAX_CHANGES, type EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import type { AuditedEdits } from './auditedEdits.ts'
import { firstAuditId, isOfMany, type AuditRow } from './auditRows.ts'

/** Entries that are looked at in one step. */
const LOOKED_AT = 500

/** Which entries; those that are present must match. */
export interface AuditQuery {
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly target?: string | undefined
  readonly before?: string | undefined
  readonly limit: number
}

type AuditHead = Omit<AuditRow, 'detail'>

/** After all ids. */
const END = 'g'

/** What was changed in the registry, by whom. Entries are read from the file: nobody needs them often. */
export class Audit {
  readonly #edits: AuditedEdits
  readonly #clock: Clock
  readonly #heads
  readonly #detail
  readonly #ids
  readonly #old
  readonly #projects

  constructor(replica: RegistryReplica, edits: AuditedEdits, clock: Clock) {
    this.#edits = edits
    this.#clock = clock
    const { database } = replica
    const before = `FROM audit WHERE project = ? AND id < ? ORDER BY id DESC LIMIT ${LOOKED_AT}`
    this.#heads = database.prepare(`SELECT id, project, actor, action, target ${before}`)
    this.#ids = database.prepare(`SELECT id ${before}`).pluck()
    this.#detail = database.prepare('SELECT detail FROM audit WHERE project = ? AND id = ?').pluck()
    this.#old = database
      .prepare('SELECT id FROM audit WHERE project = ? AND id < ? ORDER BY id LIMIT ?')
      .pluck()
    this.#projects = database.prepare('SELECT id FROM projects').pluck()
  }

  get edits(): Pick<EditLog, 'edit'> & Pick<AuditedEdits, 'note' | 'takeBack'> {
    return this.#edits
  }

  /** Newest first, some entries a step: a filter may look at all of them. */
  *listSteps(
    project: number,
    { actor, action, target, before = END, limit }: AuditQuery,
  ): Generator<void, { readonly rows: AuditRow[]; readonly hasMore: boolean }> {
    const rows: AuditRow[] = []
    for (let next: string | undefined = before; next !== undefined;) {
      const heads = this.#heads.all(project, next) as AuditHead[]
      for (const head of heads) {
        if (actor !== undefined && head.actor !== actor) continue
        if (action !== undefined && head.action !== action) continue
        if (target !== undefined && head.target !== target) continue
        if (rows.length === limit) return { rows, hasMore: true }
        rows.push({ ...head, detail: this.#detail.get(project, head.id) as string })
      }
      next = heads.length === LOOKED_AT ? heads.at(-1)!.id : undefined
      yield
    }
    return { rows, hasMore: false }
  }

  /** The projects, each of which has its entries. */
  get projects(): number[] {
    return this.#projects.all() as number[]
  }

  /**
   * The ids of entries that are too many, newest first, some entries a step.
   * @param most of commits of many changes, and of others
   */
  *surplusSteps(project: number, most: number): Generator<void, string[]> {
    const surplus: string[] = []
    let [few, many] = [0, 0]
    for (let next: string | undefined = END; next !== undefined;) {
      const ids = this.#ids.all(project, next) as string[]
      for (const id of ids) {
        const count = isOfMany(id) ? ++many : ++few
        if (count > most) surplus.push(id)
      }
      next = ids.length === LOOKED_AT ? ids.at(-1) : undefined
      yield
    }
    return surplus
  }

  /** Within an edit. @param ids at most {@link MAX_CHANGES} */
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
