import { fieldAfter, fieldCount, firstField, isNil, isText, readText } from '../actor/packedFields.ts'

/**
 * Reads fields of a packed trip in place, and packs it anew without some of them: MessagePack of an array, see tripCodec.ts.
 *
 * The obvious way unpacks the trip, which takes several microseconds and some thirty objects, and packs it again, which takes
 * as long. Jobs look at every trip, and mostly need its `_id` or its user.
 */

/** Where fields are in the array. The first one is the `_id`. */
const USER_ID = 3
const TOLD = 28
const FORGOTTEN_AT = 29
/** An array with fewer fields has its count in its first byte. */
const SHORT = 16
const SHORT_ARRAY = 0x90
const LONG_ARRAY = 0xdc
const LONG_HEAD_BYTES = 3
const NIL = 0xc0

/** The `_id` of the trip that begins at `at`. */
export function packedId(bytes: Buffer, at: number): string {
  return readText(bytes, firstField(bytes, at))!
}

/** Whether the trip that begins at `at` has this `_id`. */
export function isPackedId(bytes: Buffer, at: number, id: string): boolean {
  return isText(bytes, firstField(bytes, at), id)
}

/** Whether the trip that begins at `at` belongs to this user, or to none if it is undefined. */
export function isPackedOfUser(bytes: Buffer, at: number, userId: string | undefined): boolean {
  if (fieldCount(bytes, at) <= USER_ID) return userId === undefined
  let field = firstField(bytes, at)
  for (let index = 0; index < USER_ID; index++) field = fieldAfter(bytes, field)
  return userId === undefined ? isNil(bytes, field) : isText(bytes, field, userId)
}

/**
 * The trip without its events and calls, `told` and `called`.
 * @param bytes those of a trip and nothing else
 * @returns what packTrip makes of such a trip. It is valid until the next call
 */
export function packedWithoutTold(bytes: Buffer): Uint8Array {
  const all = fieldCount(bytes, 0)
  const from = firstField(bytes, 0)
  let field = from
  // The fields that stay, without those at the end that have no value.
  let count = 0
  let end = from
  let index = 0
  for (; index < Math.min(all, TOLD); index++) {
    const isEmpty = isNil(bytes, field)
    field = fieldAfter(bytes, field)
    if (isEmpty) continue
    count = index + 1
    end = field
  }
  let forgottenAt: Buffer | undefined
  if (all > FORGOTTEN_AT) {
    const last = fieldAfter(bytes, field)
    if (!isNil(bytes, last)) forgottenAt = bytes.subarray(last, fieldAfter(bytes, last))
  }
  if (forgottenAt !== undefined) {
    count = FORGOTTEN_AT + 1
    end = field
  }
  if (scratch.length < LONG_HEAD_BYTES + bytes.length) scratch = Buffer.alloc(2 * bytes.length)
  let at = 0
  if (count < SHORT) at = scratch.writeUInt8(SHORT_ARRAY | count, at)
  else {
    at = scratch.writeUInt8(LONG_ARRAY, at)
    at = scratch.writeUInt16BE(count, at)
  }
  at += bytes.copy(scratch, at, from, end)
  if (forgottenAt !== undefined) {
    at = scratch.writeUInt8(NIL, at)
    at += forgottenAt.copy(scratch, at)
  }
  return scratch.subarray(0, at)
}

let scratch = Buffer.alloc(1024)
