/** The setting of segments: reads the rules, and names what is wrong in them. */
import Type from 'typebox'
import { listField, type Fields } from '../../http/fields.ts'
import { METADATA_TEXT_LENGTH, USER_METADATA_KEYS, type Metadata } from '../../model/metadata.ts'
import {
  COUNTED_EVENTS,
  definitionOf,
  type EventCondition,
  type UserSegment,
  type SegmentDefinition,
  type SegmentRule,
} from '../../model/segment.ts'
import type { Settings } from '../../model/settings.ts'
import { badParam } from '../../runtime/errors.ts'
import { MAX_DESCRIPTION_LENGTH, MAX_ID_LENGTH } from '../records/recordFields.ts'
import { isSlug } from './placeSettings.ts'

const NAME = 'segments'
const MAX_SEGMENTS = 50
const MAX_DEPTH = 4
const MAX_CONDITIONS = 20
/**
 * How many conditions that count events all segments of an environment may have, because each user keeps a count for
 * each.
 */
const MAX_EVENT_CONDITIONS = 20
const DAYS = { low: 1, high: 90, usual: 30 }
const TIMES = { low: 1, high: 100, usual: 1 }
const MAX_KEY_LENGTH = 256
/** The most bytes of the JSON text of the setting. */
const MAX_BYTES = 512_000

const KINDS = ['all', 'any', 'not', 'metadata', 'country', 'state', 'geofence', 'chain', 'category', 'event']

const Slug = (description: string) => Type.Optional(Type.String({ maxLength: MAX_ID_LENGTH, description }))
const Inner = Type.Object({}, { description: 'A rule.' })
const Rule = Type.Object(
  {
    all: Type.Optional(Type.Array(Inner, { minItems: 1, description: 'All of these rules hold.' })),
    any: Type.Optional(Type.Array(Inner, { minItems: 1, description: 'At least one of these rules holds.' })),
    not: Type.Optional(Inner),
    metadata: Type.Optional(
      Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
        description: 'The metadata of the user have each of these keys with this very value.',
      }),
    ),
    country: Type.Optional(
      Type.String({ description: 'The code of the country that the user is in: `US`.' }),
    ),
    state: Type.Optional(Type.String({ description: 'The code of the state of the United States: `NY`.' })),
    geofence: Type.Optional(
      Type.Object(
        { tag: Type.String(), externalId: Type.Optional(Type.String()) },
        { description: 'The user is in such a geofence.' },
      ),
    ),
    chain: Slug('The slug of the chain of the place that the user is in.'),
    category: Slug('The slug of a category of the place that the user is in.'),
    event: Type.Optional(
      Type.Object(
        {
          type: Type.String({
            description: 'The type of an event, or the name of a conversion; not that of a trip event.',
          }),
          tag: Type.Optional(Type.String({ description: 'The tag of the geofence or beacon.' })),
          externalId: Type.Optional(Type.String()),
          chain: Slug('The chain of the place.'),
          category: Slug('A category of the place.'),
          withinDays: Type.Optional(
            Type.Integer({ minimum: DAYS.low, maximum: DAYS.high, default: DAYS.usual }),
          ),
          atLeast: Type.Optional(
            Type.Integer({ minimum: TIMES.low, maximum: TIMES.high, default: TIMES.usual }),
          ),
        },
        {
          description:
            'The user had at least this number of such events in this number of days, since the rule was set.',
        },
      ),
    ),
  },
  { minProperties: 1, maxProperties: 1, description: 'Exactly one member.' },
)

export const SEGMENT_SETTINGS = {
  segments: {
    schema: Type.Array(
      Type.Object({
        description: Type.String({ maxLength: MAX_DESCRIPTION_LENGTH }),
        externalId: Type.String({
          maxLength: MAX_ID_LENGTH,
          description: 'Your own id of the segment, unique among the segments.',
        }),
        rule: Rule,
      }),
      {
        maxItems: MAX_SEGMENTS,
        description:
          'Groups of users: `{"description", "externalId", "rule"}`. After each update, `user.segments` has those whose rule holds. ' +
          `A rule has at most ${MAX_DEPTH} levels and ${MAX_CONDITIONS} conditions; all rules together count at most ${MAX_EVENT_CONDITIONS} kinds of events. ` +
          'Countries and states need the setting `regions`, chains and categories the setting `places`. Events count from when the rule is set; a change that leaves the rule of an externalId as it is keeps its counts.',
      },
    ),
    read: segmentsField,
  },
}

/**
 * The segments with the numbers of their rules. A rule that stays the same under its externalId keeps its number.
 * @param before the settings so far
 */
