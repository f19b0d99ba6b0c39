import { randomBytes } from 'node:crypto'

/** What a definition may be referenced by: the pair counts where both are there. */
export interface Referenced {
  readonly tag?: string
  readonly externalId?: string
}

/** What the records of every kind have in common. */
export interface Listed extends Referenced {
  /** 24 hex. */
  readonly id: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Epoch milliseconds. */
  readonly updatedAt: number
}

/** What a list leaves out; bounds are exclusive, epoch milliseconds. */
export interface RecordQuery<T> {
  readonly tag?: string | undefined
  readonly externalId?: string | undefined
  /** The `_id` of a record that is there: only those after it, whatever the filters. */
  readonly before?: string | undefined
  readonly createdBefore?: number | undefined
  readonly createdAfter?: number | undefined
  readonly updatedBefore?: number | undefined
  readonly updatedAfter?: number | undefined
  /** Asked last. */
  readonly accept?: ((record: T) => boolean) | undefined
  readonly limit: number
}

/** What a put will leave behind. */
export interface Draft<T> {
  readonly record: T
  /** Whether it is a new one; else it takes the place of the one with its pair. */
  readonly created: boolean
}

/** What a put of many has to know when it is a part of something larger. */
export interface Part {
  /** Runs in the transaction of the put, with what will have been done in the order of the definitions. */
  alongside(outcomes: readonly { readonly created: boolean }[]): void
}

/** A place in the order of creation, for one `_id`. */
interface Entry<T> {
  /** Rises from one to the next. */
  readonly place: number
  /** Undefined once it is deleted. */
  record: T | undefined
}

/**
 * The records of one kind in one scope: by id, by pair, and newest first.
 *
 * Invariants: `#byId` holds every record, `#byPair` those with a tag and an externalId, at most one for each pair;
 * `#order` holds the entries of `#byId` by creation, and empty ones until it is packed. Creation times never fall in it;
 * many records may share one, and are then in the order in which they were created.
 */
export class RecordList<T extends Listed> {
  readonly #byId = new Map<string, Entry<T>>()
  readonly #byPair = new Map<string, T>()
  #order: Entry<T>[] = []
  #lastCreatedAt = 0

  get size(): number {
    return this.#byId.size
  }

  get(id: string): T | undefined {
    return this.#byId.get(id)?.record
  }

  byPair(tag: string, externalId: string): T | undefined {
    return this.#byPair.get(pairOf(tag, externalId))
  }

  /**
   * Newest first.
   * @param asOf what a record stands for now; undefined: it is not there any more
   */
  list(
    query: RecordQuery<T>,
    asOf: (record: T) => T | undefined = (record) => record,
  ): { records: T[]; hasMore: boolean } {
    const { createdBefore = Infinity, createdAfter = -Infinity } = query
    const { updatedBefore = Infinity, updatedAfter = -Infinity } = query
    const records: T[] = []
    const end = query.before === undefined ? this.#order.length : this.#positionOf(query.before)
    for (let i = end - 1; i >= 0; i--) {
      const stored = this.#order[i]?.record
      if (stored === undefined || stored.createdAt >= createdBefore) continue
      if (stored.createdAt <= createdAfter) break
      if (query.tag !== undefined && stored.tag !== query.tag) continue
      if (query.externalId !== undefined && stored.externalId !== query.externalId) continue
      if (stored.updatedAt >= updatedBefore || stored.updatedAt <= updatedAfter) continue
      const record = asOf(stored)
      if (record === undefined || query.accept?.(record) === false) continue
      if (records.length === query.limit) return { records, hasMore: true }
      records.push(record)
    }
    return { records, hasMore: false }
  }

  /** All that are there when they are reached, oldest first; of what changes meanwhile, new ones are left out. */
  *inOrder(): Generator<T> {
    // Packing replaces the list, so that positions in this one stay.
    const order = this.#order
    const count = order.length
    for (let i = 0; i < count; i++) {
      const record = order[i]?.record
      if (record !== undefined) yield record
    }
  }

