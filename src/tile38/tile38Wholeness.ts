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

/** How long a question waits for what is missing: those who write say once a second that all is there. */
const PATIENCE_MS = 2500
const LOOK_AGAIN_MS = 100

/**
 * Whether Tile38 holds the devices of all shares, for those who read them.
 *
 * A server that comes back has what it had on its disk, with the notes that said it was whole. So with each connection a note
 * counts once it has changed: then its writer has found the server as it is now.
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
    // So that what asks first need not wait that long.
    this.#look().catch(() => {})
  }

  disconnected(): void {}

  /**
   * Waits a moment for all to be there.
   * @throws {ApiError} 503
   */
  async reached(): Promise<void> {
    const until = performance.now() + PATIENCE_MS
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

  /** Asks with {@link isWhole}; it goes behind what is asked, for all may be gone in between. */
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

/** Nobody can say now who is where. */
export function unavailable(): ApiError {
  const sentence = 'Positions cannot be searched now: Tile38 is unavailable or incomplete. Try again.'
  return new ApiError(503, sentence, { retryAfter: 5 })
}
