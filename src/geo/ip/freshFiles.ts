import { stat } from 'node:fs/promises'
import type { Clock } from '../../runtime/clock.ts'
import { failureFields } from '../../runtime/errors.ts'
import type { Logger } from '../../runtime/logger.ts'

/** How often the files are checked while somebody asks. */
const LOOK_MS = 30_000

/**
 * The contents of files that the operator may replace while the server runs. They are read when somebody asks, and
 * again after they have changed. In the meantime, and if the new ones cannot be read, the former contents are used.
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

  /** The contents. Rejects with the error of reading if there are no former ones. */
  get(): Promise<Contents> {
    const { known } = this
    if (known !== undefined) return Promise.resolve(known)
    this.#first ??= this.#readFirst().finally(() => (this.#first = undefined))
    return this.#first
  }

  /** The contents if they have been read before, which spares waiting for a promise; otherwise undefined. */
  get known(): Contents | undefined {
    if (this.#contents === undefined) return undefined
    if (!this.#isLooking && this.#clock.now() - this.#lookedAt >= LOOK_MS) {
      this.#isLooking = true
      void this.#look().finally(() => (this.#isLooking = false))
    }
    return this.#contents
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
      // This is also set if they cannot be read, because the log needs to say so only once.
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
