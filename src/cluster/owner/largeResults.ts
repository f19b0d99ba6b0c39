import type { Outcome } from '../../actor/port.ts'
import { charactersOf } from '../../runtime/textPieces.ts'
import { ByteBound } from '../../runtime/byteBound.ts'
import { LargeResult } from '../protocol/largeResult.ts'
import {
  EVENTS_WANTED,
  NOTHING_WANTED,
  type ResultPiece,
  type ResultQuestion,
} from '../protocol/resultProtocol.ts'

/**
 * Results of updates that are too large for a reply: an update into thousands of geofences has some megabytes of
 * events, and a user as long.
 *
 * The obvious way puts them into the reply. Then the owner packs them in one piece and the gateway unpacks them in one
 * piece, which holds up everybody in both processes; the next request of the partition waits until all of it has
 * arrived; and if that takes longer than a gateway waits for a reply, it is sent again and again. So the reply only
 * says that there is a large result, and its gateway fetches it in pieces, beside the requests that follow.
 *
 * Invariants
 * - LARGE-1: What is kept is bounded in bytes. Beyond the bound a result goes into its reply.
 * - LARGE-2: A result is kept until its gateway wants no more of it, or has not asked for {@link KEPT_MS}.
 */
export interface LargeResultsOptions {
  /** A name of this process that no other process has. */
  readonly process: string
  readonly limitBytes?: number
  readonly keptMs?: number
}

/** Events with fewer characters in all go into the reply. */
const LARGE_CHARACTERS = 64 * 1024
/** The same once the reply has {@link FULL_CHARACTERS}. */
const SMALL_CHARACTERS = 2 * 1024
/** With so many characters of events a reply is full: packing them takes a millisecond. */
export const FULL_CHARACTERS = 512 * 1024
/** Characters of one piece. Packing it takes a fraction of a millisecond. */
const PIECE_CHARACTERS = 128 * 1024
const LIMIT_BYTES = 64 * 1024 * 1024
/** For the user of a device in a crowd of geofences, which is not written before somebody wants it. */
const USER_BYTES = 64 * 1024
const KEPT_MS = 30_000

interface Kept {
  readonly events: readonly string[]
  readonly outcome: Outcome
  /** Made when it is first asked for. */
  user: Promise<readonly string[]> | undefined
  bytes: number
  timer: NodeJS.Timeout
}

export class LargeResults {
  readonly #process: string
  readonly #keptMs: number
  readonly #bound: ByteBound
  readonly #kept = new Map<number, Kept>()
  #lastId = 0

  constructor({ process, limitBytes = LIMIT_BYTES, keptMs = KEPT_MS }: LargeResultsOptions) {
    this.#process = process
    this.#keptMs = keptMs
    this.#bound = new ByteBound(limitBytes)
  }

  /** Approximate bytes of what is kept. */
  get bytes(): number {
    return this.#bound.used
  }

  /**
   * Keeps a result if it is large. Returns what to reply in place of it; undefined if it is to be in the reply.
   * @param events those that are wanted
   * @param isFull whether the reply is full, so that it is only to get small results: a thousand results of 50 KB each are
   * too large together
   */
  keep(outcome: Outcome, events: readonly string[], isFull = false): LargeResult | undefined {
    const characters = charactersOf(events)
    const most = isFull ? SMALL_CHARACTERS : LARGE_CHARACTERS
    const hasLongUser = outcome.userPieces !== undefined
    if (characters < most && !hasLongUser) return undefined
    const bytes = characters + (hasLongUser ? USER_BYTES : 0)
    if (!this.#bound.tryAcquire(bytes)) return undefined
    const id = ++this.#lastId
    this.#kept.set(id, { events, outcome, user: undefined, bytes, timer: this.#timer(id) })
    const { repeated, verdict, feed } = outcome
    return new LargeResult({
      process: this.#process,
      id,
      hasEvents: events.length > 0,
      user: hasLongUser ? undefined : outcome.user,
      repeated,
      verdict,
      feed,
    })
  }

  /** Resolves to undefined if the result is not kept any more. */
  async answer({ id, what, from }: ResultQuestion): Promise<ResultPiece | undefined> {
    const kept = this.#kept.get(id)
    if (kept === undefined) return undefined
    if (what === NOTHING_WANTED) {
      this.#forget(id, kept)
      return { texts: [], next: -1 }
    }
    clearTimeout(kept.timer)
    kept.timer = this.#timer(id)
    return pieceOf(what === EVENTS_WANTED ? kept.events : await this.#userOf(kept), from)
  }

  /** Forgets everything. */
  close(): void {
    for (const [id, kept] of this.#kept) this.#forget(id, kept)
  }

  #userOf(kept: Kept): Promise<readonly string[]> {
    const { userPieces } = kept.outcome
    return (kept.user ??= userPieces === undefined ? Promise.resolve([]) : kept.outcome.userPieces!())
  }

  #timer(id: number): NodeJS.Timeout {
    const forget = () => {
      const kept = this.#kept.get(id)
      if (kept !== undefined) this.#forget(id, kept)
    }
    return setTimeout(forget, this.#keptMs).unref()
  }

  #forget(id: number, kept: Kept): void {
    clearTimeout(kept.timer)
    this.#kept.delete(id)
    this.#bound.release(kept.bytes)
  }
}

/** At least one text, if there is one. */
function pieceOf(texts: readonly string[], from: number): ResultPiece {
  const piece: string[] = []
  let characters = 0
  let next = from
  while (next < texts.length && characters < PIECE_CHARACTERS) {
    const text = texts[next++]!
    piece.push(text)
    characters += text.length
  }
  return { texts: piece, next: next < texts.length ? next : -1 }
}
