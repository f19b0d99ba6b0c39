import { isTextAt } from '../runtime/textBytes.ts'

/**
 * Reads fields of a packed profile in place: MessagePack of an array, see profileCodec.ts. Unpacking a profile costs
 * a microsecond and about twenty objects; a start needs three fields of a million profiles. Packed trips are read in the
 * same way (trips/packedTrip.ts).
 *
 * A field is identified by the offset at which it begins.
 */

const NIL = 0xc0
const FLOAT_64 = 0xcb
const UINT_32 = 0xce
const CREATED_AT = 11

/**
 * The fixed bytes of the values that begin with 0xc0 to 0xdf: nil, unused, false, true, bin 8 to 32, ext 8 to 32,
 * float 32 and 64, uint 8 to 64, int 8 to 64, fixext 1 to 16, str 8 to 32, array 16 and 32, map 16 and 32.
 */
const SIZES = [
  1, 1, 1, 1, 2, 3, 5, 3, 4, 6, 5, 9, 2, 3, 5, 9, 2, 3, 5, 9, 3, 4, 6, 10, 18, 2, 3, 5, 3, 5, 3, 5,
]
const BIN_8 = 0xc4
const EXT_32 = 0xc9
const STR_8 = 0xd9
const STR_32 = 0xdb
const ARRAY_16 = 0xdc
const MAP_16 = 0xde

/** How many fields the array that begins at `at` has. */
export function fieldCount(bytes: Buffer, at: number): number {
  const head = bytes[at]!
  return head === ARRAY_16 ? bytes.readUInt16BE(at + 1) : head & 15
}

/** The first field of the array that begins at `at`. */
export function firstField(bytes: Buffer, at: number): number {
  return headEnd(bytes, at)
}

/** The field of the deviceId, in the profile that begins at `at`. */
export function deviceIdField(bytes: Buffer, at: number): number {
  return fieldAfter(bytes, firstField(bytes, at))
}

/** The field of the userId, in the profile that begins at `at`. */
export function userIdField(bytes: Buffer, at: number): number {
  return fieldAfter(bytes, deviceIdField(bytes, at))
}

/** In epoch milliseconds. */
export function profileCreatedAt(bytes: Buffer, at: number): number {
  let field = userIdField(bytes, at)
  for (let index = 2; index < CREATED_AT; index++) field = fieldAfter(bytes, field)
  return readNumber(bytes, field)
}

/** Whether a field has no value. */
export function isNil(bytes: Buffer, field: number): boolean {
  return bytes[field] === NIL
}

/** The text of a field; undefined if it has none. */
export function readText(bytes: Buffer, field: number): string | undefined {
  if (bytes[field] === NIL) return undefined
  return bytes.toString('utf8', headEnd(bytes, field), fieldAfter(bytes, field))
}

/** Whether this is the text of the field. */
export function isText(bytes: Buffer, field: number, text: string): boolean {
  if (bytes[field] === NIL) return false
  const from = headEnd(bytes, field)
  return isTextAt(bytes, from, fieldAfter(bytes, field) - from, text)
}

/** Whether two fields hold the same bytes. */
export function isSameField(a: Buffer, fieldA: number, b: Buffer, fieldB: number): boolean {
  const length = fieldAfter(a, fieldA) - fieldA
  for (let i = 0; i < length; i++) if (a[fieldA + i] !== b[fieldB + i]) return false
  return true
}

function readNumber(bytes: Buffer, field: number): number {
  const head = bytes[field]!
  if (head === FLOAT_64) return bytes.readDoubleBE(field + 1)
  if (head < 0x80) return head
  if (head < UINT_32 - 2 || head > UINT_32 + 1) throw new Error(`a number that begins with byte ${head}`)
  const size = headEnd(bytes, field) - field - 1
  return size === 8 ? Number(bytes.readBigUInt64BE(field + 1)) : bytes.readUIntBE(field + 1, size)
}

/**
 * The end of the head of the value that begins at `at`, before what the head counts: bytes of a text, members of an
 * array or a map.
 */
function headEnd(bytes: Buffer, at: number): number {
  const head = bytes[at]!
  return at + (head >= 0xc0 && head < 0xe0 ? SIZES[head - 0xc0]! : 1)
}

/** The offset of the next field. */
export function fieldAfter(bytes: Buffer, at: number): number {
  const head = bytes[at]!
  const end = headEnd(bytes, at)
  if (head < 0x80 || head >= 0xe0) return end
  if (head < 0x90) return membersEnd(bytes, end, (head & 15) * 2)
  if (head < 0xa0) return membersEnd(bytes, end, head & 15)
  if (head < 0xc0) return end + (head & 31)
  if (head >= MAP_16) return membersEnd(bytes, end, bytes.readUIntBE(at + 1, end - at - 1) * 2)
  if (head >= ARRAY_16) return membersEnd(bytes, end, bytes.readUIntBE(at + 1, end - at - 1))
  if (head >= STR_8 && head <= STR_32) return end + bytes.readUIntBE(at + 1, end - at - 1)
  if (head >= BIN_8 && head <= EXT_32)
    throw new Error(`a packed array holds no value that begins with byte ${head}`)
  return end
}

function membersEnd(bytes: Buffer, from: number, count: number): number {
  let at = from
  for (let i = 0; i < count; i++) at = fieldAfter(bytes, at)
  return at
}
