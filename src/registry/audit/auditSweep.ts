import { every, type Job } from '../../jobs/port.ts'
import type { Audit } from './audit.ts'

const HOUR_MS = 3_600_000
/** Steps of one run: each removes some hundred entries. */
const MOST_STEPS = 200

/** The job that removes old entries of the audit. */
export class AuditSweep implements Job {
  readonly name = 'audit'
  readonly isShared = true
  readonly dueAt = every(HOUR_MS)
  readonly #audit: Audit
  readonly #days: number

  constructor(audit: Audit, days: number) {
    this.#audit = audit
    this.#days = days
  }

  async run(): Promise<void> {
    for (let step = 0; step < MOST_STEPS; step++) {
      if (!(await this.#audit.edits.edit(() => this.#audit.sweep(this.#days)))) return
    }
  }
}
