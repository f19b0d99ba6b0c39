import { ApiError } from '../runtime/errors.ts'

/** A request whose body takes memory. */
export interface BodyHolder {
  /** The name under which its key is counted; '' if it has no key. */
  readonly keyName: string
  readonly ip: string
  /** The milliseconds since its body began. */
  readonly ageMs: number
  /** How many bytes per millisecond have arrived since then. Infinity while the body waits for us. */
  readonly arrivalRate: number
  /** Refuses the rest of its body, and releases its memory. */
  cutOff(error: ApiError): void
}

/** A body may take this long in milliseconds, whatever its rate. */
const GRACE_MS = 1000

type Bound = 'address' | 'key' | 'all'

const WHOSE: Readonly<Record<Bound, string>> = {
  address: 'one address',
  key: 'one key',
  all: 'all clients together',
}

/**
 * The memory for request bodies that are arriving, or whose requests have no answer yet: bounded per address, per key
 * and in all (G7).
 *
 * The obvious way refuses new bodies when it is full. Then a client that sends half of many bodies, and a byte now
 * and then, keeps everybody out. So when a bound is reached, the slowest body within it loses its room. To keep it, a
 * client would have to send faster than all others, and then the body is soon complete.
 */
export class BodyRoom {
  readonly #limits: Readonly<Record<Bound, number>>
  #used = 0
  readonly #byKey = new Map<string, number>()
  readonly #byAddress = new Map<string, number>()
  /** Holders whose bodies are incomplete. */
  readonly arriving = new Set<BodyHolder>()
  /** How many bodies have lost their room. */
  slow = 0

  /**
   * An empty room.
   * @param limit the bytes of all bodies; those of one key may take half of it, those of one address a quarter
   */
  constructor(limit: number) {
    this.#limits = { address: limit / 4, key: limit / 2, all: limit }
  }

  get used(): number {
    return this.#used
  }

  /**
   * Reserves bytes for a body.
   * @throws {ApiError} 503 that names the limit; nothing is reserved then
   */
  acquire(holder: BodyHolder, bytes: number): void {
    for (;;) {
      const bound = this.#exceeded(holder, bytes)
      if (bound === undefined) break
      const slowest = this.#slowest(holder, bound)
      if (slowest === undefined)
        throw new ApiError(
          503,
          `Too many uploads at once: the bodies of ${WHOSE[bound]} may take ${this.#limits[bound]} bytes.`,
          { retryAfter: 1 },
        )
      this.slow++
      slowest.cutOff(
        new ApiError(
          503,
          'The body arrived too slowly, and its memory was needed for another one. Send it again.',
          {
            retryAfter: 1,
          },
        ),
      )
    }
    this.#add(holder, bytes)
  }

  release(holder: BodyHolder, bytes: number): void {
    this.#add(holder, -bytes)
  }

  #add({ keyName, ip }: BodyHolder, bytes: number): void {
    this.#used += bytes
    addTo(this.#byKey, keyName, bytes)
    addTo(this.#byAddress, ip, bytes)
  }

  #exceeded({ keyName, ip }: BodyHolder, bytes: number): Bound | undefined {
    if ((this.#byAddress.get(ip) ?? 0) + bytes > this.#limits.address) return 'address'
    if ((this.#byKey.get(keyName) ?? 0) + bytes > this.#limits.key) return 'key'
    return this.#used + bytes > this.#limits.all ? 'all' : undefined
  }

  #slowest(asker: BodyHolder, bound: Bound): BodyHolder | undefined {
    let slowest: BodyHolder | undefined
    let rate = asker.ageMs < GRACE_MS ? Infinity : asker.arrivalRate
    for (const holder of this.arriving) {
      if (holder === asker || holder.ageMs < GRACE_MS) continue
      if (bound === 'address' ? holder.ip !== asker.ip : bound === 'key' && holder.keyName !== asker.keyName)
        continue
      const { arrivalRate } = holder
      if (arrivalRate >= rate) continue
      rate = arrivalRate
      slowest = holder
    }
    return slowest
  }
}

function addTo(sums: Map<string, number>, name: string, bytes: number): void {
  const sum = (sums.get(name) ?? 0) + bytes
  if (sum === 0) sums.delete(name)
  else sums.set(name, sum)
}
