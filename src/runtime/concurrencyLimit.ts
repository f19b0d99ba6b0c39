import { ApiError } from './errors.ts'

/** Limits how much work runs at a time; the rest waits, first come, first served. */
export class ConcurrencyLimit {
  readonly #atOnce: number
  readonly #mostWaiting: number
  #underWay = 0
  readonly #waiting: (() => void)[] = []

  /**
   * An idle limit.
   * @param atOnce how much work may run at a time, at least 1
   * @param mostWaiting how many may wait
   */
  constructor(atOnce: number, mostWaiting = Infinity) {
    this.#atOnce = atOnce
    this.#mostWaiting = mostWaiting
  }

  /**
   * Does the work when there is room for it.
   * @throws ApiError 503 if too many wait already
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#underWay < this.#atOnce) this.#underWay++
    else if (this.#waiting.length >= this.#mostWaiting) {
      throw new ApiError(503, 'Too many requests at once.', { retryAfter: 1 })
    } else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#underWay--
      else next()
    }
  }
}
