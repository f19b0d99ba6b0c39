import { type Senders, SenderTexts, SENDER_FIELDS } from '../../wire/senders.ts'
import { StreamUpdate } from '../../wire/streamUpdate.ts'
import { hashText, texts } from '../../wire/texts.ts'
import { FIELD } from '../../wire/updateFields.ts'
import type { Sender, Update } from '../../model/update.ts'

/**
 * Updates on their way from a gateway to an owner, as bytes.
 *
 * The obvious way packs the fields of each update and makes an object of them at the other end, with a new string for
 * each text. Then the owner has to look up the record of a sender that it saw a second before. Here, texts are laid
 * out so that senders are found by their bytes, like those of a stream (ADR 28), and only one small object is
 * unpacked.
 *
 * ```
 * row   [u16 flags, u32 scope, f64 latitude, longitude, receivedAt, sequence, f64 accuracy?, f64 updatedAt?,
 *       text ip, text stream, u16 named, text of each field that is named]
 *       or, for an update with other fields: [u16 WHOLE | flags, u32 length, what `whole` makes of it]
 * text  [u8 length, printable ASCII characters]
 * ```
 *
 * Numbers are little endian.
 */

/** What is wanted for an update besides its application. */
export interface ReplyOptions {
  readonly rateLimited: boolean
  readonly wantsUser: boolean
  readonly wantsEvents: boolean
  /** Whether the update waits behind others; see `Submitter.isBehind`. */
  readonly isBehind: boolean
}

/** An outgoing update. The gateway numbers it if its sender has not. */
export interface NumberedUpdate {
  readonly update: Update
  readonly wanted: ReplyOptions
  readonly stream: string
  readonly sequence: number
}

/** An update that came from a gateway. */
export interface RemoteUpdate extends Update {
  /** The flags of its {@link ReplyOptions}. Updates with the same flags go together. */
  readonly flags: number
  /** Its index among the updates of its request. */
  readonly index: number
}

/** Packs updates that do not fit into a row. */
export interface WholeRows {
  pack(update: NumberedUpdate): Uint8Array
  /**
   * Reads such an update.
   * @param bytes valid during the call
   */
  unpack(bytes: Uint8Array): Update
}

const FOREGROUND = 1
const STOPPED = 2
const LIMITED = 4
const WANTS_USER = 8
const WANTS_EVENTS = 16
const HAS_ACCURACY = 32
const HAS_TIME = 64
const WHOLE = 128
const IS_BEHIND = 256
const WANTED = LIMITED | WANTS_USER | WANTS_EVENTS | IS_BEHIND

const MAX_TEXT = 255
/** The size of flags, scope, six numbers and the list of fields. */
const MAX_FIXED_BYTES = 2 + 4 + 6 * 8 + 2
/** How many texts a row may have: IP, stream and the texts of a sender. */
const MAX_TEXTS = 9
const MAX_ROW_BYTES = MAX_FIXED_BYTES + MAX_TEXTS * (1 + MAX_TEXT)
const FIRST_BYTES = 64 * 1024

const NAMES = [
  [FIELD.deviceId, 'deviceId'],
  [FIELD.userId, 'userId'],
  [FIELD.installId, 'installId'],
  [FIELD.deviceType, 'deviceType'],
  [FIELD.deviceOS, 'deviceOS'],
  [FIELD.deviceMake, 'deviceMake'],
  [FIELD.deviceModel, 'deviceModel'],
] as const satisfies readonly (readonly [number, keyof Sender])[]

/** What is wanted for updates with these flags. */
export function wantedOf(flags: number): ReplyOptions {
  return {
    rateLimited: (flags & LIMITED) !== 0,
    wantsUser: (flags & WANTS_USER) !== 0,
    wantsEvents: (flags & WANTS_EVENTS) !== 0,
    isBehind: (flags & IS_BEHIND) !== 0,
  }
}

/** Writes rows one after the other. It can be reused: its result is valid until it is used again. */
export class RowWriter {
  readonly #whole: WholeRows
  #bytes = Buffer.allocUnsafe(FIRST_BYTES)
  #view = viewOf(this.#bytes)
  #at = 0
  #isBehind = false

  constructor(whole: WholeRows) {
    this.#whole = whole
  }

  /** @param isBehind whether all of them wait behind others, also those of which that is not {@link ReplyOptions.isBehind wanted} */
  write(updates: readonly NumberedUpdate[], isBehind = false): Uint8Array {
    this.#isBehind = isBehind
    this.#at = 0
    for (const one of updates) {
      this.#reserve(MAX_ROW_BYTES)
      const start = this.#at
      if (this.#row(one)) continue
      this.#at = start
      this.#wholeRow(one)
    }
    return this.#bytes.subarray(0, this.#at)
  }

  /** Writes a row. Returns false if the update has more data than a row can hold. */
  #row({ update, wanted, stream, sequence }: NumberedUpdate): boolean {
    const { accuracy, updatedAt } = update
    if (update.replayed || update.beacons !== undefined) return false
    if (update.metadata !== undefined || update.description !== undefined) return false
    if (update.source !== undefined || update.claims !== undefined) return false
    if (update.tripOptions !== undefined) return false
    const view = this.#view
    let at = this.#at
    const flags =
      this.#flagsOf(wanted) |
      (update.foreground ? FOREGROUND : 0) |
      (update.stopped ? STOPPED : 0) |
      (accuracy === undefined ? 0 : HAS_ACCURACY) |
      (updatedAt === undefined ? 0 : HAS_TIME)
    view.setUint16(at, flags, true)
    view.setUint32(at + 2, update.scope, true)
    view.setFloat64(at + 6, update.latitude, true)
    view.setFloat64(at + 14, update.longitude, true)
    view.setFloat64(at + 22, update.receivedAt, true)
    view.setFloat64(at + 30, sequence, true)
    at += 38
    if (accuracy !== undefined) {
      view.setFloat64(at, accuracy, true)
      at += 8
    }
    if (updatedAt !== undefined) {
      view.setFloat64(at, updatedAt, true)
      at += 8
    }
    this.#at = at
    return this.#text(update.ip) && this.#text(stream) && this.#names(update.sender ?? update)
  }

