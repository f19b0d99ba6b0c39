/** Where time comes from. The engine never reads the machine's clock by itself. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

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
