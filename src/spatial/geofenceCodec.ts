import type { GeofenceProperties, GeofenceType } from '../model/geofence.ts'
import { parseOperatingHours } from '../model/operatingHours.ts'
import type { OperatingHours } from '../model/operatingHours.ts'
import { nameHash } from '../runtime/nameHash.ts'
import { UNSHARED, type SharedTexts } from './sharedTexts.ts'

/**
 * A geofence without its shape as bytes, and functions that read single fields from the bytes, so that a list of a
 * million can be filtered without objects.
 *
 * Little endian: flags u16, the numbers of the shared texts tag, time zone and hours u16 each, id 12 bytes, scope
 * u32, createdAt and updatedAt f64; then texts: the id, the tag and the time zone if they did not fit those forms,
 * externalId, description, and the rare fields as JSON. A text is its length and a flag, encoded in 7 bits a byte,
 * then Latin-1, or UTF-16 if the flag is set.
 */
const TAG = 2
const TIME_ZONE = 4
const HOURS = 6
const ID = 8
const SCOPE = 20
const CREATED_AT = 24
const UPDATED_AT = 32
const TEXTS = 40

const FLAG_ENABLED = 1
/** The id is not 24 hex digits. */
const FLAG_OTHER_ID = 2
const FLAG_HOURS = 4
const FLAG_MORE = 8
const TYPE_SHIFT = 4
const TYPES: readonly GeofenceType[] = ['circle', 'polygon', 'isochrone']

const NO_HOURS = UNSHARED

/** The output of {@link packGeofence}. It is replaced if it is too small. */
let scratch = Buffer.allocUnsafeSlow(4096)
/** The position of writing, or of reading. */
let end = 0
let at = 0

/**
 * Packs into {@link packedBytes} and returns the number of bytes.
 * @param texts has the shared texts from now on; unpacking needs it, too
 */
export function packGeofence(geofence: GeofenceProperties, texts: SharedTexts): number {
  const { id, scope, tag, externalId, description, type, enabled, timeZone, createdAt, updatedAt } = geofence
  const { operatingHours } = geofence
  const hours = operatingHours === undefined ? NO_HOURS : texts.share(JSON.stringify(operatingHours.source))
  const more = restOf(geofence, hours === UNSHARED ? operatingHours : undefined)
  let flags = TYPES.indexOf(type) << TYPE_SHIFT
  if (enabled) flags |= FLAG_ENABLED
  if (hours !== NO_HOURS) flags |= FLAG_HOURS
  if (more !== undefined) flags |= FLAG_MORE
  if (!writeId(id)) flags |= FLAG_OTHER_ID
  const sharedTag = texts.share(tag)
  const sharedTimeZone = texts.share(timeZone)
  scratch.writeUInt16LE(flags, 0)
  scratch.writeUInt16LE(sharedTag, TAG)
  scratch.writeUInt16LE(sharedTimeZone, TIME_ZONE)
  scratch.writeUInt16LE(hours, HOURS)
  scratch.writeUInt32LE(scope, SCOPE)
  scratch.writeDoubleLE(createdAt, CREATED_AT)
  scratch.writeDoubleLE(updatedAt, UPDATED_AT)
  end = TEXTS
  if ((flags & FLAG_OTHER_ID) !== 0) writeText(id)
  if (sharedTag === UNSHARED) writeText(tag)
  if (sharedTimeZone === UNSHARED) writeText(timeZone)
  writeText(externalId)
  writeText(description)
  if (more !== undefined) writeText(more)
  return end
}

/** The bytes that were packed last. */
export function packedBytes(): Uint8Array {
  return scratch
}

/** The inverse of {@link packGeofence}, for bytes that begin at `from`. */
export function unpackGeofence(bytes: Buffer, from: number, texts: SharedTexts): GeofenceProperties {
  const flags = bytes.readUInt16LE(from)
  const sharedTag = bytes.readUInt16LE(from + TAG)
  const sharedTimeZone = bytes.readUInt16LE(from + TIME_ZONE)
  at = from + TEXTS
  const id = (flags & FLAG_OTHER_ID) !== 0 ? readText(bytes) : bytes.toString('hex', from + ID, from + SCOPE)
  const tag = sharedTag === UNSHARED ? readText(bytes) : texts.text(sharedTag)
  const timeZone = sharedTimeZone === UNSHARED ? readText(bytes) : texts.text(sharedTimeZone)
  const geofence: GeofenceProperties = {
    id,
    scope: bytes.readUInt32LE(from + SCOPE),
    tag,
    externalId: readText(bytes),
    description: readText(bytes),
    type: TYPES[flags >> TYPE_SHIFT]!,
    enabled: (flags & FLAG_ENABLED) !== 0,
    timeZone,
    createdAt: bytes.readDoubleLE(from + CREATED_AT),
    updatedAt: bytes.readDoubleLE(from + UPDATED_AT),
  }
  if ((flags & (FLAG_HOURS | FLAG_MORE)) === 0) return geofence
  const more = (flags & FLAG_MORE) === 0 ? {} : JSON.parse(readText(bytes))
  if ((flags & FLAG_HOURS) !== 0) more.operatingHours = texts.hours(bytes.readUInt16LE(from + HOURS))
  else if (more.operatingHours !== undefined) more.operatingHours = parseOperatingHours(more.operatingHours)
  return { ...geofence, ...more }
}

