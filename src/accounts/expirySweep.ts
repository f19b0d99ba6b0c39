import { every, type Job } from '../jobs/port.ts'
import type { People } from '../registry/people/people.ts'

const HOUR_MS = 3_600_000

/**
 * The job that removes sessions and links that have ended. They have no effect any more, whether they are removed or
 * not.
 */
export class ExpirySweep implements Job {
  readonly name = 'sessions'
  readonly isShared = true
  readonly dueAt = every(HOUR_MS)
  readonly #people: People

  constructor(people: People) {
    this.#people = people
  }

  run(): Promise<void> {
    return this.#people.edits.edit(() => this.#people.sweep())
  }
}
