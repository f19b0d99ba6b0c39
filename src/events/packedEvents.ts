import type { StoredEvent } from './port.ts'

/**
 * Events for a transaction, as a flat list of values, {@link COLUMNS} each, because that is transferred to a thread
 * faster than objects.
 */
export type PackedEvents = (string | number | null)[]

/** Values of an event. */
export const COLUMNS = 10

/** So many events of one commit are not packed at once, because that takes milliseconds. */
const MANY_EVENTS = 500

/** Events that wait until they are handed over, in their order. Those of a large commit are packed when they are taken. */
export class PackingQueue {
  /** How many characters of JSON they have. */
  characters = 0
  readonly #packed: PackedEvents = []
  /** Those that came after the packed ones. */
  #lists: { readonly events: readonly StoredEvent[]; readonly offset: number; taken: number }[] = []

  get isEmpty(): boolean {
    return this.#packed.length === 0 && this.#lists.length === 0
  }

  /** Adds events, each at the next offset; `offset` is the one before the first. Nobody may change the list any more. */
  add(events: readonly StoredEvent[], offset: number, characters: number): void {
    this.characters += characters
    if (this.#lists.length === 0 && events.length < MANY_EVENTS) packEvents(events, offset, this.#packed)
    else this.#lists.push({ events, offset, taken: 0 })
  }

  /** Takes the first events, as many as have this many characters of JSON, or fewer, but at least one. */
  take(mostCharacters: number): PackedEvents {
    const piece =
      this.#packed.length > 0 ? takePacked(this.#packed, mostCharacters) : this.#takeOfList(mostCharacters)
    this.characters -= packedCharacters(piece)
    return piece
  }

  #takeOfList(mostCharacters: number): PackedEvents {
    const list = this.#lists[0]
    if (list === undefined) return []
    const { events, offset, taken } = list
    let end = taken
    for (let characters = 0; end < events.length && characters < mostCharacters; end++)
      characters += events[end]!.json.length
    const piece: PackedEvents = []
    packEvents(events.slice(taken, end), offset + taken, piece)
    list.taken = end
    if (end === events.length) this.#lists.shift()
    return piece
  }
}

/** The first packed events, as many as have this many characters of JSON, at least one; they are removed from the list. */
function takePacked(events: PackedEvents, mostCharacters: number): PackedEvents {
  let end = 0
  for (let characters = 0; end < events.length && characters < mostCharacters; end += COLUMNS)
    characters += (events[end + COLUMNS - 1] as string).length
  return events.splice(0, end)
}

/** How many characters of JSON packed events have. */
function packedCharacters(events: PackedEvents): number {
  let characters = 0
  for (let end = COLUMNS; end <= events.length; end += COLUMNS)
    characters += (events[end - 1] as string).length
  return characters
}

/** Appends events to a packed list, each at the next offset; `offset` is the one before the first. */
export function packEvents(events: readonly StoredEvent[], offset: number, into: PackedEvents): void {
  for (const event of events) {
    into.push(
      ++offset,
      event.id,
      event.scope,
      event.type,
      event.deviceId,
      event.userId ?? null,
      event.userRecordId,
      event.createdAt,
      event.actualCreatedAt,
      event.json,
    )
  }
}
