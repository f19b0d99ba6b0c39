import { subjectOf } from '../model/eventSubject.ts'
import { MAX_BATCH_MESSAGES, type JournalMessage, type KeptMessage } from './jetStreamPort.ts'
import type { LogEvent } from './port.ts'

/**
 * What a partition's log writes into its stream.
 *
 * | subject | what |
 * |---|---|
 * | `claim.…` | somebody takes the partition: all others fail from here on |
 * | `owner` | who claimed it has seen how far the log is |
 * | `commit` | a frame, or a part of one |
 * | `more` | events of the last frame follow, which had no place in its batch |
 * | `mark` | the log asks how far the stream of events is |
 * | `events.…` | an event; `Nats-Msg-Id` is its id |
 *
 * All but claims and events are records. A batch begins with records, each of which tells by whom it is, up to where the log
 * is, and where its batch ends: so the newest record alone is all that a new owner has to know.
 *
 * A frame is one batch: its bytes in parts that fit into a message, then its events. Where that is more than a batch may
 * hold, the events too are written as bytes, behind the frame's, and published by batches of their own that follow: the
 * frame is durable as a whole, and whoever owns the partition next publishes what is missing.
 */
export const OWNER = 'owner'
export const COMMIT = 'commit'
const MORE = 'more'
export const MARK = 'mark'
export const ANY_RECORD = '*'
export const ANY_CLAIM = 'claim.*'

const OWNER_HEADER = 'Ringfence-Owner'
const LOG_HEADER = 'Ringfence-Log'
const FORMAT = 1

/** What a record tells of the log. */
export interface LogPoint {
  /** Of the last frame. */
  readonly position: number
  /** Which of the frame's parts the record is, from 1; 0: it is none. */
  readonly part: number
  /** Parts of the frame's bytes. */
  readonly parts: number
  /** Parts of the bytes of its events, behind them. */
  readonly eventParts: number
  /** Events of the frame that are published once the record's batch is stored. */
  readonly published: number
  readonly events: number
  /** Messages behind the record in its batch. */
  readonly behind: number
}

/** Of a log in which nothing is. */
export const NO_FRAME: LogPoint = {
  position: 0,
  part: 0,
  parts: 0,
  eventParts: 0,
  published: 0,
  events: 0,
  behind: 0,
}

/** A frame as one batch, and the events that have to follow it. */
export interface FrameBatch {
  readonly messages: readonly JournalMessage[]
  readonly following: readonly JournalMessage[]
  /** Once the batch is stored. */
  readonly point: LogPoint
}

/** By whom a record or a claim is. */
export function ownerOf(record: KeptMessage): string {
  return record.header(OWNER_HEADER)
}

/** @throws Error where the record was written by a newer release, or not by us */
export function pointOf(record: KeptMessage): LogPoint {
  const text = record.header(LOG_HEADER)
  const [format, position, part, parts, eventParts, published, events, behind] = text.split(' ').map(Number)
  if (format !== FORMAT || behind === undefined || Number.isNaN(behind)) {
    throw new Error(`the record ${record.sequence} cannot be read: its ${LOG_HEADER} is "${text}"`)
  }
  return {
    position: position!,
    part: part!,
    parts: parts!,
    eventParts: eventParts!,
    published: published!,
    events: events!,
    behind,
  }
}

/** Of two tokens, so that {@link ANY_RECORD} does not find it. */
export function claimRecord(owner: string): JournalMessage {
  return { subject: 'claim.owner', headers: { [OWNER_HEADER]: owner }, data: NOTHING }
}

/** A record that is a batch of its own; `point` is the log's. */
export function loneRecord(owner: string, subject: string, point: LogPoint): JournalMessage {
  return recordMessage(owner, subject, { ...point, part: 0, behind: 0 }, NOTHING)
}

/**
 * The batch of a frame.
 * @param maxDataBytes of one message
 * @throws RangeError where the frame is larger than a batch can be
 */
