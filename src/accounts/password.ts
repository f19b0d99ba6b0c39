import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Piscina } from 'piscina'
import { PASSWORD_WORKER } from '../../workers/urls.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import type { Logger } from '../runtime/logger.ts'
import { openThreadPool } from '../runtime/threadPool.ts'
import { normalized } from './passwordRules.ts'
import type { Cost, PasswordHash } from '../registry/people/rows.ts'
import type { HashTask } from './scrypt.ts'

const STANDARD: Cost = { n: 2 ** 17, r: 8, p: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
/** How many hashes are computed at a time. Each takes 128 MiB. */
const AT_ONCE = 2
/** How many hashes may wait. With this many, the last one takes about ten seconds. */
const MOST_WAITING = 40

/**
 * Hashes passwords in threads of low priority, so that tracking does not wait for them. Node's own threads would not do,
 * because they have the priority of the event loop and also write the log.
 */
export class Passwords {
  readonly #cost: Cost
  readonly #limit = new ConcurrencyLimit(AT_ONCE, MOST_WAITING)
  readonly #pool: Piscina<HashTask, Uint8Array>
  /** A hash that is compared if there is no account, so that the answer takes as long. */
  readonly #nobody: PasswordHash

  /**
   * Creates a queue without work.
   * @param cost lower in tests
   * @param logger for threads that fail without a password
   */
  constructor(cost: Cost = STANDARD, logger?: Logger) {
    this.#cost = cost
    this.#pool = openThreadPool({
      worker: PASSWORD_WORKER,
      thread: 'a password thread',
      logger,
      threads: AT_ONCE,
    })
    const nothing = (bytes: number) => randomBytes(bytes).toString('base64')
    this.#nobody = { ...cost, salt: nothing(SALT_BYTES), hash: nothing(HASH_BYTES) }
  }

  /**
   * Hashes a password.
   * @param password checked and normalized
   * @throws {ApiError} 503 if too many wait
   */
  hash(password: string): Promise<PasswordHash> {
    return this.#hash(password, randomBytes(SALT_BYTES))
  }

  /**
   * Hashes a password again, because its hash is weak. It keeps its salt, which tells that it is the same password.
   * @param password as it was sent
   * @throws {ApiError} 503 if too many wait
   */
  hashAgain(password: string, { salt }: PasswordHash): Promise<PasswordHash> {
    return this.#hash(normalized(password), Buffer.from(salt, 'base64'))
  }

  async #hash(password: string, salt: Buffer): Promise<PasswordHash> {
    const hash = await this.#derive(password, salt, this.#cost)
    return { ...this.#cost, salt: salt.toString('base64'), hash: Buffer.from(hash).toString('base64') }
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

  #derive(password: string, salt: Buffer, { n, r, p }: Cost): Promise<Uint8Array> {
    const task = { password, salt, bytes: HASH_BYTES, cost: { n, r, p } }
    return this.#limit.run(() => this.#pool.run(task))
  }
}
