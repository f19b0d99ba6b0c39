import { ApiError, badParam } from '../runtime/errors.ts'
import { parseJson } from './jsonStructure.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * The text of a body, or undefined if it is blank. A byte order mark is dropped.
 * @throws ApiError 400 if it is not UTF-8
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
 * The object in a JSON text, unchecked: a `Validator` checks its contents.
 * @throws ApiError 400 for anything else
 */
export function parseJsonObject(text: string): Record<string, unknown> {
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
  return value as Record<string, unknown>
}

/** V8's message for most broken texts, in its own words and without the sender's. */
const SYNTAX = /^(.+?)(?: in JSON)? at position \d+ \(line (\d+) column (\d+)\)$/

/** Where and why a text is not JSON. */
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

/** The index at which a value is missing, which is the only fault whose position V8 does not report. */
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
