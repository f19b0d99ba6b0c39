/**
 * Values for JSON schemas, some valid and some nearly valid.
 *
 * A valid value reaches the code behind the validation, and one that is far from valid does not. Values in between
 * show what the validation fails to refuse. So a value is generated from its schema, with the field's name as a hint
 * at what exists in the rest of the world, and is then spoiled in a few places.
 */
import type { Arbitrary } from 'fast-check'
import type { Json } from '../e2e/contract.ts'
import fc from '../kit/fastCheck.ts'

/** JSON text in place of a value, for what no value can express, such as `1e999` or a lone surrogate. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Information that a schema does not contain. */
export interface Hints {
  /** Good values of a field, by its name; undefined if none are known. */
  readonly field: (name: string) => Arbitrary<unknown> | undefined
  /** Members that must agree. They replace members that were generated one by one; undefined ones are removed. */
  readonly object: (properties: Readonly<Record<string, Json>>) => Arbitrary<object> | undefined
}

const SAFE_KEY = fc.stringMatching(/^[a-zA-Z][\w-]{0,8}$/)

/**
 * Values that fit a schema of the document.
 * @param resolve replaces a reference by its target
 * @throws Error for a schema of an unknown kind, so that a new kind of field is not silently left out
 */
export function valuesOf(
  schema: Json,
  resolve: (schema: Json) => Json,
  hints: Hints,
  name = '',
): Arbitrary<unknown> {
  const draw = (part: Json, partName: string) => valuesOf(part, resolve, hints, partName)
  const generic = (): Arbitrary<unknown> => {
    if (schema.$ref !== undefined) return draw(resolve(schema), name)
    if ('const' in schema) return fc.constant(schema.const)
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
    const choices = schema.anyOf ?? schema.oneOf
    if (choices !== undefined) return fc.oneof(...choices.map((choice: Json) => draw(choice, name)))
    switch (schema.type) {
      case 'string':
        return texts(schema)
      case 'number':
      case 'integer':
        return numbers(schema)
      case 'boolean':
        return fc.boolean()
      case 'null':
        return fc.constant(null)
      case 'array': {
        const { minItems = 0, maxItems = Infinity } = schema
        const items = schema.items === undefined ? fc.jsonValue() : draw(schema.items, name)
        return fc.array(items, { minLength: minItems, maxLength: Math.min(maxItems, minItems + 4) })
      }
      case 'object':
        return objects(schema, draw, hints)
      case undefined:
        return fc.jsonValue()
      default:
        throw new Error(`no values are known for ${JSON.stringify(schema).slice(0, 300)}`)
    }
  }
  const known = hints.field(name)
  return known === undefined
    ? generic()
    : fc.oneof({ weight: 20, arbitrary: known }, { weight: 1, arbitrary: generic() })
}

function texts({ minLength = 0, maxLength = 4096, format, pattern, examples = [] }: Json): Arbitrary<string> {
  if (format === 'date-time') return dates
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern))
  const isLonger = (text: string) => [...text].length > maxLength
  const up = (length: number) => ({ minLength, maxLength: Math.max(minLength, Math.min(length, maxLength)) })
  return fc.oneof(
    { weight: 3, arbitrary: fc.string(up(12)) },
    {
      // A grapheme may be several characters.
      weight: 1,
      arbitrary: fc.string({ ...up(8), unit: 'grapheme' }).filter((text) => !isLonger(text)),
    },
    { weight: 1, arbitrary: fc.constantFrom('x'.repeat(maxLength), 'x'.repeat(Math.max(minLength, 1))) },
    ...(examples as string[]).map((example) => ({ weight: 1, arbitrary: fc.constant(example) })),
  )
}

function numbers(schema: Json): Arbitrary<number> {
  const low = schema.minimum ?? schema.exclusiveMinimum ?? -1e6
  const high = schema.maximum ?? schema.exclusiveMaximum ?? Math.max(1e6, low + 1e6)
  const inside = (value: number) =>
    !(value <= (schema.exclusiveMinimum ?? -Infinity) || value >= (schema.exclusiveMaximum ?? Infinity))
  const whole = fc.integer({
    min: Math.ceil(Math.max(low, -(2 ** 31))),
    max: Math.floor(Math.min(high, 2 ** 31 - 1)),
  })
  const edges = fc.constantFrom(low, high)
  const fraction = fc.double({ min: low, max: high, noNaN: true })
  const any =
    schema.type === 'integer' ? fc.oneof(whole, edges.map(Math.trunc)) : fc.oneof(whole, fraction, edges)
  return any.filter(inside)
}

