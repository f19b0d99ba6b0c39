import { Packr } from 'msgpackr'
import { ApiError, badParam } from '../runtime/errors.ts'
import { rawMessage } from './codec.ts'
import type { AckMessage, RawMessage, ServerMessage, WatchedPosition } from './messages.ts'
import { checkMsgpack } from './msgpackCheck.ts'
import { scanMsgpackTrack } from '../wire/msgpackScanner.ts'
import type { Codec } from './port.ts'
import { ObjectBatchWriter } from './shownDevice.ts'

/** Writes plain maps with texts as keys, which every library can read. */
const packr = new Packr({ useRecords: false, variableMapSize: true, int64AsType: 'number' })

/** The bytes of `type`, `track` and `id`, each with its leading byte for type and length. */
const TRACK_HEAD = '\xa4type\xa5track\xa2id'

/** The encoding `ringfence.msgpack`: a message is a MessagePack map. */
export const msgpackCodec: Codec = {
  protocol: 'ringfence.msgpack',
  isBinary: true,

  decode(bytes): RawMessage {
    checkMsgpack(bytes)
    let value: unknown
    try {
      value = packr.unpack(bytes)
    } catch (cause) {
      throw new ApiError(400, 'message: Invalid MessagePack.', { param: 'message', cause })
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value) || Buffer.isBuffer(value))
      throw badParam('message', 'Must be a map.')
    return rawMessage(value as Record<string, unknown>)
  },

  scanTrack: scanMsgpackTrack,

  peekTrack(bytes): number | undefined {
    // The bytes must be a small map that begins with type and id.
    if ((bytes[0]! & 0xf0) !== 0x80 || bytes.toString('latin1', 1, 1 + TRACK_HEAD.length) !== TRACK_HEAD)
      return undefined
    const at = 1 + TRACK_HEAD.length
    const tag = bytes[at]!
    if (tag < 0x80) return tag
    if (bytes.length < at + 9) return undefined
    if (tag === 0xcc) return bytes[at + 1]
    if (tag === 0xcd) return bytes.readUInt16BE(at + 1)
    if (tag === 0xce) return bytes.readUInt32BE(at + 1)
    return tag === 0xcf ? Number(bytes.readBigUInt64BE(at + 1)) : undefined
  },

  batch: new ObjectBatchWriter((message) => msgpackCodec.encode(message)),

  encode(message): Uint8Array {
    return packr.pack(plain(message))
  },

  *ackSteps({ id, events = [], omittedEvents }: AckMessage): Generator<void, Uint8Array> {
    const omitted = omittedEvents === undefined ? [] : ['omittedEvents', omittedEvents]
    const members = ['type', 'ack', 'id', id, ...omitted, 'events'].map((value) => packr.pack(value))
    const pieces: Uint8Array[] = [Uint8Array.of(0x80 | ((members.length + 1) / 2)), ...members]
    pieces.push(listHead(events.length))
    for (const event of events) {
      pieces.push(packr.pack(JSON.parse(event)))
      yield
    }
    return Buffer.concat(pieces)
  },
}

/** The first bytes of a list with many items, whose length they give in four bytes. */
function listHead(items: number): Uint8Array {
  const head = Buffer.of(0xdd, 0, 0, 0, 0)
  head.writeUInt32BE(items, 1)
  return head
}

/** The message with its records as objects, and without undefined values, which MessagePack cannot express. */
function plain(message: ServerMessage): object {
  if (message.type === 'event') return { ...message, event: JSON.parse(message.event) as object }
  if (message.type === 'events')
    return { ...message, events: message.events.map((event) => JSON.parse(event) as object) }
  if (message.type === 'ack') {
    const { type, id, events, omittedEvents } = message
    if (events === undefined) return { type, id }
    const records = events.map((event) => JSON.parse(event) as object)
    return omittedEvents === undefined
      ? { type, id, events: records }
      : { type, id, events: records, omittedEvents }
  }
  if (message.type === 'error') return defined(message)
  if (message.type === 'position') return plainPosition(message)
  if (message.type === 'positions') return { ...message, positions: message.positions.map(plainPosition) }
  return message
}

function plainPosition({ written: _written, ...position }: WatchedPosition): object {
  return defined({ ...position, user: defined(position.user) })
}

function defined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined))
}
