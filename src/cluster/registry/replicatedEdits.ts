import { randomBytes } from 'node:crypto'
import { ApiError } from '../../runtime/errors.ts'
import { Backoff, keepRunning, type RetryPauses } from '../../runtime/retry.ts'
import { Slice } from '../../runtime/slices.ts'
import { type Change, type EditLog, MAX_ENTRIES } from '../../registry/store/editLog.ts'
import type { EditStream, Entry, KeptEntry } from './editStream.ts'
import { type EntryCodec, EntryUnreadable } from './entryCodec.ts'
import { changesIn, inAnyOrder, receivedEntry, type ReceivedEntry } from './receivedEntries.ts'
import type { RegistryReplica } from '../../registry/store/replica.ts'

/**
 * Edits of a registry that many processes share, through a stream of entries that all of them follow.
 *
 * The obvious way writes to the stream and lets everybody follow. Then two processes that each found a pair free both
 * take it. A lock would have to outlive its holder. So an edit is conditional: it reads the replica, which is the
 * stream up to some sequence, and its entries are accepted directly after that sequence or not at all. If another
 * process was faster, it reads again.
 *
 * Owns: that the replica follows the stream. Does not own: what is in it.
 *
 * Invariants
 * - EDITS-1: The replica is the stream up to {@link RegistryReplica.revision}, which is the end of an edit, so nobody
 *   sees a part of an edit. The stream keeps only the last entry of each name, so a process that was away may not get
 *   the edits one by one. It then applies all of them at once.
 * - EDITS-2: Changes reach the replica through the stream alone, in the same order everywhere, including those of this
 *   process.
 * - EDITS-3: An edit resolves when it is in the replica of this process. One that rejects with "Nothing was changed" is
 *   not in the stream and never will be.
 * - EDITS-4: One edit of this process is in flight at a time. If it is not answered, it is sent again unchanged: of
 *   all its copies the stream can accept one, since all name the same position.
 */
export interface ReplicatedOptions {
  readonly replica: RegistryReplica
  readonly codec: EntryCodec
  readonly stream: EditStream
  /**
   * Called for an entry that this program cannot read. The entry is skipped, and the record with its name is removed.
   */
  readonly unreadable: (entry: string, reason: string) => void
  /** Called for each failure to reach the stream. The stream is then tried again. */
  readonly troubled: (error: Error) => void
  /** How long an edit may take, in milliseconds. */
  readonly editMs?: number
  /** The pause before the second attempt, in milliseconds. Later pauses are longer. */
  readonly retryMs?: number
}

const EDIT_MS = 10_000
const RETRY_MS = 20
const MAX_RETRY_MS = 1000
const RETRY_AFTER_SECONDS = 2

/** What is known about an edit that was sent and has not been answered. */
type Fate = 'unknown' | 'stored' | 'refused' | 'lost sight of'

export class ReplicatedEdits implements EditLog {
  readonly isShared = true
  readonly #replica: RegistryReplica
  readonly #codec: EntryCodec
  readonly #stream: EditStream
  readonly #unreadable: ReplicatedOptions['unreadable']
  readonly #troubled: (error: Error) => void
  readonly #editMs: number
  readonly #pauses: RetryPauses
  readonly #closed = new AbortController()
  /** The changes that the running edit has committed so far; undefined while no edit runs. */
  #commits: (readonly Change[])[] | undefined
  #edits: Promise<unknown> = Promise.resolve()
  /**
   * Received entries that are not in the replica yet, because their edit is incomplete or earlier entries are missing.
   */
  #received: ReceivedEntry[] = []
  #isGapped = false
  #sent: { readonly edit: string; readonly after: number; fate: Fate } | undefined
  /** Called when the replica has changed. */
  readonly #waiting = new Set<() => void>()
  #following = false

  constructor(options: ReplicatedOptions) {
    this.#replica = options.replica
    this.#codec = options.codec
    this.#stream = options.stream
    this.#unreadable = options.unreadable
    this.#troubled = options.troubled
    this.#editMs = options.editMs ?? EDIT_MS
    this.#pauses = { firstMs: options.retryMs ?? RETRY_MS, lastMs: MAX_RETRY_MS }
    // The creator of this object reads the rows into memory before it yields, so no entry arrives earlier than
    // that.
    void this.#follow()
  }

