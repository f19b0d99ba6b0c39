/** Queries and forms as people and their libraries write them: the resulting values, and what is refused. */
import { deepStrictEqual } from 'node:assert/strict'
import t from 'tap'
import Type from 'typebox'
import type { TObject, TSchema } from 'typebox'
import { readForm } from '../../src/http/formValues.ts'
import { cleanValue } from '../../src/http/cleanValue.ts'
import { parseJsonObject } from '../../src/http/jsonBody.ts'
import { Validator } from '../../src/http/validate.ts'
import { GeofenceBody } from '../../src/registry/geofences/geofenceFields.ts'
import { MetadataFilter } from '../../src/http/schemas.ts'
import { SettingsRecord } from '../../src/registry/settings/settingsSchema.ts'
import { WebhookBody, WebhookChangeBody } from '../../src/registry/webhooks/webhookSchema.ts'
import fc from '../kit/fastCheck.ts'
import { toyRoutes } from './toy.ts'

const RUNS = Number(process.env.RINGFENCE_TEST_RUNS ?? 1)

const Scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean()])
const Beacon = Type.Object({
  type: Type.String(),
  uuid: Type.Optional(Type.String()),
  rssi: Type.Optional(Type.Number()),
  near: Type.Optional(Type.Boolean()),
})
const Body = Type.Object({
  name: Type.Optional(Type.String()),
  count: Type.Optional(Type.Integer()),
  share: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  on: Type.Optional(Type.Boolean()),
  metadata: Type.Optional(Type.Record(Type.String(), Scalar)),
  tags: Type.Optional(Type.Array(Type.String())),
  ring: Type.Optional(Type.Array(Type.Array(Type.Number()))),
  beacons: Type.Optional(Type.Array(Beacon)),
  nested: Type.Optional(
    Type.Object({ list: Type.Array(Type.Object({ a: Type.Optional(Type.Array(Type.Boolean())) })) }),
  ),
})

/** The value before it is checked against the schema. */
const read = (schema: TObject, text: string): unknown => {
  try {
    const fields = readForm(text, schema.properties, 'keep')
    cleanValue(fields, schema, [], true)
    return fields
  } catch (error) {
    return (error as Error).message
  }
}

