import { Check, Compile } from 'typebox/schema'
import type { TObject, TSchema } from 'typebox'
import { badParam, outOfRange, type ApiError } from '../runtime/errors.ts'
import { cleanValue, pathText } from './cleanValue.ts'
import { missingMember, type Needs } from './needs.ts'

/** The JSON Schema keywords that the sentences below know of. */
interface Keywords {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly TSchema[]
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, TSchema>>
  readonly items?: TSchema | readonly TSchema[]
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly additionalProperties?: unknown
}

/**
 * Checks values against one schema. Good values pass through compiled code; a bad one is explained by walking the
 * schema in its order, so that the same input always names the same parameter.
 */
export class Validator {
  readonly properties: Readonly<Record<string, TSchema>>
  /** Fields for which null is a value and does not mean absent. */
  readonly nullable: ReadonlySet<string>
  /** Whether fields that the schema does not have are refused, as where a mistyped filter would mean "all". */
  readonly isStrict: boolean
  readonly #schema: TObject
  /** Made at the first check, because a start would otherwise take longer for the schemas of all endpoints. */
  #compiled: { Check(value: unknown): boolean } | undefined
  readonly #defaults: readonly (readonly [name: string, value: unknown])[]

  /**
   * Compiles a schema.
   * @param fillDefaults whether absent fields get the schema's `default`; otherwise it is only documentation
   */
  constructor(schema: TObject, fillDefaults = false) {
    this.#schema = schema
    this.properties = schema.properties
    this.isStrict = (schema as Keywords).additionalProperties === false
    this.nullable = new Set(Object.keys(this.properties).filter((name) => saysNull(this.properties[name]!)))
    this.#defaults = Object.entries(fillDefaults ? schema.properties : {}).flatMap(([name, property]) => {
      const value = (property as Keywords).default
      return value === undefined ? [] : [[name, value] as const]
    })
  }

  /**
   * Cleans the value (see {@link cleanValue}), fills in defaults if that was requested, and checks it.
   * @param strings whether there may be a NUL or a lone surrogate in it
   * @throws {ApiError} 400 for the first wrong parameter in the schema's order
   */
  check(value: Record<string, unknown>, strings = true): void {
    cleanValue(value, this.#schema, [], strings, this.nullable)
    for (const [name, standard] of this.#defaults) value[name] ??= standard
    this.#compiled ??= Compile(this.#schema)
    if (!this.#compiled.Check(value)) throw explainBad(this.#schema, value, [])
  }
}

/** The first thing that is wrong with a value, or undefined if nothing is. `path` is unchanged afterwards. */
function explain(schema: TSchema, value: unknown, path: string[]): ApiError | undefined {
  // Sizes are checked first, because every item of a list that is far too long would be examined again on each level
  // above it.
  if (isTooLarge(schema as Keywords, value)) return explainSelf(schema as Keywords, value, path)
  // What contains such a list is known to be invalid, and needs no examination either.
  if (containsTooLarge(schema as Keywords, value)) return explainBad(schema, value, path)
  return Check(schema, value) ? undefined : explainBad(schema, value, path)
}

/** Whether a value has a size that it must not have, at any level. Nothing within what is too large is looked at. */
function containsTooLarge(schema: Keywords, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (isTooLarge(schema, value)) return true
  const { anyOf, items, properties } = schema
  if (anyOf !== undefined) {
    const variants = anyOf.filter((variant) => isOfType(variant, value))
    return variants.length > 0 && variants.every((variant) => containsTooLarge(variant as Keywords, value))
  }
  if (Array.isArray(value))
    return value.some((item, i) => {
      const one = items !== undefined && isTuple(items) ? items[i] : items
      return one !== undefined && containsTooLarge(one as Keywords, item)
    })
  return Object.entries(properties ?? {}).some(([name, member]) =>
    containsTooLarge(member as Keywords, (value as Record<string, unknown>)[name]),
  )
}

/** The first fault of a value that is known to be invalid. */
function explainBad(schema: TSchema, value: unknown, path: string[]): ApiError {
  const keywords = schema as Keywords
  const inner =
    keywords.type === 'object'
      ? explainMembers(keywords, value, path)
      : keywords.type === 'array' && Array.isArray(value)
        ? explainItems(keywords, value, path)
        : undefined
  return inner ?? explainSelf(keywords, value, path)
}

function explainMembers(keywords: Keywords, value: unknown, path: string[]): ApiError | undefined {
  if (!isRecord(value)) return undefined
  for (const [name, schema] of Object.entries(keywords.properties ?? {})) {
    path.push(name)
    const error =
      value[name] !== undefined
        ? explain(schema, value[name], path)
        : keywords.required?.includes(name)
          ? badParam(pathText(path), 'Required.')
          : undefined
    path.pop()
    if (error !== undefined) return error
  }
  const needed = missingMember(keywords as Needs, value, path)
  if (needed !== undefined) return needed
  if (keywords.additionalProperties === false) {
    const names = Object.keys(keywords.properties ?? {})
    const unknown = Object.keys(value).find((name) => value[name] !== undefined && !names.includes(name))
    if (unknown !== undefined)
      return badParam(pathText([...path, unknown]), `No such field. There are ${names.join(', ')}.`)
  }
  const members = Object.values(keywords.patternProperties ?? {})[0]
  if (members === undefined) return undefined
  for (const [name, member] of Object.entries(value)) {
    path.push(name)
    const error = explain(members, member, path)
    path.pop()
    if (error !== undefined) return error
  }
  return undefined
}

function explainItems(keywords: Keywords, value: readonly unknown[], path: string[]): ApiError | undefined {
  const { items } = keywords
  if (items === undefined) return undefined
  for (let i = 0; i < value.length; i++) {
    const schema = isTuple(items) ? items[i] : items
    if (schema === undefined) return undefined
    path.push(String(i))
    const error = explain(schema, value[i], path)
    path.pop()
    if (error !== undefined) return error
  }
  return undefined
}

/** What is wrong with the value as a whole. */
function explainSelf(keywords: Keywords, value: unknown, path: readonly string[]): ApiError {
  const param = pathText(path)
  if (keywords.anyOf !== undefined) {
    // The value has the right type for this variant, so the sentence is about this variant.
    const near = keywords.anyOf.find((variant) => isOfType(variant, value))
    return near === undefined
      ? badParam(param, unionSentence(keywords.anyOf))
      : explainBad(near, value, [...path])
  }
  if (keywords.enum !== undefined) return badParam(param, `Must be one of ${keywords.enum.join(', ')}.`)
  if (keywords.const !== undefined) return badParam(param, `Must be ${String(keywords.const)}.`)
  switch (keywords.type) {
    case 'number':
    case 'integer':
      return explainNumber(keywords, value, param)
    case 'boolean':
      return badParam(param, 'Must be a boolean.')
    case 'string':
      return badParam(
        param,
        typeof value === 'string' ? textSentence(keywords, value, param) : 'Must be a string.',
      )
    case 'array':
      return badParam(param, Array.isArray(value) ? listSentence(keywords, value) : 'Must be an array.')
    case 'object':
      return badParam(param, isRecord(value) ? recordSentence(keywords, value) : 'Must be an object.')
    default:
      return badParam(param, `Invalid ${param}.`)
  }
}

function explainNumber(keywords: Keywords, value: unknown, param: string): ApiError {
  if (typeof value !== 'number' || Number.isNaN(value)) return badParam(param, 'Must be a number.')
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = keywords
  const low = exclusiveMinimum ?? minimum
  const high = exclusiveMaximum ?? maximum
  const tooLow = low !== undefined && (exclusiveMinimum === undefined ? value < low : value <= low)
  const tooHigh = high !== undefined && (exclusiveMaximum === undefined ? value > high : value >= high)
  if (tooLow || tooHigh) {
    if (low === undefined) {
      return badParam(
        param,
        `Invalid ${param}. Must be ${exclusiveMaximum === undefined ? 'at most' : 'less than'} ${high}.`,
      )
    }
    if (high === undefined) {
      return badParam(
        param,
        `Invalid ${param}. Must be ${exclusiveMinimum === undefined ? 'at least' : 'greater than'} ${low}.`,
      )
    }
    if (exclusiveMinimum === undefined && exclusiveMaximum === undefined) return outOfRange(param, low, high)
    const open = exclusiveMinimum === undefined ? '[' : '('
    const close = exclusiveMaximum === undefined ? ']' : ')'
    return badParam(param, `Invalid ${param}. Valid range: ${open}${low}, ${high}${close}.`)
  }
  if (!Number.isFinite(value)) return badParam(param, 'Must be a finite number.')
  if (keywords.type === 'integer') return badParam(param, 'Must be a whole number.')
  return badParam(param, `Must be a multiple of ${keywords.multipleOf}.`)
}

function textSentence(keywords: Keywords, value: string, param: string): string {
  const { minLength = 0, maxLength } = keywords
  if (value === '' && minLength > 0) return 'Must not be empty.'
  if (value.length < minLength) return `Must be at least ${counted(minLength, 'character')}.`
  if (maxLength !== undefined && value.length > maxLength)
    return `Must be at most ${counted(maxLength, 'character')}.`
  return `Invalid ${param}.`
}

function listSentence(keywords: Keywords, value: readonly unknown[]): string {
  const { minItems = 0, maxItems = Infinity, items } = keywords
  if (items !== undefined && isTuple(items)) return `Must have exactly ${items.length} items.`
  if (value.length < minItems) return `Must have at least ${counted(minItems, 'item')}.`
  if (tooMany(value.length, maxItems)) return `Must have at most ${counted(maxItems, 'item')}.`
  return keywords.uniqueItems ? 'Must not repeat items.' : 'Invalid items.'
}

function recordSentence(keywords: Keywords, value: Record<string, unknown>): string {
  const { minProperties = 0, maxProperties = Infinity } = keywords
  const count = Object.keys(value).length
  if (count < minProperties) return `Must have at least ${counted(minProperties, 'key')}.`
  return tooMany(count, maxProperties)
    ? `Must have at most ${counted(maxProperties, 'key')}.`
    : 'Invalid keys.'
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

/** Whether a value is a text, number or list and the schema allows any of that type, not only certain ones. */
function isOfType(schema: TSchema, value: unknown): boolean {
  const { type, const: literal } = schema as Keywords
  if (type === 'array') return Array.isArray(value)
  if (type === 'integer') return typeof value === 'number'
  return (type === 'string' || type === 'number') && literal === undefined && typeof value === type
}

/** `Must be one of a, b.` for literals, `Must be a string or a number.` for types. */
function unionSentence(variants: readonly TSchema[]): string {
  const literals = variants.map((variant) => (variant as Keywords).const)
  if (literals.every((literal) => literal !== undefined)) return `Must be one of ${literals.join(', ')}.`
  const types = [...new Set(variants.map((variant) => typeName((variant as Keywords).type)))]
  const last = types.pop()
  return `Must be ${types.length > 0 ? `${types.join(', ')} or ` : ''}${last}.`
}

function typeName(type: string | undefined): string {
  if (type === undefined) return 'another value'
  return /^[aio]/.test(type) ? `an ${type}` : `a ${type}`
}

/** Whether a schema names null as a value, rather than leaving everything open. */
function saysNull(schema: TSchema): boolean {
  const { type, anyOf } = schema as Keywords
  return type === 'null' || (anyOf?.some((variant) => saysNull(variant)) ?? false)
}

function isTooLarge({ maxItems, maxProperties }: Keywords, value: unknown): boolean {
  if (Array.isArray(value)) return tooMany(value.length, maxItems)
  return maxProperties !== undefined && isRecord(value) && tooMany(Object.keys(value).length, maxProperties)
}

function tooMany(count: number, most: number | undefined): boolean {
  return most !== undefined && count > most
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTuple(items: TSchema | readonly TSchema[]): items is readonly TSchema[] {
  return Array.isArray(items)
}
