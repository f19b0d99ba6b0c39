import { IsAny, IsArray, IsObject, IsRecord, IsUnion, IsUnknown, type TSchema } from 'typebox'
import { decimalOf, MAX_DECIMAL_LENGTH } from '../model/decimal.ts'
import { ApiError, badParam } from '../runtime/errors.ts'
import { checkKey, pathText } from './cleanValue.ts'
import { beginTexts, parseOneOfTexts } from './jsonStructure.ts'
import { isTexts, splitPairs, type PairBranch, type PairNode } from './pairs.ts'

type Kind = 'string' | 'number' | 'boolean' | 'array' | 'object'

const INDEX = /^(?:0|[1-9]\d*)$/

/** The texts of booleans, which languages print differently: `True` is Python's, and `1` is PHP's. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
])

/**
 * Reads a query string or a form body by a schema: texts become numbers, booleans, lists and objects if the schema
 * wants them. `name[key]=…` sets a member. `name[]=…`, `name[0]=…` and a repeated `name=…` add to a list, to any
 * depth. JSON text may stand for a list or object at any level. If no list is wanted, the last of repeated names
 * wins. An empty value means absent, or null if null is a valid value. `[object Object]`, which careless clients send
 * for an object, means absent. `null` is a text.
 *
 * If the schema allows both texts and numbers or booleans, a value becomes a number or boolean only if it prints
 * again as it was sent: `007` and `1.0` stay texts.
 *
 * @param others what to do with names that the schema does not know: drop them unread, or keep them as texts so that
 * they are refused
 * @param nullable names for which null is a valid value
 * @throws ApiError 400 naming the parameter
 */
export function readForm(
  text: string,
  properties: Readonly<Record<string, TSchema>>,
  others: 'drop' | 'keep',
  nullable: ReadonlySet<string> = new Set(),
): Record<string, unknown> {
  beginTexts()
  const fields: Record<string, unknown> = {}
  const pairs = splitPairs(text, (name) => Object.hasOwn(properties, name))
  for (const [name, node] of pairs.wanted) {
    const value = valueOf(node, properties[name]!, [name])
    if (value !== undefined) fields[name] = value
    else if (nullable.has(name) && isEmpty(node)) fields[name] = null
  }
  if (others === 'keep') {
    for (const [name, value] of pairs.others) {
      if (value === '' || Object.hasOwn(Object.prototype, name)) continue
      fields[name] = value
    }
  }
  return fields
}

function isEmpty(node: PairNode): boolean {
  return isTexts(node) && node.texts.at(-1) === ''
}

function valueOf(node: PairNode, schema: TSchema | undefined, path: readonly string[]): unknown {
  if (!isTexts(node)) {
    return isList(node, schema) ? listOf(node, schema, path) : objectOf(node, schema, path)
  }
  const { texts } = node
  if (texts.length > 1 && kindsOf(schema).has('array')) {
    const item = itemSchema(schema)
    // Empty texts are left out among texts. In other lists, that would shift the other items.
    const items = kindsOf(item) === ALL ? texts : texts.filter((text) => text !== '')
    return items.map((text) => fromText(text, item, path))
  }
  const text = texts.at(-1)!
  return text === '' ? undefined : fromText(text, schema, path)
}

/** Whether brackets mean a list. The schema decides, or their names if it allows both. */
function isList({ members, items }: PairBranch, schema: TSchema | undefined): boolean {
  if (members.size === 0) return true
  const kinds = kindsOf(schema)
  if (!kinds.has('array') || items.length > 0) return false
  const keys = [...members.keys()]
  if (!keys.every((key) => INDEX.test(key))) return false
  return !kinds.has('object') || keys.every((key) => Number(key) < keys.length)
}

function listOf(
  { members, items }: PairBranch,
  schema: TSchema | undefined,
  path: readonly string[],
): unknown {
  const item = itemSchema(schema)
  const nodes = items.length > 0 ? items : indexed(members, path)
  // The usual way to send an empty list: `name[]=`.
  const [first] = nodes
  if (nodes.length === 1 && items.length === 1 && isTexts(first) && first.texts[0] === '') return []
  return nodes.map((node, i) => {
    // The item stays, because leaving it out would shift the others.
    return isEmpty(node) ? '' : valueOf(node, item, [...path, String(i)])
  })
}

function indexed(members: ReadonlyMap<string, PairNode>, path: readonly string[]): PairNode[] {
  const nodes: PairNode[] = []
  for (let i = 0; i < members.size; i++) {
    const node = members.get(String(i))
    if (node === undefined) throw badParam(pathText(path), 'Indexes must run from 0 without gaps.')
    nodes.push(node)
  }
  return nodes
}

