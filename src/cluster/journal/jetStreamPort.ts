/**
 * What the distributed log needs of the streams that keep it. Technologies: jetStreamJournal.ts, jetStreamEvents.ts, and the
 * simulated ones of the tests (test/sim/). Every promise may reject where a stream cannot be reached.
 */

/** A message to be stored. */
export interface JournalMessage {
  /** Below the partition's own subject. */
  readonly subject: string
  readonly headers: Readonly<Record<string, string>>
  readonly data: Uint8Array
}

/** A message as the stream keeps it. */
export interface JournalEntry {
  readonly sequence: number
  readonly subject: string
  header(name: string): string
  readonly data: Uint8Array
}

/** The stream of one partition: numbered messages, appended in batches. */
export interface Journal {
  /** Bytes that the data of one message may have. */
  readonly maxDataBytes: number
  /**
   * Stores all messages in their order, right behind the one of sequence `after`, or none; resolves to the sequence of
   * the last once they are durable. A rejection says nothing: they may be stored, may never be, or may be still on
   * their way. But for {@link LeaderMissing}: then they are not stored, and there is nobody to ask about others.
   * @param messages 1 to {@link MAX_BATCH_MESSAGES}
   * @param after where it is left out, they are stored behind whatever is there
   */
  append(messages: readonly JournalMessage[], after?: number): Promise<number>
  /** Bytes that the stream takes. */
  bytes(): Promise<number>
  /** The newest message of a subject, of which a `*` stands for any one token. */
  last(subject: string): Promise<JournalEntry | undefined>
  /** The first message of a subject at or behind a sequence. */
  next(subject: string, sequence: number): Promise<JournalEntry | undefined>
  /** Some messages of a subject in their order, the first of them being that of {@link next}; none where that is none. */
  page(subject: string, sequence: number): Promise<readonly JournalEntry[]>
  /** Removes everything before a sequence. */
  purge(before: number): Promise<void>
}

/** An event to be stored. */
export interface PublishedEvent {
  /** The whole of it. */
  readonly subject: string
  /** 24 hex. */
  readonly id: string
  readonly data: Uint8Array
}

/** How far the events of a partition are published: those of all frames before `position`, and the first of it. */
export interface Progress {
  readonly position: number
  /** Of the frame at `position`. */
  readonly events: number
}

/** The message that tells the progress of a partition in the stream of events. */
export interface Mark extends Progress {
  readonly sequence: number
}

/** The next events of a partition. */
export interface Publication {
  readonly partition: number
  /** Of the partition's newest mark; 0 where it has none. */
  readonly after: number
  /** Once they are published. */
  readonly progress: Progress
  readonly messages: readonly PublishedEvent[]
}

/** The stream of events, which all partitions share. */
export interface EventStream {
  /**
   * Stores of each publication a new mark and its messages, in their order, or nothing at all: also where of any of the
   * partitions the newest mark is another than `after`. Resolves to the sequences of the marks. A rejection says nothing, as
   * that of {@link Journal.append}.
   * @param publications of different partitions, of {@link MAX_BATCH_MESSAGES} messages in all, marks included
   */
  publish(publications: readonly Publication[]): Promise<readonly number[]>
  /** The newest mark of a partition; undefined where it has none. */
  mark(partition: number): Promise<Mark | undefined>
}

/** Messages of one atomic batch: what servers allow by default. */
export const MAX_BATCH_MESSAGES = 1000
