import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import { normalized } from './passwordRules.ts'

/** A password as it is stored: scrypt, with its parameters. */
export interface PasswordHash {
  readonly n: number
  readonly r: number
  readonly p: number
  /** In Base64. */
  readonly salt: string
  /** In Base64. */
  readonly hash: string
}

/** The work of one hash. The standard takes 128 MiB, and some tenths of a second of a processor. */
export interface Cost {
  readonly n: number
  readonly r: number
  readonly p: number
}

const STANDARD: Cost = { n: 2 ** 17, r: 8, p: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
/**
 * How many hashes run at a time. Node has four threads for such work, and files and name look-ups need some of them.
 */
const AT_ONCE = 2
/** How many hashes may wait. With this many, the last one takes about ten seconds. */
const MOST_WAITING = 40

/**
 * Hashes passwords in Node's threads, so that the event loop stays free. Two run at a time, because each takes 128
 * MiB.
 */
export class Passwords {
  readonly #cost: Cost
  readonly #limit = new ConcurrencyLimit(AT_ONCE, MOST_WAITING)
  /** A hash that is compared if there is no account, so that the answer takes as long. */
  readonly #nobody: PasswordHash

  /**
   * Creates a queue without work.
   * @param cost lower in tests
   */
  constructor(cost: Cost = STANDARD) {
    this.#cost = cost
    const nothing = (bytes: number) => randomBytes(bytes).toString('base64')
    this.#nobody = { ...cost, salt: nothing(SALT_BYTES), hash: nothing(HASH_BYTES) }
  }

  /**
   * Hashes a password.
   * @param password checked and normalized
   * @throws {ApiError} 503 if too many wait
   */
  async hash(password: string): Promise<PasswordHash> {
    const salt = randomBytes(SALT_BYTES)
    const hash = await this.#derive(password, salt, this.#cost)
    return { ...this.#cost, salt: salt.toString('base64'), hash: hash.toString('base64') }
  }

  /**
   * Whether it is the password. If there is no stored hash, it takes as long and returns false.
   * @param password as it was sent
   * @throws {ApiError} 503 if too many wait
   */
  async verify(password: string, stored: PasswordHash | undefined): Promise<boolean> {
    const { salt, hash, ...cost } = stored ?? this.#nobody
    const derived = await this.#derive(normalized(password), Buffer.from(salt, 'base64'), cost)
    return timingSafeEqual(derived, Buffer.from(hash, 'base64')) && stored !== undefined
  }

  /** Whether a hash was made with less work than new ones. */
  isWeak({ n, r, p }: PasswordHash): boolean {
    return n * r * p < this.#cost.n * this.#cost.r * this.#cost.p
  }

  #derive(password: string, salt: Buffer, { n, r, p }: Cost): Promise<Buffer> {
    const options = { N: n, r, p, maxmem: 2 * 128 * n * r }
    return this.#limit.run(
      () =>
        new Promise((resolve, reject) => {
          scrypt(password, salt, HASH_BYTES, options, (error, key) => {
            if (error === null) resolve(key)
            else reject(error)
          })
        }),
    )
  }
}