t.test('brackets, repeated names and JSON text', (t) => {
  const cases: readonly (readonly [schema: TObject, text: string, wanted: unknown])[] = [
    [GeofenceBody, 'coordinates[]=-73.9&coordinates[]=40', { coordinates: [-73.9, 40] }],
    [GeofenceBody, 'coordinates[0]=-73.9&coordinates[1]=40', { coordinates: [-73.9, 40] }],
    [GeofenceBody, 'coordinates[1]=40&coordinates[0]=-73.9', { coordinates: [-73.9, 40] }],
    [GeofenceBody, 'coordinates=-73.9&coordinates=40', { coordinates: [-73.9, 40] }],
    [GeofenceBody, 'coordinates=[-73.9,+40]', { coordinates: [-73.9, 40] }],
    [
      GeofenceBody,
      'coordinates[0][0]=1&coordinates[0][1]=2&coordinates[1][]=3&coordinates[1][]=4',
      {
        coordinates: [
          [1, 2],
          [3, 4],
        ],
      },
    ],
    [
      GeofenceBody,
      'coordinates[]=[1,2]&coordinates[]=[3,4]',
      {
        coordinates: [
          [1, 2],
          [3, 4],
        ],
      },
    ],
    [
      GeofenceBody,
      'operatingHours[sun][0][0]=9:00&operatingHours[sun][0][1]=17:00&operatingHours[mon]=[["8:00","24:00"]]',
      { operatingHours: { sun: [['9:00', '17:00']], mon: [['8:00', '24:00']] } },
    ],
    [
      GeofenceBody,
      'operatingHours={"sun":[["9:00","17:00"]]}',
      { operatingHours: { sun: [['9:00', '17:00']] } },
    ],
    [
      GeofenceBody,
      'metadata[floor]=2&metadata[open]=true&metadata[zip]=00501&metadata[v]=1.0&metadata[n]=null&metadata[x]=NaN',
      { metadata: { floor: 2, open: true, zip: '00501', v: '1.0', n: 'null', x: 'NaN' } },
    ],
    [GeofenceBody, 'metadata={"floor":2,"gone":null}', { metadata: { floor: 2 } }],
    [GeofenceBody, 'userIds=a&userIds=b', { userIds: ['a', 'b'] }],
    [GeofenceBody, 'userIds=a,b', { userIds: 'a,b' }],
    [GeofenceBody, 'userIds[]=a', { userIds: ['a'] }],
    [GeofenceBody, 'userIds[]=', { userIds: [] }],
    [GeofenceBody, 'userIds[]=7&userIds[]=007&userIds[]=true', { userIds: ['7', '007', 'true'] }],
    [GeofenceBody, 'userIds=7&userIds=8', { userIds: ['7', '8'] }],
    [GeofenceBody, 'userIds=7,8', { userIds: '7,8' }],
    [GeofenceBody, 'userIds=7', { userIds: '7' }],
    [WebhookBody, 'tags[]=7&tags[]=true&types=a&types=8', { tags: ['7', 'true'], types: ['a', '8'] }],
    [WebhookChangeBody, 'tags[]=7&types=8&types=9', { tags: ['7'], types: ['8', '9'] }],
    [GeofenceBody, 'tag=a&tag=b', { tag: 'b' }],
    [
      GeofenceBody,
      'tag=5&enabled=True&radius=1e3&description=null',
      { tag: '5', enabled: 'True', radius: '1e3', description: 'null' },
    ],
    [
      SettingsRecord,
      'bufferExits=True&bufferEntries=0&stopDetection=1',
      { bufferExits: true, bufferEntries: false, stopDetection: true },
    ],
    [SettingsRecord, 'maxGapSeconds=%2B1.50&beaconUuids=abc', { maxGapSeconds: 1.5, beaconUuids: ['abc'] }],
    [SettingsRecord, 'bufferexits=true&bufferExits[x]=1', { bufferexits: 'true', bufferExits: { x: 1 } }],
    [
      Body,
      'beacons[0][type]=a&beacons[0][rssi]=-70&beacons[1][type]=b',
      { beacons: [{ type: 'a', rssi: -70 }, { type: 'b' }] },
    ],
    [
      Body,
      'beacons[][type]=a&beacons[][rssi]=-70&beacons[][type]=b',
      { beacons: [{ type: 'a', rssi: -70 }, { type: 'b' }] },
    ],
    [Body, 'metadata=[object+Object]&on=', {}],
    [Body, 'tags[]=&tags[]=a', { tags: ['', 'a'] }],
    [Body, 'tags=&tags=a', { tags: ['a'] }],
    [Body, 'name[a]=1', { name: { a: 1 } }],
    [Body, 'metadata[0]=a&metadata[1]=b', { metadata: { 0: 'a', 1: 'b' } }],
    [Body, 'other[a][b]=1&other[999999]=2&o[=3', { 'other[a][b]': '1', 'other[999999]': '2', 'o[': '3' }],
    [Body, 'count=7&count[a]=8', { count: { a: 8 } }],
    [Body, 'count[a]=8&count=7', { count: 7 }],
  ]
  for (const [schema, text, wanted] of cases) t.strictSame(read(schema, text), wanted, text)
  t.end()
})

