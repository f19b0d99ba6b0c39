import protobuf from 'protobufjs/light.js'
import { ApiError, badParam } from '../runtime/errors.ts'
import type { RawMessage, ServerMessage } from './messages.ts'
import type { Codec } from './port.ts'
import { scanProtobufTrack } from '../wire/protobufScanner.ts'
import schema from './protobufSchema.json' with { type: 'json' }

/** `protobufSchema.json` is what protobufjs makes of proto/ringfence.proto; the test of the encodings holds it to it. */
const root = protobuf.Root.fromJSON(schema)
const ClientMessage = root.lookupType('ringfence.v1.ClientMessage')
const ServerMessageType = root.lookupType('ringfence.v1.ServerMessage')
const Event = root.lookupType('ringfence.v1.Event')

// oxlint-disable-next-line typescript/no-explicit-any -- messages as protobufjs reads them, by the schema of their file
type Read = any

/** ClientMessage.track, and Track.id, which comes first. */
const TRACK_TAG = 0x0a
const ID_TAG = 0x08

/** `ringfence.protobuf`: a message is a ClientMessage or ServerMessage of proto/ringfence.proto. */
export const protobufCodec: Codec = {
  protocol: 'ringfence.protobuf',
  isBinary: true,

  decode(bytes): RawMessage {
    let read: Read
    try {
      read = ClientMessage.toObject(ClientMessage.decode(bytes), { longs: Number, oneofs: true })
    } catch (cause) {
      throw new ApiError(400, 'message: Invalid protobuf.', { param: 'message', cause })
    }
    const type = read.message as string | undefined
    if (type === undefined) throw badParam('message', 'Must be one of ClientMessage.')
    return { ...fields(type, read[type]), type }
  },

  scanTrack: scanProtobufTrack,

  peekTrack(bytes): number | undefined {
    if (bytes[0] !== TRACK_TAG) return undefined
    const length = varint(bytes, 1)
    if (length === undefined || bytes[length.end] !== ID_TAG) return undefined
    return varint(bytes, length.end + 1)?.value
  },

  encode(message): Uint8Array {
    const { type, ...body } = message
    return ServerMessageType.encode({ [type]: wireFields(message, body) }).finish()
  },
}

/** An event's record as a message of its own, Event: for deliveries other than streams. */
export function encodeEvent(json: string): Uint8Array {
  return Event.encode({ json }).finish()
}

/** A message's fields as JSON has them. */
function fields(type: string, read: Read): Record<string, unknown> {
  switch (type) {
    case 'track':
      return { ...read, updates: (read.updates ?? []).map(updateFields) }
    case 'watch': {
      const { id, minIntervalMs, area } = read
      return { id, minIntervalMs, area: area === undefined ? undefined : areaFields(area, read[area]) }
    }
    default:
      return read
  }
}

function updateFields(read: Read): Record<string, unknown> {
  const { deviceOs, metadata, beacons, ...update } = read
  if (deviceOs !== undefined) update.deviceOS = deviceOs
  if (metadata !== undefined) {
    update.metadata = Object.fromEntries(
      Object.entries<Read>(metadata).map(([key, value]) => [key, value[value.kind]]),
    )
  }
  if (beacons !== undefined) update.beacons = beacons.items ?? []
  return update
}

function areaFields(type: string, read: Read): Record<string, unknown> {
  switch (type) {
    case 'circle':
      return { type, center: coordinates(read.center), radius: read.radius }
    case 'box':
      return { type, box: [read.west ?? 0, read.south ?? 0, read.east ?? 0, read.north ?? 0] }
    case 'polygon':
      return {
        type,
        coordinates: (read.rings ?? []).map((ring: Read) => (ring.points ?? []).map(coordinates)),
      }
    default:
      return { type, ...read }
  }
}

/** A point without a field has zero there, as protobuf has it. */
function coordinates(point: Read): readonly [number, number] | undefined {
  return point === undefined ? undefined : [point.longitude ?? 0, point.latitude ?? 0]
}

/** A message's fields as protobuf has them. */
function wireFields(message: ServerMessage, body: Read): object {
  switch (message.type) {
    case 'ack':
      return { ...body, events: message.events && { items: message.events.map((json) => ({ json })) } }
    case 'event':
      return { ...body, event: { json: message.event } }
    case 'position': {
      const { _id: id, ...user } = message.user
      const [longitude, latitude] = message.location.coordinates
      return { ...body, user: { id, ...user }, location: { latitude, longitude } }
    }
    default:
      return body
  }
}

/** A number of up to 49 bits, and where it ends. */
function varint(bytes: Buffer, start: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0
  for (let i = 0; i < 7; i++) {
    const byte = bytes[start + i]
    if (byte === undefined) return undefined
    value += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 0x80) return { value, end: start + i + 1 }
  }
  return undefined
}
