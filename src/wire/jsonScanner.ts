import type { Stamp } from './trackSchema.ts'
import type { Update } from '../model/update.ts'
import { FRAME, frameFields, updateFields } from './fieldNames.ts'
import { endHash, FIRST_HASH, nextHash, texts } from './texts.ts'
import type { Senders } from './senders.ts'
import { TrackDraft } from './trackDraft.ts'
import type { TrackFrame } from './trackFrame.ts'

const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const DOT = 0x2e
const ZERO = 0x30
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN = 0x7b
const CLOSE = 0x7d
const LETTER_F = 0x66
const LETTER_T = 0x74

/**
 * Powers of ten that are exact in a double. A quotient of two such numbers is rounded once, like a number that is
 * parsed from text (Clinger 1990).
 */
const POWERS = Float64Array.from({ length: 23 }, (_, i) => 10 ** i)
const MAX_EXACT = 2 ** 53
/** So many digits fit into an integer of 32 bits, with which a processor computes faster. */
const SMALL_DIGITS = 9

/**
 * The names of the fields in the last update, in their order, as JSON writes them, and their numbers. Clients write
 * the fields of all updates in the same order.
 */
const lastNames: Uint8Array[] = []
const lastFields: number[] = []

const draft = new TrackDraft()
let bytes: Buffer = Buffer.alloc(0)
let at = 0
/** The end and the hash of the text that was read last. */
let textEnd = 0
let textHash = 0

/**
 * The frame of a usual `track` in JSON; undefined for everything else, valid or not.
 * @param message is not kept
 */
export function scanJsonTrack(message: Buffer, stamp: Stamp, senders: Senders): TrackFrame | undefined {
  bytes = message
  at = 0
  draft.beginFrame(message)
  return readFrame(stamp) ? draft.endFrame(stamp, senders) : undefined
}

/**
 * The update of a usual body of POST /v1/track; undefined for everything else, valid or not.
 * @param body is not kept
 */
export function scanJsonUpdate(body: Buffer, stamp: Stamp, senders: Senders): Update | undefined {
  bytes = body
  at = 0
  draft.beginBody(body)
  if (!readUpdate()) return undefined
  skipSpace()
  return at === bytes.length ? draft.endBody(stamp, senders) : undefined
}

/** Each of these functions moves {@link at} past what it reads, and returns false if it finds something else. */
function readFrame(stamp: Stamp): boolean {
  if (!take(OPEN)) return false
  let seen = 0
  do {
    const field = readName(frameFields)
    if (field === 0 || (seen & field) !== 0) return false
    seen |= field
    if (!readFrameField(field, stamp)) return false
  } while (take(COMMA))
  if (!take(CLOSE)) return false
  skipSpace()
  return at === bytes.length && (seen & FRAME.type) !== 0
}

function readFrameField(field: number, stamp: Stamp): boolean {
  switch (field) {
    case FRAME.type:
      return readText() === 'track'
    case FRAME.id:
      draft.id = readNumber()
      return true
    case FRAME.events: {
      const value = readBoolean()
      draft.events = value === true
      return value !== undefined
    }
    case FRAME.stream:
      draft.stream = readText()
      return draft.stream !== undefined
    case FRAME.sequence:
      draft.sequence = readNumber()
      return draft.sequence >= 0
    default:
      return readUpdates(stamp)
  }
}

function readUpdates(stamp: Stamp): boolean {
  if (!take(OPEN_LIST)) return false
  do {
    if (!readUpdate() || !draft.endUpdate(stamp)) return false
  } while (take(COMMA))
  return take(CLOSE_LIST)
}

function readUpdate(): boolean {
  if (!take(OPEN)) return false
  if (!draft.beginUpdate()) return false
  let place = 0
  do {
    const field = readFieldName(place++)
    if (field === 0) return false
    const byte = bytes[at]
    if (byte === QUOTE) {
      const start = at + 1
      if (!skipText() || !draft.text(field, start, textEnd, textHash)) return false
    } else if (byte === LETTER_F || byte === LETTER_T) {
      const value = readBoolean()
      if (value === undefined || !draft.boolean(field, value)) return false
    } else if (!draft.number(field, readNumber())) return false
  } while (take(COMMA))
  return take(CLOSE)
}

/**
 * Reads the name of an update's field, like {@link readName}. It is first compared with the name at the same place of
 * the last update, which takes half as long as finding its end and looking it up.
 */
