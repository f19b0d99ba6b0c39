import { decodeText, parseJsonObject } from '../http/jsonBody.ts'
import { ApiError, badParam } from '../runtime/errors.ts'
import { rawMessage } from './codec.ts'
import { scanJsonTrack } from '../wire/jsonScanner.ts'
import type { AckMessage, PositionsMessage, RawMessage, ServerMessage, WatchedPosition } from './messages.ts'
import { JsonBatchWriter } from './jsonBatch.ts'
import type { Codec } from './port.ts'

/** The members that start a frame, in either order. */
const TRACK_HEAD = /^\{ ?"(?:type": ?"track", ?"id": ?(\d{1,15})|id": ?(\d{1,15}), ?"type": ?"track")[ ,}]/
const PEEKED_BYTES = 64

/** The encoding `ringfence.json`: a message is a JSON object, in a text frame or a binary one. */
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

  batch: new JsonBatchWriter(),

  encode(message): string {
    // Records are JSON already, so they are not serialized again.
    switch (message.type) {
      case 'event':
        return `{"type":"event","subscription":${JSON.stringify(message.subscription)},"event":${message.event}}`
      case 'events':
        return `{"type":"events","subscription":${JSON.stringify(message.subscription)},"events":[${message.events.join(',')}]}`
      case 'ack':
        return ackText(message)
      case 'position':
        return `{"type":"position","watch":${JSON.stringify(message.watch)},${positionText(message)}}`
      case 'positions':
        return positionsText(message)
      default:
        return JSON.stringify(message)
    }
  },

  *ackSteps({ id, events = [], omittedEvents }: AckMessage): Generator<void, Uint8Array> {
    const pieces = [Buffer.from(`{"type":"ack","id":${id},"events":[`)]
    for (const [i, event] of events.entries()) {
      pieces.push(Buffer.from(i === 0 ? event : `,${event}`))
      yield
    }
    pieces.push(Buffer.from(omittedEvents === undefined ? ']}' : `],"omittedEvents":${omittedEvents}}`))
    return Buffer.concat(pieces)
  },
}

function ackText({ id, events, omittedEvents }: Extract<ServerMessage, { type: 'ack' }>): string {
  if (events === undefined) return `{"type":"ack","id":${id}}`
  const omitted = omittedEvents === undefined ? '' : `,"omittedEvents":${omittedEvents}`
  return `{"type":"ack","id":${id},"events":[${events.join(',')}]${omitted}}`
}

function positionsText({ watch, positions }: PositionsMessage): string {
  if (positions.length === 0) return `{"type":"positions","watch":${JSON.stringify(watch)},"positions":[]}`
  return `{"type":"positions","watch":${JSON.stringify(watch)},"positions":[{${positions.map(positionText).join('},{')}}]}`
}

function positionText(position: WatchedPosition): string {
  const { change, written } = position
  const text = written === undefined ? placeText(position) : (written.json ??= placeText(position))
  return `"change":"${change}",${text}`
}

/** All members but the `change`. */
function placeText({ user, location, locationAccuracy, updatedAt }: Omit<WatchedPosition, 'change'>): string {
  const { _id, userId, deviceId } = user
  const [longitude, latitude] = location.coordinates
  const userMember = userId === undefined ? '' : `"userId":${JSON.stringify(userId)},`
  const accuracy = locationAccuracy === undefined ? '' : `"locationAccuracy":${locationAccuracy},`
  return (
    `"user":{"_id":"${_id}",${userMember}"deviceId":${JSON.stringify(deviceId)}},` +
    `"location":{"type":"Point","coordinates":[${longitude},${latitude}]},${accuracy}"updatedAt":"${updatedAt}"`
  )
}

/** Replaces "body", which errors of HTTP name, by "message". */
function ofMessage(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.param !== 'body') return error
  return badParam('message', error.message.replace(/^body: /, ''))
}