  get health(): EditLog['health'] {
    return this.#following
      ? { ok: true, detail: `follows the registry's stream at ${this.#replica.revision}` }
      : {
          ok: false,
          detail: `out of reach of the registry's stream, at ${this.#replica.revision}; edits are refused`,
        }
  }

  edit<T>(work: () => T): Promise<T> {
    const until = performance.now() + this.#editMs
    const result = this.#edits.then(() => this.#run(work, until))
    this.#edits = result.catch(() => {})
    return result
  }

  commit(changes: readonly Change[]): void {
    if (this.#commits === undefined) throw new Error('Changes are committed within an edit.')
    if (changes.length > 0) this.#commits.push(changes)
  }

  close(): void {
    this.#closed.abort()
    this.#wake()
  }

  async #run<T>(work: () => T, until: number): Promise<T> {
    for (;;) {
      const { result, commits } = this.#look(work)
      const [first] = commits
      if (first === undefined) return result()
      if (this.#closed.signal.aborted || performance.now() > until) throw nothingChanged()
      if ((await this.#make(first, until)) && commits.length === 1) return result()
    }
  }

  /** Runs the work on the present replica, and collects what it commits. */
  #look<T>(work: () => T): { result: () => T; commits: (readonly Change[])[] } {
    const commits: (readonly Change[])[] = []
    this.#commits = commits
    try {
      const value = work()
      return { result: () => value, commits }
    } catch (error) {
      const result = (): never => {
        throw error
      }
      // The changes that it committed may be the reason why it failed. Once they are in the replica, it runs again.
      return { result, commits: commits.length === 0 ? [] : [commits[0]!, []] }
    } finally {
      this.#commits = undefined
    }
  }

  /** Makes the changes. Returns false if another edit came first, which is then in the replica. */
  async #make(changes: readonly Change[], until: number): Promise<boolean> {
    const sent = {
      edit: randomBytes(8).toString('hex'),
      after: this.#replica.revision,
      fate: 'unknown' as Fate,
    }
    // From here on, received entries tell what becomes of the edit, also while its own entries are being written.
    this.#sent = sent
    try {
      const entries = await entriesOf(this.#codec, changes, this.#stream.maxValueBytes)
      for (const backoff = new Backoff(this.#pauses); ;) {
        let answer: number | undefined | Error
        try {
          answer = await this.#stream.append(sent.edit, entries, sent.after)
        } catch (error) {
          answer = error as Error
          this.#troubled(answer)
        }
        if (typeof answer === 'number') {
          if (await this.#reaches(answer, until)) return true
          throw new ApiError(503, 'The change was made but is not visible here yet.', RETRY)
        }
        // Another entry has this sequence. This process will receive it, and then knows what it is.
        const limit = answer === undefined ? until : Math.min(until, performance.now() + backoff.next())
        const isSeen = await this.#reaches(sent.after + 1, limit)
        const fate = isSeen ? (sent.fate as Fate) : 'unknown'
        if (fate === 'stored') return true
        if (fate === 'refused') return false
        if (fate === 'lost sight of' || this.#closed.signal.aborted || performance.now() > until) {
          throw new ApiError(
            503,
            'The registry cannot be reached. It is not known whether the change was made.',
            RETRY,
          )
        }
      }
    } finally {
      this.#sent = undefined
    }
  }

  /** Waits until the replica has reached a sequence. Returns false if the time is up before that. */
  async #reaches(sequence: number, until: number): Promise<boolean> {
    while (this.#replica.revision < sequence) {
      const left = until - performance.now()
      if (left <= 0 || this.#closed.signal.aborted) return false
      await new Promise<void>((resolve) => {
        const timer = setTimeout(woken, left)
        const waiting = this.#waiting
        waiting.add(woken)
        function woken(): void {
          clearTimeout(timer)
          waiting.delete(woken)
          resolve()
        }
      })
    }
    return true
  }

  #wake(): void {
    for (const woken of this.#waiting) woken()
  }

  #follow(): Promise<void> {
    const { signal } = this.#closed
    const failed = (error: Error): void => {
      if (!signal.aborted) this.#troubled(error)
    }
    return keepRunning((worked) => this.#takeAll(signal, worked), { pauses: this.#pauses, signal, failed })
  }

  async #takeAll(signal: AbortSignal, worked: () => void): Promise<void> {
    this.#received = []
    this.#isGapped = false
    try {
      this.#checkEnd(await this.#stream.lastSequence())
      this.#following = true
      // An import of large areas brings many at once, and each may take milliseconds.
      const slice = new Slice()
      for await (const entry of this.#stream.follow(this.#replica.revision, signal)) {
        worked()
        this.#take(entry)
        if (slice.isOver) await slice.next()
      }
    } finally {
      this.#following = false
    }
  }

  #checkEnd(lastSequence: number): void {
    if (lastSequence < this.#replica.revision) throw new StreamBehind(lastSequence, this.#replica.revision)
  }

  #take(entry: KeptEntry): void {
    const expected = (this.#received.at(-1)?.sequence ?? this.#replica.revision) + 1
    if (entry.sequence < expected) return
    if (entry.sequence > expected) this.#isGapped = true
    this.#judge(entry)
    this.#received.push(this.#read(entry))
    const isEndOfEdit = entry.part === entry.parts
    if (isEndOfEdit && (!this.#isGapped || entry.behind === 0)) this.#takeUp()
  }

  /**
   * Reads an entry when it arrives, together with the record that it stands for. Only SQLite and the memory are left for
   * the end of an edit, which is taken up in one piece.
   */
  #read(entry: KeptEntry): ReceivedEntry {
    const received = receivedEntry(this.#codec, entry)
    const { content } = received
    if (content === undefined || content instanceof EntryUnreadable) return received
    return { ...received, content: this.#replica.withRecord(content) }
  }

  /** Finds out from a received entry what has become of the edit that was sent. */
  #judge({ sequence, edit, part }: KeptEntry): void {
    const sent = this.#sent
    if (sent === undefined || sequence <= sent.after) return
    if (edit === sent.edit) sent.fate = 'stored'
    // The first entry after the sequence tells. If that entry no longer exists, it may have been ours.
    else if (sent.fate === 'unknown') {
      sent.fate = sequence - part === sent.after || sequence === sent.after + 1 ? 'refused' : 'lost sight of'
    }
  }

  /** Applies what was received to the replica. */
  #takeUp(): void {
    const received = this.#received
    const changes = changesIn(this.#replica, this.#codec, received, this.#unreadable)
    const whole = this.#isGapped ? inAnyOrder(this.#replica, changes) : changes
    this.#replica.apply(whole, received.at(-1)!.sequence)
    this.#received = []
    this.#isGapped = false
    this.#wake()
  }
}

/**
 * The stream ends before the last entry that was taken from it. Somebody restored an older copy, or it lost what it
 * had acknowledged.
 */
export class StreamBehind extends Error {
  override readonly name = 'StreamBehind'

  constructor(lastSequence: number, revision: number) {
    super(
      `The registry's stream ends at ${lastSequence}, and this process has taken it up to ${revision}: it has lost edits.`,
    )
  }
}

const RETRY = { retryAfter: RETRY_AFTER_SECONDS }

function nothingChanged(): ApiError {
  return new ApiError(503, 'The registry cannot be changed at the moment. Nothing was changed.', RETRY)
}

/** One entry for each name: the last one. They are written in turns, because an edit may have many large records. */
async function entriesOf(
  codec: EntryCodec,
  changes: readonly Change[],
  maxValueBytes: number,
): Promise<Entry[]> {
  const entries = new Map<string, Entry>()
  const slice = new Slice()
  for (const change of changes) {
    if (slice.isOver) await slice.next()
    const entry = codec.entryOf(change)
    if ((entry.value?.length ?? 0) > maxValueBytes) {
      const sentence = `The record takes ${entry.value!.length} bytes; the registry's stream takes ${maxValueBytes}.`
      throw new ApiError(413, sentence)
    }
    entries.set(entry.name, entry)
  }
  if (entries.size > MAX_ENTRIES) {
    throw new RangeError(`An edit changes at most ${MAX_ENTRIES} records, not ${entries.size}.`)
  }
  return [...entries.values()]
}
