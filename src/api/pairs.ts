import { IsArray, IsObject, IsRecord, IsUnion, IsUnknown, type TSchema } from 'typebox'
import { ApiError, badParam } from '../runtime/errors.ts'
import { checkKey, checkText, cleanValue, shownKey } from './jsonBody.ts'

/** A longer query or form is refused before it is read: the largest legitimate form is a polygon of 2,000 points. */
const MAX_PAIRS = 10_000

/** JSON's numbers, and what people type beside them: `+1`, `.5`, `1.`. */
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

/**
 * Reads a query string or a form body by a schema: texts become numbers, booleans, lists and objects where the schema
 * wants them. `name=…` fills a field, `name[key]=…` a member of an object, `name[]=…` appends to a list. Repeated, the
 * last one wins, and only `name[]` adds up. An empty value means absent, as does `[object Object]`, which careless
 * clients send for an object. Comma-separated lists stay text. What the schema does not name is ignored.
 * @throws ApiError 400 naming the parameter: a bad escape, NUL, a key that reaches into prototypes
 */
export function readPairs(
  text: string,
  properties: Readonly<Record<string, TSchema>>,
): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  if (text === '') return fields
  const pairs = text.split('&', MAX_PAIRS + 1)
  if (pairs.length > MAX_PAIRS) throw new ApiError(400, 'Too many parameters.')
  for (const pair of pairs) {
    const equals = pair.indexOf('=')
    const rawName = equals < 0 ? pair : pair.slice(0, equals)
    const name = decode(rawName, rawName)
    const bracket = name.indexOf('[')
    const field = bracket > 0 && name.endsWith(']') ? name.slice(0, bracket) : name
    if (!Object.hasOwn(properties, field)) continue
    const schema = properties[field]!
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1), field)
    checkText(value, [field])
    if (field === name) setField(fields, field, fromText(value, schema, field))
    else if (bracket === name.length - 2) append(fields, field, value, schema)
    else setMember(fields, field, name.slice(bracket + 1, -1), value, schema)
  }
  return fields
}

function setField(fields: Record<string, unknown>, field: string, value: unknown): void {
  if (value === undefined) delete fields[field]
  else fields[field] = value
}

function append(fields: Record<string, unknown>, field: string, text: string, schema: TSchema): void {
  const list = Array.isArray(fields[field]) ? (fields[field] as unknown[]) : []
  list.push(fromText(text, itemSchema(schema), field))
  fields[field] = list
}

function setMember(
  fields: Record<string, unknown>,
  field: string,
  key: string,
  text: string,
  schema: TSchema,
): void {
  if (key.includes('[')) throw badParam(field, 'Must not be nested in brackets; send it as JSON text.')
  checkKey(key, field)
  checkText(key, [field, key])
  const held = fields[field]
  const members = typeof held === 'object' && held !== null && !Array.isArray(held) ? held : {}
  setField(
    members as Record<string, unknown>,
    key,
    fromText(text, memberSchema(schema, key), `${field}.${shownKey(key)}`),
  )
  fields[field] = members
}

/** What a text stands for where the schema is expected; the text itself where it stands for nothing else. */
function fromText(text: string, schema: TSchema | undefined, param: string): unknown {
  if (text === '') return undefined
  if (schema === undefined) return text
  const kinds = kindsOf(schema, new Set())
  if ((kinds.has('number') || kinds.has('integer')) && NUMBER.test(text)) return Number(text)
  if (kinds.has('boolean')) {
    if (text === 'true') return true
    if (text === 'false') return false
  }
  if (kinds.has('object') || kinds.has('array')) {
    if (text === '[object Object]') return undefined
    return fromJsonText(text, param)
  }
  return text
}

function fromJsonText(text: string, param: string): unknown {
  const first = text.trimStart()[0]
  if (first !== '{' && first !== '[') return text
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  cleanValue(value, [param], true)
  return value
}

/** The JSON types that a schema admits; a scalar of any type where it does not say. */
function kindsOf(schema: TSchema, kinds: Set<string>): Set<string> {
  if (IsUnion(schema)) for (const variant of schema.anyOf) kindsOf(variant, kinds)
  else if ('type' in schema && typeof schema.type === 'string') kinds.add(schema.type)
  else if (IsUnknown(schema)) kinds.add('number').add('boolean')
  return kinds
}

/** What an element of a list is: of the union's first array, where the schema is a union. */
function itemSchema(schema: TSchema): TSchema | undefined {
  const list = IsUnion(schema) ? schema.anyOf.find((variant) => IsArray(variant)) : schema
  return list !== undefined && IsArray(list) ? list.items : undefined
}

function memberSchema(schema: TSchema, key: string): TSchema | undefined {
  if (IsUnion(schema)) {
    const variant = schema.anyOf.find((candidate) => IsRecord(candidate) || IsObject(candidate))
    return variant === undefined ? undefined : memberSchema(variant, key)
  }
  if (IsRecord(schema)) return Object.values(schema.patternProperties)[0]
  if (IsObject(schema) && Object.hasOwn(schema.properties, key)) return schema.properties[key]
  return undefined
}

function decode(text: string, name: string): string {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    const param = shownKey(name)
    throw new ApiError(400, `${param}: Invalid escape sequence.`, { param, cause })
  }
}
