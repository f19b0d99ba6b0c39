import { IsAny, IsArray, IsNull, IsObject, IsRecord, IsUnion, type TObject, type TSchema } from 'typebox'
import { badParam } from '../runtime/errors.ts'
import { MAX_DEPTH } from './structure.ts'

/**
 * Objects with more members are refused. The largest objects of the interface have a few dozen, and each member costs
 * a check.
 */
const MAX_MEMBERS = 1000

/** Names that reach into prototypes when careless code copies them. */
const POLLUTING: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** How many characters of a sender's own key a message repeats. */
const SHOWN_KEY_LENGTH = 64

const NO_NAMES: ReadonlySet<string> = new Set()

/**
 * Removes `null` members of objects, at every depth that the schema describes: null means absent, except within an
 * object where the schema of the member says null itself.
 *
 * Fields that are not in the schema are left alone, whatever they contain: apps send fields that no version of this
 * interface knows yet. Only those whose names reach into prototypes are removed. `Type.Any()` is left alone, too.
 * @param schema what is known of the value; undefined: nothing, and all of it is looked at
 * @param path where the value is; given back as it was
 * @param strings whether strings have to be looked at
 * @param nullable members of the outermost object that keep their null
 * @throws ApiError 400 naming the place of: nesting over {@link MAX_DEPTH}, over {@link MAX_MEMBERS} members whose
 * names are free, a polluting key among those, NUL, a lone surrogate
 */
export function cleanValue(
  value: unknown,
  schema: TSchema | undefined,
  path: string[],
  strings: boolean,
  nullable: ReadonlySet<string> = NO_NAMES,
): void {
  if (typeof value === 'string') {
    if (strings) checkText(value, path)
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (path.length >= MAX_DEPTH)
    throw badParam(path[0] ?? 'body', `Must not be nested deeper than ${MAX_DEPTH} levels.`)
  if (Array.isArray(value)) return cleanItems(value, variantOf(schema, IsArray)?.items, path, strings)
  const record = value as Record<string, unknown>
  const fields = variantOf(schema, IsObject)
  if (fields === undefined) cleanMembers(record, path, strings, nullable, saysNull(memberSchema(schema)))
  else cleanFields(record, fields, path, strings, nullable)
}

function cleanItems(
  items: readonly unknown[],
  schema: TSchema | undefined,
  path: string[],
  strings: boolean,
): void {
  if (schema !== undefined && IsAny(schema)) return
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    if (typeof item === 'number') continue
    path.push(String(i))
    cleanValue(item, schema, path, strings)
    path.pop()
  }
}

/** Cleans an object whose schema names its fields. */
function cleanFields(
  record: Record<string, unknown>,
  schema: TObject & { readonly additionalProperties?: unknown },
  path: string[],
  strings: boolean,
  nullable: ReadonlySet<string>,
): void {
  const { properties } = schema
  // If unknown names are refused, so are these.
  if (schema.additionalProperties !== false)
    for (const name of POLLUTING) if (Object.hasOwn(record, name)) delete record[name]
  for (const name of Object.keys(record)) {
    const member = record[name]
    if (member === null) {
      const isKept = nullable.has(name) || (path.length > 0 && saysNull(properties[name]))
      if (!isKept) delete record[name]
      continue
    }
    const field = Object.hasOwn(properties, name) ? properties[name]! : undefined
    if (field === undefined || IsAny(field)) continue
    path.push(name)
    cleanValue(member, field, path, strings)
    path.pop()
  }
}

/** Cleans an object whose names the sender chooses. */
function cleanMembers(
  record: Record<string, unknown>,
  path: string[],
  strings: boolean,
  nullable: ReadonlySet<string>,
  isNullKept: boolean,
): void {
  const keys = Object.keys(record)
  if (keys.length > MAX_MEMBERS) throw badParam(pathText(path), `Must have at most ${MAX_MEMBERS} keys.`)
  for (const key of keys) {
    const member = record[key]
    path.push(key)
    checkKey(path)
    if (strings) checkText(key, path)
    if (member === null && !isNullKept && !nullable.has(key)) delete record[key]
    else cleanValue(member, undefined, path, strings)
    path.pop()
  }
}

/** Whether null is one of the values that a schema allows. */
function saysNull(schema: TSchema | undefined): boolean {
  return schema !== undefined && IsUnion(schema) && schema.anyOf.some(IsNull)
}

/** The schema of the members of an object whose names the sender chooses. */
function memberSchema(schema: TSchema | undefined): TSchema | undefined {
  const record = variantOf(schema, IsRecord)
  return record && Object.values(record.patternProperties)[0]
}

/** The schema itself, or the first of its variants, if it is of a kind. */
function variantOf<T extends TSchema>(
  schema: TSchema | undefined,
  isKind: (schema: unknown) => schema is T,
): T | undefined {
  if (schema === undefined) return undefined
  if (isKind(schema)) return schema
  return IsUnion(schema) ? schema.anyOf.find(isKind) : undefined
}

/**
 * Checks the last key of a path.
 * @throws {ApiError} 400 if it may not be used
 */
export function checkKey(path: readonly string[]): void {
  if (POLLUTING.has(path.at(-1)!)) throw badParam(pathText(path), 'Key not allowed.')
}

/**
 * Checks a text.
 * @throws {ApiError} 400 for NUL characters or lone surrogates, which no store keeps unchanged
 */
export function checkText(text: string, path: readonly string[]): void {
  if (text.includes('\0')) throw badParam(pathText(path), 'Must not contain NUL characters.')
  if (!text.isWellFormed()) throw badParam(pathText(path), 'Must be valid Unicode.')
}

/** The dotted path of a value in a body: `metadata.color`. The body itself is `body`. */
export function pathText(path: readonly string[]): string {
  if (path.length === 0) return 'body'
  return path.map(shownKey).join('.')
}

/** A sender's key as messages show it: shortened, and without characters that cannot be printed. */
export function shownKey(key: string): string {
  const text = key.length > SHOWN_KEY_LENGTH ? `${key.slice(0, SHOWN_KEY_LENGTH)}…` : key
  return text.toWellFormed().replaceAll('\0', '\u{FFFD}')
}
