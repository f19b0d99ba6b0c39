import type { Job } from '../../jobs/port.ts'
import type { Geofences } from './geofences.ts'

/** The job that stores the effects of `disableAfter` and `deleteAfter`. Reads follow the dates without it. */
export class DateSweep implements Job {
  readonly name = 'dates'
  readonly isShared = true
  readonly #geofences: Geofences

  constructor(geofences: Geofences) {
    this.#geofences = geofences
  }

  begin(wake: () => void): () => void {
    this.#geofences.onDate = wake
    return () => (this.#geofences.onDate = () => {})
  }

  dueAt(): number {
    return this.#geofences.nextDue
  }

  run(): Promise<void> {
    return this.#geofences.storeDue()
  }
}
