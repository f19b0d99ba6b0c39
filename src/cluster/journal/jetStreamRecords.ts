import { MAX_BATCH_MESSAGES, type JournalMessage, type JournalEntry } from './jetStreamPort.ts'

/**
 * The messages of a partition's log in its stream.
 *
 * | subject | meaning |
 * |---|---|
 * | `claim.…` | a process takes the partition: from here on, all others fail |
 * | `owner` | the process that claimed it has read the log up to its end |
 * | `commit` | a frame, or a part of one |
 *
 * All of them except claims are records. A record names its writer, the end of the log, and the end of its batch. So
 * the newest record is all that a new owner has to know. A frame is one message; a frame that is too large for that
 * is a batch of its parts.
 */
export const COMMIT = 'commit'
export const ANY_RECORD = '*'
export const ANY_CLAIM = 'claim.*'

const OWNER = 'owner'
const OWNER_HEADER = 'Ringfence-Owner'
const LOG_HEADER = 'Ringfence-Log'
const FORMAT = 1
const NOTHING = new Uint8Array(0)

/** The state of the log that a record describes. */
export interface LogPoint {
  /** The offset of the last frame. */
  readonly offset: number
  /** Which part of the frame the record is, from 1. It is 0 if the record is no part of a frame. */
  readonly part: number
  readonly parts: number
  /** Up to this offset, the events of all frames were published when the record was written. There may be more. */
  readonly published: number
  /** How many messages follow the record in its batch. */
  readonly behind: number
}

/** The point of an empty log. */
export const NO_FRAME: LogPoint = { offset: 0, part: 0, parts: 0, published: 0, behind: 0 }

/** The owner that wrote a record or a claim. */
export function ownerOf(record: JournalEntry): string {
  return record.header(OWNER_HEADER)
}

/**
 * Reads the state from a record.
 * @throws Error if it was written by a newer release, or not by us
 */
export function pointOf(record: JournalEntry): LogPoint {
  const text = record.header(LOG_HEADER)
  const [format, offset, part, parts, published, behind] = text.split(' ').map(Number)
  if (format !== FORMAT || behind === undefined || Number.isNaN(behind)) {
    throw new Error(`the record ${record.sequence} cannot be read: its ${LOG_HEADER} is "${text}"`)
  }
  return { offset: offset!, part: part!, parts: parts!, published: published!, behind }
}

/** A claim. Its subject has two tokens, so that {@link ANY_RECORD} does not find it. */
export function claimRecord(owner: string): JournalMessage {
  return { subject: 'claim.owner', headers: { [OWNER_HEADER]: owner }, data: NOTHING }
}

/**
 * A record that states who owns the log.
 * @param point the end of the log
 */
export function ownerRecord(owner: string, point: LogPoint): JournalMessage {
  return recordMessage(owner, OWNER, { ...point, part: 0, behind: 0 }, NOTHING)
}

/**
 * The messages that store a frame.
 * @param published see {@link LogPoint.published}
 * @param maxDataBytes the limit for one message
 * @throws RangeError if the frame is larger than a batch can be
 */
export function frameBatch(
  owner: string,
  offset: number,
  frame: Uint8Array,
  published: number,
  maxDataBytes: number,
): readonly JournalMessage[] {
  const chunks = [...cut(frame, maxDataBytes)]
  const parts = chunks.length
  if (parts > MAX_BATCH_MESSAGES) {
    throw new RangeError(`A frame of ${frame.length} bytes does not fit into any batch.`)
  }
  return chunks.map((data, i) =>
    recordMessage(owner, COMMIT, { offset, part: i + 1, parts, published, behind: parts - 1 - i }, data),
  )
}

function recordMessage(owner: string, subject: string, point: LogPoint, data: Uint8Array): JournalMessage {
  const { offset, part, parts, published, behind } = point
  const log = [FORMAT, offset, part, parts, published, behind].join(' ')
  return { subject, headers: { [OWNER_HEADER]: owner, [LOG_HEADER]: log }, data }
}

/** Cuts bytes into pieces. There is at least one piece, even of an empty frame. */
function* cut(bytes: Uint8Array, most: number): Generator<Uint8Array> {
  let at = 0
  do {
    yield bytes.subarray(at, at + most)
    at += most
  } while (at < bytes.length)
}
