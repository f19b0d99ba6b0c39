/**
 * The fast readers of frames, compared with the slow ones. What they read is the same, and what they do not read they
 * leave untouched.
 */
import { Senders } from '../../src/wire/senders.ts'
import assert from 'node:assert/strict'
import t from 'tap'
import { Endpoint } from '../../src/http/endpoint.ts'
import { route } from '../../src/http/route.ts'
import { TrackBody, updateFrom, type Stamp } from '../../src/wire/trackSchema.ts'
import type { Update } from '../../src/model/update.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { scanJsonUpdate } from '../../src/wire/jsonScanner.ts'
import { jsonCodec } from '../../src/stream/jsonCodec.ts'
import { msgpackCodec } from '../../src/stream/msgpackCodec.ts'
import type { Codec } from '../../src/stream/port.ts'
import { protobufCodec } from '../../src/stream/protobufCodec.ts'
import { readTrack, type TrackFrame } from '../../src/wire/trackFrame.ts'
import fc from '../kit/fastCheck.ts'
import { encode, type Encoding, type Message } from '../kit/stream.ts'

const senders = new Senders()
const runs = (count: number) => ({ numRuns: count * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1) })

const CODECS: Readonly<Record<Encoding, Codec>> = {
  json: jsonCodec,
  msgpack: msgpackCodec,
  protobuf: protobufCodec,
}
/** As POST /v1/track reads bodies that are not scanned. */
const trackEndpoint = new Endpoint(
  route({
    method: 'POST',
    path: '/',
    auth: 'none',
    tag: '',
    summary: '',
    body: TrackBody,
    answers: {},
    handler: () => ({}),
  }),
  () => {},
)
const NOW = Date.parse('2026-11-20T12:00:00Z')

/** What the decoder and the schemas make of the bytes; undefined if they refuse any part. */
function slowly(codec: Codec, bytes: Buffer, stamp: Stamp): TrackFrame | undefined {
  try {
    const message = codec.decode(bytes)
    if (message.type !== 'track') return undefined
    const frame = readTrack(message, stamp)
    return frame.refusals === undefined ? frame : undefined
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return undefined
  }
}

/** With the updates as plain objects with their own fields. */
function plain(frame: TrackFrame): TrackFrame {
  return { ...frame, updates: frame.updates.map(plainUpdate) }
}

function plainUpdate(update: Update): Update {
  return {
    scope: update.scope,
    deviceId: update.deviceId,
    userId: update.userId,
    installId: update.installId,
    latitude: update.latitude,
    longitude: update.longitude,
    accuracy: update.accuracy,
    foreground: update.foreground,
    stopped: update.stopped,
    replayed: update.replayed,
    updatedAt: update.updatedAt,
    description: update.description,
    metadata: update.metadata,
    deviceType: update.deviceType,
    deviceOS: update.deviceOS,
    deviceMake: update.deviceMake,
    deviceModel: update.deviceModel,
    source: update.source,
    beacons: update.beacons,
    stream: update.stream,
    sequence: update.sequence,
    receivedAt: update.receivedAt,
    ip: update.ip,
  }
}

/** What a scanner reads must equal the result of the slow way. Returns whether it read the bytes. */
function agrees(codec: Codec, bytes: Buffer, stamp: Stamp): boolean {
  const fast = codec.scanTrack(bytes, stamp, senders)
  if (fast !== undefined) assert.deepStrictEqual(plain(fast), slowly(codec, bytes, stamp))
  return fast !== undefined
}

const stamps = fc.record({
  scope: fc.nat(5),
  ip: fc.constant('192.0.2.1'),
  receivedAt: fc.constant(NOW),
  fromSdk: fc.boolean(),
})
const name = fc.oneof(
  { weight: 80, arbitrary: fc.stringMatching(/^[a-zA-Z0-9 :-]{1,12}$/) },
  fc.constantFrom('anonymous', '', 'a'.repeat(256), 'a'.repeat(257), 'é', '"', '\\', '\n', 'Android', 'iOS'),
)
const number = fc.oneof(
  fc.double({ min: -200, max: 200, noNaN: true }),
  fc.integer({ min: -200, max: 200 }),
  fc.integer({ min: -90_000_000, max: 90_000_000 }).map((drawn) => drawn / 1e6),
  fc.constantFrom(0, -0, 1e-7, 5e-324, 1e21, 90, -180, 1.7976931348623157e308, 2 ** 53, NOW),
)
const date = fc.oneof(
  {
    weight: 20,
    arbitrary: fc
      .date({ min: new Date('1990-01-01'), max: new Date(NOW), noInvalidDate: true })
      .filter((drawn) => drawn.getUTCDate() < 29)
      .map((drawn) => drawn.toISOString()),
  },
  fc
    .date({ min: new Date('1969-12-01'), max: new Date('2027-01-01'), noInvalidDate: true })
    .map((drawn) => drawn.toISOString()),
  fc.constantFrom('2026-02-28T23:59:59.999Z', '2026-02-29T00:00:00.000Z', '2026-11-31T00:00:00.000Z'),
  fc.constantFrom(
    '2026-11-20T24:00:00.000Z',
    '2026-13-20T00:00:00.000Z',
    '2026-11-20',
    '2026-11-20T12:00:00Z',
  ),
  fc.integer({ min: NOW - 1e9, max: NOW + 1e9 }),
)
const sequences = fc.oneof(
  { weight: 20, arbitrary: fc.nat(1000) },
  fc.constantFrom(-1, 1.5, 2 ** 40, Number.MAX_SAFE_INTEGER),
)

