import type { ScopeId } from '../../model/scope.ts'

/** The name of a trip that may be active, or of one that was deleted. */
export interface TripEntry {
  /** The `_id` of the trip, which tells its partition. */
  readonly id: string
  readonly scope: ScopeId
  readonly externalId: string
  /** The user whose updates may move it. */
  readonly userId?: string | undefined
  /** When the entry was last written, in epoch milliseconds of the server. */
  readonly changedAt: number
  /** Whether the trip was deleted. For a while, tripOptions create no trip of this name then. */
  readonly isDeleted: boolean
}

/** The names of one scope in memory. */
export class ScopeTrips {
  readonly #byId = new Map<string, TripEntry>()
  readonly #active = new Map<string, TripEntry>()
  /** The latest deleted trip of each name. */
  readonly #deleted = new Map<string, TripEntry>()
  /** Most have one, for which a set of its own would take more memory than all else here. */
  readonly #byUser = new Map<string, TripEntry | Set<TripEntry>>()

  /** Whether no trips can be moved, so that updates need not look further. */
  get isEmpty(): boolean {
    return this.#active.size === 0
  }

  hasUser(userId: string): boolean {
    return this.#byUser.has(userId)
  }

  get(id: string): TripEntry | undefined {
    return this.#byId.get(id)
  }

  /** The trip of that name that may be active. */
  named(externalId: string): TripEntry | undefined {
    return this.#active.get(externalId)
  }

  /** When a trip of that name was last deleted, if that is remembered. */
  deletedAt(externalId: string): number | undefined {
    return this.#deleted.get(externalId)?.changedAt
  }

  /** The trips of the user that may be active. */
  ofUser(userId: string): readonly TripEntry[] {
    const found = this.#byUser.get(userId)
    if (found === undefined) return []
    return found instanceof Set ? [...found] : [found]
  }

  /** The ids in the order in which the trips were created, to the second. */
  idsOfUser(userId: string): readonly string[] {
    const found = this.#byUser.get(userId)
    if (found === undefined) return []
    return found instanceof Set ? Array.from(found, ({ id }) => id).sort() : [found.id]
  }

  idNamed(externalId: string): string | undefined {
    return this.#active.get(externalId)?.id
  }

  hasName(id: string): boolean {
    return this.#byId.get(id)?.isDeleted === false
  }

  all(): Iterable<TripEntry> {
    return this.#byId.values()
  }

  put(entry: TripEntry): void {
    this.remove(entry.id)
    this.#byId.set(entry.id, entry)
    const { externalId, userId } = entry
    if (entry.isDeleted) {
      if ((this.#deleted.get(externalId)?.changedAt ?? 0) <= entry.changedAt)
        this.#deleted.set(externalId, entry)
      return
    }
    this.#active.set(externalId, entry)
    if (userId === undefined) return
    const ofUser = this.#byUser.get(userId)
    if (ofUser === undefined) this.#byUser.set(userId, entry)
    else if (ofUser instanceof Set) ofUser.add(entry)
    else this.#byUser.set(userId, new Set([ofUser, entry]))
  }

  remove(id: string): void {
    const entry = this.#byId.get(id)
    if (entry === undefined) return
    this.#byId.delete(id)
    const { externalId, userId } = entry
    // Another entry may have taken the name.
    if (this.#active.get(externalId) === entry) this.#active.delete(externalId)
    if (this.#deleted.get(externalId) === entry) this.#deleted.delete(externalId)
    if (userId === undefined) return
    const ofUser = this.#byUser.get(userId)
    if (ofUser === entry) this.#byUser.delete(userId)
    else if (ofUser instanceof Set && ofUser.delete(entry) && ofUser.size === 1)
      this.#byUser.set(userId, ofUser.values().next().value!)
  }
}
