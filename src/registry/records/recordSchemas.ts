import Type from 'typebox'
import type { TSchema } from 'typebox'
import { Name, Text } from '../../http/schemas.ts'
import { MAX_DECIMAL_LENGTH } from '../../model/decimal.ts'
import { MAX_ID_LENGTH } from './recordFields.ts'

/** Schemas that the routes of geofences and beacons share. */

export const Id = Type.Object({ id: Name(MAX_ID_LENGTH) })
export const PairParams = Type.Object({ tag: Name(MAX_ID_LENGTH), externalId: Name(MAX_ID_LENGTH) })
export const Nothing = Type.Object({})

// Fields of definitions. The schemas describe JSON; in a form or a file, a list or dictionary is text: JSON, or
// comma-separated.

export const NumberOrText = (description: string) =>
  Type.Union([Type.Number(), Type.String({ maxLength: MAX_DECIMAL_LENGTH })], { description })
export const BooleanOrText = (description: string) =>
  Type.Union([Type.Boolean(), Type.String({ maxLength: MAX_DECIMAL_LENGTH })], { description })
export const ListOrText = (description: string) =>
  Type.Union([Type.Array(Type.Unknown()), Type.String()], { description })
export const DictionaryOrText = (description: string) =>
  Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.String()], { description })
/** A list whose items are texts, even if a form has only digits for one. */
export const TextsOrText = (description: string) =>
  Type.Union([Type.Array(Type.String({ maxLength: MAX_ID_LENGTH })), Type.String()], { description })

/** The fields, each of them optional. Other rules say which ones are required and why. */
export function optional<T extends Record<string, TSchema>>(fields: T) {
  return Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, Type.Optional(schema)]))
}

// Fields of records.

export const LonLat = Type.Array(Type.Number(), {
  minItems: 2,
  maxItems: 2,
  description: '[longitude, latitude]',
})
export const MetadataRecord = Type.Record(
  Type.String(),
  Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
)

// Filters.

/** A filter by tags; {@link tagSet} reads it. */
export const TagsFilter = Text(16_384, 'Comma-separated; records with any of these tags.')

/** The tags of a comma-separated filter; undefined if there are none. */
export function tagSet(text: string | undefined): ReadonlySet<string> | undefined {
  const tags = new Set(text?.split(',').map((tag) => tag.trim()))
  tags.delete('')
  return tags.size === 0 ? undefined : tags
}
