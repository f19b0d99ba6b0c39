import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../runtime/errors.ts'
import { textsOf, Tile38Notes, wholeShares } from './tile38Notes.ts'
import {
  Tile38Unreachable,
  type Tile38,
  type Tile38Command,
  type Tile38Follower,
  type Tile38Reply,
} from './tile38Port.ts'

/** How long a question waits for missing shares. Writers report once a second that theirs are complete. */
const GIVE_UP_MS = 2500
const LOOK_AGAIN_MS = 100

/**
 * Whether Tile38 has the devices of all shares, for readers.
 *
 * A server that comes back has the contents of its disk, including the notes that said that they were complete. So
 * after each connection, a note counts only once it has changed, because its writer has then found the server in its
 * present state.
 */
export class Tile38Wholeness implements Tile38Follower {
  readonly #tile38: Tile38
  readonly #notes: Tile38Notes
  readonly #names: readonly string[]
  /** The notes by process when the connection was new; undefined until they were read. */
  #first: ReadonlyMap<string, string> | undefined
  #isFresh = false

  /**
   * Checks some shares.
   * @param names those of all shares
   */
  constructor(tile38: Tile38, storeId: string, names: readonly string[]) {
    this.#tile38 = tile38
    this.#notes = new Tile38Notes(storeId)
    this.#names = names
    tile38.follow(this)
  }

  connected(): void {
    this.#first = undefined
    this.#isFresh = false
    // The first question then need not wait that long.
    this.#look().catch(() => {})
  }

  disconnected(): void {}

  /**
   * Waits a moment for all shares to be complete.
   * @throws {ApiError} 503
   */
  async reached(): Promise<void> {
    const until = performance.now() + GIVE_UP_MS
    while (!this.#isFresh) {
      const isFresh = await this.#look().catch((error: unknown) => {
        if (error instanceof Tile38Unreachable) return false
        throw error
      })
      if (isFresh) return
      if (performance.now() > until || !this.#tile38.isConnected) throw unavailable()
      await sleep(LOOK_AGAIN_MS)
    }
  }

  /**
   * The command whose reply {@link isWhole} needs. It must be sent after the actual query, because the contents may
   * disappear in between.
   */
  get question(): Tile38Command {
    return this.#notes.all
  }

  isWhole(reply: Tile38Reply | undefined): boolean {
    return this.#areAllIn(textsOf(reply).values())
  }

  async #look(): Promise<boolean> {
    const [reply] = await this.#tile38.send([this.#notes.all])
    const notes = textsOf(reply)
    const first = (this.#first ??= notes)
    if (first === notes) return false
    const changed = [...notes].flatMap(([process, note]) => (note === first.get(process) ? [] : [note]))
    this.#isFresh = this.#areAllIn(changed)
    return this.#isFresh
  }

  #areAllIn(notes: Iterable<string>): boolean {
    const whole = wholeShares(notes)
    return this.#names.every((name) => whole.has(name))
  }
}

/** The error while it is not known which device is where. */
export function unavailable(): ApiError {
  const sentence = 'Positions cannot be searched now: Tile38 is unavailable or incomplete. Try again.'
  return new ApiError(503, sentence, { retryAfter: 5 })
}
