import { every, type Job } from '../../jobs/port.ts'
import { inSlices, Slice } from '../../runtime/slices.ts'
import { MAX_CHANGES } from '../store/editLog.ts'
import type { Audit, AuditBounds } from './audit.ts'

const HOUR_MS = 3_600_000
/** The most of one project, from commits of many changes and from others; beyond that, the oldest are removed. */
const MOST: AuditBounds = { entries: 200_000, bytes: 2 ** 30 }
/** Commits of one run: each removes some hundred entries. */
const MOST_COMMITS = 400

/** The job that removes old entries of the audit. */
export class AuditSweep implements Job {
  readonly name = 'audit'
  readonly isShared = true
  readonly dueAt = every(HOUR_MS)
  readonly #audit: Audit
  readonly #days: number
  readonly #most: AuditBounds

  /** @param days how long entries are kept */
  constructor(audit: Audit, days: number, mostEntries = MOST.entries, mostBytes = MOST.bytes) {
    this.#audit = audit
    this.#days = days
    this.#most = { entries: mostEntries, bytes: mostBytes }
  }

  async run(): Promise<void> {
    const audit = this.#audit
    // An edit of a registry in this process ends at once, so nobody would have a turn between two of them.
    const slice = new Slice()
    let commits = 0
    for (const project of audit.projects) {
      while (commits++ < MOST_COMMITS) {
        if (!(await audit.edits.edit(() => audit.removeOld(project, this.#days)))) break
        await slice.next()
      }
      const surplus = await inSlices(audit.surplusSteps(project, this.#most))
      for (let at = 0; at < surplus.length && commits++ < MOST_COMMITS; at += MAX_CHANGES) {
        const ids = surplus.slice(at, at + MAX_CHANGES)
        await audit.edits.edit(() => audit.remove(project, ids))
        await slice.next()
      }
    }
  }
}
