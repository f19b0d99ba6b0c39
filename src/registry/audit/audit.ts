import type { Clock } from '../../runtime/clock.ts'
import { MAX_CHANGES, type EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import type { AuditedEdits } from './auditedEdits.ts'
import { firstAuditId, type AuditRow } from './auditRows.ts'

/** Of one project: beyond them, the oldest go. */
const MOST_ENTRIES = 200_000

/** Which entries; those that are present must match. */
export interface AuditQuery {
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly target?: string | undefined
  readonly before?: string | undefined
  readonly limit: number
}

/** What was changed in the registry, by whom. Entries are read from the file: nobody needs them often. */
export class Audit {
  readonly #edits: AuditedEdits
  readonly #clock: Clock
  readonly #list
  readonly #old
  readonly #beyond
  readonly #projects

  constructor(image: RegistryReplica, edits: AuditedEdits, clock: Clock) {
    this.#edits = edits
    this.#clock = clock
    const { database } = image
    this.#list = database.prepare(
      `SELECT * FROM audit WHERE project = @project AND (@before IS NULL OR id < @before)
         AND (@actor IS NULL OR actor = @actor) AND (@action IS NULL OR action = @action)
         AND (@target IS NULL OR target = @target) ORDER BY id DESC LIMIT @limit`,
    )
    this.#old = database
      .prepare('SELECT id FROM audit WHERE project = ? AND id < ? ORDER BY id LIMIT ?')
      .pluck()
    this.#beyond = database
      .prepare(`SELECT id FROM audit WHERE project = ? ORDER BY id DESC LIMIT 1 OFFSET ${MOST_ENTRIES}`)
      .pluck()
    this.#projects = database.prepare('SELECT id FROM projects').pluck()
  }

  get edits(): Pick<EditLog, 'edit'> & Pick<AuditedEdits, 'note'> {
    return this.#edits
  }

  /** Newest first. */
  list(project: number, query: AuditQuery): { readonly rows: AuditRow[]; readonly hasMore: boolean } {
    const { actor = null, action = null, target = null, before = null, limit } = query
    const rows = this.#list.all({ project, actor, action, target, before, limit: limit + 1 }) as AuditRow[]
    return { rows: rows.slice(0, limit), hasMore: rows.length > limit }
  }

  /** Removes some old entries, within an edit. Returns whether there may be more. */
  sweep(days: number): boolean {
    const end = firstAuditId(this.#clock.now() - days * 86_400_000)
    const keys: string[] = []
    for (const project of this.#projects.all() as number[]) {
      const beyond = (this.#beyond.get(project) as string | undefined) ?? ''
      const ids = this.#old.all(project, end > beyond ? end : beyond, MAX_CHANGES - keys.length) as string[]
      for (const id of ids) keys.push(`${project}.${id}`)
    }
    if (keys.length === 0) return false
    this.#edits.commit(keys.map((key) => ({ kind: 'audit', key, row: undefined })))
    return keys.length === MAX_CHANGES
  }
}
