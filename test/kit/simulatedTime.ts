import { ManualClock, type Time } from '../../src/runtime/clock.ts'

/** A clock whose alarms go off when it is moved past their time. */
export class SimulatedTime extends ManualClock implements Time {
  readonly #alarms = new Set<{ readonly at: number; readonly work: () => void }>()

  after(milliseconds: number, work: () => void): () => void {
    const alarm = { at: this.time + milliseconds, work }
    this.#alarms.add(alarm)
    return () => this.#alarms.delete(alarm)
  }

  /** Lets everything happen that needs no time. Then, while an alarm is set, moves on to it, up to the given time. */
  async runUntil(end: number): Promise<void> {
    for (;;) {
      await settle()
      const next = [...this.#alarms].reduce<number>((least, { at }) => Math.min(least, at), Infinity)
      if (next > end) break
      this.time = Math.max(this.time, next)
      for (const alarm of this.#alarms) {
        if (alarm.at > this.time) continue
        this.#alarms.delete(alarm)
        alarm.work()
      }
    }
    this.time = Math.max(this.time, end)
  }
}

/** Resolves when everything that needs no time has happened. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
}
