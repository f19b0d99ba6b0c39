import { notFarAhead, type Stamp } from './trackSchema.ts'
import { NOBODY, SENDER_FIELDS, type Senders, SenderTexts } from './senders.ts'
import { StreamUpdate } from './streamUpdate.ts'
import { texts } from './texts.ts'
import { FIELD } from './updateFields.ts'
import type { TrackFrame } from './trackFrame.ts'

/**
 * The fast path for usual frames: each encoding's scanner fills a draft field by field from the bytes, and the draft
 * makes the update. Anything unusual, invalid or of another kind is left to the decoder and its schemas. The result
 * is the same (test/wire/scanners.test.ts).
 *
 * The naive way creates an object for each update, walks it twice, once to check the JSON structure and once for the
 * schema, and then builds the update from it with new strings. Here texts stay bytes, and updates of a device that
 * repeat the same texts find its sender by them.
 */

const MUST_HAVE = FIELD.deviceId | FIELD.latitude | FIELD.longitude
const SEQUENCED = FIELD.stream | FIELD.sequence
const MAY_BE_NOBODY = FIELD.userId | FIELD.installId

const MAX_UPDATES = 1000
const MAX_NAME = 256
const MAX_SHORT_NAME = 64
/** Smaller Unix times than this are in seconds. */
const FIRST_MS = 1e11
/** The end of the year 9999, in epoch milliseconds. */
const LAST_MS = 253_402_300_799_999

/** A frame and one of its updates, while a scanner reads it. Setters return false if the fast path does not apply. */
export class TrackDraft extends SenderTexts {
  id = 0
  events = false
  stream: string | undefined
  sequence = -1
  #updates: StreamUpdate[] = []
  #seen = 0
  #latitude = 0
  #longitude = 0
  #accuracy: number | undefined
  #foreground = false
  #stopped = false
  #updatedAt: number | undefined
  #stream: string | undefined
  #sequence: number | undefined

  /**
   * Begins a frame.
   * @param bytes those of the frame, which are kept until the next frame
   */
  beginFrame(bytes: Buffer): void {
    this.beginSenders(bytes)
    this.id = 0
    this.events = false
    this.stream = undefined
    this.sequence = -1
    this.#updates = []
  }

  /**
   * Begins a single update.
   * @param bytes those of the update, which are kept until the next one
   */
  beginBody(bytes: Buffer): void {
    this.beginSenders(bytes)
  }

  /** Begins an update. Returns false if there is no room for another one. */
  beginUpdate(): boolean {
    if (!this.beginSender()) return false
    this.#seen = 0
    this.#accuracy = undefined
    this.#foreground = false
    this.#stopped = false
    this.#updatedAt = undefined
    this.#stream = undefined
    this.#sequence = undefined
    return true
  }