  /**
   * What putting the definitions will leave behind, in their order; nothing is changed yet. Each takes the place of the
   * record with its pair, also of one before it in the list, or becomes a new one, created now: in the future only where
   * the clock was set back since the last one.
   * @param build makes a record of a definition, an id and a creation time
   */
  draft<D extends Referenced>(
    definitions: readonly D[],
    now: number,
    build: (definition: D, id: string, createdAt: number) => T,
  ): Draft<T>[] {
    const drafts: Draft<T>[] = []
    const drafted = new Map<string, T>()
    const createdAt = Math.max(this.#lastCreatedAt, now)
    for (const definition of definitions) {
      const pair = pairKey(definition)
      const before = (pair === undefined ? undefined : drafted.get(pair)) ?? this.#holderOf(definition)
      const record = build(definition, before?.id ?? newId(now), before?.createdAt ?? createdAt)
      if (pair !== undefined) drafted.set(pair, record)
      drafts.push({ record, created: before === undefined })
    }
    return drafts
  }

  /**
   * Adds it or replaces the one with its id. New ones come in the order of createdAt, and no other has its pair.
   * @returns the one that it replaced
   */
  put(record: T): T | undefined {
    const entry = this.#byId.get(record.id)
    const before = entry?.record
    if (entry === undefined || before === undefined) {
      const added = { place: (this.#order.at(-1)?.place ?? 0) + 1, record }
      this.#byId.set(record.id, added)
      this.#order.push(added)
      this.#lastCreatedAt = Math.max(this.#lastCreatedAt, record.createdAt)
    } else {
      const pair = pairKey(before)
      if (pair !== undefined) this.#byPair.delete(pair)
      entry.record = record
    }
    const pair = pairKey(record)
    if (pair !== undefined) this.#byPair.set(pair, record)
    return before
  }

  /** Removes and returns the one with that id; undefined where there is none. */
  remove(id: string): T | undefined {
    const entry = this.#byId.get(id)
    const record = entry?.record
    if (entry === undefined || record === undefined) return undefined
    entry.record = undefined
    this.#byId.delete(id)
    const pair = pairKey(record)
    if (pair !== undefined) this.#byPair.delete(pair)
    if (this.#order.length > 2 * this.#byId.size + 64) this.#order = this.#order.filter((one) => one.record)
    return record
  }

  /** Where a record stands in the order; it is there. */
  #positionOf(id: string): number {
    const { place } = this.#byId.get(id)!
    let low = 0
    let high = this.#order.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#order[middle]!.place < place) low = middle + 1
      else high = middle
    }
    return low
  }

  #holderOf(definition: Referenced): T | undefined {
    const pair = pairKey(definition)
    return pair === undefined ? undefined : this.#byPair.get(pair)
  }
}

/** Of this process: two that made records in the same second would else make the same ids. */
const PROCESS = randomBytes(5).toString('hex')
let counter = randomBytes(3).readUIntBE(0, 3)

/**
 * A record id: 24 hex, four bytes of seconds, five of the process and three that count. Ids that rise are written to the
 * end of the database's index; drawn ones touch a page each, which an import feels.
 */
export function newId(now: number): string {
  counter = (counter + 1) & 0xffffff
  const seconds = Math.floor(now / 1000) >>> 0
  return seconds.toString(16).padStart(8, '0') + PROCESS + counter.toString(16).padStart(6, '0')
}

/** Undefined where there is no whole pair. */
function pairKey({ tag, externalId }: Referenced): string | undefined {
  return tag === undefined || externalId === undefined ? undefined : pairOf(tag, externalId)
}

/** Tags and external ids hold no NUL, so that pairs do not run into each other. */
function pairOf(tag: string, externalId: string): string {
  return `${tag}\0${externalId}`
}
