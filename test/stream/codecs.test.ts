/** Every encoding carries the same messages, and a decoder refuses all invalid bytes without any other effect. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs'
import t from 'tap'
import { ApiError } from '../../src/runtime/errors.ts'
import { jsonCodec } from '../../src/stream/jsonCodec.ts'
import type { ServerMessage } from '../../src/stream/messages.ts'
import { msgpackCodec } from '../../src/stream/msgpackCodec.ts'
import type { Codec } from '../../src/stream/port.ts'
import { protobufCodec } from '../../src/stream/protobufCodec.ts'
import fc from '../kit/fastCheck.ts'
import { decode, encode, type Encoding, type Message } from '../kit/stream.ts'

const runs = (count: number) => ({ numRuns: count * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1) })

const CODECS: Readonly<Record<Encoding, Codec>> = {
  json: jsonCodec,
  msgpack: msgpackCodec,
  protobuf: protobufCodec,
}

const text = fc
  .string({ unit: 'binary', maxLength: 20 })
  .map((drawn) => drawn.replaceAll('\0', '').toWellFormed())
const key = text.filter((drawn) => !['__proto__', 'constructor', 'prototype'].includes(drawn))
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((drawn) => drawn + 0)
const id = fc.integer({ min: 1, max: 2 ** 40 })
const coordinates = fc.tuple(number, number)

/** A record with some of its fields. */
function some<T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Partial<T>> {
  return fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<Partial<T>>
}

const metadataValues = fc.dictionary(key, fc.oneof(text, number, fc.boolean()), { minKeys: 1, maxKeys: 5 })
const update = some({
  deviceId: text,
  userId: text,
  installId: text,
  latitude: number,
  longitude: number,
  accuracy: number,
  foreground: fc.boolean(),
  stopped: fc.boolean(),
  replayed: fc.boolean(),
  updatedAt: number,
  updatedAtMs: number,
  updatedAtMsDiff: number,
  stream: text,
  sequence: id,
  deviceType: fc.constantFrom('iOS', 'Android', 'Web'),
  deviceOS: text,
  deviceMake: text,
  deviceModel: text,
  source: text,
  sdkVersion: text,
  description: text,
  metadata: metadataValues,
  beacons: fc.array(
    some({ type: text, uuid: text, major: text, minor: text, uid: text, instance: text, rssi: number }),
    {
      maxLength: 3,
    },
  ),
})
const items = fc.array(text, { minLength: 1, maxLength: 3 })
const area = fc.oneof(
  fc.record({
    type: fc.constant('circle'),
    center: coordinates,
    radius: number.filter((drawn) => drawn !== 0),
  }),
  fc.record({ type: fc.constant('box'), box: fc.tuple(number, number, number, number) }),
  fc.record({
    type: fc.constant('polygon'),
    coordinates: fc.array(fc.array(coordinates, { minLength: 1, maxLength: 4 }), { maxLength: 2 }),
  }),
  fc.record({ type: fc.constant('geofence'), tag: text.filter(Boolean), externalId: text.filter(Boolean) }),
)
const clientMessage: fc.Arbitrary<{ type: string; [field: string]: Message }> = fc.oneof(
  fc
    .tuple(
      fc.record({ type: fc.constant('track'), id, updates: fc.array(update, { maxLength: 4 }) }),
      some({ events: fc.boolean(), stream: text, sequence: id }),
    )
    .map(([must, may]) => ({ ...must, ...may })),
  fc.record(
    {
      type: fc.constant('subscribe'),
      id: text.filter(Boolean),
      filter: some({
        types: items,
        tags: items,
        externalIds: items,
        userIds: items,
        deviceIds: items,
        placeIds: items,
        chains: items,
        categories: items,
        regions: items,
        failureReasons: items,
      }),
      from: text,
      batch: fc.boolean(),
    },
    { requiredKeys: ['type', 'id'] },
  ),
  fc.record(
    {
      type: fc.constant('watch'),
      id: text.filter(Boolean),
      area,
      minIntervalMs: number,
      filter: some({ tags: items, userIds: items, metadata: metadataValues }),
      batch: fc.boolean(),
    },
    { requiredKeys: ['type', 'id', 'area'] },
  ),
  fc.record({ type: fc.constantFrom('unsubscribe', 'unwatch'), id: text.filter(Boolean) }),
  fc.constant({ type: 'ping' }),
)
const record = fc
  .dictionary(key, fc.oneof(text, number), { maxKeys: 3 })
  .map((value) => JSON.stringify(value))