t.test('what is refused', (t) => {
  const deep = (levels: number): string => `ring${'[0]'.repeat(levels)}=1`
  const cases: readonly (readonly [text: string, sentence: string])[] = [
    ['tags[999999]=a', 'tags: Indexes must run from 0 without gaps.'],
    ['tags[0]=a&tags[2]=b', 'tags: Indexes must run from 0 without gaps.'],
    ['ring[0][1]=a', 'ring.0: Indexes must run from 0 without gaps.'],
    [deep(9), 'ring: Must not be nested deeper than 8 levels.'],
    [deep(1000), 'ring: Must not be nested deeper than 8 levels.'],
    ['metadata[a]=1&metadata[]=2', 'metadata: Must not have both [] and names in brackets.'],
    ['metadata[a=1', 'metadata: Brackets in its name must close.'],
    ['metadata[a]b=1', 'metadata: Brackets in its name must close.'],
    ['metadata[[a]]=1', 'metadata: Brackets in its name must close.'],
    ['metadata[__proto__]=1', 'metadata.__proto__: Key not allowed.'],
    ['metadata[a][constructor]=1', 'metadata.a.constructor: Key not allowed.'],
    ['metadata={"__proto__":1}', 'metadata.__proto__: Key not allowed.'],
    ['metadata[%00]=1', 'metadata.\u{FFFD}: Must not contain NUL characters.'],
    ['beacons[0][type]=%00', 'beacons.0.type: Must not contain NUL characters.'],
    ['other=%00', ''],
    ['other=%zz', ''],
    ['%zz=1', ''],
    ['metadata[%zz]=1', 'metadata: Invalid escape sequence.'],
    ['name=%zz', 'name: Invalid escape sequence.'],
    ['a&'.repeat(10_001), 'Too many parameters: at most 10000.'],
    [
      `metadata[${'k'.repeat(100_000)}]=${encodeURIComponent('\u0000')}`,
      `metadata.${'k'.repeat(64)}…: Must not contain NUL characters.`,
    ],
    [`tags=${'['.repeat(500_000)}`, 'tags: Must not be nested deeper than 64 levels.'],
    [`tags=${'['.repeat(50)}`, ''],
  ]
  for (const [text, sentence] of cases) {
    const got = read(Body, text)
    if (sentence !== '') t.equal(got, sentence, text.slice(0, 60))
    else t.type(got, 'object', 'no JSON, so a text')
  }
  const flood = Array.from({ length: 9999 }, (_, i) => `ring[${i}][0]=${i}`).join('&')
  t.equal((read(Body, flood) as { ring: unknown[] }).ring.length, 9999)
  t.notOk('a' in {})
  t.end()
})

t.test('filters are texts, however they are sent', (t) => {
  const schema = Type.Object({ metadata: Type.Optional(MetadataFilter) })
  for (const [text, metadata] of [
    ['metadata[a]=1&metadata[b]=true&metadata[c]=x', { a: '1', b: 'true', c: 'x' }],
    ['metadata={"a":1,"b":true,"c":"x","d":null}', { a: '1', b: 'true', c: 'x' }],
    ['metadata=[object%20Object]', undefined],
    ['metadata=', undefined],
  ] as const) {
    const query = readForm(text, schema.properties, 'drop')
    new Validator(schema).check(query)
    t.strictSame(query.metadata, metadata, text)
  }
  t.strictSame(
    readForm('other=1&__proto__=2', schema.properties, 'drop'),
    {},
    'a query may hold anything else',
  )
  t.end()
})

/**
 * Any JSON that a schema allows and that a form can express: no empty texts, and no texts that would be read as
 * something else.
 */
