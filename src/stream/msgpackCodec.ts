import { Packr } from 'msgpackr'
import { cleanValue } from '../api/jsonBody.ts'
import { ApiError, badParam } from '../runtime/errors.ts'
import { rawMessage } from './codec.ts'
import type { RawMessage, ServerMessage } from './messages.ts'
import { checkMsgpack } from './msgpackCheck.ts'
import { scanMsgpackTrack } from './msgpackScanner.ts'
import type { Codec } from './port.ts'

/** Plain maps with texts as keys, which every library reads. */
const packr = new Packr({ useRecords: false, variableMapSize: true, int64AsType: 'number' })

/** `ringfence.msgpack`: a message is a MessagePack map. */
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
    cleanValue(value, [], true)
    return rawMessage(value as Record<string, unknown>)
  },

  scanTrack: scanMsgpackTrack,

  encode(message): Uint8Array {
    return packr.pack(plain(message))
  },
}

/** The message with its records as objects, and without what is undefined, which MessagePack has no word for. */
function plain(message: ServerMessage): object {
  if (message.type === 'event') return { ...message, event: JSON.parse(message.event) as object }
  if (message.type === 'ack') {
    const { type, id, events, omittedEvents } = message
    if (events === undefined) return { type, id }
    const records = events.map((event) => JSON.parse(event) as object)
    return omittedEvents === undefined
      ? { type, id, events: records }
      : { type, id, events: records, omittedEvents }
  }
  if (message.type === 'error') return defined(message)
  if (message.type === 'position') return defined({ ...message, user: defined(message.user) })
  return message
}

function defined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined))
}