const position = {
  change: fc.constantFrom('enter', 'move', 'leave'),
  user: fc.record(
    { _id: fc.constant('64b7c3f1a2d4e5f60718293a'), userId: text, deviceId: text.filter(Boolean) },
    { requiredKeys: ['_id', 'deviceId'] },
  ),
  location: fc.record({ type: fc.constant('Point'), coordinates }),
  locationAccuracy: number,
  updatedAt: fc.constant('2026-11-20T04:21:00.123Z'),
}
const serverMessage = fc.oneof(
  fc.record(
    { type: fc.constant('ack'), id, events: fc.array(record, { maxLength: 3 }), omittedEvents: id },
    { requiredKeys: ['type', 'id', 'events'] },
  ),
  fc.record({ type: fc.constant('ack'), id }),
  fc.record(
    {
      type: fc.constant('error'),
      id,
      index: fc.nat(999),
      subscription: text,
      watch: text,
      code: fc.constantFrom(400, 429, 500),
      param: text,
      message: text.filter(Boolean),
      retryAfter: number,
    },
    { requiredKeys: ['type', 'code', 'message'] },
  ),
  fc.record({ type: fc.constant('busy'), id, retryAfter: fc.nat(60).map((seconds) => seconds + 1) }),
  fc.constant({ type: 'pong' }),
  fc.record({ type: fc.constant('subscribed'), id: text.filter(Boolean), from: text.filter(Boolean) }),
  fc.record({ type: fc.constantFrom('unsubscribed', 'watching', 'unwatched'), id: text.filter(Boolean) }),
  fc.record({ type: fc.constant('event'), subscription: text.filter(Boolean), event: record }),
  fc.record({
    type: fc.constant('events'),
    subscription: text.filter(Boolean),
    events: fc.array(record, { maxLength: 3 }),
  }),
  fc.record(
    {
      type: fc.constant('position'),
      watch: text.filter(Boolean),
      ...position,
    },
    { requiredKeys: ['type', 'watch', 'change', 'user', 'location', 'updatedAt'] },
  ),
  fc.record({
    type: fc.constant('positions'),
    watch: text.filter(Boolean),
    positions: fc.array(fc.record(position, { requiredKeys: ['change', 'user', 'location', 'updatedAt'] }), {
      minLength: 1,
      maxLength: 3,
    }),
  }),
) as fc.Arbitrary<ServerMessage>

t.test('the loaded schema is that of proto/ringfence.proto', async (t) => {
  const proto = readFileSync(new URL('../../proto/ringfence.proto', import.meta.url), 'utf8')
  const loaded = readFileSync(new URL('../../src/stream/protobufSchema.json', import.meta.url), 'utf8')
  t.strictSame(
    JSON.parse(loaded),
    JSON.parse(JSON.stringify(protobuf.parse(proto).root.toJSON())),
    'run `npm run protobuf` after a change of the schema',
  )
})

for (const [encoding, codec] of Object.entries(CODECS) as [Encoding, Codec][]) {
  t.test(`${encoding}: a message of a client is decoded unchanged`, async (t) => {
    fc.assert(
      fc.property(clientMessage, (message) => {
        const bytes = Buffer.from(encode(encoding, encoding === 'protobuf' ? inProtobuf(message) : message))
        assert.deepStrictEqual(plain(codec.decode(bytes)), plain(message))
      }),
      runs(300),
    )
    t.pass('all of them')
  })

  t.test(`${encoding}: a message of the server is decoded unchanged`, async (t) => {
    fc.assert(
      fc.property(serverMessage, (message) => {
        const bytes = Buffer.from(codec.encode(message))
        assert.deepStrictEqual(plain(decode(encoding, bytes)), plain(withRecords(message)))
      }),
      runs(300),
    )
    t.pass('all of them')
  })

  t.test(`${encoding}: hostile bytes are refused`, async (t) => {
    const refuses = (bytes: Uint8Array) => {
      try {
        codec.decode(bytes)
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 400) throw error
      }
    }
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), refuses), runs(2000))
    const cut = fc.record({
      message: clientMessage,
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      byte: fc.nat(255),
    })
    fc.assert(
      fc.property(cut, ({ message, at, byte }) => {
        const bytes = Buffer.from(encode(encoding, encoding === 'protobuf' ? inProtobuf(message) : message))
        const place = Math.floor(at * bytes.length)
        refuses(bytes.subarray(0, place))
        bytes[place] = byte
        refuses(bytes)
      }),
      runs(500),
    )
    t.pass('nothing else was thrown')
  })
}

