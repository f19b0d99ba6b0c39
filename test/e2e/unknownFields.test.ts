/**
 * Unknown fields never cause a 400, whatever they contain and wherever they are: in a query, a form, JSON, or the
 * frames of a stream in each encoding. Known fields are checked as always.
 */
import t from 'tap'
import { Packr } from 'msgpackr'
import { KEYS } from '../kit/server.ts'
import { encode, ENCODINGS, Stream } from '../kit/stream.ts'
import { startApi, type Json } from './contract.ts'

const { testPublishable } = KEYS
const api = await startApi(t)
const track = { deviceId: 'd', latitude: 50, longitude: 10, accuracy: 10 }

/** JSON texts. */
const VALUES = [
  '"a\\u0000b"',
  '"\\ud800"',
  '["\\udfff",null]',
  '{"\\u0000":{"\\ud800":"\\u0000"}}',
  '{"__proto__":{"constructor":1}}',
  `${'['.repeat(2000)}${']'.repeat(2000)}`,
  JSON.stringify(Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`k${i}`, i]))),
  'null',
  '1e999',
]
const NAMES = ['unknown', '__proto__', 'constructor', 'prototype', '\\u0000', '\\ud800', 'hasOwnProperty']

/** The JSON text of an object with one more member. */
function withMember(object: Json, name: string, value: string): string {
  return `${JSON.stringify(object).slice(0, -1)},"${name}":${value}}`
}

async function status(...request: Parameters<typeof api.call>): Promise<string> {
  const { status: code, body } = await api.call(...request)
  return code === 200 ? '200' : `${code} ${body.meta.message}`
}

t.test('JSON: at the top, in a list of objects, and in an object', async (t) => {
  for (const value of VALUES) {
    for (const name of NAMES) {
      const at = `${name}: ${value.slice(0, 40)}`
      const body = withMember({ ...track, deviceId: `json ${at}`.slice(0, 200) }, name, value)
      t.equal(await status('POST', '/v1/track', body, testPublishable), '200', at)
    }
    const ranged = withMember({ type: 'ibeacon', uuid: 'a', major: '1', minor: '2' }, 'geometry', value)
    const replay = `{"replays":[${withMember({ ...track, deviceId: 'r' }, 'beacons', `[${ranged}]`)}]}`
    t.equal(
      await status('POST', '/v1/track/replay', replay, testPublishable),
      '200',
      `beacon: ${value.slice(0, 40)}`,
    )
    const geofence = { description: 'g', type: 'circle', coordinates: [10, 50], radius: 100 }
    t.equal(await status('PUT', '/v1/geofences/a/1', withMember(geofence, 'unknown', value)), '200')
    const event = withMember({ name: 'x', deviceId: 'd' }, 'unknown', value)
    t.equal(await status('POST', '/v1/events', event, testPublishable), '200')
    const click = `{"sessionToken":${value},"requestId":${value},"idx":${value},"more":${value}}`
    t.equal(await status('POST', '/v1/search/autocomplete/click', click, testPublishable), '200')
  }
})

t.test('known fields are still checked', async (t) => {
  const bad = async (name: string, value: string) =>
    status('POST', '/v1/track', withMember({ ...track, deviceId: 'known' }, name, value), testPublishable)
  t.equal(await bad('userId', '"\\u0000"'), '400 userId: Must not contain NUL characters.')
  t.equal(await bad('description', '"\\ud800"'), '400 description: Must be valid Unicode.')
  t.equal(await bad('metadata', '{"\\u0000":1}'), '400 metadata.\u{FFFD}: Must not contain NUL characters.')
  t.equal(await bad('metadata', '{"constructor":1}'), '400 metadata.constructor: Key not allowed.')
  t.equal(
    await bad('beacons', '[{"type":"\\u0000"}]'),
    '400 beacons.0.type: Must not contain NUL characters.',
  )
  t.equal(
    await status('PATCH', '/v1/settings', '{"__proto__":1}'),
    (await status('PATCH', '/v1/settings', '{"nothing":1}')).replace('nothing', '__proto__'),
    'where unknown names are refused, all are',
  )
})

