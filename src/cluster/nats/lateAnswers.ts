import type { OpenCall } from './calls.ts'

/**
 * The answers to earlier attempts of a question that is asked again. On a way on which each answer takes longer than
 * an attempt, the answer to the newest attempt never comes in time, but one to an earlier attempt does.
 */
export class LateAnswers {
  readonly #open: OpenCall[] = []
  readonly #answers: Uint8Array[] = []
  #wake: ((answer: Uint8Array) => void) | undefined
  #hasCome: (() => void) | undefined
  #hasEnded = false

  /** Makes an attempt, and resolves to its answer or to one to an earlier attempt, whichever comes first. */
  async orOf(attempt: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const answer = this.#answers.shift()
    if (answer !== undefined) return answer
    if (this.#open.length === 0) return attempt()
    const earlier = new Promise<Uint8Array>((resolve) => (this.#wake = resolve))
    try {
      return await Promise.race([attempt(), earlier])
    } finally {
      this.#wake = undefined
    }
  }

  /** Keeps an attempt open that was not answered in time. */
  keep(call: OpenCall): void {
    if (this.#hasEnded) call.end()
    else this.#open.push(call)
  }

  /** To be called with the answer to an attempt that is kept open. */
  take(answer: Uint8Array): void {
    if (this.#wake === undefined) this.#answers.push(answer)
    else this.#wake(answer)
    this.#wake = undefined
    this.#hasCome?.()
  }

  /** Resolves when there is an answer, which the next {@link orOf} resolves to at once. */
  async come(): Promise<void> {
    if (this.#answers.length === 0) await new Promise<void>((resolve) => (this.#hasCome = resolve))
  }

  /** Stops waiting for answers. */
  end(): void {
    this.#hasEnded = true
    for (const call of this.#open.splice(0)) call.end()
  }
}
