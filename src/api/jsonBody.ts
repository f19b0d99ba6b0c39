import { ApiError, badParam } from '../runtime/errors.ts'
import { parseJson } from './jsonStructure.ts'
import { MAX_DEPTH } from './structure.ts'

/** Objects with more members are refused: the interface's largest have a few dozen, and each costs a check. */
const MAX_MEMBERS = 1000

/** Names that reach into prototypes when careless code copies them. */
const POLLUTING = new Set(['__proto__', 'constructor', 'prototype'])

/** How much of a sender's own key is repeated in a message. */
const SHOWN_KEY_LENGTH = 64

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * The text of a body or undefined when it is blank. A byte order mark is dropped.
 * @throws ApiError 400 where it is not UTF-8
 */
export function decodeText(bytes: Uint8Array): string | undefined {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch (cause) {
    throw new ApiError(400, 'body: Must be valid UTF-8.', { param: 'body', cause })
  }
  return text.length < 64 && text.trim() === '' ? undefined : text
}

/**
 * The object that a JSON text holds, without its `null` members: null means absent.
 * @param nullable fields of the object itself that keep their null
 * @throws ApiError 400 for anything else, and for values that {@link cleanValue} refuses
 */
export function parseJsonObject(text: string, nullable: ReadonlySet<string>): Record<string, unknown> {
  let value: unknown
  try {
    value = parseJson(text, 'body')
  } catch (cause) {
    if (cause instanceof ApiError) throw cause
    throw badParam('body', syntaxSentence(text, (cause as Error).message))
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badParam('body', 'Must be a JSON object.')
  }
  // Within valid UTF-8 only an escape can make a NUL or a lone surrogate.
  cleanValue(value, [], text.includes('\\u'), nullable)
  return value as Record<string, unknown>
}

/** What V8 says of most broken texts: words of its own, none of the sender's. */
const SYNTAX = /^(.+?)(?: in JSON)? at position \d+ \(line (\d+) column (\d+)\)$/

/** Where and why a text is no JSON. */
function syntaxSentence(text: string, told: string): string {
  const [, reason, line, column] = SYNTAX.exec(told) ?? []
  if (reason !== undefined) return `Invalid JSON at line ${line}, column ${column}. ${reason}.`
  if (!told.startsWith('Unexpected token')) return 'Invalid JSON. It ends too early.'
  const before = text.slice(0, missingValue(text)).split('\n')
  return `Invalid JSON at line ${before.length}, column ${before.at(-1)!.length + 1}. Expected a value.`
}

const BLANKS = /[ \t\r\n]*/y
const TOKEN =
  /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:,]|true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/** The index at which something else stands than a value: the one fault whose place V8 does not tell. */
function missingValue(text: string): number {
  let at = 0
  let last = ':'
  for (;;) {
    BLANKS.lastIndex = at
    BLANKS.test(text)
    TOKEN.lastIndex = BLANKS.lastIndex
    const [token] = TOKEN.exec(text) ?? []
    const isValueDue = last === ':' || last === ',' || last === '['
    if (token === undefined || (isValueDue && '}:,'.includes(token))) return BLANKS.lastIndex
    if (token === ']' && last !== '[' && isValueDue) return BLANKS.lastIndex
    at = TOKEN.lastIndex
    last = token
  }
}

const NO_NAMES: ReadonlySet<string> = new Set()

/**
 * Removes `null` members of objects at every depth.
 * @param path where the value is; given back as it was
 * @param strings whether strings have to be looked at
 * @param nullable members of the outermost object that keep their null
 * @throws ApiError 400 naming the place of: nesting over {@link MAX_DEPTH}, over {@link MAX_MEMBERS} members, a
 *   polluting key, NUL, a lone surrogate
 */
export function cleanValue(
  value: unknown,
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
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item: unknown = value[i]
      if (typeof item === 'number') continue
      path.push(String(i))
      cleanValue(item, path, strings)
      path.pop()
    }
    return
  }
  const record = value as Record<string, unknown>
  const keys = Object.keys(record)
  if (keys.length > MAX_MEMBERS) throw badParam(pathText(path), `Must have at most ${MAX_MEMBERS} keys.`)
  for (const key of keys) {
    const member = record[key]
    path.push(key)
    checkKey(path)
    if (strings) checkText(key, path)
    if (member === null && !nullable.has(key)) delete record[key]
    else cleanValue(member, path, strings)
    path.pop()
  }
}

/** @throws ApiError 400 where the last key of a path may not be used */
export function checkKey(path: readonly string[]): void {
  if (POLLUTING.has(path.at(-1)!)) throw badParam(pathText(path), 'Key not allowed.')
}

/** @throws ApiError 400 for a text with NUL characters or lone surrogates, which no store keeps faithfully */
export function checkText(text: string, path: readonly string[]): void {
  if (text.includes('\0')) throw badParam(pathText(path), 'Must not contain NUL characters.')
  if (!text.isWellFormed()) throw badParam(pathText(path), 'Must be valid Unicode.')
}

/** `metadata.color`: the dotted name of a place in a body; the body itself is `body`. */
export function pathText(path: readonly string[]): string {
  if (path.length === 0) return 'body'
  return path.map(shownKey).join('.')
}

/** A sender's key as messages show it: bounded, and free of what would not survive printing. */
export function shownKey(key: string): string {
  const text = key.length > SHOWN_KEY_LENGTH ? `${key.slice(0, SHOWN_KEY_LENGTH)}…` : key
  return text.toWellFormed().replaceAll('\0', '\u{FFFD}')
}
