import { ApiError } from './errors.ts'

/** Limits in bytes. Each is more than 0. */
export interface KeyedLimits {
  /** The bound of one connection. */
  readonly connection: number
  /** The bound of all connections with one key. */
  readonly key: number
  /** The bound of all connections together. */
  readonly all: number
}

export type BoundName = keyof KeyedLimits

/**
 * The end of a refusal, by the limit that was reached. Only the last one may pass without the client doing anything.
 */
const REFUSALS: Readonly<Record<BoundName, { readonly code: number; readonly of: string }>> = {
  connection: { code: 400, of: 'one connection' },
  key: { code: 429, of: 'all connections with one key' },
  all: { code: 503, of: 'all clients together' },
}
/** In seconds. */
const RETRY_AFTER_SECONDS = 60

/**
 * Memory that clients make the server keep for one purpose, bounded per connection, per key and in all (G7): what
 * exceeds a bound is refused as a whole, and the refusal names the bound. So one key, which may be in every copy of
 * an app, cannot take the memory that others need.
 */
export class KeyedBound {
  readonly bounds: KeyedLimits
  readonly #what: string
  #used = 0
  /** The bytes of each key that holds something. */
  readonly #byKey = new Map<string, number>()

  /**
   * An empty bound.
   * @param what the name of what is kept, in the plural, for refusals: `Filters and areas`
   */
  constructor(what: string, bounds: KeyedLimits) {
    this.#what = what
    this.bounds = bounds
  }

  /** How many bytes are held now. */
  get used(): number {
    return this.#used
  }

  /** How many keys hold something. */
  get keys(): number {
    return this.#byKey.size
  }

  /** The share of one connection, which holds nothing yet. */
  share(key: string): Share {
    return new Share(this, key)
  }

  /** The first limit that this many more bytes would exceed; undefined if there is room. */
  exceeded(key: string, ofConnection: number, bytes: number): BoundName | undefined {
    if (ofConnection + bytes > this.bounds.connection) return 'connection'
    if ((this.#byKey.get(key) ?? 0) + bytes > this.bounds.key) return 'key'
    return this.#used + bytes > this.bounds.all ? 'all' : undefined
  }

  /** The error for a client that reached the bound. */
  refusal(bound: BoundName, param?: string): ApiError {
    const { code, of } = REFUSALS[bound]
    const sentence = `${this.#what} of ${of} may take ${this.bounds[bound]} bytes of the server's memory; there is no room for this one.`
    return new ApiError(code, param === undefined ? sentence : `${param}: ${sentence}`, {
      ...(param !== undefined && { param }),
      ...(bound !== 'connection' && { retryAfter: RETRY_AFTER_SECONDS }),
    })
  }

  /**
   * Adds bytes.
   * @param bytes may be negative
   */
  add(key: string, bytes: number): void {
    this.#used += bytes
    const ofKey = (this.#byKey.get(key) ?? 0) + bytes
    if (ofKey === 0) this.#byKey.delete(key)
    else this.#byKey.set(key, ofKey)
  }
}

/** One connection's part of a {@link KeyedBound}. */
export class Share {
  readonly #bound: KeyedBound
  readonly #key: string
  #used = 0

  constructor(bound: KeyedBound, key: string) {
    this.#bound = bound
    this.#key = key
  }

  /** How many bytes are held now. */
  get used(): number {
    return this.#used
  }

  /** Takes all of the bytes or none. Returns the limit that was reached. */
  tryAcquire(bytes: number): BoundName | undefined {
    const exceeded = this.#bound.exceeded(this.#key, this.#used, bytes)
    if (exceeded !== undefined) return exceeded
    this.#used += bytes
    this.#bound.add(this.#key, bytes)
    return undefined
  }

  /**
   * Takes all of the bytes or none.
   * @param param the parameter for the refusal
   * @throws {ApiError} that names the limit
   */
  acquire(bytes: number, param?: string): void {
    const exceeded = this.tryAcquire(bytes)
    if (exceeded !== undefined) throw this.#bound.refusal(exceeded, param)
  }

  /** Returns bytes of an earlier {@link tryAcquire}. To return more than is held is a programming error. */
  release(bytes: number): void {
    if (bytes > this.#used) throw new RangeError(`release of ${bytes} bytes while ${this.#used} are held`)
    this.#used -= bytes
    this.#bound.add(this.#key, -bytes)
  }
}
