import { StreamClosedError } from '../errors.ts'

/** What an iterator that is fed from outside waits with: items are taken where they are kept, one at a time. */
export class Inlet<T> {
  /** Resolves at {@link begin}; rejects where it ends before. */
  readonly begun: Promise<void>
  readonly #take: () => T | undefined
  readonly #left: () => void
  #begin!: () => void
  #fail!: (error: unknown) => void
  #end: { readonly error?: unknown } | undefined
  #wake: (() => void) | undefined
  #waits: Promise<void> | undefined

  /**
   * @param take the next item, if there is one
   * @param left whoever reads has left, and is told nothing more
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

  /** There may be an item. */
  wake(): void {
    this.#wake?.()
    this.#waits = undefined
    this.#wake = undefined
  }

  /** Ends once all items are taken; by throwing, where there is an error. */
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
