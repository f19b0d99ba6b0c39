import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import type { Answer } from './route.ts'

/** How many long answers are written at a time. */
const AT_ONCE = 2

/**
 * Lets answers of megabytes be written a few at a time. They are written in turns with everything else, so more at a time would not
 * be ready sooner. But their texts would all be in memory together, and the garbage collector would copy them again and
 * again: with a hundred of them, for a tenth of a second at a stretch.
 */
export class LongAnswers {
  readonly #limit = new ConcurrencyLimit(AT_ONCE)

  /** Writes an answer when it is its turn. The next one begins when it has been sent, or has failed. */
  async write(write: () => Promise<Answer>): Promise<Answer> {
    const sent = await this.enter()
    try {
      return { ...(await write()), sent }
    } catch (error) {
      sent()
      throw error
    }
  }

  /** Resolves when it is the caller's turn. What it resolves to must be called when the answer has been sent, or has failed. */
  enter(): Promise<() => void> {
    return new Promise((entered) => {
      void this.#limit.run(() => new Promise<void>((leave) => entered(leave)))
    })
  }
}