t.test('messages that expand to a large size', async (t) => {
  const bombs: readonly (readonly [what: string, codec: Codec, bytes: Uint8Array])[] = [
    ['msgpack: arrays in arrays', msgpackCodec, new Uint8Array(1_000_000).fill(0x91)],
    ['msgpack: maps in maps', msgpackCodec, Buffer.from('81a161'.repeat(300_000), 'hex')],
    ['msgpack: an array of four billion', msgpackCodec, Buffer.from('ddffffffff', 'hex')],
    [
      'msgpack: arrays of 16 million in each other',
      msgpackCodec,
      Buffer.from('dd00ffffff'.repeat(50), 'hex'),
    ],
    ['msgpack: a map of four billion', msgpackCodec, Buffer.from('dfffffffff', 'hex')],
    ['msgpack: a text of four billion', msgpackCodec, Buffer.from('dbffffffff61', 'hex')],
    ['msgpack: binary of four billion', msgpackCodec, Buffer.from('c6ffffffff61', 'hex')],
    ['msgpack: an extension', msgpackCodec, Buffer.from('81a47479706 5d4720000'.replaceAll(' ', ''), 'hex')],
    ['msgpack: keys that are no texts', msgpackCodec, Buffer.from('810101', 'hex')],
    ['msgpack: two values', msgpackCodec, Buffer.from('8080', 'hex')],
    ['msgpack: binary', msgpackCodec, Buffer.from('c40161', 'hex')],
    ['msgpack: binary as a member', msgpackCodec, Buffer.from('81a161c40161', 'hex')],
    ['msgpack: nothing', msgpackCodec, new Uint8Array()],
    ['json: arrays in arrays', jsonCodec, Buffer.from(`{"type":${'['.repeat(500_000)}`)],
    [
      'json: objects in objects',
      jsonCodec,
      Buffer.from(`{"type":"x","a":${'{"a":'.repeat(5000)}1${'}'.repeat(5001)}`),
    ],
    ['json: no UTF-8', jsonCodec, Buffer.from([0x22, 0xff, 0x22])],
    ['json: an array', jsonCodec, Buffer.from('[]')],
    ['json: no type', jsonCodec, Buffer.from('{}')],
    ['json: a type that is no text', jsonCodec, Buffer.from('{"type":1}')],
    ['protobuf: groups in groups', protobufCodec, new Uint8Array(1_000_000).fill(0x0b)],
    ['protobuf: a length past the end', protobufCodec, Buffer.from('0affffffff0f', 'hex')],
    ['protobuf: nothing', protobufCodec, new Uint8Array()],
  ]
  for (const [what, codec, bytes] of bombs)
    t.throws(() => codec.decode(bytes), { name: 'ApiError', code: 400 }, what)
})

/** A message of a client, in the form for protobufjs. */
function inProtobuf(message: Message): Message {
  if (message.type === 'track') return { ...message, updates: message.updates.map(updateInProtobuf) }
  if (message.type !== 'watch') return message
  const {
    area: { type, ...fields },
    filter,
    ...others
  } = message
  const rest = filter === undefined ? others : { ...others, filter: { ...filter, ...metadataIn(filter) } }
  const point = ([longitude, latitude]: [number, number]) => ({ latitude, longitude })
  if (type === 'circle') return { ...rest, circle: { ...fields, center: point(fields.center) } }
  if (type === 'box') {
    const [west, south, east, north] = fields.box
    return { ...rest, box: { west, south, east, north } }
  }
  if (type === 'geofence') return { ...rest, geofence: fields }
  return {
    ...rest,
    polygon: { rings: fields.coordinates.map((ring: [number, number][]) => ({ points: ring.map(point) })) },
  }
}

function metadataIn({ metadata }: Message): Message {
  const kinds: Record<string, string> = { string: 'text', number: 'number', boolean: 'boolean' }
  return (
    metadata !== undefined && {
      metadata: Object.fromEntries(
        Object.entries(metadata).map(([name, value]) => [name, { [kinds[typeof value]!]: value }]),
      ),
    }
  )
}

function updateInProtobuf({ deviceOS, metadata, beacons, ...rest }: Message): Message {
  return {
    ...rest,
    ...(deviceOS !== undefined && { deviceOs: deviceOS }),
    ...(beacons !== undefined && { beacons: { items: beacons } }),
    ...metadataIn({ metadata }),
  }
}

/** A message of the server as its reader sees it, with records as objects. */
function withRecords(message: Message): Message {
  if (message.type === 'event') return { ...message, event: JSON.parse(message.event) }
  if (message.events === undefined) return message
  return { ...message, events: message.events.map((event: string) => JSON.parse(event)) }
}

/** Without prototypes, undefined members, and the fields that protobufjs adds to show which field of a oneof is set. */
function plain(value: Message): Message {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(
    ([name, member]) => member !== undefined && !/^_[^i]/.test(name),
  )
  return Object.fromEntries(entries.map(([name, member]) => [name, plain(member)]))
}

t.test('property: an acknowledgement that is written step by step is the same', async (t) => {
  const acks = fc.record(
    { type: fc.constant('ack' as const), id, events: fc.array(record, { maxLength: 40 }), omittedEvents: id },
    { requiredKeys: ['type', 'id', 'events'] },
  )
  for (const [encoding, codec] of Object.entries(CODECS) as [Encoding, Codec][])
    fc.assert(
      fc.property(acks, (ack) => {
        const steps = codec.ackSteps(ack)
        let step = steps.next()
        for (; !step.done; step = steps.next());
        const [inSteps, atOnce] = [step.value, codec.encode(ack)].map((bytes) =>
          decode(encoding, Buffer.from(bytes as Uint8Array)),
        )
        assert.deepEqual(inSteps, atOnce)
      }),
      runs(100),
    )
  t.pass()
})
