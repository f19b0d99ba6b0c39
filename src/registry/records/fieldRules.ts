import Type, { type TObject, type TSchema } from 'typebox'
import {
  booleanField,
  choiceField,
  dateField,
  type Fields,
  listField,
  numberField,
  positiveField,
  textField,
  textsField,
} from '../../http/fields.ts'
import type { Needs } from '../../http/needs.ts'
import { DateText, Text } from '../../http/schemas.ts'
import type { Metadata } from '../../model/metadata.ts'
import { badParam } from '../../runtime/errors.ts'
import { MAX_ID_LENGTH, MAX_WORD_LENGTH, metadataField, pairField, type Pair } from './recordFields.ts'
import { BooleanOrText, DictionaryOrText, ListOrText, NumberOrText, TextsOrText } from './recordSchemas.ts'

/**
 * One field of a definition: its schema, and how its value is read from a JSON body, a form or a row of a file.
 * `Required` says whether every definition has it.
 */
export interface FieldRule<T, Required extends boolean = boolean> {
  readonly schema: TSchema
  readonly isRequired: Required
  /**
   * Reads the field. Returns undefined if it is absent, null or empty.
   * @param known the pair, if the path contains it
   * @throws {ApiError} 400 naming the field
   */
  read(fields: Fields, name: string, known?: Pair): T | undefined
}

/** The fields of a definition by name, in the order of the document. */
export type FieldTable = Readonly<Record<string, FieldRule<unknown>>>

type Value<Rule> =
  Rule extends FieldRule<infer T, infer Required> ? (Required extends true ? T : T | undefined) : never
type ValuesOf<Table extends FieldTable, Name extends keyof Table> = {
  [K in Name as undefined extends Value<Table[K]> ? never : K]: Value<Table[K]>
} & { [K in Name as undefined extends Value<Table[K]> ? K : never]?: Exclude<Value<Table[K]>, undefined> }

/**
 * The schema of a body with these fields.
 * @param more rules beyond a list of required fields; see {@link Needs}
 */
export function bodyOf(
  table: FieldTable,
  options: { readonly title: string; readonly additionalProperties?: false },
  more: Needs['allOf'] = [],
): TObject {
  const properties = Object.entries(table).map(([name, { schema, isRequired }]) => [
    name,
    isRequired ? schema : Type.Optional(schema),
  ])
  return Type.Object(Object.fromEntries(properties), { ...options, ...(more.length > 0 && { allOf: more }) })
}

/**
 * Reads the named fields in this order, which decides which of several errors is reported. Absent fields are left out.
 * @param names all fields if absent
 * @throws {ApiError} 400 naming the field
 */
export function readFields<
  Table extends FieldTable,
  Name extends keyof Table & string = keyof Table & string,
>(
  table: Table,
  fields: Fields,
  known?: Pair,
  names: readonly Name[] = Object.keys(table) as Name[],
): ValuesOf<Table, Name> {
  const values: Record<string, unknown> = {}
  for (const name of names) {
    const value = table[name]!.read(fields, name, known)
    if (value !== undefined) values[name] = value
  }
  return values as ValuesOf<Table, Name>
}

/** What a change of many records at once may set: the schema of its body, and its reader. */
export interface BulkChanges {
  readonly body: TObject
  /**
   * Returns the members to be set. An undefined one is removed.
   * @throws {ApiError} 400 naming the field
   */
  parse(fields: Fields): Readonly<Record<string, unknown>>
}

/**
 * A change of these fields.
 * @param defaults the values of fields that are null or empty; without a default, such a field is removed
 */
export function bulkChanges(
  table: FieldTable,
  title: string,
  names: readonly string[],
  defaults: Readonly<Record<string, unknown>>,
): BulkChanges {
  const properties = names.map((name) => [
    name,
    Type.Optional(Type.Union([table[name]!.schema, Type.Null()])),
  ])
  return {
    body: Type.Object(Object.fromEntries(properties), { title, minProperties: 1 }),
    parse(fields) {
      for (const name of Object.keys(table))
        if (Object.hasOwn(fields, name) && !names.includes(name))
          throw badParam(name, `It cannot be changed for many at once; ${names.join(', ')} can.`)
      const given = names.filter((name) => Object.hasOwn(fields, name))
      if (given.length === 0) throw badParam('body', `It must have one of ${names.join(', ')}.`)
      return Object.fromEntries(
        given.map((name) => [name, table[name]!.read(fields, name) ?? defaults[name]]),
      )
    },
  }
}

function rule<T>(schema: TSchema, read: FieldRule<T>['read']): FieldRule<T, false> {
  return { schema, isRequired: false, read }
}

/** The rule of a field that every definition must have. */
export function requiredRule<T>({ schema, read }: FieldRule<T>): FieldRule<T, true> {
  return { schema, isRequired: true, read }
}

export const custom = rule

export const text = (maxLength: number, description: string) =>
  rule(Text(maxLength, description), (fields, name) => textField(fields, name, maxLength))

export const choice = <const T extends string>(choices: readonly T[], description: string) =>
  rule(Text(MAX_WORD_LENGTH, description), (fields, name) => choiceField(fields, name, choices))

export const flag = (description: string) => rule(BooleanOrText(description), booleanField)

export const number = (low: number, high: number, description: string) =>
  rule(NumberOrText(description), (fields, name) => numberField(fields, name, low, high))

export const positive = (description: string) => rule(NumberOrText(description), positiveField)

/** A date, which is read as epoch milliseconds. */
export const date = () => rule(DateText, dateField)

export const list = (description: string) => rule(ListOrText(description), listField)

export const textList = (maxCount: number, maxLength: number, description: string) =>
  rule(TextsOrText(description), (fields, name) => textsField(fields, name, maxCount, maxLength))

export const metadata = () =>
  rule<Metadata>(DictionaryOrText('Up to 16 keys; values are strings, booleans or numbers.'), (fields) =>
    metadataField(fields),
  )

/** A record's tag or externalId. */
export const reference = (name: 'tag' | 'externalId', description: string) =>
  rule(Text(MAX_ID_LENGTH, description), (fields, _name, known) => pairField(fields, name, known))
