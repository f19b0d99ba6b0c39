import { charactersOf } from '../runtime/textPieces.ts'
import type { Share } from '../runtime/keyedBound.ts'

/** How many characters of events an acknowledgement may have, because a string may not grow without a limit. */
const MAX_CHARACTERS = 4 * 1024 * 1024

/**
 * The events of a frame's updates, in the order of the updates, as far as they fit into an acknowledgement. Updates are
 * applied in any order, so what no longer fits is dropped as soon as that is known: a thousand updates may cause
 * gigabytes.
 */
export class FrameEvents {
  readonly #share: Share
  readonly #lists: (readonly string[] | undefined)[] = []
  #characters = 0
  /** Nothing behind this update fits. */
  #end = Infinity
  /** How many events were left out. */
  omitted = 0

  /** @param share counts what is kept */
  constructor(share: Share) {
    this.#share = share
  }

  /** Adds the events of an update, which has none yet. */
  add(index: number, events: readonly string[]): void {
    if (events.length === 0) return
    let fitting = 0
    if (index < this.#end)
      for (let characters = 0; fitting < events.length; fitting++)
        if ((characters += events[fitting]!.length) > MAX_CHARACTERS) break
    const kept = fitting === events.length ? events : events.slice(0, fitting)
    if (this.#share.tryAcquire(charactersOf(kept)) !== undefined) {
      this.omitted += events.length
      return
    }
    this.omitted += events.length - kept.length
    this.#characters += charactersOf(kept)
    if (index < this.#end) this.#lists[index] = kept
    if (kept.length < events.length && index < this.#end) this.#cut(index)
    while (this.#characters > MAX_CHARACTERS) this.#dropLast()
  }

  /** How many characters they have together. */
  get characters(): number {
    return this.#characters
  }

  /** All of them. They are no longer counted. */
  take(): string[] {
    this.#share.release(this.#characters)
    this.#characters = 0
    return this.#lists.flatMap((list) => list ?? [])
  }

  /** Drops what is behind an update. */
  #cut(index: number): void {
    this.#end = index
    while (this.#lists.length > index + 1) this.#drop(this.#lists.pop() ?? [])
  }

  /** Drops the last events, as many as are too many. */
  #dropLast(): void {
    const list = this.#lists.pop()
    if (list === undefined) return
    let kept = list.length
    let characters = this.#characters
    while (kept > 0 && characters > MAX_CHARACTERS) characters -= list[--kept]!.length
    this.#end = this.#lists.push(list.slice(0, kept)) - 1
    this.#drop(list.slice(kept))
    if (kept === 0) this.#lists.pop()
  }

  #drop(events: readonly string[]): void {
    const characters = charactersOf(events)
    this.omitted += events.length
    this.#characters -= characters
    this.#share.release(characters)
  }
}
