import type { MovingTrip } from '../actor/feedShortcut.ts'
import type { UserParts } from '../actor/port.ts'
import { isoDate } from '../model/isoDate.ts'

/**
 * The usual answer to POST /v1/track as bytes, straight into one buffer.
 *
 * The obvious way joins a text from a dozen pieces, which are flattened, measured and encoded when it is sent, and
 * are garbage then: 1.45 µs where this takes 1.0, and the collector's time. The result is the same
 * (test/ingest/trackAnswer.test.ts).
 */

/** A longer answer is written in the usual way. */
const ROOM = 32 * 1024
/** How many bytes the answer has without head, events and beacons. */
const OTHER_BYTES = 512
/** The most bytes of one character of a text. */
const BYTES_PER_CHARACTER = 3

const bytes = Buffer.allocUnsafeSlow(ROOM)
let at = 0

const OPEN = Buffer.from('{"meta":{"code":200},"events":[')
const USER = Buffer.from('],"user":')
const ACCURACY = Buffer.from(']},"locationAccuracy":')
const NO_ACCURACY = Buffer.from(']}')
const FOREGROUND = Buffer.from(',"foreground":')
const STOPPED = Buffer.from(',"stopped":')
const UPDATED_AT = Buffer.from(',"updatedAt":"')
const ACTUAL_UPDATED_AT = Buffer.from('","actualUpdatedAt":"')
const TRIP = Buffer.from('","trip":')
const DISTANCE = Buffer.from(',"distance":')
const BEACONS_AFTER_TRIP = Buffer.from('},"nearbyBeacons":')
const BEACONS = Buffer.from('"},"nearbyBeacons":')
const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')
const COMMA = 0x2c
const MINUS = 0x2d
const DOT = 0x2e
const ZERO = 0x30
const CLOSE = 0x7d

/**
 * Writes an answer.
 * @param events each is finished JSON
 * @param beacons finished JSON of a list
 * @param trip the trip that the user is on, as finished JSON, or the texts around what moves
 * @returns bytes that are valid until the next call; undefined if there might be too many
 */
export function trackAnswer(
  user: UserParts,
  events: readonly string[],
  beacons: string,
  trip: string | MovingTrip | null = null,
): Uint8Array | undefined {
  const { rest } = user
  let characters = user.head.length + beacons.length + lengthOf(trip)
  for (let i = 0; i < events.length; i++) characters += events[i]!.length + 1
  if (characters * BYTES_PER_CHARACTER + rest.bytes.length + OTHER_BYTES > ROOM) return undefined
  at = 0
  copy(OPEN)
  for (let i = 0; i < events.length; i++) {
    if (i > 0) bytes[at++] = COMMA
    at += bytes.write(events[i]!, at)
  }
  copy(USER)
  at += bytes.write(user.head, at, user.areBytes === true ? 'latin1' : 'utf8')
  at += bytes.write(rest.bytes, at, 'latin1')
  writeNumber(user.longitude)
  bytes[at++] = COMMA
  writeNumber(user.latitude)
  if (Number.isNaN(user.accuracy)) copy(NO_ACCURACY)
  else {
    copy(ACCURACY)
    writeNumber(user.accuracy)
  }
  copy(FOREGROUND)
  copy(user.foreground ? TRUE : FALSE)
  copy(STOPPED)
  copy(user.stopped ? TRUE : FALSE)
  copy(UPDATED_AT)
  writeDate(user.updatedAt, sent)
  copy(ACTUAL_UPDATED_AT)
  writeDate(user.receivedAt, received)
  if (trip === null) copy(BEACONS)
  else {
    copy(TRIP)
    if (typeof trip === 'string') at += bytes.write(trip, at)
    else writeMoving(trip)
    copy(BEACONS_AFTER_TRIP)
  }
  if (beacons.length === 2) {
    bytes[at++] = 0x5b
    bytes[at++] = 0x5d
  } else at += bytes.write(beacons, at)
  bytes[at++] = CLOSE
  return bytes.subarray(0, at)
}

function lengthOf(trip: string | MovingTrip | null): number {
  if (trip === null || typeof trip === 'string') return trip?.length ?? 0
  const { beforeDate, beforeDuration, end } = trip.texts
  return beforeDate.length + beforeDuration.length + end.length
}

/** Most of a trip under way stays from update to update. Joining its text each time takes longer than writing it. */
function writeMoving({ texts, updatedAt, minutes, meters }: MovingTrip): void {
  at += bytes.write(texts.beforeDate, at)
  writeDate(updatedAt, received)
  at += bytes.write(texts.beforeDuration, at)
  writeNumber(minutes)
  copy(DISTANCE)
  writeNumber(meters)
  at += bytes.write(texts.end, at)
}

/** For a few bytes, a loop is faster than a call. */
function copy(piece: Buffer): void {
  for (let i = 0; i < piece.length; i++) bytes[at + i] = piece[i]!
  at += piece.length
}

/**
 * Numbers that seven decimals express exactly are written like JSON does: a text of fewer than 15 digits stands for
 * only one number.
 */
const DECIMALS = 1e7
const MOST = 1e7
/** Below this value, JSON uses exponents. */
const LEAST = 1e-6

function writeNumber(value: number): void {
  const size = Math.abs(value)
  const scaled = Math.round(size * DECIMALS)
  if (!(size < MOST) || (size < LEAST && size !== 0) || scaled / DECIMALS !== size) {
    at += bytes.write(String(value), at, 'latin1')
    return
  }
  if (value < 0) bytes[at++] = MINUS
  const whole = Math.floor(scaled / DECIMALS)
  let fraction = scaled - whole * DECIMALS
  let unit = 1
  while (unit * 10 <= whole) unit *= 10
  for (let left = whole; unit >= 1; unit = Math.trunc(unit / 10)) {
    const digit = Math.trunc(left / unit)
    bytes[at++] = ZERO + digit
    left -= digit * unit
  }
  if (fraction === 0) return
  bytes[at++] = DOT
  for (unit = DECIMALS / 10; fraction > 0; unit = Math.trunc(unit / 10)) {
    const digit = Math.trunc(fraction / unit)
    bytes[at++] = ZERO + digit
    fraction -= digit * unit
  }
}

/** A date that was written. Most other dates share its second. */
class LastDate {
  readonly text = Buffer.alloc(24)
  second = NaN
}

/** Devices report their own times, so these two do not share a second. */
const sent = new LastDate()
const received = new LastDate()
/** The position of the milliseconds in a date. */
const MILLISECONDS_AT = 20

function writeDate(time: number, last: LastDate): void {
  const second = Math.floor(time / 1000)
  const date = last.text
  if (second !== last.second) {
    const text = isoDate(time)
    // Years have four digits until 9999, and then a sign and six digits.
    if (text.length !== date.length) {
      at += bytes.write(text, at, 'latin1')
      return
    }
    date.write(text, 'latin1')
    last.second = second
  }
  const milliseconds = Math.floor(time) - second * 1000
  date[MILLISECONDS_AT] = ZERO + Math.trunc(milliseconds / 100)
  date[MILLISECONDS_AT + 1] = ZERO + (Math.trunc(milliseconds / 10) % 10)
  date[MILLISECONDS_AT + 2] = ZERO + (milliseconds % 10)
  copy(date)
}
