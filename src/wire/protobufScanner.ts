import type { Stamp } from './trackSchema.ts'
import { hashText, texts } from './texts.ts'
import type { Senders } from './senders.ts'
import { TrackDraft } from './trackDraft.ts'
import type { TrackFrame } from './trackFrame.ts'
import { FIELD } from './updateFields.ts'

/** Wire types of protobuf: the low three bits of a tag. */
const VARINT = 0
const FIXED_64 = 1
const BYTES = 2

/** Tags of proto/ringfence.proto that are read here: field number × 8 + wire type. */
const CLIENT_TRACK = (1 << 3) | BYTES
const TRACK = {
  id: (1 << 3) | VARINT,
  update: (2 << 3) | BYTES,
  events: (3 << 3) | VARINT,
  stream: (4 << 3) | BYTES,
  sequence: (5 << 3) | VARINT,
} as const

/** The fields of an update by the field number in Update. */
const UPDATE_FIELDS = new Int32Array(32)
for (const [number, field] of [
  [1, FIELD.deviceId],
  [2, FIELD.latitude],
  [3, FIELD.longitude],
  [4, FIELD.accuracy],
  [5, FIELD.userId],
  [6, FIELD.foreground],
  [7, FIELD.stopped],
  [8, FIELD.updatedAt],
  [12, FIELD.stream],
  [13, FIELD.sequence],
  [14, FIELD.installId],
  [15, FIELD.deviceType],
  [16, FIELD.deviceOS],
  [17, FIELD.deviceMake],
  [18, FIELD.deviceModel],
  [19, FIELD.sdkVersion],
] as const)
  UPDATE_FIELDS[number] = field

const draft = new TrackDraft()
let bytes: Buffer = Buffer.alloc(0)
let view: DataView = new DataView(new ArrayBuffer(0))
let at = 0

/**
 * The frame of a usual `track` in protobuf; undefined for everything else, valid or not.
 * @param message is not kept
 */
export function scanProtobufTrack(message: Buffer, stamp: Stamp, senders: Senders): TrackFrame | undefined {
  bytes = message
  view = new DataView(message.buffer, message.byteOffset, message.length)
  at = 0
  draft.beginFrame(message)
  if (readVarint() !== CLIENT_TRACK || readVarint() !== message.length - at) return undefined
  return readTrack(stamp) ? draft.endFrame(stamp, senders) : undefined
}

/** Each of these functions moves {@link at} past what it reads, and returns false if it finds something else. */
function readTrack(stamp: Stamp): boolean {
  let seen = 0
  while (at < bytes.length) {
    const tag = readVarint()
    if (tag !== TRACK.update) {
      if ((seen & (1 << (tag >> 3))) !== 0) return false
      seen |= 1 << (tag >> 3)
    }
    if (!readTrackField(tag, stamp)) return false
  }
  return true
}

function readTrackField(tag: number, stamp: Stamp): boolean {
  switch (tag) {
    case TRACK.update: {
      const length = readVarint()
      return length <= bytes.length - at && readUpdate(at + length) && draft.endUpdate(stamp)
    }
    case TRACK.id:
      draft.id = readVarint()
      return true
    case TRACK.events: {
      const value = readVarint()
      draft.events = value === 1
      return value <= 1
    }
    case TRACK.stream:
      draft.stream = readText()
      return draft.stream !== undefined
    case TRACK.sequence:
      draft.sequence = readVarint()
      return draft.sequence >= 0
    default:
      return false
  }
}

function readUpdate(end: number): boolean {
  if (!draft.beginUpdate()) return false
  while (at < end) {
    const tag = readVarint()
    const field = tag < 256 ? UPDATE_FIELDS[tag >> 3]! : 0
    if (field === 0 || !readUpdateField(field, tag & 7)) return false
  }
  return at === end
}

function readUpdateField(field: number, wireType: number): boolean {
  switch (wireType) {
    case FIXED_64:
      if (at + 8 > bytes.length) return false
      at += 8
      return draft.number(field, view.getFloat64(at - 8, true))
    case BYTES: {
      const length = readVarint()
      if (!(length <= bytes.length - at)) return false
      at += length
      const hash = hashText(bytes, at - length, at)
      return hash >= 0 && draft.text(field, at - length, at, hash)
    }
    case VARINT: {
      const value = readVarint()
      return field === FIELD.sequence
        ? draft.number(field, value)
        : value <= 1 && draft.boolean(field, value === 1)
    }
    default:
      return false
  }
}

function readText(): string | undefined {
  const length = readVarint()
  if (!(length <= bytes.length - at)) return undefined
  at += length
  const hash = hashText(bytes, at - length, at)
  return hash < 0 ? undefined : texts.find(bytes, at - length, at, hash)
}

/**
 * Reads a number of up to 49 bits, which are the most whole groups that a double holds exactly. Returns NaN for
 * anything else.
 */
function readVarint(): number {
  let value = 0
  for (let scale = 1; scale < 2 ** 49; scale *= 128) {
    const byte = bytes[at++]
    if (byte === undefined) return NaN
    if (byte < 128) return value + byte * scale
    value += (byte - 128) * scale
  }
  return NaN
}
