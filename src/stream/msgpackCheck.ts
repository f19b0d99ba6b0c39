import { MAX_DEPTH, Structure } from '../http/structure.ts'
import { badParam } from '../runtime/errors.ts'

/** The counts, which begin anew with each message. */
const structure = new Structure()

/**
 * Checks that bytes are one MessagePack value, before the decoder sees them, which allocates whatever the lengths
 * claim. Every length must fit the message, maps must have texts as keys, and extension types, which stand for
 * program objects, are refused, and so are binary values: no field has one, and where an object is expected each of
 * their bytes would be looked at as a member. The limits of {@link Structure} apply, as in JSON. Nothing is allocated.
 * @throws ApiError 400
 */
export function checkMsgpack(bytes: Uint8Array): void {
  const end = bytes.length
  /** For each level, how many values are still to come. For a map, keys count, too. */
  const left = new Float64Array(MAX_DEPTH + 1)
  const isMap = new Uint8Array(MAX_DEPTH + 1)
  let depth = 0
  left[0] = 1
  let at = 0
  structure.begin()
  for (;;) {
    while (depth > 0 && left[depth] === 0) depth--
    if (left[depth] === 0) break
    if (at >= end) throw badParam('message', 'Invalid MessagePack: it is incomplete.')
    const byte = bytes[at]!
    const isKey = isMap[depth] === 1 && left[depth]! % 2 === 0
    if (isKey && !isText(byte)) throw badParam('message', 'Invalid MessagePack: keys must be strings.')
    left[depth]! -= 1
    at++
    const items = itemsOf(bytes, at, byte)
    const contents = at + headBytes(byte)
    at = contents + contentBytes(bytes, at, byte)
    if (at > end) throw badParam('message', 'Invalid MessagePack: it is incomplete.')
    if (isKey) structure.name(hashOf(bytes, contents, at))
    else structure.value()
    if (isContainerHead(byte)) structure.container()
    if (structure.excess !== undefined) throw badParam('message', structure.excess)
    if (items === 0) continue
    if (items > end - at) throw badParam('message', 'Invalid MessagePack: it is incomplete.')
    if (depth === MAX_DEPTH) throw badParam('message', `Must not be nested deeper than ${MAX_DEPTH} levels.`)
    left[++depth] = items
    isMap[depth] = isMapHead(byte) ? 1 : 0
  }
  if (at !== end) throw badParam('message', 'Invalid MessagePack: there is data after its end.')
}

function isText(byte: number): boolean {
  return (byte >= 0xa0 && byte <= 0xbf) || (byte >= 0xd9 && byte <= 0xdb)
}

function isContainerHead(byte: number): boolean {
  return (byte >= 0x80 && byte <= 0x9f) || (byte >= 0xdc && byte <= 0xdf)
}

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = structure.seed
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193)
  return hash
}

function isMapHead(byte: number): boolean {
  return (byte >= 0x80 && byte <= 0x8f) || byte === 0xde || byte === 0xdf
}

/** How many values an array or map holds, including keys; 0 for everything else. */
function itemsOf(bytes: Uint8Array, at: number, byte: number): number {
  if (byte >= 0x80 && byte <= 0x8f) return (byte & 15) * 2
  if (byte >= 0x90 && byte <= 0x9f) return byte & 15
  if (byte === 0xdc) return uint(bytes, at, 2)
  if (byte === 0xdd) return uint(bytes, at, 4)
  if (byte === 0xde) return uint(bytes, at, 2) * 2
  if (byte === 0xdf) return uint(bytes, at, 4) * 2
  return 0
}

/** How many bytes the number or length after the first byte has. */
function headBytes(byte: number): number {
  if (byte <= 0xbf || byte >= 0xe0) return 0
  switch (byte) {
    case 0xc0:
    case 0xc2:
    case 0xc3:
      return 0
    case 0xcc:
    case 0xd0:
    case 0xd9:
      return 1
    case 0xcd:
    case 0xd1:
    case 0xda:
    case 0xdc:
    case 0xde:
      return 2
    case 0xca:
    case 0xce:
    case 0xd2:
    case 0xdb:
    case 0xdd:
    case 0xdf:
      return 4
    case 0xcb:
    case 0xcf:
    case 0xd3:
      return 8
    case 0xc4:
    case 0xc5:
    case 0xc6:
      throw badParam('message', 'Invalid MessagePack: binary values are not supported.')
    default:
      throw badParam('message', 'Invalid MessagePack: extension types are not supported.')
  }
}

/** How many bytes a text has after its length. */
function contentBytes(bytes: Uint8Array, at: number, byte: number): number {
  if (byte >= 0xa0 && byte <= 0xbf) return byte & 31
  if (byte === 0xd9) return uint(bytes, at, 1)
  if (byte === 0xda) return uint(bytes, at, 2)
  if (byte === 0xdb) return uint(bytes, at, 4)
  return 0
}

/** A big-endian number. Bytes past the end count as 0, and the caller then notices that they are missing. */
function uint(bytes: Uint8Array, at: number, size: number): number {
  let value = 0
  for (let i = 0; i < size; i++) value = value * 256 + (bytes[at + i] ?? 0)
  return value
}