  #names(sender: Pick<Update, (typeof NAMES)[number][1]>): boolean {
    const namedAt = this.#at
    this.#at += 2
    let named = 0
    for (const [field, name] of NAMES) {
      const text = sender[name]
      if (text === undefined) continue
      named |= field
      if (!this.#text(text)) return false
    }
    this.#view.setUint16(namedAt, named, true)
    return true
  }

  #text(text: string): boolean {
    const { length } = text
    if (length > MAX_TEXT) return false
    const bytes = this.#bytes
    let at = this.#at
    bytes[at++] = length
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i)
      if (code < 0x20 || code > 0x7e) return false
      bytes[at++] = code
    }
    this.#at = at
    return true
  }

  #wholeRow(one: NumberedUpdate): void {
    const packed = this.#whole.pack(one)
    this.#reserve(6 + packed.length)
    this.#view.setUint16(this.#at, WHOLE | this.#flagsOf(one.wanted), true)
    this.#view.setUint32(this.#at + 2, packed.length, true)
    this.#bytes.set(packed, this.#at + 6)
    this.#at += 6 + packed.length
  }

  #flagsOf({ rateLimited, wantsUser, wantsEvents, isBehind }: ReplyOptions): number {
    return (
      (rateLimited ? LIMITED : 0) |
      (wantsUser ? WANTS_USER : 0) |
      (wantsEvents ? WANTS_EVENTS : 0) |
      (isBehind || this.#isBehind ? IS_BEHIND : 0)
    )
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length))
    larger.set(this.#bytes.subarray(0, this.#at))
    this.#bytes = larger
    this.#view = viewOf(larger)
  }
}

/** An update whose sender is shared with other updates. */
class SentUpdate extends StreamUpdate implements RemoteUpdate {
  readonly flags: number
  readonly index: number

  constructor(
    index: number,
    flags: number,
    sender: Sender,
    latitude: number,
    longitude: number,
    accuracy: number | undefined,
    updatedAt: number | undefined,
    receivedAt: number,
    stream: string,
    sequence: number,
  ) {
    const foreground = (flags & FOREGROUND) !== 0
    const stopped = (flags & STOPPED) !== 0
    super(sender, latitude, longitude, accuracy, foreground, stopped, updatedAt, receivedAt, stream, sequence)
    this.index = index
    this.flags = flags & WANTED
  }
}

/**
 * The updates of rows, in order.
 * @throws {RangeError} if the bytes are not rows
 */
export function readRows(rows: Uint8Array, whole: WholeRows, senders: Senders): RemoteUpdate[] {
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.length)
  const view = viewOf(bytes)
  const updates: RemoteUpdate[] = []
  draft.bytes = bytes
  for (let at = 0; at < bytes.length;) {
    const flags = view.getUint16(at, true)
    if ((flags & WHOLE) !== 0) {
      const end = at + 6 + view.getUint32(at + 2, true)
      const update = whole.unpack(bytes.subarray(at + 6, end))
      updates.push({ ...update, flags: flags & WANTED, index: updates.length })
      at = end
      continue
    }
    const scope = view.getUint32(at + 2, true)
    const latitude = view.getFloat64(at + 6, true)
    const longitude = view.getFloat64(at + 14, true)
    const receivedAt = view.getFloat64(at + 22, true)
    const sequence = view.getFloat64(at + 30, true)
    at += 38
    let accuracy: number | undefined
    let updatedAt: number | undefined
    if ((flags & HAS_ACCURACY) !== 0) {
      accuracy = view.getFloat64(at, true)
      at += 8
    }
    if ((flags & HAS_TIME) !== 0) {
      updatedAt = view.getFloat64(at, true)
      at += 8
    }
    const ip = textAt(bytes, at)
    at += 1 + bytes[at]!
    const stream = textAt(bytes, at)
    at += 1 + bytes[at]!
    const named = view.getUint16(at, true)
    at += 2
    draft.beginSenders(bytes)
    draft.beginSender()
    for (let left = named & SENDER_FIELDS; left !== 0; left &= left - 1) {
      const start = at + 1
      at = textEnd(bytes, at)
      draft.name(left & -left, start, at, hashText(bytes, start, at))
    }
    const sender = senders.find(draft, 0, { scope, ip })
    if (sender === undefined) throw new RangeError(`Row ${updates.length + 1} of a request is not an update.`)
    updates.push(
      new SentUpdate(
        updates.length,
        flags,
        sender,
        latitude,
        longitude,
        accuracy,
        updatedAt,
        receivedAt,
        stream,
        sequence,
      ),
    )
  }
  return updates
}

const draft = new SenderTexts()

function textAt(bytes: Buffer, at: number): string {
  const start = at + 1
  const end = textEnd(bytes, at)
  return texts.find(bytes, start, end, hashText(bytes, start, end))
}

/**
 * The end of a text.
 * @throws {RangeError}
 */
function textEnd(bytes: Buffer, at: number): number {
  const end = at + 1 + (bytes[at] ?? NaN)
  if (!(end <= bytes.length)) throw new RangeError('A text of a row goes beyond its end.')
  return end
}

function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length)
}
