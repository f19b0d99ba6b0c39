/**
 * The requirements of replicated edits for the stream that stores them. Technologies: jetStreamEdits.ts, and the
 * simulated one of the tests (test/registry/memoryStream.ts).
 */

/** A named value in the stream, which keeps only the last one of each name. */
export interface Entry {
  /** `<kind>.<key>`: letters, digits, `_`, `-` and dots. */
  readonly name: string
  /** Undefined: the name is removed. */
  readonly value: Uint8Array | undefined
}

/** An entry as the stream returns it. */
export interface KeptEntry extends Entry {
  readonly sequence: number
  /** The edit that it belongs to; empty if something else wrote it. */
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
  /** The sequence of the newest entry; one less than the first sequence if there is none yet. */
  lastSequence(): Promise<number>
  /** The newest entry of a name. */
  last(name: string): Promise<KeptEntry | undefined>
  /**
   * Appends the entries of one edit, directly after the one of sequence `after`, or none; resolves to the sequence of
   * the last once they are durable, and to undefined if another entry is there. A rejection leaves it open whether
   * they are stored, will never be, or are still in flight.
   */
  append(edit: string, entries: readonly Entry[], after: number): Promise<number | undefined>
  /**
   * All entries after a sequence, in order, including those yet to come. It ends, or throws, when the connection is
   * lost.
   */
  follow(after: number, signal: AbortSignal): AsyncIterable<KeptEntry>
}
