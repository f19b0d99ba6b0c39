/**
 * What the distributed log requires of the streams that store it. jetStreamJournal.ts and jetStreamEvents.ts implement
 * it with NATS, and test/virtualTime/ in a simulation. Every promise may reject if a stream cannot be reached.
 */

/** A message to be stored. */
export interface JournalMessage {
  /** The subject below that of the partition. */
  readonly subject: string
  readonly headers: Readonly<Record<string, string>>
  readonly data: Uint8Array
}

/** A message as stored in the stream. */
export interface JournalEntry {
  readonly sequence: number
  readonly subject: string
  header(name: string): string
  readonly data: Uint8Array
}

/** The stream of one partition: numbered messages, appended in batches. */
export interface Journal {
  /** The largest size of one message's data, in bytes. */
  readonly maxDataBytes: number
  /**
   * Stores all messages in their order, directly after the message of sequence `after`, or none of them. Resolves to
   * the sequence of the last one once they are durable. After a rejection it is unknown whether they are stored, will
   * never be, or are still in flight. {@link LeaderMissing} is different: they are not stored then, and nobody can be
   * asked about others.
   * @param messages 1 to {@link MAX_BATCH_MESSAGES} messages
   * @param after if absent, they are stored after whatever is there
   */
  append(messages: readonly JournalMessage[], after?: number): Promise<number>
  /** The size of the stream in bytes. */
  bytes(): Promise<number>
  /** The newest message of a subject, in which a `*` stands for any one token. */
  last(subject: string): Promise<JournalEntry | undefined>
  /** The first message of a subject at or after a sequence. */
  next(subject: string, sequence: number): Promise<JournalEntry | undefined>
  /** Some messages of a subject in order, beginning with the one that {@link next} returns; empty if there is none. */
  page(subject: string, sequence: number): Promise<readonly JournalEntry[]>
  /** Removes everything before a sequence. */
  purge(before: number): Promise<void>
}

/** An event to be stored. */
export interface PublishedEvent {
  /** The complete subject. */
  readonly subject: string
  /** 24 hex digits. */
  readonly id: string
  readonly data: Uint8Array
}

/**
 * How far the events of a partition are published: the events of all frames before `offset`, and the first `events`
 * events of the frame at `offset`.
 */
export interface Progress {
  readonly offset: number
  /** How many events of the frame at `offset` are published. */
  readonly events: number
}

/** The message in the stream of events with a partition's progress. */
export interface Mark extends Progress {
  readonly sequence: number
}

/** The next events of a partition. */
export interface Publication {
  readonly partition: number
  /** The sequence of the partition's newest mark; 0 if it has none. */
  readonly after: number
  /** The partition's progress once they are published. */
  readonly progress: Progress
  readonly messages: readonly PublishedEvent[]
}

/** The stream of events, which all partitions share. */
export interface EventStream {
  /**
   * Stores a new mark and the messages of each publication, in order, or nothing at all. It stores nothing if the
   * newest mark of any of the partitions differs from `after`. Resolves to the sequences of the marks. After a
   * rejection the result is unknown, as with {@link Journal.append}.
   * @param publications for different partitions, with at most {@link MAX_BATCH_MESSAGES} messages in all, including
   * marks
   */
  publish(publications: readonly Publication[]): Promise<readonly number[]>
  /** The newest mark of a partition; undefined if it has none. */
  mark(partition: number): Promise<Mark | undefined>
}

/** The most messages of one atomic batch, which is the servers' default limit. */
export const MAX_BATCH_MESSAGES = 1000