function anyOf(schema: TSchema): fc.Arbitrary<unknown> {
  const {
    anyOf: variants,
    type,
    const: literal,
    properties,
    items,
    patternProperties,
  } = schema as {
    anyOf?: TSchema[]
    type?: string
    const?: unknown
    properties?: Record<string, TSchema>
    items?: TSchema
    patternProperties?: Record<string, TSchema>
  }
  if (literal !== undefined) return fc.constant(literal)
  if (variants !== undefined) {
    return fc.oneof(
      ...variants.filter((variant) => (variant as { type?: string }).type !== 'null').map(anyOf),
    )
  }
  const text = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .filter((value) => value.isWellFormed() && !value.includes('\0') && !/^[\s]*[[{]/.test(value))
    .filter((value) => !/^(?:true|false)$/.test(value) && Number.isNaN(Number(value)))
  const key = text.filter((value) => !/[[\]]|^(?:__proto__|constructor|prototype)$/.test(value))
  switch (type) {
    case 'string':
      return text
    case 'integer':
      return fc.integer()
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0 || 0)
    case 'boolean':
      return fc.boolean()
    case 'array':
      return fc.array(anyOf(items!), { minLength: 1, maxLength: 4 })
    case 'object': {
      if (patternProperties !== undefined) {
        return fc.dictionary(key, anyOf(Object.values(patternProperties)[0]!), { minKeys: 1, maxKeys: 4 })
      }
      // Any object.
      if (Object.keys(properties!).length === 0) return fc.dictionary(key, text, { minKeys: 1, maxKeys: 4 })
      const required = new Set((schema as { required?: string[] }).required)
      const names = Object.keys(properties!)
      return fc
        .record(Object.fromEntries(names.map((name) => [name, anyOf(properties![name]!)])), {
          requiredKeys: names.filter((name) => required.has(name)),
          noNullPrototype: true,
        })
        .filter((value) => Object.keys(value).length > 0)
    }
    default:
      return text
  }
}

/** The pairs of a form that express a value, in one of the ways that libraries use; `style` chooses which. */
function pairsOf(name: string, value: unknown, style: () => number): string[] {
  const pair = (text: string): string[] => [
    `${encodeURIComponent(name)}=${encodeURIComponent(text).replaceAll('%20', '+')}`,
  ]
  if (typeof value !== 'object' || value === null) return pair(String(value))
  const drawn = style()
  if (drawn === 0) return pair(JSON.stringify(value))
  if (!Array.isArray(value)) {
    return Object.entries(value).flatMap(([key, member]) => pairsOf(`${name}[${key}]`, member, style))
  }
  const isFlat = value.every((item) => typeof item !== 'object')
  if (isFlat && drawn === 1) return value.flatMap((item) => pairsOf(`${name}[]`, item, style))
  if (isFlat && drawn === 2 && value.length > 1) return value.flatMap((item) => pairsOf(name, item, style))
  return value.flatMap((item, i) => pairsOf(`${name}[${i}]`, item, style))
}

const track = toyRoutes().find(({ path }) => path === '/v1/track')!.body as typeof Body
const { dwellThreshold: _, maxAccuracyMeters: __, ...numbers } = SettingsRecord.properties

for (const [name, schema] of [
  ['a nested body', Body],
  ['a track', track],
  ['settings', Type.Partial(Type.Object(numbers))],
] as const) {
  t.test(`the form of ${name} gives the same value as its JSON`, (t) => {
    fc.assert(
      fc.property(anyOf(schema), fc.array(fc.nat(3), { minLength: 1 }), (body, styles) => {
        let at = 0
        const style = (): number => styles[at++ % styles.length]!
        const form = Object.entries(body as object).flatMap(([field, value]) => pairsOf(field, value, style))
        const fromJson = parseJsonObject(JSON.stringify(body))
        deepStrictEqual(readForm(form.join('&'), (schema as typeof Body).properties, 'keep'), fromJson)
      }),
      { numRuns: 200 * RUNS },
    )
    t.end()
  })
}

t.test('a broken form has no effect but a refusal', (t) => {
  const piece = fc.constantFrom(
    'ring',
    'tags',
    'metadata',
    'beacons',
    '[',
    ']',
    '[]',
    '[0]',
    '[1]',
    '[a]',
    '=',
    '&',
    '%5B',
    '%',
    '1',
    'true',
    '{"a":1}',
    '[[1]]',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      try {
        new Validator(Body).check(readForm(pieces.join(''), Body.properties, 'keep'))
        return true
      } catch (error) {
        return (error as { code?: number }).code === 400
      }
    }),
    { numRuns: 2000 * RUNS },
  )
  t.end()
})
