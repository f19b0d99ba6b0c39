import type { Tile38Command, Tile38Reply } from './tile38Port.ts'
import { NO_LIMIT, Tile38Keys } from './tile38Texts.ts'

/**
 * How long a note is valid. It is repeated every second; without it, the shares of the process are not kept up to date
 * any more.
 */
const NOTE_SECONDS = 10

/**
 * The notes of the processes that write devices: one for each, with the names of its complete shares. They are the
 * only writes while no device moves, because each write makes Tile38's file grow.
 */
export class Tile38Notes {
  readonly #keys: Tile38Keys
  #count = 0

  constructor(storeId: string) {
    this.#keys = new Tile38Keys(storeId)
  }

  /** The command that asks for the notes of all processes; see {@link wholeShares}. */
  get all(): Tile38Command {
    return ['SCAN', this.#keys.whole, 'LIMIT', NO_LIMIT]
  }

  /** The command that asks for the last writers of all shares; see {@link textsOf}. */
  get writers(): Tile38Command {
    return ['SCAN', this.#keys.writers, 'LIMIT', NO_LIMIT]
  }

  /** The command that asks for the note of a process. */
  own(process: string): Tile38Command {
    return ['GET', this.#keys.whole, process]
  }

  /**
   * The command that sets the note of a process. Each note is different, so that readers see that it is new.
   * @param isThere whether it must exist already; if it does not, the reply is null, and nothing is set
   */
  setting(process: string, shares: readonly string[], isThere: boolean): Tile38Command {
    const text = [++this.#count, ...shares].join(' ')
    const only = isThere ? ['XX'] : []
    return ['SET', this.#keys.whole, process, 'EX', `${NOTE_SECONDS}`, ...only, 'STRING', text]
  }
}

/** The names of the shares that these notes call complete. */
export function wholeShares(notes: Iterable<string>): Set<string> {
  const names = new Set<string>()
  for (const note of notes) for (const name of note.split(' ').slice(1)) names.add(name)
  return names
}

/** The strings of a collection by id, from the reply to SCAN. */
export function textsOf(reply: Tile38Reply | undefined): Map<string, string> {
  const [, entries] = reply as readonly [unknown, readonly (readonly [string, string])[]]
  return new Map(entries)
}
