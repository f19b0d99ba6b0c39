/** Bodies of generated requests: a value in the form that its operation reads, in others, spoiled, and nonsense. */
import type { Arbitrary } from 'fast-check'
import type { Json, Operation } from '../e2e/contract.ts'
import fc from '../kit/fastCheck.ts'
import { escaped } from './placeholders.ts'
import { jsonText, mutated, mutations, spoilings } from './schema.ts'
import { extracts } from './extracts.ts'
import { filesFor } from './tables.ts'

/** What a request says about its body, and the body with placeholders as text. */
export interface Content {
  readonly contentType: string | undefined
  readonly body: Uint8Array | undefined
}

/** How a value is sent. */
export type Encoding = (value: unknown) => Content

const JSON_TYPE = 'application/json'
const FORM = 'application/x-www-form-urlencoded'
const OCTETS = 'application/octet-stream'
const NOTHING: Content = { contentType: undefined, body: undefined }

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const jsonBytes = (value: unknown) => utf8(jsonText(value))
const formBytes = (value: unknown) => utf8(formText(value as object))
const always = (encode: Encoding): Arbitrary<Encoding> => fc.constant(encode)

/** The schema of the JSON that an operation reads; undefined if it reads none. */
export function bodySchema({ definition }: Operation): Json | undefined {
  return definition.requestBody?.content[JSON_TYPE]?.schema
}

/** The ways in which a value of an operation's body, or something in its place, is sent. */
export function encodingsOf({ path, definition }: Operation): Arbitrary<Encoding> {
  const content: Readonly<Record<string, Json>> = definition.requestBody?.content ?? {}
  const choices: { weight: number; arbitrary: Arbitrary<Encoding> }[] = []
  if (content[JSON_TYPE] !== undefined) choices.push(...valueEncodings)
  for (const type of Object.keys(content)) {
    if (type === JSON_TYPE || type === FORM) continue
    const file = type === OCTETS ? extracts : filesFor(path, type).map(utf8)
    const as = (body: Uint8Array) => () => ({ contentType: type, body })
    choices.push(
      { weight: 8, arbitrary: file.map(as) },
      { weight: 4, arbitrary: mutated(file).map(as) },
      { weight: 1, arbitrary: anyBytes.map(as) },
    )
  }
  if (choices.length > 0) return fc.oneof(...choices)
  return fc.oneof(
    { weight: 12, arbitrary: always(() => NOTHING) },
    { weight: 1, arbitrary: anyBytes.map((body) => () => ({ contentType: JSON_TYPE, body })) },
  )
}

function formText(value: object): string {
  const pairs = Object.entries(value).flatMap(([key, member]) => {
    if (typeof member === 'object' && member !== null && !Array.isArray(member))
      return Object.entries(member).map(
        ([inner, held]) => `${escaped(key)}[${escaped(inner)}]=${escaped(textOf(held))}`,
      )
    if (Array.isArray(member) && member.every((item) => typeof item !== 'object'))
      return member.map((item) => `${escaped(key)}[]=${escaped(textOf(item))}`)
    return [`${escaped(key)}=${escaped(textOf(member))}`]
  })
  return pairs.join('&')
}

/** A value in a query, form or path. It must not call a member named toString. */
export function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const contentTypes = fc.constantFrom(
  undefined,
  JSON_TYPE,
  FORM,
  'application/json; charset=utf-16',
  'APPLICATION/JSON;',
  'text/plain',
  'text/csv',
  'multipart/form-data; boundary=x',
  ';',
)

const anyBytes: Arbitrary<Uint8Array> = fc.oneof(
  { weight: 6, arbitrary: fc.uint8Array({ maxLength: 200 }) },
  { weight: 6, arbitrary: fc.json({ maxDepth: 6 }).map(utf8) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('['.repeat(100_000), `"${'x'.repeat(300_000)}`, '\0'.repeat(5000)).map(utf8),
  },
  { weight: 1, arbitrary: fc.constant(new Uint8Array(1024 * 1024 + 1).fill(32)) },
)

const valueEncodings: { weight: number; arbitrary: Arbitrary<Encoding> }[] = [
  { weight: 16, arbitrary: always((value) => ({ contentType: JSON_TYPE, body: jsonBytes(value) })) },
  {
    weight: 8,
    arbitrary: spoilings.map((spoil) => (value) => ({ contentType: JSON_TYPE, body: utf8(spoil(value)) })),
  },
  {
    weight: 3,
    arbitrary: mutations.map((mutate) => (value) => ({
      contentType: JSON_TYPE,
      body: mutate(jsonBytes(value)),
    })),
  },
  { weight: 2, arbitrary: always((value) => ({ contentType: FORM, body: formBytes(value) })) },
  {
    weight: 1,
    arbitrary: mutations.map((mutate) => (value) => ({ contentType: FORM, body: mutate(formBytes(value)) })),
  },
  {
    weight: 1,
    arbitrary: contentTypes.map((contentType) => (value) => ({ contentType, body: jsonBytes(value) })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(anyBytes, contentTypes).map(([body, contentType]) => () => ({ contentType, body })),
  },
  { weight: 1, arbitrary: always(() => NOTHING) },
]