export function frameBatch(
  owner: string,
  position: number,
  frame: Uint8Array,
  events: readonly JournalMessage[],
  maxDataBytes: number,
): FrameBatch {
  const chunks = [...cut(frame, maxDataBytes)]
  const parts = chunks.length
  const fits = parts + events.length <= MAX_BATCH_MESSAGES
  if (!fits) chunks.push(...cut(packMessages(events), maxDataBytes))
  if (chunks.length > MAX_BATCH_MESSAGES) {
    throw new RangeError(`A frame of ${frame.length} bytes with ${events.length} events fits into no batch.`)
  }
  const inBatch = fits ? events : []
  const whole = {
    position,
    parts,
    eventParts: chunks.length - parts,
    published: inBatch.length,
    events: events.length,
  }
  const records = chunks.map((data, i) => {
    const behind = chunks.length - 1 - i + inBatch.length
    return recordMessage(owner, COMMIT, { ...whole, part: i + 1, behind }, data)
  })
  return {
    messages: [...records, ...inBatch],
    following: fits ? [] : events,
    point: { ...whole, part: 0, behind: 0 },
  }
}

/** The batches that publish what is left of the last frame's events; each with the log's point once it is stored. */
export function* followingBatches(
  owner: string,
  point: LogPoint,
  events: readonly JournalMessage[],
): Generator<{ readonly messages: readonly JournalMessage[]; readonly point: LogPoint }> {
  for (let from = point.published; from < events.length;) {
    const some = events.slice(from, from + MAX_BATCH_MESSAGES - 1)
    from += some.length
    const then = { ...point, part: 0, behind: 0, published: from }
    const head = recordMessage(owner, MORE, { ...then, behind: some.length }, NOTHING)
    yield { messages: [head, ...some], point: then }
  }
}

/** @param encode an event's JSON as the data of its message */
export function eventMessage(event: LogEvent, encode: (json: string) => Uint8Array): JournalMessage {
  return { subject: subjectOf(event), headers: { [EVENT_ID_HEADER]: event.id }, data: encode(event.json) }
}

/** The inverse of what a frame's event parts together are. */
export function unpackMessages(bytes: Buffer): JournalMessage[] {
  const messages: JournalMessage[] = []
  for (let at = 0; at < bytes.length;) {
    const subjectEnd = at + 12 + bytes.readUInt32LE(at)
    const idEnd = subjectEnd + bytes.readUInt32LE(at + 4)
    const end = idEnd + bytes.readUInt32LE(at + 8)
    messages.push({
      subject: bytes.toString('utf8', at + 12, subjectEnd),
      headers: { [EVENT_ID_HEADER]: bytes.toString('utf8', subjectEnd, idEnd) },
      data: bytes.subarray(idEnd, end),
    })
    at = end
  }
  return messages
}

const EVENT_ID_HEADER = 'Nats-Msg-Id'
const NOTHING = new Uint8Array(0)

/** Of each message the lengths of subject, id and data (u32, little-endian), then these. */
function packMessages(messages: readonly JournalMessage[]): Buffer {
  const pieces: Uint8Array[] = []
  for (const { subject, headers, data } of messages) {
    const subjectBytes = Buffer.from(subject)
    const idBytes = Buffer.from(headers[EVENT_ID_HEADER]!)
    const lengths = Buffer.alloc(12)
    lengths.writeUInt32LE(subjectBytes.length, 0)
    lengths.writeUInt32LE(idBytes.length, 4)
    lengths.writeUInt32LE(data.length, 8)
    pieces.push(lengths, subjectBytes, idBytes, data)
  }
  return Buffer.concat(pieces)
}

function recordMessage(owner: string, subject: string, point: LogPoint, data: Uint8Array): JournalMessage {
  const { position, part, parts, eventParts, published, events, behind } = point
  const log = [FORMAT, position, part, parts, eventParts, published, events, behind].join(' ')
  return { subject, headers: { [OWNER_HEADER]: owner, [LOG_HEADER]: log }, data }
}

/** At least one piece, so that an empty frame is one too. */
function* cut(bytes: Uint8Array, most: number): Generator<Uint8Array> {
  let at = 0
  do {
    yield bytes.subarray(at, at + most)
    at += most
  } while (at < bytes.length)
}
