import type { Stamp } from './trackSchema.ts'
import { FRAME, frameFields, updateFields } from './fieldNames.ts'
import { hashText, texts } from './texts.ts'
import type { Senders } from './senders.ts'
import { TrackDraft } from './trackDraft.ts'
import type { TrackFrame } from './trackFrame.ts'

/** First bytes of MessagePack values. In fixed forms the length is added to the first byte. */
const FIX_MAP = 0x80
const FIX_LIST = 0x90
const FIX_TEXT = 0xa0
const FALSE = 0xc2
const TRUE = 0xc3
const TEXT_8 = 0xd9
const TEXT_16 = 0xda
const LIST_16 = 0xdc
const MAP_16 = 0xde

const draft = new TrackDraft()
let bytes: Buffer = Buffer.alloc(0)
let view: DataView = new DataView(new ArrayBuffer(0))
let at = 0

/**
 * The frame of a usual `track` in MessagePack; undefined for everything else, valid or not.
 * @param message is not kept
 */
export function scanMsgpackTrack(message: Buffer, stamp: Stamp, senders: Senders): TrackFrame | undefined {
  bytes = message
  view = new DataView(message.buffer, message.byteOffset, message.length)
  at = 0
  draft.beginFrame(message)
  return readFrame(stamp) && at === message.length ? draft.endFrame(stamp, senders) : undefined
}

/** Each of these functions moves {@link at} past what it reads, and returns false if it finds something else. */
function readFrame(stamp: Stamp): boolean {
  let seen = 0
  for (let left = readLength(FIX_MAP, MAP_16); left > 0; left--) {
    const field = readName(frameFields)
    if (field === 0 || (seen & field) !== 0) return false
    seen |= field
    if (!readFrameField(field, stamp)) return false
  }
  return (seen & FRAME.type) !== 0
}

function readFrameField(field: number, stamp: Stamp): boolean {
  switch (field) {
    case FRAME.type:
      return readText() === 'track'
    case FRAME.id:
      draft.id = readNumber()
      return true
    case FRAME.events: {
      const byte = bytes[at++]
      draft.events = byte === TRUE
      return byte === TRUE || byte === FALSE
    }
    case FRAME.stream:
      draft.stream = readText()
      return draft.stream !== undefined
    case FRAME.sequence:
      draft.sequence = readNumber()
      return draft.sequence >= 0
    default:
      for (let left = readLength(FIX_LIST, LIST_16); left > 0; left--)
        if (!readUpdate() || !draft.endUpdate(stamp)) return false
      return true
  }
}

function readUpdate(): boolean {
  if (!draft.beginUpdate()) return false
  for (let left = readLength(FIX_MAP, MAP_16); left > 0; left--) {
    const field = readName(updateFields)
    if (field === 0) return false
    const byte = bytes[at]!
    if (byte === FALSE || byte === TRUE) {
      at++
      if (!draft.boolean(field, byte === TRUE)) return false
    } else if ((byte & 0xe0) === FIX_TEXT || byte === TEXT_8 || byte === TEXT_16) {
      const length = readTextLength()
      if (length < 0) return false
      at += length
      const hash = hashText(bytes, at - length, at)
      if (hash < 0 || !draft.text(field, at - length, at, hash)) return false
    } else if (!draft.number(field, readNumber())) return false
  }
  return true
}

/** How many members a map or list has. It is also 0 if there is no map or list. */
function readLength(fixed: number, long: number): number {
  const byte = bytes[at++]!
  if ((byte & 0xf0) === fixed) return byte & 15
  if (byte !== long || at + 2 > bytes.length) return 0
  at += 2
  return view.getUint16(at - 2)
}

/** The number of a name; 0 if it is unknown. */
function readName(names: typeof updateFields): number {
  const length = readTextLength()
  if (length < 0) return 0
  at += length
  return names.find(bytes, at - length, at)
}

function readText(): string | undefined {
  const length = readTextLength()
  if (length < 0) return undefined
  at += length
  const hash = hashText(bytes, at - length, at)
  return hash < 0 ? undefined : texts.find(bytes, at - length, at, hash)
}

/** The length of a text in bytes, all of which are in the message; −1 if it is not a text. */
function readTextLength(): number {
  const byte = bytes[at++]!
  let length = -1
  if ((byte & 0xe0) === FIX_TEXT) length = byte & 31
  else if (byte === TEXT_8 && at < bytes.length) length = bytes[at++]!
  else if (byte === TEXT_16 && at + 2 <= bytes.length) {
    length = view.getUint16(at)
    at += 2
  }
  return at + length <= bytes.length ? length : -1
}

/** Reads a number in any form. Returns NaN for anything else. */
function readNumber(): number {
  const byte = bytes[at++]!
  if (byte < 0x80) return byte
  if (byte >= 0xe0) return byte - 256
  const start = at
  const size = numberBytes(byte)
  if (size === 0 || at + size > bytes.length) return NaN
  at += size
  switch (byte) {
    case 0xca:
      return view.getFloat32(start)
    case 0xcb:
      return view.getFloat64(start)
    case 0xcc:
      return view.getUint8(start)
    case 0xcd:
      return view.getUint16(start)
    case 0xce:
      return view.getUint32(start)
    case 0xcf:
      return Number(view.getBigUint64(start))
    case 0xd0:
      return view.getInt8(start)
    case 0xd1:
      return view.getInt16(start)
    case 0xd2:
      return view.getInt32(start)
    default:
      return Number(view.getBigInt64(start))
  }
}

/** How many bytes of a number follow its first one; 0 if it is not a number. */
function numberBytes(byte: number): number {
  switch (byte) {
    case 0xcc:
    case 0xd0:
      return 1
    case 0xcd:
    case 0xd1:
      return 2
    case 0xca:
    case 0xce:
    case 0xd2:
      return 4
    case 0xcb:
    case 0xcf:
    case 0xd3:
      return 8
    default:
      return 0
  }
}
