import protobuf from 'protobufjs/light.js'
import { ApiError, badParam } from '../runtime/errors.ts'
import type { AckMessage, RawMessage, ServerMessage, WatchedPosition } from './messages.ts'
import type { Codec } from './port.ts'
import { ProtobufCheck } from './protobufCheck.ts'
import { ObjectBatchWriter } from './shownDevice.ts'
import { scanProtobufTrack } from '../wire/protobufScanner.ts'
import schema from './protobufSchema.json' with { type: 'json' }

/**
 * The schema. protobufjs generates `protobufSchema.json` from proto/ringfence.proto, and the test of the encodings
 * compares them.
 */
const root = protobuf.Root.fromJSON(schema)
const ClientMessage = root.lookupType('ringfence.v1.ClientMessage')
const check = new ProtobufCheck(ClientMessage)
const ServerMessageType = root.lookupType('ringfence.v1.ServerMessage')
const Ack = root.lookupType('ringfence.v1.Ack')
const Event = root.lookupType('ringfence.v1.Event')

// oxlint-disable-next-line typescript/no-explicit-any -- messages as protobufjs reads them, by the schema of their file
type Read = any

/** The numbers of the fields that lead to the events of an acknowledgement, and how the wire marks messages in messages. */
const SERVER_ACK = ServerMessageType.fields['ack']!.id
const ACK_EVENTS = Ack.fields['events']!.id
const EVENTS_ITEM = root.lookupType('ringfence.v1.Events').fields['items']!.id
const LENGTH_DELIMITED = 2

/** The tag of ClientMessage.track, which comes before Track.id. */
const TRACK_TAG = 0x0a
const ID_TAG = 0x08

/** The encoding `ringfence.protobuf`: a message is a ClientMessage or ServerMessage of proto/ringfence.proto. */
export const protobufCodec: Codec = {
  protocol: 'ringfence.protobuf',
  isBinary: true,

  decode(bytes): RawMessage {
    check.check(bytes)
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

  batch: new ObjectBatchWriter((message) => protobufCodec.encode(message)),

  encode(message): Uint8Array {
    const { type, ...body } = message
    return ServerMessageType.encode({ [type]: wireFields(message, body) }).finish()
  },

  *ackSteps({ id, events = [], omittedEvents }: AckMessage): Generator<void, Uint8Array> {
    const items: Uint8Array[] = []
    for (const json of events) {
      items.push(embedded(EVENTS_ITEM, [encodeEvent(json)]))
      yield
    }
    const list = embedded(ACK_EVENTS, items)
    const more = omittedEvents === undefined ? { id } : { id, omittedEvents }
    return embedded(SERVER_ACK, [Ack.encode(more).finish(), list])
  },
}

/** A message within another: the number of its field, its length, and its bytes. */
function embedded(field: number, pieces: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const piece of pieces) length += piece.length
  const head = protobuf.Writer.create()
    .uint32((field << 3) | LENGTH_DELIMITED)
    .uint32(length)
  return Buffer.concat([head.finish(), ...pieces])
}

/** Encodes an event's record as a separate message Event, for deliveries other than streams. */
export function encodeEvent(json: string): Uint8Array {
  return Event.encode({ json }).finish()
}

/** Converts a message's fields to their JSON form. */
function fields(type: string, read: Read): Record<string, unknown> {
  switch (type) {
    case 'track':
      return { ...read, updates: (read.updates ?? []).map(updateFields) }
    case 'watch': {
      const { id, minIntervalMs, area, filter, batch } = read
      return {
        id,
        minIntervalMs,
        area: area === undefined ? undefined : areaFields(area, read[area]),
        filter: filter && filterFields(filter),
        batch,
      }
    }
    default:
      return read
  }
}

function updateFields(read: Read): Record<string, unknown> {
  const { deviceOs, metadata, beacons, ...update } = read
  if (deviceOs !== undefined) update.deviceOS = deviceOs
  if (metadata !== undefined) update.metadata = metadataFields(metadata)
  if (beacons !== undefined) update.beacons = beacons.items ?? []
  return update
}

function metadataFields(metadata: Read): Record<string, unknown> {
  return Object.fromEntries(Object.entries<Read>(metadata).map(([key, value]) => [key, value[value.kind]]))
}

function filterFields({ metadata, ...lists }: Read): Record<string, unknown> {
  return metadata === undefined ? lists : { ...lists, metadata: metadataFields(metadata) }
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

/** A point's coordinates. A missing coordinate is zero, as usual in protobuf. */
function coordinates(point: Read): readonly [number, number] | undefined {
  return point === undefined ? undefined : [point.longitude ?? 0, point.latitude ?? 0]
}

/** Converts a message's fields to their protobuf form. */
function wireFields(message: ServerMessage, body: Read): object {
  switch (message.type) {
    case 'ack':
      return { ...body, events: message.events && { items: message.events.map((json) => ({ json })) } }
    case 'event':
      return { ...body, event: { json: message.event } }
    case 'events':
      return { ...body, events: message.events.map((json) => ({ json })) }
    case 'position':
      return positionFields(message)
    case 'positions':
      return { watch: message.watch, positions: message.positions.map(positionFields) }
    default:
      return body
  }
}

function positionFields({ written: _written, ...position }: WatchedPosition): object {
  const { _id: id, ...user } = position.user
  const [longitude, latitude] = position.location.coordinates
  return { ...position, user: { id, ...user }, location: { latitude, longitude } }
}

/** Reads a number of up to 49 bits, and returns where it ends. */
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