/** A valid number nearly always, so that most frames are valid as a whole. */
const mostly = (good: fc.Arbitrary<number>) => fc.oneof({ weight: 40, arbitrary: good }, number)

/** Both fields, as a rule; one of them alone is refused. */
const sequenced = fc.oneof(
  { weight: 10, arbitrary: fc.constant({}) },
  { weight: 10, arbitrary: fc.record({ stream: name, sequence: sequences }) },
  fc.record({ stream: name, sequence: sequences }, { requiredKeys: [] }),
)

/** Updates that are mostly valid. */
const drawnUpdate = fc
  .tuple(
    fc.record({
      deviceId: name,
      latitude: mostly(fc.integer({ min: -9e8, max: 9e8 }).map((drawn) => drawn / 1e7)),
      longitude: mostly(fc.integer({ min: -18e8, max: 18e8 }).map((drawn) => drawn / 1e7)),
      accuracy: mostly(fc.integer({ min: 1, max: 1000 }).map((drawn) => drawn / 10)),
    }),
    fc.record(
      {
        userId: name,
        foreground: fc.boolean(),
        stopped: fc.boolean(),
        updatedAt: date,
        installId: name,
        deviceType: fc.constantFrom(
          ...['iOS', 'Android', 'Web'].flatMap((type) => Array(9).fill(type)),
          'Fridge',
        ),
        deviceOS: name,
        deviceMake: name,
        deviceModel: name,
      },
      { requiredKeys: [] },
    ),
    fc.record({ stream: name, sequence: sequences }, { requiredKeys: [] }),
    fc.constantFrom(
      {},
      {},
      {},
      { sdkVersion: '1' },
      { replayed: true },
      { metadata: { a: 1 } },
      { speed: 3 },
    ),
  )
  .map((parts) => Object.assign({}, ...parts) as Message)
const frame = fc
  .tuple(
    fc.record({
      type: fc.constant('track'),
      id: mostly(fc.integer({ min: 1, max: 1e6 })),
      updates: fc.array(drawnUpdate, { maxLength: 3 }),
    }),
    fc.record({ events: fc.boolean() }, { requiredKeys: [] }),
    sequenced,
  )
  .chain(([...parts]) => {
    const message = Object.assign({}, ...parts) as Message
    // In any order.
    return fc
      .shuffledSubarray(Object.keys(message), { minLength: Object.keys(message).length })
      .map((keys) => Object.fromEntries(keys.map((key) => [key, message[key]])))
  }) as fc.Arbitrary<{ type: string }>

/** The result of POST /v1/track for a body that is not scanned; undefined if it is refused. */
function slowBody(bytes: Buffer, stamp: Stamp): Update | undefined {
  try {
    const body = trackEndpoint.readBody(bytes, 'json') as TrackBody
    return updateFrom(body, stamp)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return undefined
  }
}

/** Returns whether the scanner read it. */
function bodyAgrees(bytes: Buffer, stamp: Stamp): boolean {
  const fast = scanJsonUpdate(bytes, stamp, senders)
  if (fast !== undefined) assert.deepStrictEqual(plainUpdate(fast), slowBody(bytes, stamp))
  return fast !== undefined
}

