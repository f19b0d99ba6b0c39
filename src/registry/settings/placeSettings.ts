/** The settings that concern places and the chains that they belong to. */
import Type from 'typebox'
import {
  booleanField,
  checkTextField,
  dictionaryField,
  numberField,
  present,
  textsField,
  type Fields,
} from '../../http/fields.ts'
import { METADATA_TEXT_LENGTH, type Metadata } from '../../model/metadata.ts'
import type { PlaceFilters } from '../../model/settings.ts'
import { badParam } from '../../runtime/errors.ts'
import { MAX_ID_LENGTH, metadataField } from '../records/recordFields.ts'

/** The most chains in a setting: a body has at most 5,000 different names (http/structure.ts). */
const MAX_CHAINS = 4000
/** The most slugs in a filter. */
const MAX_FILTERED = 1000
/** The most bytes of the JSON text of a setting. */
const MAX_BYTES = 512_000
const MAX_STAY_SECONDS = 86_400
const MAX_NEARBY = 100
const NEARBY_METERS = [100, 10_000] as const
const SLUG = /^[a-z0-9]+(?:-[a-z0-9]+)*$/

const ChainMetadata = Type.Record(
  Type.String(),
  Type.Union([Type.String({ maxLength: METADATA_TEXT_LENGTH }), Type.Number(), Type.Boolean()]),
)

export const PLACE_SETTINGS = {
  chainMappings: {
    schema: Type.Record(Type.String(), Type.String({ maxLength: MAX_ID_LENGTH }), {
      description:
        'Your own ids of chains, by slug: `{"burger-king": "17"}`. Responses show them as `externalId`, and searches accept them in place of slugs.',
    }),
    read: mappingsField,
  },
  chainMetadata: {
    schema: Type.Record(Type.String(), ChainMetadata, {
      description: 'Custom data of chains, by slug: 1 to 16 strings, booleans and numbers for each.',
    }),
    read: chainMetadataField,
  },
  placeFilters: {
    schema: Type.Object(
      { chain: Type.Array(Type.String()), category: Type.Array(Type.String()) },
      {
        description:
          'Slugs of the chains and categories of which a place must have one to be detected as visited. Empty: every place.',
      },
    ),
    read: filtersField,
  },
  places: {
    schema: Type.Boolean({
      description:
        'Whether users have the place that they visit and their most visited chains; entries and exits of places are events.',
    }),
    read: booleanField,
  },
  placeMinimumStaySeconds: {
    schema: Type.Number({
      minimum: 0,
      maximum: MAX_STAY_SECONDS,
      description:
        'If the same place has been the most likely one for this many seconds, the user visits it, even without stopping and without the app in the foreground.',
    }),
    read: (fields: Fields, name: string) => numberField(fields, name, 0, MAX_STAY_SECONDS),
  },
  nearbyPlaceChains: {
    schema: Type.Array(Type.String(), {
      maxItems: MAX_NEARBY,
      description:
        'Slugs of chains: coming near one of their places is an event, and users have the chains that are near.',
    }),
    read: nearbyChainsField,
  },
  nearbyPlaceChainMeters: {
    schema: Type.Number({
      minimum: NEARBY_METERS[0],
      maximum: NEARBY_METERS[1],
      description:
        'The distance, in metres, at which a chain is near. It is no longer near at one and a half times this distance.',
    }),
    read: (fields: Fields, name: string) => numberField(fields, name, ...NEARBY_METERS),
  },
}

/** The dictionary. Null and an empty text stand for one without members. */
function dictionaryOf(fields: Fields, name: string): Fields {
  return present(fields, name) === undefined ? {} : (dictionaryField(fields, name) ?? {})
}

function mappingsField(fields: Fields, name: string): Readonly<Record<string, string>> {
  const entries = chainEntries(fields, name).map(([slug, id]) => {
    const text = checkTextField(name, id, MAX_ID_LENGTH).trim()
    if (text === '' || text.includes(','))
      throw badParam(name, `Invalid ${name}. The id of ${slug} must not be empty or contain a comma.`)
    return [slug, text] as const
  })
  return sized(name, Object.fromEntries(entries))
}

function chainMetadataField(fields: Fields, name: string): Readonly<Record<string, Metadata>> {
  const entries = chainEntries(fields, name).map(([slug, value]) => {
    const metadata = typeof value === 'object' ? metadataField({ [name]: value }, name) : undefined
    if (metadata === undefined)
      throw badParam(name, `Invalid ${name}. That of ${slug} must be a dictionary with 1 to 16 keys.`)
    return [slug, metadata] as const
  })
  return sized(name, Object.fromEntries(entries))
}

function filtersField(fields: Fields, name: string): PlaceFilters {
  const given = dictionaryOf(fields, name)
  const unknown = Object.keys(given).find((key) => key !== 'chain' && key !== 'category')
  if (unknown !== undefined) throw badParam(name, `Invalid ${name}. Its members are chain and category.`)
  const slugs = (key: 'chain' | 'category'): readonly string[] => {
    if (!Object.hasOwn(given, key)) return []
    const texts = textsField({ [name]: given[key] }, name, MAX_FILTERED, MAX_ID_LENGTH) ?? []
    return [...new Set(texts.map((text) => checkSlug(name, text)))]
  }
  return { chain: slugs('chain'), category: slugs('category') }
}

function nearbyChainsField(fields: Fields, name: string): readonly string[] {
  const texts = textsField(fields, name, MAX_NEARBY, MAX_ID_LENGTH) ?? []
  return [...new Set(texts.map((text) => checkSlug(name, text)))]
}

/** The members of a dictionary by chain. Null removes a member. */
function chainEntries(fields: Fields, name: string): (readonly [slug: string, value: unknown])[] {
  const entries = Object.entries(dictionaryOf(fields, name)).filter(([, value]) => value !== null)
  if (entries.length > MAX_CHAINS)
    throw badParam(name, `Invalid ${name}. It must have at most ${MAX_CHAINS} chains.`)
  return entries.map(([slug, value]) => [checkSlug(name, slug), value] as const)
}

/** Whether a text is a slug, apart from its case and surrounding blanks. */
export function isSlug(text: string): boolean {
  const slug = text.trim().toLowerCase()
  return slug.length <= MAX_ID_LENGTH && SLUG.test(slug)
}

function checkSlug(name: string, text: string): string {
  if (isSlug(text)) return text.trim().toLowerCase()
  throw badParam(
    name,
    `Invalid ${name}. A slug has lower-case letters, digits and single dashes, such as burger-king.`,
  )
}

function sized<Value extends object>(name: string, value: Value): Value {
  if (Buffer.byteLength(JSON.stringify(value)) <= MAX_BYTES) return value
  throw badParam(name, `Invalid ${name}. It must take at most ${MAX_BYTES / 1000} kB.`)
}
