import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { WORLD_CHILD } from '../../../workers/urls.ts'
import { ApiError } from '../../runtime/errors.ts'
import type { Time } from '../../runtime/clock.ts'
import type { Service } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { worldFile, WorldMissing } from './worldBuilder.ts'

/** How long it is not tried again after a failure, in seconds. Clients are told this time. */
const RETRY_SECONDS = 60
/** How long it may take, which is much longer than on the slowest machine. */
const MOST_MS = 600_000
/** How many questions may wait for it. */
const MOST_WAITING = 256
/** After how many seconds a question that may not wait should come again. */
const AGAIN_SECONDS = 2

/**
 * The world database of a data folder, in its folder `world`. If it is needed and does not exist, a separate process
 * makes it in some seconds.
 */
export class WorldData implements Service {
  readonly name = 'world data'
  readonly #folder: string
  readonly #time: Time
  readonly #logger: Logger
  #callOff = (): void => {}
  #child: ChildProcess | undefined
  #made: Promise<string> | undefined
  /** The path of the database; undefined until it has been made. */
  #file: string | undefined
  #condition = 'not in use'
  #waiting = 0
  #isStopped = false

  constructor(dataFolder: string, time: Time, logger: Logger) {
    this.#folder = join(dataFolder, 'world')
    this.#time = time
    this.#logger = logger
  }

  /** A text that anybody may read. */
  get condition(): string {
    return this.#condition
  }

  /**
   * The path of the database.
   * @throws {ApiError} 503 if its packages are not installed, or it cannot be made
   */
  file(): Promise<string> {
    this.#made ??= this.#make().catch((error: Error) => {
      // This prevents questions from starting one process after the other.
      this.#callOff = this.#time.after(RETRY_SECONDS * 1000, () => (this.#made = undefined))
      throw error
    })
    return this.#made
  }

  /**
   * The path of the database for a client's question, which waits until a slow machine has made it, so that the first
   * questions of a new user are answered.
   * @throws {ApiError} 503 also while it is being made, if many questions wait already
   */
  async soon(): Promise<string> {
    if (this.#file !== undefined) return this.#file
    if (this.#waiting >= MOST_WAITING)
      throw new ApiError(
        503,
        'The data of the world are being made, which happens once; /readyz says when they are ready. Try again.',
        { retryAfter: AGAIN_SECONDS },
      )
    this.#waiting++
    try {
      return await this.file()
    } finally {
      this.#waiting--
    }
  }

  /** Ends the process that makes it, and refuses the questions that wait. The next start makes it. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#callOff()
    const child = this.#child
    if (child === undefined) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async #make(): Promise<string> {
    const file = this.#fileOrMissing()
    if (!existsSync(file)) {
      if (this.#isStopped) throw stopped()
      this.#condition = 'building'
      this.#logger.info(
        'making the data of the world, which happens once; questions about places wait for them',
      )
      await this.#build()
    }
    this.#condition = 'ready'
    this.#file = file
    return file
  }

  #fileOrMissing(): string {
    try {
      return worldFile(this.#folder)
    } catch (cause) {
      if (!(cause instanceof WorldMissing)) throw cause
      this.#condition = cause.message
      throw new ApiError(503, cause.message, { cause })
    }
  }

  async #build(): Promise<void> {
    // The process gets nothing of our environment, which contains keys and passwords.
    const env = { PATH: process.env.PATH }
    const child = fork(WORLD_CHILD, [this.#folder], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env,
      // The process should be small rather than quick.
      execArgv: ['--max-semi-space-size=4', '--max-old-space-size=160'],
    })
    this.#child = child
    const callOff = this.#time.after(MOST_MS, () => child.kill('SIGKILL'))
    let output = ''
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-2000)))
    const [code, signal] = (await once(child, 'close').catch((error: Error) => [error.message])) as [
      number | string | null,
      string?,
    ]
    callOff()
    this.#child = undefined
    if (code === 0) return
    if (this.#isStopped) throw stopped()
    this.#condition = 'failed; the log says why'
    this.#logger.warn({ code: code ?? signal, output }, 'the data of the world cannot be made')
    throw new ApiError(503, 'The data of the world cannot be made; the log of the server says why.', {
      retryAfter: RETRY_SECONDS,
    })
  }
}

function stopped(): ApiError {
  return new ApiError(503, 'Shutting down.', { retryAfter: 1 })
}
