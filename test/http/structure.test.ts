import { Packr } from 'msgpackr'
import protobuf from 'protobufjs/light.js'
import t from 'tap'
import { readForm } from '../../src/http/formValues.ts'
import { parseJsonObject } from '../../src/http/jsonBody.ts'
import { parseJson } from '../../src/http/jsonStructure.ts'
import { parseGeofence } from '../../src/registry/geofences/parseGeofence.ts'
import { jsonCodec } from '../../src/stream/jsonCodec.ts'
import { msgpackCodec } from '../../src/stream/msgpackCodec.ts'
import { protobufCodec } from '../../src/stream/protobufCodec.ts'
import Type from 'typebox'
import { runs } from '../geometry/shapes.ts'
import fc from '../kit/fastCheck.ts'
import { encode } from '../kit/stream.ts'

/**
 * Bodies that are expensive to parse because of their structure (G7). They are refused before they are parsed,
 * wherever JSON, MessagePack or protobuf is read.
 */

const MEGABYTE = 1_048_576

function list(item: (i: number) => string): string {
  const items: string[] = []
  for (let i = 0, length = 0; length < MEGABYTE - 100; i++) {
    const text = item(i)
    items.push(text)
    length += text.length + 1
  }
  return `[${items.join(',')}]`
}

const HOSTILE: Readonly<Record<string, readonly [json: string, message: RegExp]>> = {
  'empty lists': [list(() => '[]'), /at most 20000 objects and lists/],
  'empty objects': [list(() => '{}'), /at most 20000 objects and lists/],
  'objects with names of their own': [list((i) => `{"${i.toString(36)}":1}`), /at most 5000 different keys/],
  'objects with the same names': [
    list(() => '{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":0}'),
    /at most 100000 keys/,
  ],
  members: [
    list((i) => `"${i.toString(36)}":1`)
      .replace('[', '{')
      .replace(']', '}'),
    /different keys/,
  ],
  'names that begin with an escape': [list((i) => `{"\\n${i}":1}`), /different keys/],
  'nested lists': ['['.repeat(MEGABYTE / 2) + ']'.repeat(MEGABYTE / 2), /deeper than 64/],
  'nested objects': ['{"a":'.repeat(MEGABYTE / 6) + '1' + '}'.repeat(MEGABYTE / 6), /deeper than 64/],
}

t.test('expensive structures are refused by their limit, before they are parsed', (t) => {
  const real = JSON.parse
  t.teardown(() => (JSON.parse = real))
  JSON.parse = () => t.fail('parsed')
  for (const [name, [json, message]] of Object.entries(HOSTILE)) {
    const inBody = `{"x":${json}}`
    const refusal = { code: 400, message }
    t.throws(() => parseJsonObject(inBody), { ...refusal, param: 'body' }, name)
    t.throws(() => jsonCodec.decode(Buffer.from(inBody)), { ...refusal, param: 'message' }, name)
    const metadata = Type.Record(Type.String(), Type.Unknown())
    const form = `metadata=${encodeURIComponent(json)}`
    t.throws(() => readForm(form, { metadata }, 'keep'), { ...refusal, param: 'metadata' }, name)
    const definition = { description: 'x', tag: 'x', externalId: 'x', type: 'polygon', coordinates: json }
    t.throws(() => parseGeofence(definition), { ...refusal, param: 'coordinates' }, name)
  }
  t.end()
})

t.test('many short texts of one form are counted together', (t) => {
  const schema = { metadata: Type.Record(Type.String(), Type.Array(Type.Unknown())) }
  const text = encodeURIComponent(`[${'[],'.repeat(300)}[]]`)
  const form = (count: number) => Array.from({ length: count }, (_, i) => `metadata[${i}]=${text}`).join('&')
  t.equal(Object.keys(readForm(form(50), schema, 'keep')['metadata'] as object).length, 50)
  t.throws(() => readForm(form(100), schema, 'keep'), { code: 400, message: /objects and lists/ })
  t.equal(Object.keys(readForm(form(50), schema, 'keep')['metadata'] as object).length, 50, 'each by itself')
  t.end()
})

