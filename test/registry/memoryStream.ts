import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EditStream, Entry, KeptEntry } from '../../src/cluster/registry/editStream.ts'

/** What the stream stored with one edit, and the complete state after it. */
export interface KeptEdit {
  readonly edit: string
  readonly sequence: number
  readonly entries: readonly Entry[]
  /** By name, the text of the value. */
  readonly state: ReadonlyMap<string, string>
}

export interface Trouble {
  /** Numbers from 0 to 1. */
  readonly draw: () => number
  /** The shares of appends that are lost, whose answer is lost, and that arrive late. */
  readonly lost: number
  readonly unanswered: number
  readonly late: number
  /** The share of entries before which the connection is cut. */
  readonly cut: number
}

const NO_TROUBLE: Trouble = { draw: () => 1, lost: 0, unanswered: 0, late: 0, cut: 0 }

const MAX_TURNS = 8

/** The stream of edits, simulated in memory, with clients whose connections fail as often as configured. */
export class MemoryStream {
  /** All edits that were ever made, in order. */
  readonly history: KeptEdit[] = []
  #kept: Omit<KeptEntry, 'behind'>[] = []
  #sequence = 0
  #changed = Promise.withResolvers<void>()

  client(trouble: Trouble = NO_TROUBLE): EditStream {
    const { draw } = trouble
    const turns = async (): Promise<void> => {
      for (let left = Math.floor(draw() * MAX_TURNS) % MAX_TURNS; left > 0; left--) await nextTurn()
    }
    return {
      maxValueBytes: 100_000,
      lastSequence: async () => this.#sequence,
      last: async (name) => {
        const entry = this.#kept.find((each) => each.name === name)
        return entry && { ...entry, behind: 0 }
      },
      append: async (edit, entries, after) => {
        await turns()
        const fate = draw()
        if (fate < trouble.lost) throw new Error('lost')
        if (fate < trouble.lost + trouble.late) {
          void turns()
            .then(turns)
            .then(() => this.#append(edit, entries, after))
          throw new Error('on its way')
        }
        const answer = this.#append(edit, entries, after)
        await turns()
        if (fate < trouble.lost + trouble.late + trouble.unanswered) throw new Error('unanswered')
        return answer
      },
      follow: (after, signal) => this.#follow(after, signal, trouble, turns),
    }
  }

  /** Writes like a foreign client that is not a Ringfence process. */
  write(name: string, value: string): void {
    this.#append('', [{ name, value: Buffer.from(value) }], this.#sequence)
  }

  #append(edit: string, entries: readonly Entry[], after: number): number | undefined {
    if (after !== this.#sequence) return undefined
    for (const [i, entry] of entries.entries()) {
      const kept = { ...entry, sequence: ++this.#sequence, edit, part: i + 1, parts: entries.length }
      this.#kept = [...this.#kept.filter(({ name }) => name !== entry.name), kept]
    }
    const state = new Map(
      this.#kept
        .filter(({ value }) => value !== undefined)
        .map(({ name, value }) => [name, Buffer.from(value!).toString()]),
    )
    this.history.push({ edit, sequence: this.#sequence, entries, state })
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
    return this.#sequence
  }

  async *#follow(
    after: number,
    signal: AbortSignal,
    trouble: Trouble,
    turns: () => Promise<void>,
  ): AsyncGenerator<KeptEntry> {
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    for (let at = after; !signal.aborted;) {
      await turns()
      if (trouble.draw() < trouble.cut) throw new Error('cut')
      const entry = this.#kept.find(({ sequence }) => sequence > at)
      if (entry === undefined) {
        await Promise.race([this.#changed.promise, aborted])
        continue
      }
      at = entry.sequence
      yield { ...entry, behind: this.#kept.filter(({ sequence }) => sequence > at).length }
    }
  }
}
