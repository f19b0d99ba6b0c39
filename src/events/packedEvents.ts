import type { StoredEvent } from './port.ts'

/**
 * Events for a transaction, as a flat list of values, {@link COLUMNS} each, because that is transferred to a thread
 * faster than objects.
 */
export type PackedEvents = (string | number | null)[]

/** Values of an event. */
export const COLUMNS = 10

/** The first packed events, as many as have this many characters of JSON, at least one; they are removed from the list. */
export function takePacked(events: PackedEvents, mostCharacters: number): PackedEvents {
  let end = 0
  for (let characters = 0; end < events.length && characters < mostCharacters; end += COLUMNS)
    characters += (events[end + COLUMNS - 1] as string).length
  return events.splice(0, end)
}

/** How many characters of JSON packed events have. */
export function packedCharacters(events: PackedEvents): number {
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
