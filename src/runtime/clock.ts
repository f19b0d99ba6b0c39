/** The source of time. The engine never reads the machine's clock directly. */
export interface Clock {
  /** The time in epoch milliseconds. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** A clock with timers. */
export interface Time extends Clock {
  /** Runs `work` after this many milliseconds, unless the returned function is called before. */
  after(milliseconds: number, work: () => void): () => void
}

export const systemTime: Time = {
  ...systemClock,
  after(milliseconds, work) {
    const timer = setTimeout(work, milliseconds)
    return () => clearTimeout(timer)
  },
}

/** A clock that tests set by hand. */
export class ManualClock implements Clock {
  time: number

  constructor(time = Date.UTC(2026, 0, 1)) {
    this.time = time
  }

  now(): number {
    return this.time
  }

  advance(milliseconds: number): void {
    this.time += milliseconds
  }
}