function objectOf(
  { members, items }: PairBranch,
  schema: TSchema | undefined,
  path: readonly string[],
): unknown {
  if (items.length > 0) throw badParam(pathText(path), 'Must not have both [] and names in brackets.')
  const object: Record<string, unknown> = {}
  for (const [key, node] of members) {
    const memberPath = [...path, key]
    checkKey(memberPath)
    const value = valueOf(node, memberSchema(schema, key), memberPath)
    if (value !== undefined) object[key] = value
  }
  return object
}

/** The value of a text according to the schema, or the text itself if it has no other meaning. */
function fromText(text: string, schema: TSchema | undefined, path: readonly string[]): unknown {
  const kinds = kindsOf(schema)
  const isExact = kinds.has('string')
  if (kinds.has('number')) {
    const number = decimalOf(text)
    if (!Number.isNaN(number) && !(isExact && String(number) !== text)) return number
  }
  if (text.length > MAX_DECIMAL_LENGTH && isNumberOrBoolean(kinds))
    throw badParam(pathText(path), `Must be at most ${MAX_DECIMAL_LENGTH} characters.`)
  if (kinds.has('boolean')) {
    const value = BOOLEANS.get(isExact ? text : text.toLowerCase())
    if (value !== undefined && !(isExact && INDEX.test(text))) return value
  }
  if (!kinds.has('object') && !kinds.has('array')) return text
  if (text === '[object Object]') return undefined
  const parsed = fromJsonText(text, path)
  if (parsed !== undefined) return fitted(parsed, schema)
  // A single text stands for a list with one item.
  return kinds.has('array') && kinds.size === 1 ? [fromText(text, itemSchema(schema), path)] : text
}

/** The list or object in a JSON text. */
function fromJsonText(text: string, path: readonly string[]): unknown {
  const first = text.trimStart()[0]
  if (first !== '{' && first !== '[') return undefined
  try {
    return parseOneOfTexts(text, pathText(path))
  } catch (error) {
    if (error instanceof ApiError) throw error
    return undefined
  }
}

/**
 * Converts numbers and booleans in JSON to texts if the schema only allows texts: `metadata={"floor":2}` as a filter.
 */
function fitted(value: unknown, schema: TSchema | undefined): unknown {
  if (schema === undefined) return value
  if (Array.isArray(value)) return value.map((item) => fitted(item, itemSchema(schema)))
  if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      const wanted = memberSchema(schema, key)
      if (wanted !== undefined && key !== '__proto__')
        (value as Record<string, unknown>)[key] = fitted(member, wanted)
    }
    return value
  }
  const kinds = kindsOf(schema)
  return kinds.size === 1 && kinds.has('string') && value !== null ? String(value) : value
}

const ALL: ReadonlySet<Kind> = new Set<Kind>(['string', 'number', 'boolean', 'array', 'object'])

/** Whether a schema only allows numbers and booleans. */
function isNumberOrBoolean(kinds: ReadonlySet<Kind>): boolean {
  return kinds.size > 0 && !kinds.has('string') && !kinds.has('array') && !kinds.has('object')
}

/** The kinds that a schema allows. If it does not say, all kinds are allowed. */
function kindsOf(schema: TSchema | undefined): ReadonlySet<Kind> {
  if (schema === undefined || IsUnknown(schema) || IsAny(schema)) return ALL
  if (IsUnion(schema)) return new Set(schema.anyOf.flatMap((variant) => [...kindsOf(variant)]))
  const { type } = schema as { type?: string }
  if (type === 'integer') return new Set<Kind>(['number'])
  return ALL.has(type as Kind) ? new Set([type as Kind]) : new Set()
}

/** The schema of a list's items. For a union, it is the one of its first list. */
function itemSchema(schema: TSchema | undefined): TSchema | undefined {
  if (schema === undefined) return undefined
  if (!IsUnion(schema)) return IsArray(schema) ? schema.items : undefined
  for (const variant of schema.anyOf) {
    const item = itemSchema(variant)
    if (item !== undefined) return item
  }
  return undefined
}

function memberSchema(schema: TSchema | undefined, key: string): TSchema | undefined {
  if (schema === undefined) return undefined
  if (IsUnion(schema)) {
    return memberSchema(
      schema.anyOf.find((variant) => IsRecord(variant) || IsObject(variant)),
      key,
    )
  }
  if (IsRecord(schema)) return Object.values(schema.patternProperties)[0]
  return IsObject(schema) && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined
}
