import { setImmediate as nextTurn } from 'node:timers/promises'

/** For how many milliseconds a turn of the event loop is used. A request may work this long before others get a turn. */
export const SLICE_MS = 2

/**
 * Lets much work of many owners share the turns of the event loop (G7): what one event starts for twenty webhooks, or a
 * hundred long requests that work in slices, would otherwise run in one turn, because all of them wait for the same
 * event.
 *
 * Work begins in the order in which it asked. Each piece of it runs up to where it waits for something; once pieces
 * have taken a slice of time, the next one begins in another turn.
 */
export class TurnQueue {
  #waiting: (() => void)[] = []
  #isRunning = false

  /** Resolves when it is the caller's turn, which is never the present one. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#isRunning) return
      this.#isRunning = true
      void this.#run()
    })
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTurn()
      let began = performance.now()
      // What asks from now on gets a later turn.
      const turns = this.#waiting
      this.#waiting = []
      for (const begin of turns) {
        if (performance.now() - began >= SLICE_MS) {
          await nextTurn()
          began = performance.now()
        }
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