export function numbered(
  definitions: readonly SegmentDefinition[],
  { segments, segmentsSet }: Pick<Settings, 'segments' | 'segmentsSet'>,
): Pick<Settings, 'segments' | 'segmentsSet'> {
  const known = new Map(segments.map((one) => [one.externalId, one]))
  let last = segmentsSet
  const all = definitions.map((one): UserSegment => {
    const before = known.get(one.externalId)
    const isSame = before !== undefined && JSON.stringify(before.rule) === JSON.stringify(one.rule)
    return { ...definitionOf(one), number: isSame ? before.number : ++last }
  })
  return { segments: all, segmentsSet: last }
}

/** The segments without their numbers, which {@link numbered} adds. */
function segmentsField(fields: Fields, name: string): readonly UserSegment[] {
  const given = listField(fields, name) ?? []
  if (given.length > MAX_SEGMENTS) throw bad('', `must have at most ${MAX_SEGMENTS} items`)
  const reader = new RuleReader()
  const segments = given.map((one, i) => reader.segment(one, `[${i}]`))
  const ids = new Set<string>()
  for (const [i, { externalId }] of segments.entries()) {
    if (ids.has(externalId))
      throw bad(`[${i}].externalId`, `must differ from those of the others: ${externalId}`)
    ids.add(externalId)
  }
  if (Buffer.byteLength(JSON.stringify(segments)) <= MAX_BYTES) return segments
  throw bad('', `must take at most ${MAX_BYTES / 1000} kB`)
}

/**
 * An error about a part of the setting.
 * @param path the path after the name of the setting
 */
function bad(path: string, sentence: string) {
  return badParam(NAME, `Invalid ${NAME}. ${NAME}${path} ${sentence}.`)
}

class RuleReader {
  #conditions = 0
  #eventConditions = 0