export const dates = fc
  .date({ min: new Date('1970-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString())

function objects(
  schema: Json,
  draw: (part: Json, name: string) => Arbitrary<unknown>,
  hints: Hints,
): Arbitrary<unknown> {
  const properties = (schema.properties ?? {}) as Record<string, Json>
  const members = Object.entries(properties).map(([key, part]) => [key, draw(part, key)] as const)
  const requiredKeys = Object.keys(properties).filter((key) => neededIn(schema).has(key)) as never[]
  const { minProperties = 0, maxProperties = Infinity } = schema
  const named = fc
    .tuple(fc.record(Object.fromEntries(members), { requiredKeys }), fc.nat())
    .map(([value, number]) => atMost(maxProperties, value, requiredKeys, number))
    .filter((value) => Object.keys(value).length >= minProperties)
  const agreeing = hints.object(properties)
  const whole =
    agreeing === undefined
      ? named
      : fc.oneof(
          { weight: 1, arbitrary: named },
          { weight: 20, arbitrary: fc.tuple(named, agreeing).map(([some, over]) => laidOver(some, over)) },
        )
  const additional = schema.additionalProperties === true ? {} : schema.additionalProperties
  const open = Object.values(schema.patternProperties ?? {})[0] ?? additional
  if (open === undefined || open === false) return whole
  const more = fc.dictionary(SAFE_KEY, draw(open as Json, 'value'), {
    maxKeys: Math.min(schema.maxProperties ?? 4, 4),
  })
  return fc.tuple(more, whole).map(([extra, fixed]) => ({ ...extra, ...fixed }))
}

/** So many members of a value: those that are required, and drawn ones. */
function atMost(count: number, value: object, required: readonly string[], draw: number): object {
  const members = Object.entries(value)
  if (members.length <= count) return value
  const others = members.filter(([key]) => !required.includes(key))
  const first = draw % Math.max(1, others.length)
  const kept = [...others.slice(first), ...others.slice(0, first)].slice(0, count - required.length)
  return Object.fromEntries([...members.filter(([key]) => required.includes(key)), ...kept])
}

/** The members that an object with this schema requires, or may require depending on others. */
function neededIn({
  required = [],
  dependentRequired = {},
  anyOf = [],
  allOf = [],
  then,
}: Json): Set<string> {
  const parts: Json[] = [...anyOf, ...allOf, ...(then === undefined ? [] : [then])]
  return new Set([
    ...required,
    ...Object.values<string[]>(dependentRequired).flat(),
    ...parts.flatMap((part) => [...neededIn(part)]),
  ])
}

function laidOver(some: object, over: object): object {
  return Object.fromEntries(Object.entries({ ...some, ...over }).filter(([, member]) => member !== undefined))
}

const nested = (depth: number, open: string, close: string) => open.repeat(depth) + '1' + close.repeat(depth)

/** Texts that have broken parsers, comparisons, look-ups or stores in the past. */
export const HOSTILE_TEXTS: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\n',
  '\r\nX-Injected: 1',
  '\u{FEFF}',
  '\u{202E}abc',
  'ﷺ',
  '💩',
  'e\u0301',
  '%',
  '%00',
  '%2e%2e%2f',
  '../../etc/passwd',
  "' OR 1=1 --",
  '"',
  '\\',
  '%_%',
  '${7*7}',
  '<script>',
  '__proto__',
  'constructor',
  'toString',
  'NaN',
  'Infinity',
  '-0',
  '1e999',
  '0x10',
  'null',
  'undefined',
  'true',
  '[object Object]',
  '50,10',
  '50,10,5',
  ',',
  '2026-11-20',
  '2026-02-30T25:61:61Z',
  '+275760-09-13T00:00:00.001Z',
  '-000000-01-01T00:00:00Z',
  '10.0.0.0/33',
  '::/0',
  '25:00-26:00',
  'ibeacon',
  'x'.repeat(300),
  'x'.repeat(5000),
  `${'1'.repeat(12_000)}x`,
  `1.${'0'.repeat(12_000)}x`,
  'a,'.repeat(6000),
]

/** JSON texts of values that are wrong for most fields. Some are not JSON at all. */
const hostileValues: Arbitrary<RawJson> = fc
  .oneof(
    fc.constantFrom(
      'null',
      'true',
      '0',
      '-0',
      '-1',
      '1.5',
      '1e308',
      '1e999',
      '-1e999',
      '5e-324',
      '0.1e-400',
      '9007199254740993',
      '4294967296',
      '-2147483649',
      '9'.repeat(400),
      '01',
      '+1',
      '.5',
      'NaN',
      '"\\u0000"',
      '"a\\ud800b"',
      '"\\udc00"',
      '"\\x"',
      '[]',
      '[null]',
      '[[]]',
      '[1e999,1]',
      '{}',
      '{"a":null}',
      '{"":""}',
      '{"\\u0000":1}',
      '{"\\ud800":1}',
      '{"__proto__":{"polluted":1}}',
      '{"constructor":{"prototype":{"polluted":1}}}',
      '{"toString":1,"valueOf":2}',
      '{"length":1e9}',
      '{"a":1,"a":2}',
      nested(60, '[', ']'),
      nested(600, '{"a":', '}'),
      nested(20_000, '[', ']'),
      `[${'0,'.repeat(3000)}0]`,
      `{${Array.from({ length: 60 }, (_, i) => `"k${i}":${i}`).join()}}`,
    ),
    fc.constantFrom(...HOSTILE_TEXTS).map((text) => JSON.stringify(text)),
    fc.json({ maxDepth: 4 }),
    fc.string({ unit: 'binary', maxLength: 20 }).map((text) => JSON.stringify(text)),
    fc.double().map(String),
  )
  .map((text) => new RawJson(text))

/** One change of a generated value. A number selects its place among all places. */
interface Edit {
  readonly at: number
  readonly how: 'replace' | 'remove' | 'repeat' | 'rename' | 'list' | 'text'
  readonly value: RawJson
  readonly name: string
}

const edits: Arbitrary<Edit[]> = fc.array(
  fc.record({
    at: fc.nat(400),
    how: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'repeat', 'rename', 'list', 'text'),
    value: hostileValues,
    name: fc.constantFrom(...HOSTILE_TEXTS.slice(0, 30), 'unknown'),
  }),
  { minLength: 1, maxLength: 3 },
)

/** Ways to spoil a value in one to three places; the results are JSON texts. */
export const spoilings: Arbitrary<(value: unknown) => string> = edits.map(
  (changes) => (value) => jsonText(changes.reduce(spoil, value)),
)

/** Values of an arbitrary, spoiled in one to three places, as JSON texts. */
export function spoiled(values: Arbitrary<unknown>): Arbitrary<string> {
  return fc.tuple(values, spoilings).map(([value, spoilIt]) => spoilIt(value))
}

/** A value as JSON text. Members that contain a {@link Repeated} are written twice. */
export function jsonText(value: unknown): string {
  if (value instanceof RawJson) return value.text
  if (value instanceof Repeated) return jsonText(value.value)
  if (Array.isArray(value)) return `[${value.map(jsonText).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).flatMap(([key, member]) => {
    const text = `${JSON.stringify(key)}:${jsonText(member)}`
    return member instanceof Repeated ? [text, `${JSON.stringify(key)}:${jsonText(member.second)}`] : [text]
  })
  return `{${members.join()}}`
}

/** A member that is written twice, with different values. */
class Repeated {
  readonly value: unknown
  readonly second: RawJson

  constructor(value: unknown, second: RawJson) {
    this.value = value
    this.second = second
  }
}

function spoil(root: unknown, edit: Edit): unknown {
  const count = placesIn(root)
  return at(root, edit.at % count, edit)
}

/** The number of values that a value consists of, including itself. */
function placesIn(value: unknown): number {
  if (value instanceof RawJson || value instanceof Repeated) return 1
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, member) => sum + placesIn(member), 1)
}

function at(value: unknown, place: number, edit: Edit): unknown {
  if (place === 0) return edited(value, edit)
  let left = place - 1
  const entries: [string, unknown][] = []
  for (const [key, member] of Object.entries(value as object)) {
    const size = placesIn(member)
    const isHere = left >= 0 && left < size
    if (isHere && left === 0 && edit.how === 'remove') {
      // Left out.
    } else if (isHere && left === 0 && edit.how === 'rename') entries.push([edit.name, member])
    else entries.push([key, isHere ? at(member, left, edit) : member])
    left -= size
  }
  if (Array.isArray(value)) return entries.map(([, member]) => member)
  return Object.fromEntries(entries)
}

function edited(value: unknown, edit: Edit): unknown {
  switch (edit.how) {
    case 'list':
      return [value, edit.value]
    case 'text':
      return jsonText(value)
    case 'repeat':
      return new Repeated(value, edit.value)
    default:
      return edit.value
  }
}

/** Ways to change bytes: some are changed, removed, doubled or added. */
export const mutations: Arbitrary<(bytes: Uint8Array) => Uint8Array> = fc
  .array(
    fc.record({
      how: fc.constantFrom('flip', 'cut', 'double', 'insert'),
      at: fc.nat(4000),
      length: fc.integer({ min: 1, max: 20 }),
      byte: fc.nat(255),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((changes) => (before) => {
    const after = [...before]
    for (const { how, at: place, length, byte } of changes) {
      const start = after.length === 0 ? 0 : place % after.length
      if (how === 'flip') after.splice(start, 1, byte)
      else if (how === 'cut') after.splice(start, length * length)
      else if (how === 'double') after.splice(start, 0, ...after.slice(start, start + length))
      else after.splice(start, 0, ...Array.from({ length }, () => byte))
    }
    return Uint8Array.from(after)
  })

/** Bytes of an arbitrary, of which some are changed, removed, doubled or added. */
export function mutated(bytes: Arbitrary<Uint8Array>): Arbitrary<Uint8Array> {
  return fc.tuple(bytes, mutations).map(([before, change]) => change(before))
}