/** In epoch milliseconds. */
export function geofenceCreatedAt(bytes: Buffer, from: number): number {
  return bytes.readDoubleLE(from + CREATED_AT)
}

/** In epoch milliseconds. */
export function updatedAtOf(bytes: Buffer, from: number): number {
  return bytes.readDoubleLE(from + UPDATED_AT)
}

/**
 * A hash of an id, computed from the form in which {@link packGeofence} stores it, so that equal ids have equal
 * hashes.
 */
export function hashOfId(id: string): number {
  return nameHash(0, id)
}

/** Whether the geofence has this id. */
export function hasId(bytes: Buffer, from: number, id: string): boolean {
  if ((bytes.readUInt16LE(from) & FLAG_OTHER_ID) !== 0) return isText(bytes, from + TEXTS, id)
  if (id.length !== 24) return false
  for (let i = 0; i < 12; i++) {
    const high = hexDigit(id.charCodeAt(2 * i))
    const low = hexDigit(id.charCodeAt(2 * i + 1))
    if (bytes[from + ID + i] !== ((high << 4) | low)) return false
  }
  return true
}

/** Whether the geofence has this tag. */
export function hasTag(bytes: Buffer, from: number, tag: string, texts: SharedTexts): boolean {
  const shared = bytes.readUInt16LE(from + TAG)
  if (shared !== UNSHARED) return shared === texts.numberOf(tag)
  const hasOtherId = (bytes.readUInt16LE(from) & FLAG_OTHER_ID) !== 0
  return isText(bytes, hasOtherId ? textEnd(bytes, from + TEXTS) : from + TEXTS, tag)
}

/** Whether the geofence has this externalId. */
export function hasExternalId(bytes: Buffer, from: number, externalId: string): boolean {
  let text = from + TEXTS
  if ((bytes.readUInt16LE(from) & FLAG_OTHER_ID) !== 0) text = textEnd(bytes, text)
  if (bytes.readUInt16LE(from + TAG) === UNSHARED) text = textEnd(bytes, text)
  if (bytes.readUInt16LE(from + TIME_ZONE) === UNSHARED) text = textEnd(bytes, text)
  return isText(bytes, text, externalId)
}

/** The rarely used fields, as JSON; undefined if there are none. */
function restOf(
  geofence: GeofenceProperties,
  operatingHours: OperatingHours | undefined,
): string | undefined {
  const text = JSON.stringify({
    mode: geofence.mode,
    isochrone: geofence.isochrone,
    metadata: geofence.metadata,
    operatingHours: operatingHours?.source,
    stopDetection: geofence.stopDetection,
    disableAfter: geofence.disableAfter,
    deleteAfter: geofence.deleteAfter,
    userId: geofence.userId,
    userIds: geofence.userIds,
    ip: geofence.ip,
    dwellThreshold: geofence.dwellThreshold,
    placeId: geofence.placeId,
    address: geofence.address,
    tripApproachingThreshold: geofence.tripApproachingThreshold,
  })
  return text === '{}' ? undefined : text
}

/** Writes an id. Returns whether it has 24 hex digits. */
function writeId(id: string): boolean {
  if (id.length !== 24) return false
  for (let i = 0; i < 12; i++) {
    const high = hexDigit(id.charCodeAt(2 * i))
    const low = hexDigit(id.charCodeAt(2 * i + 1))
    if ((high | low) > 15) return false
    scratch[ID + i] = (high << 4) | low
  }
  return true
}

/** The value of a hex digit, 0 to 15. It is more if the character is not a lower-case hex digit. */
function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  return code >= 97 && code <= 102 ? code - 87 : 256
}

function writeText(text: string): void {
  const { length } = text
  const room = end + 5 + 2 * length
  if (room > scratch.length) {
    const larger = Buffer.allocUnsafeSlow(2 * room)
    larger.set(scratch.subarray(0, end))
    scratch = larger
  }
  const wide = !isLatin1(text)
  let head = 2 * length + (wide ? 1 : 0)
  for (; head > 127; head = Math.floor(head / 128)) scratch[end++] = 128 | (head & 127)
  scratch[end++] = head
  end += scratch.write(text, end, wide ? 'utf16le' : 'latin1')
}

function isLatin1(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 255) return false
  return true
}

/** The text at {@link at}, which moves to the position after it. */
function readText(bytes: Buffer): string {
  const head = readHead(bytes)
  const from = at
  at += textBytes(head)
  if (head === 0) return ''
  return bytes.toString((head & 1) === 0 ? 'latin1' : 'utf16le', from, at)
}

/** Twice the length of the text at {@link at}, plus one if it is UTF-16. */
function readHead(bytes: Buffer): number {
  let head = 0
  for (let factor = 1; ; factor *= 128) {
    const byte = bytes[at++]!
    head += (byte & 127) * factor
    if (byte < 128) return head
  }
}

function textBytes(head: number): number {
  return (head & 1) === 0 ? head / 2 : head - 1
}

function textEnd(bytes: Buffer, from: number): number {
  at = from
  const head = readHead(bytes)
  return at + textBytes(head)
}

function isText(bytes: Buffer, from: number, text: string): boolean {
  at = from
  const head = readHead(bytes)
  if (head >> 1 !== text.length) return false
  if ((head & 1) !== 0) return bytes.toString('utf16le', at, at + textBytes(head)) === text
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false
  return true
}