t.test('forms and queries', async (t) => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const good = 'latitude=50&longitude=10&accuracy=10'
  const odd = ['%00', '%zz', '%ff', '{"a":"\\u0000"}', '[['.repeat(500), encodeURIComponent('\u{FFFD}')]
  for (const name of [
    'unknown',
    'unknown[%00]',
    'unknown[a',
    'a[][]',
    '__proto__',
    '%zz',
    '%00',
    'a'.repeat(5000),
  ]) {
    for (const value of odd) {
      const pair = `${name}=${value}`
      const body = `deviceId=${encodeURIComponent(pair.slice(0, 80))}&${good}&${pair}`
      t.equal(await status('POST', '/v1/track', body, testPublishable, form), '200', pair.slice(0, 60))
      const query = `coordinates=50,10&${pair}`
      t.equal(
        await status('GET', `/v1/context?${query}`, undefined, testPublishable),
        '200',
        pair.slice(0, 60),
      )
    }
  }
})

for (const encoding of ENCODINGS) {
  t.test(`frames in ${encoding}`, async (t) => {
    const stream = await Stream.open(api.server, { encoding })
    t.teardown(() => void stream.close())
    const updates = (odd: Json) => [
      { ...track, deviceId: `${encoding} 1`, ...odd },
      { ...track, deviceId: 'two' },
    ]
    let id = 0
    const isTaken = async (bytes: string | Uint8Array, what: string) => {
      stream.socket.send(bytes)
      t.match(await stream.next(), { type: 'ack', id }, what)
    }
    if (encoding === 'protobuf') {
      // Field 1000 of the message, then of the frame, then of the update, with bytes that are not text.
      const odd = Uint8Array.from([0xc2, 0x3e, 3, 0, 0xff, 0xfe])
      const plain = () =>
        encode(encoding, { type: 'track', id: ++id, updates: updates({}) } as Json) as Uint8Array
      await isTaken(Buffer.concat([plain(), odd]), 'in the message')
      const inFrame = plain()
      // The frame is the only field of the message, and its length fits into one byte.
      const frame = Buffer.concat([inFrame.subarray(2), odd])
      t.ok(frame.length < 128)
      await isTaken(
        Buffer.concat([inFrame.subarray(0, 1), Uint8Array.of(frame.length), frame]),
        'in the frame',
      )
      return
    }
    for (const value of VALUES.filter((text) => encoding === 'json' || !text.startsWith('[['))) {
      if (encoding === 'msgpack' && value.includes('k1999')) continue
      for (const name of ['unknown', '__proto__', '\\ud800']) {
        id++
        const update = withMember({ ...track, deviceId: 'one' }, name, value)
        const text = `{"type":"track","id":${id},"updates":[${update},${JSON.stringify(track)}],"${name}":${value}}`
        const bytes = encoding === 'json' ? text : Uint8Array.from(packedOf(text))
        await isTaken(bytes, `${name}: ${value.slice(0, 40)}`)
      }
    }
    // An invalid update is no reason to refuse another one.
    const bad = withMember({ ...track, deviceId: 'one' }, 'userId', '"\\u0000"')
    const text = `{"type":"track","id":${++id},"updates":[${JSON.stringify(track)},${bad}]}`
    stream.socket.send(encoding === 'json' ? text : Uint8Array.from(packedOf(text)))
    const message = 'userId: Must not contain NUL characters.'
    t.match(await stream.next(), { type: 'error', id, index: 1, code: 400, message })
    t.match(await stream.next(), { type: 'ack', id })
  })
}

/** MessagePack with the content of a JSON text, including members called `__proto__` and lone surrogates. */
function packedOf(text: string): Uint8Array {
  const packr = new Packr({ useRecords: false, variableMapSize: true, mapsAsObjects: false })
  const asMaps = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(asMaps)
    if (typeof value !== 'object' || value === null) return value
    return new Map(Object.entries(value).map(([key, member]) => [key, asMaps(member)]))
  }
  return packr.pack(asMaps(JSON.parse(text)))
}
