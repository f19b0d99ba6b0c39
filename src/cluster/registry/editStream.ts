/**
 * What replicated edits need of the stream that keeps them. Technologies: jetStreamEdits.ts, and the simulated one of the
 * tests (test/registry/memoryStream.ts).
 */

/** What the stream keeps under a name; of each name the last one only. */
export interface Entry {
  /** `<kind>.<key>`: letters, digits, `_`, `-` and dots. */
  readonly name: string
  /** Undefined: what had the name is removed. */
  readonly value: Uint8Array | undefined
}

/** An entry as the stream gives it back. */
export interface KeptEntry extends Entry {
  readonly sequence: number
  /** The edit that it is a part of; empty where somebody else wrote it. */
  readonly edit: string
  /** Its place among the entries of the edit, from 1, and how many those are. */
  readonly part: number
  readonly parts: number
  /** How many the stream has behind it, at the moment when it was sent. */
  readonly behind: number
}

/** Entries that are numbered, and appended edit by edit. Every promise may reject where it cannot be reached. */
export interface EditStream {
  /** Bytes that a value may have. */
  readonly maxValueBytes: number
  /** Of the newest entry; one below the first where there is none yet. */
  lastSequence(): Promise<number>
  /** The newest entry of a name. */
  last(name: string): Promise<KeptEntry | undefined>
  /**
   * Appends the entries of one edit, right behind the one of sequence `after`, or none; resolves to the sequence of the last
   * once they are durable, to undefined where something else is there. A rejection says nothing: they may be stored, may
   * never be, or may be still on their way.
   */
  append(edit: string, entries: readonly Entry[], after: number): Promise<number | undefined>
  /** Everything behind a sequence, in its order, and what comes then. It ends, or throws, when the connection is lost. */
  follow(after: number, signal: AbortSignal): AsyncIterable<KeptEntry>
}