  /**
   * Sets a text of printable ASCII characters.
   * @param field a number of {@link FIELD}
   * @param hash the hash of the text, as texts.ts computes it
   */
  text(field: number, start: number, end: number, hash: number): boolean {
    const length = end - start
    if ((this.#seen & field) !== 0 || length > MAX_NAME) return false
    this.#seen |= field
    if ((field & SENDER_FIELDS) !== 0) {
      // Logged-out apps send an empty text for "nobody".
      if (length === 0 && (field & MAY_BE_NOBODY) !== 0) return true
      this.name(field, start, end, hash)
      return true
    }
    switch (field) {
      case FIELD.stream:
        this.#stream = texts.find(this.bytes, start, end, hash)
        return length > 0 && length <= MAX_SHORT_NAME
      case FIELD.updatedAt:
        this.#updatedAt = timeOfText(this.bytes, start, end)
        return this.#updatedAt !== undefined
      default:
        return field === FIELD.sdkVersion && length <= MAX_SHORT_NAME
    }
  }

  number(field: number, value: number): boolean {
    if ((this.#seen & field) !== 0) return false
    this.#seen |= field
    switch (field) {
      case FIELD.latitude:
        this.#latitude = value
        return value >= -90 && value <= 90
      case FIELD.longitude:
        this.#longitude = value
        return value >= -180 && value <= 180
      case FIELD.accuracy:
        this.#accuracy = value
        return value > 0 && value < Infinity
      case FIELD.updatedAt:
        this.#updatedAt = Math.round(value)
        return value >= FIRST_MS && value <= LAST_MS
      case FIELD.sequence:
        this.#sequence = value
        return Number.isSafeInteger(value) && value >= 0
      default:
        return false
    }
  }

  boolean(field: number, value: boolean): boolean {
    if ((this.#seen & field) !== 0) return false
    this.#seen |= field
    if (field === FIELD.foreground) this.#foreground = value
    else if (field === FIELD.stopped) this.#stopped = value
    else return false
    return true
  }

  /** Ends an update of a frame. */
  endUpdate(stamp: Stamp): boolean {
    const update = this.#update(stamp)
    if (update === undefined) return false
    this.#updates.push(update)
    return true
  }

  /** The single update; undefined if it is incomplete or out of range. */
  endBody(stamp: Stamp, senders: Senders): StreamUpdate | undefined {
    const update = this.#update(stamp)
    if (update === undefined) return undefined
    const sender = senders.find(this, 0, stamp)
    if (sender === undefined) return undefined
    update.sender = sender
    return update
  }

  /** The update without its sender; undefined if it is incomplete or out of range. */
  #update(stamp: Stamp): StreamUpdate | undefined {
    const seen = this.#seen
    if ((seen & MUST_HAVE) !== MUST_HAVE) return undefined
    if ((seen & FIELD.accuracy) === 0 && !stamp.fromSdk && (seen & FIELD.sdkVersion) === 0) return undefined
    if ((seen & SEQUENCED) !== 0 && (seen & SEQUENCED) !== SEQUENCED) return undefined
    const updatedAt = this.#updatedAt
    if (updatedAt !== undefined && isFarAhead(updatedAt, stamp)) return undefined
    return new StreamUpdate(
      NOBODY,
      this.#latitude,
      this.#longitude,
      this.#accuracy,
      this.#foreground,
      this.#stopped,
      updatedAt,
      stamp.receivedAt,
      this.#stream,
      this.#sequence,
    )
  }

  /** The frame; undefined if it is incomplete or out of range. */
  endFrame(stamp: Stamp, senders: Senders): TrackFrame | undefined {
    const { id, stream, sequence, events: wantsEvents } = this
    const updates = this.#updates
    this.#updates = []
    if (!Number.isSafeInteger(id) || id < 1 || updates.length === 0) return undefined
    if (!senders.findAll(this, stamp, updates)) return undefined
    if (stream === undefined) return sequence < 0 ? { id, wantsEvents, updates } : undefined
    if (stream === '' || stream.length > MAX_SHORT_NAME) return undefined
    if (!Number.isInteger(sequence) || sequence < 0) return undefined
    if (sequence > Number.MAX_SAFE_INTEGER - MAX_UPDATES) return undefined
    for (let i = 0; i < updates.length; i++) {
      const update = updates[i]!
      if (update.stream !== undefined) continue
      update.stream = stream
      update.sequence = sequence + i
    }
    return { id, wantsEvents, updates }
  }
}

function isFarAhead(time: number, { receivedAt }: Stamp): boolean {
  try {
    notFarAhead('', time, receivedAt)
    return false
  } catch {
    return true
  }
}

/**
 * What each position of an ISO date in UTC with milliseconds must be, as in `2026-11-20T04:21:00.123Z`. 0 stands for a
 * digit.
 */
const ISO_FORM = '0000-00-00T00:00:00.000Z'

/** The time in epoch milliseconds; undefined for every other form, and for dates that do not exist. */
function timeOfText(bytes: Buffer, start: number, end: number): number | undefined {
  if (end - start !== ISO_FORM.length) return undefined
  for (let i = 0; i < ISO_FORM.length; i++) {
    const form = ISO_FORM.charCodeAt(i)
    const code = bytes[start + i]!
    if (form === 48 ? code < 48 || code > 57 : code !== form) return undefined
  }
  const digits = (at: number) => (bytes[start + at]! - 48) * 10 + bytes[start + at + 1]! - 48
  const year = digits(0) * 100 + digits(2)
  const day = digits(8)
  const hour = digits(11)
  const minute = digits(14)
  const second = digits(17)
  // Days that only some months have, leap seconds and early years are left to the slow path.
  if (year < 1970 || day < 1 || day > 28 || hour > 23 || minute > 59 || second > 59) return undefined
  const month = digits(5)
  if (month < 1 || month > 12) return undefined
  const milliseconds = digits(20) * 10 + bytes[start + 22]! - 48
  return Date.UTC(year, month - 1, day, hour, minute, second, milliseconds)
}
