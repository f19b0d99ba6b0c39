/**
 * What the log of a partition needs of the stream that keeps it. Technologies: jetStreamJournal.ts, and the simulated one
 * of the tests (test/sim/).
 */

/** A message to be stored. */
export interface JournalMessage {
  /** Below the partition's own subject: one token for a record, `events.…` for an event. */
  readonly subject: string
  readonly headers: Readonly<Record<string, string>>
  readonly data: Uint8Array
}

/** A message as the stream keeps it. */
export interface KeptMessage {
  readonly sequence: number
  readonly subject: string
  header(name: string): string
  readonly data: Uint8Array
}

/** The stream of one partition: numbered messages, appended in batches. Every promise may reject where it is out of reach. */
export interface Journal {
  /** Bytes that the data of one message may have. */
  readonly maxDataBytes: number
  /**
   * Stores all messages in their order, right behind the one of sequence `after`, or none; resolves to the sequence of
   * the last once they are durable. A rejection says nothing: they may be stored, may never be, or may be still on
   * their way.
   * @param messages 1 to {@link MAX_BATCH_MESSAGES}
   * @param after where it is left out, they are stored behind whatever is there
   */
  append(messages: readonly JournalMessage[], after?: number): Promise<number>
  /** Bytes that the stream takes. */
  bytes(): Promise<number>
  /** The newest message of a subject, of which a `*` stands for any one token. */
  last(subject: string): Promise<KeptMessage | undefined>
  /** The first message of a subject at or behind a sequence. */
  next(subject: string, sequence: number): Promise<KeptMessage | undefined>
  /** Some messages of a subject in their order, the first of them being that of {@link next}; none where that is none. */
  page(subject: string, sequence: number): Promise<readonly KeptMessage[]>
  /** Whether the stream of events, which is filled from this one, has taken everything up to the newest mark. */
  isMarkTaken(sequence: number): Promise<boolean>
  /** Removes everything before a sequence. */
  purge(before: number): Promise<void>
}

/** Messages of one atomic batch: what servers allow by default. */
export const MAX_BATCH_MESSAGES = 1000