  segment(value: unknown, path: string): UserSegment {
    const given = members(value, path, ['description', 'externalId', 'rule'])
    const description = text(given, 'description', path, MAX_DESCRIPTION_LENGTH)
    const externalId = text(given, 'externalId', path, MAX_ID_LENGTH)
    if (description === undefined) throw bad(`${path}.description`, 'is required')
    if (externalId === undefined) throw bad(`${path}.externalId`, 'is required')
    this.#conditions = 0
    return { description, externalId, rule: this.#rule(given['rule'], `${path}.rule`, 1), number: 0 }
  }

  #rule(value: unknown, path: string, depth: number): SegmentRule {
    if (depth > MAX_DEPTH) throw bad(path, `is nested too deep: a rule has at most ${MAX_DEPTH} levels`)
    const given = members(value, path, KINDS)
    const kinds = Object.keys(given)
    const [kind] = kinds
    if (kind === undefined || kinds.length > 1)
      throw bad(path, `must have exactly one member. Valid members: ${KINDS.join(', ')}`)
    const at = `${path}.${kind}`
    const inner = given[kind]
    if (kind === 'not') return { not: this.#rule(inner, at, depth + 1) }
    if (kind === 'all') return { all: this.#rules(inner, at, depth + 1) }
    if (kind === 'any') return { any: this.#rules(inner, at, depth + 1) }
    this.#count(1, path)
    switch (kind) {
      case 'metadata':
        return { metadata: this.#metadata(inner, at) }
      case 'country':
        return { country: code(inner, at, 'country') }
      case 'state':
        return { state: code(inner, at, 'state') }
      case 'geofence':
        return { geofence: geofence(inner, at) }
      case 'chain':
        return { chain: slug(inner, at) }
      case 'category':
        return { category: slug(inner, at) }
      default:
        if (++this.#eventConditions > MAX_EVENT_CONDITIONS)
          throw bad(
            at,
            `is one too many: all segments together may have at most ${MAX_EVENT_CONDITIONS} event conditions`,
          )
        return { event: event(inner, at) }
    }
  }

  #rules(value: unknown, path: string, depth: number): SegmentRule[] {
    if (!Array.isArray(value) || value.length === 0) throw bad(path, 'must be a list of one or more rules')
    return value.map((one, i) => this.#rule(one, `${path}[${i}]`, depth))
  }

  #count(more: number, path: string): void {
    this.#conditions += more
    if (this.#conditions > MAX_CONDITIONS)
      throw bad(path, `is one too many: a rule may have at most ${MAX_CONDITIONS} conditions`)
  }

  /** Each key is a condition. */
  #metadata(value: unknown, path: string): Metadata {
    const given = dictionary(value, path)
    const keys = Object.keys(given).sort()
    if (keys.length === 0 || keys.length > USER_METADATA_KEYS)
      throw bad(path, `must have 1 to ${USER_METADATA_KEYS} keys`)
    this.#count(keys.length - 1, path)
    const metadata = new Map<string, string | number | boolean>()
    for (const key of keys) {
      const at = `${path}.${key}`
      const wanted = given[key]
      if (key.length > MAX_KEY_LENGTH)
        throw bad(path, `must have keys of at most ${MAX_KEY_LENGTH} characters`)
      if (typeof wanted !== 'string' && typeof wanted !== 'number' && typeof wanted !== 'boolean')
        throw bad(at, 'must be a string, number or boolean')
      if (typeof wanted === 'string' && wanted.length > METADATA_TEXT_LENGTH)
        throw bad(at, `must be at most ${METADATA_TEXT_LENGTH} characters long`)
      metadata.set(key, wanted)
    }
    return Object.fromEntries(metadata)
  }
}

function geofence(value: unknown, path: string): { tag: string; externalId?: string } {
  const given = members(value, path, ['tag', 'externalId'])
  const tag = text(given, 'tag', path, MAX_ID_LENGTH)
  const externalId = text(given, 'externalId', path, MAX_ID_LENGTH)
  if (tag === undefined) throw bad(`${path}.tag`, 'is required')
  return { tag, ...(externalId !== undefined && { externalId }) }
}

function event(value: unknown, path: string): EventCondition {
  const given = members(value, path, [
    'type',
    'tag',
    'externalId',
    'chain',
    'category',
    'withinDays',
    'atLeast',
  ])
  const type = text(given, 'type', path, MAX_ID_LENGTH)
  if (type === undefined) throw bad(`${path}.type`, 'is required')
  const { named, ofPlaces, others } = COUNTED_EVENTS
  const isNamed = (named as readonly string[]).includes(type)
  const isOfPlaces = (ofPlaces as readonly string[]).includes(type)
  if (type.startsWith('user.') && !isNamed && !isOfPlaces && !others.includes(type))
    throw bad(
      `${path}.type`,
      `must be the name of a conversion or one of ${[...named, ...ofPlaces, ...others].join(', ')}`,
    )
  for (const member of ['tag', 'externalId'] as const)
    if (!isNamed && given[member] !== undefined)
      throw bad(`${path}.${member}`, 'only fits events of geofences and beacons')
  for (const member of ['chain', 'category'] as const)
    if (!isOfPlaces && given[member] !== undefined)
      throw bad(`${path}.${member}`, 'only fits events of places')
  const tag = text(given, 'tag', path, MAX_ID_LENGTH)
  const externalId = text(given, 'externalId', path, MAX_ID_LENGTH)
  return {
    type,
    ...(tag !== undefined && { tag }),
    ...(externalId !== undefined && { externalId }),
    ...(given['chain'] !== undefined && { chain: slug(given['chain'], `${path}.chain`) }),
    ...(given['category'] !== undefined && { category: slug(given['category'], `${path}.category`) }),
    withinDays: integer(given['withinDays'], `${path}.withinDays`, DAYS),
    atLeast: integer(given['atLeast'], `${path}.atLeast`, TIMES),
  }
}

function integer(value: unknown, path: string, { low, high, usual }: typeof DAYS): number {
  if (value === undefined) return usual
  if (typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high) return value
  throw bad(path, `must be an integer. Valid range: [${low}, ${high}]`)
}

function code(value: unknown, path: string, of: string): string {
  if (typeof value === 'string' && /^[a-z]{2}$/i.test(value.trim())) return value.trim().toUpperCase()
  throw bad(path, `must be the code of a ${of}, of two letters`)
}

function slug(value: unknown, path: string): string {
  if (typeof value === 'string' && isSlug(value)) return value.trim().toLowerCase()
  throw bad(path, 'must be a slug: lower-case letters, digits and single dashes, such as burger-king')
}

/**
 * Reads a text.
 * @returns undefined if it is absent
 */
function text(given: Fields, member: string, path: string, most: number): string | undefined {
  const value = given[member]
  if (value === undefined) return undefined
  if (
    typeof value !== 'string' ||
    value === '' ||
    value.length > most ||
    value.includes('\0') ||
    !value.isWellFormed()
  )
    throw bad(`${path}.${member}`, `must be a string of 1 to ${most} characters`)
  return value
}

/**
 * The members that are not null.
 * @param known the only members that are allowed
 */
function members(value: unknown, path: string, known: readonly string[]): Fields {
  const given = dictionary(value, path)
  const unknown = Object.keys(given).find((key) => !known.includes(key))
  if (unknown !== undefined)
    throw bad(
      path,
      `has an unknown member, ${unknown.slice(0, MAX_ID_LENGTH)}. Valid members: ${known.join(', ')}`,
    )
  return Object.fromEntries(Object.entries(given).filter(([, member]) => member !== null))
}

function dictionary(value: unknown, path: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw bad(path, value === undefined ? 'is required' : 'must be a dictionary')
}