t.test('a body is read as in the slow way, or not at all', async (t) => {
  let read = 0
  const places = fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)), { maxLength: 2 })
  const tails = fc.constantFrom('', '', '', ' \n', ',', '{}')
  fc.assert(
    fc.property(drawnUpdate, stamps, tails, places, (update, stamp, tail, changes) => {
      const text = JSON.stringify(update)
      if (bodyAgrees(Buffer.from(text + tail), stamp)) read++
      const bytes = Buffer.from(text)
      for (const [place, byte] of changes) bytes[Math.floor(place * bytes.length)] = byte
      bodyAgrees(bytes, stamp)
    }),
    runs(5000),
  )
  t.ok(read > 500, `${read} were read fast`)
  const fixed = { scope: 1, ip: '::1', receivedAt: NOW, fromSdk: false }
  const usual = { deviceId: 'van-1', latitude: 50.9413, longitude: -6.9583, accuracy: 10 }
  t.ok(bodyAgrees(Buffer.from(JSON.stringify(usual)), fixed))
  t.ok(bodyAgrees(Buffer.from(`${JSON.stringify(usual, null, 2)}\n`), fixed), 'with spaces')
  for (const more of [
    { deviceId: 'anonymous' },
    { nearbyGeofences: true },
    { replayed: true },
    { metadata: {} },
  ])
    t.notOk(bodyAgrees(Buffer.from(JSON.stringify({ ...usual, ...more })), fixed), JSON.stringify(more))
})

for (const [encoding, codec] of Object.entries(CODECS) as [Encoding, Codec][]) {
  t.test(`${encoding}: a frame is read as in the slow way`, async (t) => {
    let read = 0
    fc.assert(
      fc.property(frame, stamps, (message, stamp) => {
        const bytes = bytesOf(encoding, message)
        if (bytes !== undefined && agrees(codec, bytes, stamp)) read++
      }),
      runs(3000),
    )
    t.ok(read > 100, `${read} were read fast`)
  })

  t.test(`${encoding}: changed bytes are read as in the slow way, or not at all`, async (t) => {
    const changed = fc.record({
      message: frame,
      places: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)), { maxLength: 3 }),
      cut: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 1, noNaN: true })),
    })
    fc.assert(
      fc.property(changed, stamps, ({ message, places, cut }, stamp) => {
        const whole = bytesOf(encoding, message)
        if (whole === undefined) return
        const bytes = Buffer.from(whole.subarray(0, Math.ceil(cut * whole.length)))
        for (const [place, byte] of places) bytes[Math.floor(place * bytes.length)] = byte
        agrees(codec, bytes, stamp)
      }),
      runs(5000),
    )
    t.pass('none was read otherwise')
  })

  t.test(`${encoding}: the frames of usual clients are read by the fast reader`, async (t) => {
    const usual = {
      type: 'track',
      id: 12,
      events: true,
      stream: 'gateway-7',
      sequence: 41,
      updates: [
        { deviceId: 'van-1', latitude: 50.9413, longitude: -6.9583, accuracy: 10 },
        {
          deviceId: '0b1c2d3e-4f50-4a6b-8c7d-9e0f1a2b3c4d',
          userId: 'u1',
          latitude: 52.12345678901234,
          longitude: 0,
          accuracy: 4.5,
          foreground: false,
          stopped: true,
          deviceType: 'Android',
          updatedAt: encoding === 'protobuf' ? NOW : new Date(NOW).toISOString(),
        },
      ],
    }
    const fixed = { scope: 1, ip: '::1', receivedAt: NOW, fromSdk: false }
    t.ok(agrees(codec, bytesOf(encoding, usual)!, fixed))
    if (encoding === 'json')
      t.ok(agrees(codec, Buffer.from(JSON.stringify(usual, null, 2)), fixed), 'with spaces')
    t.strictSame(
      codec.scanTrack(bytesOf(encoding, usual)!, fixed, senders)?.updates.map(({ sequence }) => sequence),
      [41, 42],
    )
    const large = { ...usual, updates: Array(1000).fill(usual.updates[0]) }
    t.ok(agrees(codec, bytesOf(encoding, large)!, fixed), '1,000 updates')
    t.notOk(agrees(codec, bytesOf(encoding, { ...large, updates: [...large.updates, {}] })!, fixed), '1,001')
  })
}

/** Undefined if the encoding cannot express it. */
function bytesOf(encoding: Encoding, message: Message): Buffer | undefined {
  if (encoding !== 'protobuf') return Buffer.from(encode(encoding, message))
  const { updates, ...rest } = message
  if (rest.id < 0 || !Number.isSafeInteger(rest.id) || rest.sequence < 0) return undefined
  const fields = updates.map(({ metadata, deviceOS, updatedAt, speed: _speed, ...update }: Message) => ({
    ...update,
    ...(metadata !== undefined && { metadata: { a: { number: 1 } } }),
    ...(deviceOS !== undefined && { deviceOs: deviceOS }),
    ...(updatedAt !== undefined && {
      updatedAt: typeof updatedAt === 'string' ? Date.parse(updatedAt) : updatedAt,
    }),
  }))
  if ([rest, ...fields].some(({ sequence = 0 }) => sequence < 0 || !Number.isInteger(sequence)))
    return undefined
  return Buffer.from(encode(encoding, { ...rest, updates: fields }))
}
