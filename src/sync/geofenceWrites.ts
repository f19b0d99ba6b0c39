import { setImmediate as nextTurn } from 'node:timers/promises'
import type { GeofenceDefinition } from '../registry/geofences/geofenceRows.ts'
import type { Listed } from '../registry/records/recordList.ts'
import type { Change } from '../registry/store/editLog.ts'
import type { SyncRun } from '../registry/sync/syncRows.ts'
import { kept, type RunState } from './syncRunState.ts'

/**
 * The most writes of a transaction. If processes share the registry, a transaction costs a round trip, and together with the
 * marks it must fit into one atomic batch. In a registry of one process, a transaction blocks everything else while it is
 * made, so it has fewer writes. It still has more than fifty, so that its entries in the audit log are counted apart from
 * those of other edits (see `auditId`).
 */
const MAX_WRITES = { shared: 200, own: 64 }
/**
 * As many characters of rows fill a transaction, too: sixty geofences with ten thousand users each would take a quarter of a
 * second.
 */
const MAX_CHARACTERS = 256 * 1024

interface Pending {
  readonly definition: GeofenceDefinition
  /** The length of its row's text. */
  readonly characters: number
  readonly source: number
  readonly sources: readonly string[]
}

/**
 * What a run writes to the registry, some geofences at a time, each time together with the counts that they change.
 *
 * Invariants
 * - SYNC-4: Each write checks within its edit that this process still has the run; a process that lost it writes no
 *   more.
 */
export class GeofenceWrites {
  readonly #state: RunState
  #pending: Pending[] = []
  #characters = 0
  /** The marks of geofences that did not change. */
  #remarked: Change[] = []

  constructor(state: RunState) {
    this.#state = state
  }

  /** Whether as much waits as one transaction may write. */
  get isFull(): boolean {
    return this.#pending.length >= this.#most || this.#characters >= MAX_CHARACTERS
  }

  get #most(): number {
    return this.#state.parts.syncs.isShared ? MAX_WRITES.shared : MAX_WRITES.own
  }

  add(pending: Pending): void {
    this.#pending.push(pending)
    this.#characters += pending.characters
  }

  remark(change: Change): void {
    this.#remarked.push(change)
  }

  /** Writes what is pending, some rows at a time, each with the counts that it changes. */
  async write(): Promise<void> {
    const state = this.#state
    const { syncs, geofences } = state.parts
    const { scope, dryRun } = state.run
    if (this.#pending.length === 0 && this.#remarked.length === 0) return state.save()
    while (this.#pending.length > 0 || this.#remarked.length > 0) {
      const part = this.#firstPart()
      const marks = this.#remarked.slice(0, this.#most)
      if (dryRun) {
        const store = geofences.store(scope)
        const outcomes = part.map(({ definition: { tag, externalId } }) => ({
          created: store.byPair(tag, externalId) === undefined,
        }))
        for (const [i, { definition }] of part.entries())
          state.show(outcomes[i]!.created ? 'created' : 'updated', definition)
        state.run = this.#counting(part, outcomes)
      } else {
        state.run = await syncs.edit(() => {
          const active = syncs.held(state.run)
          let counted = state.run
          const alongside = (outcomes: readonly { readonly created: boolean; readonly record: Listed }[]) => {
            counted = { ...this.#counting(part, outcomes), ...kept(active) }
            const written = outcomes.map(({ record: { id, updatedAt } }, i) =>
              syncs.markChange({ scope, id, sources: part[i]!.sources, updatedAt }),
            )
            return [...marks, ...written, syncs.saved(counted)]
          }
          if (part.length === 0) syncs.commit(alongside([]))
          else
            geofences.putMany(
              scope,
              part.map(({ definition }) => definition),
              { alongside },
            )
          return counted
        })
      }
      this.#pending = this.#pending.slice(part.length)
      for (const { characters } of part) this.#characters -= characters
      this.#remarked = this.#remarked.slice(marks.length)
      state.savedAt = state.parts.time.now()
      state.signal.throwIfAborted()
      await nextTurn()
    }
  }

  /** As many of the first rows as one transaction may write: at least one, if there is any. */
  #firstPart(): Pending[] {
    let count = 0
    for (let characters = 0; count < Math.min(this.#pending.length, this.#most); count++) {
      if (characters >= MAX_CHARACTERS) break
      characters += this.#pending[count]!.characters
    }
    return this.#pending.slice(0, count)
  }

  /** The run after these rows. */
  #counting(part: readonly Pending[], outcomes: readonly { readonly created: boolean }[]): SyncRun {
    const sources = this.#state.run.sources.map((source) => ({ ...source }))
    for (const [i, { source }] of part.entries()) {
      if (outcomes[i]!.created) sources[source]!.created++
      else sources[source]!.updated++
    }
    return { ...this.#state.run, sources }
  }

  /**
   * Deletes geofences, unless somebody has written them in the meantime.
   * @param gone ids of which only the marks are left
   */
  async delete(gone: readonly string[], missing: readonly string[]): Promise<void> {
    const state = this.#state
    const { syncs, geofences } = state.parts
    const { scope } = state.run
    const store = geofences.store(scope)
    const ids = [...gone, ...missing]
    for (let at = 0, part: readonly string[]; at < ids.length; at += part.length) {
      part = geofences.firstPart(scope, ids, at, this.#most)
      const these = part
      state.run = await syncs.edit(() => {
        const active = syncs.held(state.run)
        // Somebody may have written one in the meantime.
        const deleted = these.filter((id) => {
          const geofence = store.get(id)
          return geofence !== undefined && geofence.updatedAt === syncs.mark(scope, id)?.updatedAt
        })
        const unmarked = these.filter((id) => deleted.includes(id) || store.get(id) === undefined)
        const counted = { ...state.run, ...kept(active), deleted: state.run.deleted + deleted.length }
        geofences.deleteMany(scope, deleted, [
          ...unmarked.map((id) => syncs.unmarkChange(scope, id)),
          syncs.saved(counted),
        ])
        return counted
      })
      state.signal.throwIfAborted()
      await nextTurn()
    }
  }
}
