import { stat } from 'node:fs/promises'
import type { Clock } from '../../runtime/clock.ts'
import { failureFields } from '../../runtime/errors.ts'
import type { Logger } from '../../runtime/logger.ts'

/** How often the files are looked at, when somebody asks. */
const LOOK_MS = 30_000

/**
 * What is read from files that the operator replaces while the server runs. They are read when somebody asks, and
 * again after they have changed; meanwhile, and if the new ones cannot be read, the answer is that of the former ones.
 */
export class FreshFiles<Contents> {
  readonly #paths: readonly string[]
  readonly #read: () => Promise<Contents>
  readonly #clock: Clock
  readonly #logger: Logger
  #contents: Contents | undefined
  #first: Promise<Contents> | undefined
  #version = ''
  #lookedAt = 0
  #isLooking = false

  constructor(parts: {
    readonly paths: readonly string[]
    readonly read: () => Promise<Contents>
    readonly clock: Clock
    readonly logger: Logger
  }) {
    this.#paths = parts.paths
    this.#read = parts.read
    this.#clock = parts.clock
    this.#logger = parts.logger
  }

  /** Rejects with the error of reading if there are no former contents. */
  get(): Promise<Contents> {
    if (this.#contents === undefined) {
      this.#first ??= this.#readFirst().finally(() => (this.#first = undefined))
      return this.#first
    }
    if (!this.#isLooking && this.#clock.now() - this.#lookedAt >= LOOK_MS) {
      this.#isLooking = true
      void this.#look().finally(() => (this.#isLooking = false))
    }
    return Promise.resolve(this.#contents)
  }

  async #readFirst(): Promise<Contents> {
    this.#lookedAt = this.#clock.now()
    this.#version = await this.#versionNow()
    return (this.#contents = await this.#read())
  }

  async #look(): Promise<void> {
    this.#lookedAt = this.#clock.now()
    try {
      const version = await this.#versionNow()
      if (version === this.#version) return
      // Also if they cannot be read: the log needs to say so only once.
      this.#version = version
      this.#contents = await this.#read()
    } catch (error) {
      this.#logger.warn({ ...failureFields(error), files: this.#paths }, 'the former version stays in use')
    }
  }

  async #versionNow(): Promise<string> {
    const stats = await Promise.all(this.#paths.map((path) => stat(path)))
    return stats.map(({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`).join('\n')
  }
}