t.test('the same in MessagePack', (t) => {
  const packr = new Packr({ useRecords: false, variableMapSize: true })
  const many = (item: (i: number) => unknown, length = 300_000) => Array.from({ length }, (_, i) => item(i))
  const cases: [unknown, RegExp][] = [
    [many(() => ({})), /objects and lists/],
    [many(() => []), /objects and lists/],
    [many(() => ''), /values/],
    [many(() => 1), /values/],
    [many((i) => ({ [i.toString(36)]: 1 }), 10_000), /different keys/],
    [Object.fromEntries(many((i) => i).map((i) => [`k${String(i)}`, 1])), /different keys/],
  ]
  for (const [x, message] of cases) {
    const bytes = packr.pack({ type: 'ping', x })
    t.throws(() => msgpackCodec.decode(bytes), { code: 400, param: 'message', message })
  }
  t.end()
})

t.test('the same in protobuf', (t) => {
  /** A field with contents: its tag, its length and them. */
  const field = (number: number, contents: Uint8Array | string): Buffer =>
    Buffer.from(
      protobuf.Writer.create()
        .uint32((number << 3) | 2)
        .bytes(typeof contents === 'string' ? Buffer.from(contents) : contents)
        .finish(),
    )
  const many = (item: (i: number) => Uint8Array, length = 300_000) =>
    Buffer.concat(Array.from({ length }, (_, i) => item(i)))
  const empty = (number: number) => many(() => field(number, ''))
  const entry = (i: number) => field(1, i.toString(36))
  const update = (contents: Uint8Array) => field(1, field(2, contents))
  const cases: Readonly<Record<string, [Uint8Array, RegExp]>> = {
    tracks: [empty(1), /objects and lists/],
    updates: [field(1, empty(2)), /objects and lists/],
    'entries of metadata': [update(empty(21)), /values/],
    'entries with the same key': [update(many(() => field(21, field(1, 'a')))), /keys in all/],
    'keys of their own': [update(many((i) => field(21, entry(i)), 10_000)), /different keys/],
    beacons: [update(field(22, empty(1))), /objects and lists/],
    'one field again and again': [update(empty(1)), /values/],
    'fields that nobody knows': [update(empty(15_000)), /values/],
    'texts of a filter': [field(2, field(2, empty(1))), /values/],
    rings: [field(4, field(4, empty(1))), /objects and lists/],
    points: [field(4, field(4, field(1, empty(1)))), /objects and lists/],
  }
  for (const [name, [bytes, message]] of Object.entries(cases))
    t.throws(() => protobufCodec.decode(Buffer.from(bytes)), { code: 400, param: 'message', message }, name)
  const metadata = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`key ${i}`, { number: i }]))
  const beacons = { items: Array.from({ length: 8 }, () => ({ type: 'ibeacon', uuid: 'x', major: '1' })) }
  const whole = { deviceId: 'x', latitude: 1, longitude: 2, accuracy: 5, foreground: true, metadata, beacons }
  const track = { type: 'track', id: 1, updates: Array.from({ length: 1000 }, () => whole) }
  const largest = encode('protobuf', track)
  t.equal((protobufCodec.decode(Buffer.from(largest)) as { updates?: unknown[] }).updates?.length, 1000)
  t.end()
})

t.test('the largest bodies of the interface pass', (t) => {
  const metadata = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`key ${i}`, i]))
  const beacons = Array.from({ length: 8 }, () => ({ type: 'ibeacon', uuid: 'x', major: '1', minor: '2' }))
  const update = { deviceId: 'x', latitude: 1, longitude: 2, accuracy: 5, foreground: true, stopped: false }
  const replays = Array.from({ length: 1000 }, () => ({ ...update, metadata }))
  const ranged = Array.from({ length: 1000 }, () => ({ ...update, beacons }))
  const coordinates = [Array.from({ length: 2000 }, (_, i) => [i / 100, i / 200])]
  const userIds = Array.from({ length: 10_000 }, (_, i) => `user-${i}`)
  for (const body of [{ replays }, { replays: ranged }, { coordinates, userIds }])
    t.same(parseJsonObject(JSON.stringify(body)), body)
  t.end()
})

t.test('whatever is within the limits is parsed as usual', (t) => {
  // Long enough that its structure is checked.
  const padding = 'x'.repeat(20_000)
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), (json) => {
      const text = `[${json},"${padding}"]`
      if (JSON.stringify(parseJson(text, 'body')) !== JSON.stringify(JSON.parse(text))) throw new Error(json)
    }),
    runs(300),
  )
  for (const text of ['{"a', '"\\', '[', `]${']'.repeat(100)}`, '{"a"::::}', '\\"'])
    t.throws(() => parseJson(padding + text, 'body'), { name: 'SyntaxError' })
  t.end()
})
