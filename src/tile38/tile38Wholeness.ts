import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../runtime/errors.ts'
import { NO_LIMIT, Tile38Keys } from './tile38Texts.ts'
import {
  Tile38Unreachable,
  type Tile38,
  type Tile38Command,
  type Tile38Follower,
  type Tile38Reply,
} from './tile38Port.ts'

/** How long a question waits for missing shares: writers report once a second that theirs are complete. */
const GIVE_UP_MS = 2500
const LOOK_AGAIN_MS = 100

/**
 * Whether Tile38 has the devices of all shares, for readers.
 *
 * A server that comes back has the contents of its disk, including the notes that said they were complete. So after
 * each connection, a note only counts once it has changed: then its writer has found the server in its present state.
 */
export class Tile38Wholeness implements Tile38Follower {
  readonly #tile38: Tile38
  readonly #keys: Tile38Keys
  readonly #names: readonly string[]
  /** As they were when the connection was new; undefined until they were read. */
  #first: readonly Tile38Reply[] | undefined
  #isFresh = false

  /** @param names of all shares */
  constructor(tile38: Tile38, storeId: string, names: readonly string[]) {
    this.#tile38 = tile38
    this.#keys = new Tile38Keys(storeId)
    this.#names = names
    tile38.follow(this)
  }

  connected(): void {
    this.#first = undefined
    this.#isFresh = false
    // So that the first question need not wait that long.
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
   * Asks for the input of {@link isWhole}; sent after the actual query, because the contents may disappear in
   * between.
   */
  get question(): Tile38Command {
    return ['SCAN', this.#keys.whole, 'LIMIT', NO_LIMIT, 'IDS']
  }

  isWhole(reply: Tile38Reply | undefined): boolean {
    const [, names] = reply as readonly [unknown, readonly string[]]
    return names.length === this.#names.length
  }

  async #look(): Promise<boolean> {
    const notes = await this.#tile38.send(this.#names.map((name) => ['GET', this.#keys.whole, name]))
    const first = (this.#first ??= notes)
    if (first === notes) return false
    this.#isFresh = notes.every((note, i) => note !== null && note !== first[i])
    return this.#isFresh
  }
}

/** Nobody can tell now who is where. */
export function unavailable(): ApiError {
  const sentence = 'Positions cannot be searched now: Tile38 is unavailable or incomplete. Try again.'
  return new ApiError(503, sentence, { retryAfter: 5 })
}
