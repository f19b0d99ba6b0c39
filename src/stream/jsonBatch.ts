import type { ShownDevice, WatchedPosition } from './messages.ts'
import type { BatchWriter } from './port.ts'

/** The first size of the buffer, and the largest that is kept after its message. */
const FIRST_BYTES = 64 * 1024
const MOST_KEPT_BYTES = 2 * 1024 * 1024
/** A message begins where the one before has ended, unless these are used up. */
const ROUND_BYTES = 512 * 1024
/** The numbers, the date and the member names of one position need fewer bytes together. */
const NUMBERS_BYTES = 256

const CHANGES = {
  enter: Buffer.from('{"change":"enter",'),
  move: Buffer.from('{"change":"move",'),
  leave: Buffer.from('{"change":"leave",'),
} as const
const ACCURACY = Buffer.from(']},"locationAccuracy":')
const NO_ACCURACY = Buffer.from(']}')
const UPDATED_AT = Buffer.from(',"updatedAt":"')

/** Numbers with up to seven digits after the point, a centimetre for coordinates, are written as two integers. */
const DIGITS = 7
const SCALE = 10 ** DIGITS
/** Smaller numbers have an exponent in JSON, except for 0. */
const LEAST_PLAIN = 1e-6
/** A number below this has at most 15 digits, so no other digits, and no fewer, mean the same number. */
const MOST_PLAIN = 1e8

/** How many texts of seconds are kept, as a power of two. */
const KEPT_SECONDS = 8

const [MINUS, POINT, ZERO, QUOTE, COMMA, CLOSING_BRACE, LETTER_Z] = Buffer.from('-.0",}Z') as unknown as [
  minus: number,
  point: number,
  zero: number,
  quote: number,
  comma: number,
  closingBrace: number,
  letterZ: number,
]

/**
 * Writes batches of positions as JSON, as bytes into one buffer.
 *
 * The obvious way makes a text of each position and joins them. This takes a microsecond each, most of it for the texts
 * of numbers and for the garbage. Here, the part of a device that rarely changes is kept as a text, and digits are
 * written as bytes, which takes 0.2 µs. One buffer serves all messages, because each is sent before the next begins. The
 * messages of a round lie in it one behind the other, so a device that several watches are sent is written once and copied
 * for the others.
 */
export class JsonBatchWriter implements BatchWriter {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #at = 0
  /** Where the message begins. */
  #first = 0
  /** Counts how often the buffer was used from its beginning on. */
  #round = 1
  #isEmpty = true
  readonly #seconds = new Float64Array(KEPT_SECONDS).fill(NaN)
  readonly #secondTexts: Uint8Array[] = []

  begin(watch: string): void {
    if (this.#at > ROUND_BYTES) {
      if (this.#bytes.length > MOST_KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
      this.#at = 0
      this.#round++
    }
    this.#first = this.#at
    this.#isEmpty = true
    const start = Buffer.from(`{"type":"positions","watch":${JSON.stringify(watch)},"positions":[`)
    this.#reserve(start.length)
    this.#put(start)
  }

  add(change: WatchedPosition['change'], device: ShownDevice): void {
    const isWritten = device.writtenRound === this.#round
    if (isWritten) this.#reserve(NUMBERS_BYTES + device.writtenTo! - device.writtenFrom!)
    else this.#reserve(NUMBERS_BYTES + (device.head ??= headOf(device)).length)
    if (!this.#isEmpty) this.#bytes[this.#at++] = COMMA
    this.#isEmpty = false
    this.#put(CHANGES[change])
    const from = this.#at
    if (isWritten) {
      this.#bytes.copyWithin(from, device.writtenFrom!, device.writtenTo!)
      this.#at += device.writtenTo! - device.writtenFrom!
      return
    }
    this.#write(device)
    device.writtenRound = this.#round
    device.writtenFrom = from
    device.writtenTo = this.#at
  }

  /** Writes what is the same for all watches. */
  #write(device: ShownDevice): void {
    const head = device.head!
    if (typeof head === 'string') this.#at += this.#bytes.write(head, this.#at, 'latin1')
    else this.#put(head)
    this.#number(device.longitude)
    this.#bytes[this.#at++] = COMMA
    this.#number(device.latitude)
    if (Number.isNaN(device.accuracy)) this.#put(NO_ACCURACY)
    else {
      this.#put(ACCURACY)
      this.#number(device.accuracy)
    }
    this.#put(UPDATED_AT)
    this.#date(device.updatedAt)
    this.#bytes[this.#at++] = QUOTE
    this.#bytes[this.#at++] = CLOSING_BRACE
  }

  end(): Uint8Array {
    this.#reserve(2)
    this.#at += this.#bytes.write(']}', this.#at, 'latin1')
    return this.#bytes.subarray(this.#first, this.#at)
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#at + count))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }

  /** Copies byte by byte, which is faster than a call if there are few. */
  #put(part: Uint8Array): void {
    const bytes = this.#bytes
    let at = this.#at
    for (let i = 0; i < part.length; i++) bytes[at++] = part[i]!
    this.#at = at
  }

  /** Writes a number as `JSON.stringify` does. */
  #number(value: number): void {
    const bytes = this.#bytes
    const size = Math.abs(value)
    const scaled = Math.round(size * SCALE)
    if (scaled / SCALE !== size || size >= MOST_PLAIN || (size < LEAST_PLAIN && size > 0)) {
      this.#at += bytes.write(JSON.stringify(value), this.#at, 'latin1')
      return
    }
    if (value < 0) bytes[this.#at++] = MINUS
    const whole = Math.floor(size)
    this.#digits(whole, digitsOf(whole))
    let fraction = scaled - whole * SCALE
    if (fraction === 0) return
    let digits = DIGITS
    for (; fraction % 10 === 0; fraction /= 10) digits--
    bytes[this.#at++] = POINT
    this.#digits(fraction, digits)
  }

  /** Writes an integer below 2^31 with that many digits. */
  #digits(value: number, count: number): void {
    const bytes = this.#bytes
    let rest = value | 0
    for (let at = this.#at + count - 1; at >= this.#at; at--) {
      const tenth = (rest / 10) | 0
      bytes[at] = ZERO + rest - 10 * tenth
      rest = tenth
    }
    this.#at += count
  }

  /** Writes a time as `isoDate` does. */
  #date(time: number): void {
    const second = Math.floor(time / 1000)
    const slot = second & (KEPT_SECONDS - 1)
    if (this.#seconds[slot] !== second) {
      this.#seconds[slot] = second
      this.#secondTexts[slot] = Buffer.from(new Date(second * 1000).toISOString().slice(0, -'000Z'.length))
    }
    this.#put(this.#secondTexts[slot]!)
    this.#digits(Math.floor(time) - second * 1000, 3)
    this.#bytes[this.#at++] = LETTER_Z
  }
}

/** What rarely changes: as a text if it is ASCII, otherwise as bytes. */
function headOf({ recordId, userId, deviceId }: ShownDevice): string | Uint8Array {
  const user = JSON.stringify({ _id: recordId, userId, deviceId })
  const text = `"user":${user},"location":{"type":"Point","coordinates":[`
  const bytes = new TextEncoder().encode(text)
  return bytes.length === text.length ? text : bytes
}

/** How many digits a whole number below 10^8 has. */
function digitsOf(value: number): number {
  let count = 1
  for (let limit = 10; value >= limit; limit *= 10) count++
  return count
}
