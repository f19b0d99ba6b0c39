import { StreamClosedError } from '../errors.ts'

/**
 * What an iterator that is fed from outside waits with. Items stay where they are kept, and are taken one at a time.
 */
export class Inlet<T> {
  /** Resolves at {@link begin}. Rejects if the inlet ends before that. */
  readonly begun: Promise<void>
  readonly #take: () => T | undefined
  readonly #left: () => void
  #begin!: () => void
  #fail!: (error: unknown) => void
  #end: { readonly error?: unknown } | undefined
  #wake: (() => void) | undefined
  #waits: Promise<void> | undefined

  /**
   * An inlet that has not begun.
   * @param take returns the next item, if there is one
   * @param left called when the reader has left; nothing more is delivered then
   */
  constructor(take: () => T | undefined, left: () => void) {
    this.#take = take
    this.#left = left
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve
      this.#fail = reject
    })
    // A caller that does not await it learns of errors from next().
    this.begun.catch(() => {})
  }

  begin(): void {
    this.#begin()
  }

  /** Tells a waiting reader that there may be an item. */
  wake(): void {
    this.#wake?.()
    this.#waits = undefined
    this.#wake = undefined
  }

  /** Ends the iteration once all items are taken. If there is an error, the iteration ends by throwing it. */
  end(end: { readonly error?: unknown }): void {
    this.#end ??= end
    this.#fail(end.error ?? new StreamClosedError())
    this.wake()
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    for (;;) {
      const value = this.#take()
      if (value !== undefined) return { done: false, value }
      const end = this.#end
      if (end !== undefined) {
        this.#end = {}
        if ('error' in end) throw end.error
        return { done: true, value: undefined }
      }
      this.#waits ??= new Promise((resolve) => (this.#wake = resolve))
      await this.#waits
    }
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#left()
    this.end({})
    return Promise.resolve({ done: true, value: undefined })
  }
}
