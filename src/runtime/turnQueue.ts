import { Slice } from './slices.ts'

/**
 * Lets much work of many owners share the turns of the event loop (G7): what one event starts for twenty webhooks would
 * otherwise run in one turn, because all of them wait for the same event.
 *
 * Work begins in the order in which it asked. Each piece of it runs up to where it waits for something; once pieces
 * have taken a slice of time, the next one begins in another turn.
 */
export class TurnQueue {
  #waiting: (() => void)[] = []
  #isRunning = false

  /** Resolves when it is the caller's turn. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#isRunning) return
      this.#isRunning = true
      void this.#run()
    })
  }

  async #run(): Promise<void> {
    const slice = new Slice()
    await slice.next()
    while (this.#waiting.length > 0) {
      const turns = this.#waiting
      this.#waiting = []
      for (const begin of turns) {
        if (slice.isOver) await slice.next()
        begin()
        await microtasksDone()
      }
    }
    this.#isRunning = false
  }
}

/** Resolves after everything that can run without waiting for the event loop. */
function microtasksDone(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}
