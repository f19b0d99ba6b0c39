import { decodeText, parseJsonObject } from '../http/jsonBody.ts'
import { ApiError, badParam } from '../runtime/errors.ts'
import { rawMessage } from './codec.ts'
import { scanJsonTrack } from '../wire/jsonScanner.ts'
import type { RawMessage, ServerMessage } from './messages.ts'
import type { Codec } from './port.ts'

/** The members that start a frame, in either order. */
const TRACK_HEAD = /^\{ ?"(?:type": ?"track", ?"id": ?(\d{1,15})|id": ?(\d{1,15}), ?"type": ?"track")[ ,}]/
const PEEKED_BYTES = 64

/** `ringfence.json`: a message is a JSON object, in a text frame or a binary one. */
export const jsonCodec: Codec = {
  protocol: 'ringfence.json',
  isBinary: false,

  decode(bytes): RawMessage {
    let value: Record<string, unknown>
    try {
      const text = decodeText(bytes)
      if (text === undefined) throw badParam('body', 'Must not be empty.')
      value = parseJsonObject(text)
    } catch (error) {
      throw ofMessage(error)
    }
    return rawMessage(value)
  },

  scanTrack: scanJsonTrack,

  peekTrack(bytes): number | undefined {
    const found = TRACK_HEAD.exec(bytes.toString('latin1', 0, PEEKED_BYTES))
    return found === null ? undefined : Number(found[1] ?? found[2])
  },

  encode(message): string {
    // Records are JSON already, so they are not serialized again.
    switch (message.type) {
      case 'event':
        return `{"type":"event","subscription":${JSON.stringify(message.subscription)},"event":${message.event}}`
      case 'ack':
        return ackText(message)
      default:
        return JSON.stringify(message)
    }
  },
}

function ackText({ id, events, omittedEvents }: Extract<ServerMessage, { type: 'ack' }>): string {
  if (events === undefined) return `{"type":"ack","id":${id}}`
  const omitted = omittedEvents === undefined ? '' : `,"omittedEvents":${omittedEvents}`
  return `{"type":"ack","id":${id},"events":[${events.join(',')}]${omitted}}`
}

/** What is called the body in HTTP is the message here. */
function ofMessage(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.param !== 'body') return error
  return badParam('message', error.message.replace(/^body: /, ''))
}
