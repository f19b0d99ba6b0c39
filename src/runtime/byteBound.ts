/**
 * A budget of bytes shared by everything that waits for one thing (G7). What exceeds the bound is refused as a whole,
 * so that the caller can tell the client at once. Nothing that was accepted is ever dropped.
 */
export class ByteBound {
  /** How many bytes may be held at once, more than 0. */
  readonly limit: number
  #used = 0

  constructor(limit: number) {
    if (!Number.isSafeInteger(limit) || limit <= 0)
      throw new RangeError(`limit must be bytes > 0, not ${limit}`)
    this.limit = limit
  }

  /** How many bytes are held now. */
  get used(): number {
    return this.#used
  }

  /** Takes the bytes, all or none of them. */
  tryAcquire(bytes: number): boolean {
    const used = this.#used + bytes
    if (used > this.limit) return false
    this.#used = used
    return true
  }

  /** Returns bytes of an earlier {@link tryAcquire}. To return more than is held is a programming error. */
  release(bytes: number): void {
    if (bytes > this.#used) throw new RangeError(`release of ${bytes} bytes while ${this.#used} are held`)
    this.#used -= bytes
  }
}
