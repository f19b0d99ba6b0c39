/**
 * What replicated edits require of the stream that stores them. jetStreamEdits.ts does it with NATS, and
 * test/registry/memoryStream.ts in memory, for tests.
 */

/** A named value in the stream. The stream keeps only the last value of each name. */
export interface Entry {
  /** `<kind>.<key>`: letters, digits, `_`, `-` and dots. */
  readonly name: string
  /** The value. Undefined means that the name is removed. */
  readonly value: Uint8Array | undefined
}

/** An entry as the stream returns it. */
export interface KeptEntry extends Entry {
  readonly sequence: number
  /** The id of the edit that the entry belongs to. It is empty if something else wrote the entry. */
  readonly edit: string
  /** Its number among the entries of the edit, from 1, and how many there are. */
  readonly part: number
  readonly parts: number
  /** How many entries the stream has after it, at the moment when it was sent. */
  readonly behind: number
}

/** Numbered entries, appended edit by edit. Every promise may reject if the stream cannot be reached. */
export interface EditStream {
  /** The largest size of a value, in bytes. */
  readonly maxValueBytes: number
  /** The sequence of the newest entry. If there is none yet, it is one less than the first sequence. */
  lastSequence(): Promise<number>
  /** The newest entry of a name. */
  last(name: string): Promise<KeptEntry | undefined>
  /**
   * Appends the entries of one edit directly after the entry of sequence `after`, all or none. Resolves to the
   * sequence of the last one once they are durable, and to undefined if another entry is there already. After a
   * rejection it is unknown whether they are stored, will never be, or are still in flight.
   */
  append(edit: string, entries: readonly Entry[], after: number): Promise<number | undefined>
  /**
   * All entries after a sequence, in order, including those yet to come. It ends, or throws, when the connection is
   * lost.
   */
  follow(after: number, signal: AbortSignal): AsyncIterable<KeptEntry>
}