function readFieldName(place: number): number {
  if (place < lastNames.length) {
    const buffer = bytes
    const start = at
    const name = lastNames[place]!
    let i = 0
    while (i < name.length && buffer[start + i] === name[i]) i++
    if (i === name.length) {
      at = start + i
      skipSpace()
      return lastFields[place]!
    }
  }
  const field = readName(updateFields)
  if (field !== 0) {
    lastNames[place] = updateFields.inJson(field)
    lastFields[place] = field
  }
  return field
}

/** Reads a name and its colon, and stops at the value. Returns 0 if the name is unknown. */
function readName(names: typeof updateFields): number {
  if (!take(QUOTE)) return 0
  const buffer = bytes
  const start = at
  const end = buffer.length
  let i = start
  while (i < end && buffer[i] !== QUOTE) i++
  at = i + 1
  const field = names.find(buffer, start, i)
  if (field === 0 || !take(COLON)) return 0
  skipSpace()
  return field
}

function readText(): string | undefined {
  skipSpace()
  const start = at + 1
  return skipText() ? texts.find(bytes, start, textEnd, textHash) : undefined
}

/** Skips printable ASCII without escapes, beginning at its quote. */
function skipText(): boolean {
  const buffer = bytes
  const end = buffer.length
  if (buffer[at] !== QUOTE) return false
  let hash = FIRST_HASH
  for (let i = at + 1; i < end; i++) {
    const byte = buffer[i]!
    if (byte === QUOTE) {
      at = i + 1
      textEnd = i
      textHash = endHash(hash)
      return true
    }
    if (byte < SPACE || byte > 0x7e || byte === BACKSLASH) return false
    hash = nextHash(hash, byte)
  }
  return false
}

function readBoolean(): boolean | undefined {
  skipSpace()
  if (bytes[at] === LETTER_T && bytes[at + 1] === 0x72 && bytes[at + 2] === 0x75 && bytes[at + 3] === 0x65) {
    at += 4
    return true
  }
  const isFalse =
    bytes[at] === LETTER_F &&
    bytes[at + 1] === 0x61 &&
    bytes[at + 2] === 0x6c &&
    bytes[at + 3] === 0x73 &&
    bytes[at + 4] === 0x65
  at += 5
  return isFalse ? false : undefined
}

/** Reads a number without an exponent. Returns NaN for anything else. */
function readNumber(): number {
  skipSpace()
  const buffer = bytes
  const start = at
  const isNegative = buffer[start] === MINUS
  const first = isNegative ? start + 1 : start
  let mantissa = readDigits(first)
  // A number may not begin with a zero followed by another digit.
  if (at === first || (at > first + 1 && buffer[first] === ZERO)) return NaN
  let decimals = 0
  if (buffer[at] === DOT) {
    const dot = at + 1
    const fraction = readDigits(dot)
    decimals = at - dot
    if (decimals === 0) return NaN
    mantissa = decimals < POWERS.length ? mantissa * POWERS[decimals]! + fraction : Infinity
  }
  // No comma or bracket follows an exponent's e, so the caller notices it there.
  if (mantissa >= MAX_EXACT) return Number(buffer.toString('latin1', start, at))
  const value = decimals === 0 ? mantissa : mantissa / POWERS[decimals]!
  return isNegative ? -value : value
}

/** Reads digits from `from` on, and moves {@link at} past them. Their value is exact if it is below {@link MAX_EXACT}. */
function readDigits(from: number): number {
  const buffer = bytes
  const end = buffer.length
  const smallEnd = Math.min(end, from + SMALL_DIGITS)
  let small = 0
  let i = from
  for (; i < smallEnd; i++) {
    const digit = buffer[i]! - ZERO
    if (digit < 0 || digit > 9) break
    small = (small * 10 + digit) | 0
  }
  let value = small
  if (i === smallEnd)
    for (; i < end; i++) {
      const digit = buffer[i]! - ZERO
      if (digit < 0 || digit > 9) break
      value = value * 10 + digit
    }
  at = i
  return value
}

/** Skips white space, and then the byte, if it is there. */
function take(byte: number): boolean {
  if (bytes[at] !== byte) {
    skipSpace()
    if (bytes[at] !== byte) return false
  }
  at++
  return true
}

function skipSpace(): void {
  const end = bytes.length
  for (; at < end; at++) {
    const byte = bytes[at]!
    if (byte > SPACE || (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return
  }
}
