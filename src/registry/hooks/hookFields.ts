import Type, { type TObject } from 'typebox'
import {
  checkRequired,
  dictionaryField,
  numberField,
  required,
  textField,
  textsField,
  type Fields,
} from '../../http/fields.ts'
import { Text } from '../../http/schemas.ts'
import { atLeastOne, neededBy } from '../../http/needs.ts'
import type { Area } from '../../model/area.ts'
import { HOOK_EVENTS, type Hook, type HookSubject, type HookTransition } from '../../model/hook.ts'
import { badParam } from '../../runtime/errors.ts'
import { AreaError, LiveAreas } from '../../spatial/liveAreas.ts'
import { AREA_MEMBERS, AREA_TYPES, readArea } from '../records/areaFields.ts'
import {
  bodyOf,
  custom,
  flag,
  readFields,
  reference,
  requiredRule,
  text,
  textList,
} from '../records/fieldRules.ts'
import { MAX_DESCRIPTION_LENGTH, MAX_ID_LENGTH, MAX_WORD_LENGTH, type Pair } from '../records/recordFields.ts'
import { TextsOrText } from '../records/recordSchemas.ts'
import { EndpointBody, parseEndpoint } from './hookEndpoint.ts'

/** A hook without the members that the registry adds: the content of one definition. */
export type HookDefinition = Omit<Hook, 'id' | 'scope' | 'createdAt' | 'updatedAt'>

const MAX_FILTER_ITEMS = 100
const SUBJECTS = Object.keys(HOOK_EVENTS) as HookSubject[]
/** What is detected if a definition does not say. */
const STANDARD: Readonly<Record<HookSubject, readonly HookTransition[]>> = {
  geofence: ['enter', 'exit'],
  area: ['enter', 'exit'],
  roam: ['nearby', 'faraway'],
}
/** The smallest distance of `roam`. */
const MIN_METERS = 10
const MAX_METERS = 1000

const GeofenceBody = Type.Object(
  {
    tag: Text(MAX_ID_LENGTH, 'Of the geofence.'),
    externalId: Type.Optional(Text(MAX_ID_LENGTH, 'Of the geofence; absent: all geofences with the tag.')),
  },
  { additionalProperties: false },
)

const AreaBody = Type.Object(
  { type: Type.Enum([...AREA_TYPES]), ...AREA_MEMBERS },
  {
    additionalProperties: false,
    allOf: neededBy('type', {
      circle: { required: ['center', 'radius'] },
      box: { required: ['box'] },
      polygon: { required: ['coordinates'] },
    }),
  },
)

const RoamBody = Type.Object(
  { meters: Type.Number({ minimum: MIN_METERS, maximum: MAX_METERS }) },
  { additionalProperties: false },
)

/** The fields of a hook definition. */
const HOOK_FIELDS = {
  tag: reference('tag', 'Group of the hook.'),
  externalId: reference('externalId', 'Your own id, unique within the tag.'),
  description: text(MAX_DESCRIPTION_LENGTH, 'A text for people.'),
  enabled: flag('Default true. While it is false, nothing is sent, and it is not sent later either.'),
  geofence: custom(
    { ...GeofenceBody, description: 'A geofence, or all geofences with a tag. They need not exist yet.' },
    geofenceField,
  ),
  area: custom(
    {
      ...AreaBody,
      description: 'An area that is not a geofence: metres and degrees, as in a watch. Needs Tile38.',
    },
    areaField,
  ),
  roam: custom(
    {
      ...RoamBody,
      description: 'Two devices that come within this number of metres of each other. Needs Tile38.',
    },
    roamField,
  ),
  detect: custom(
    TextsOrText(
      'A list or comma-separated. For a geofence: `enter`, `exit` and `dwell`; for an area: `enter`, `exit`, `cross` ' +
        'and `inside`; the default is enter and exit. For roam: `nearby` and `faraway`; the default is both.',
    ),
    detectField,
  ),
  userIds: textList(
    MAX_FILTER_ITEMS,
    MAX_ID_LENGTH,
    'Only these users; absent: all. For roam, it is enough if one of the two devices belongs to such a user.',
  ),
  deviceIds: textList(MAX_FILTER_ITEMS, MAX_ID_LENGTH, 'Only these devices; absent: all.'),
  endpoint: requiredRule(
    custom({ ...EndpointBody, description: 'Where the messages are sent.' }, (fields, name) => {
      const given = dictionaryField(fields, name)
      return given && parseEndpoint(given, name)
    }),
  ),
}

/**
 * The body of a hook definition whose pair is known. A mistyped filter would mean all, so no other fields are allowed.
 */
export const HookBody: TObject = bodyOf(
  HOOK_FIELDS,
  { title: 'HookDefinition', additionalProperties: false },
  [atLeastOne(...SUBJECTS)],
)

/** The body of a hook definition that contains its pair. */
export const NewHookBody: TObject = bodyOf(
  {
    ...HOOK_FIELDS,
    tag: requiredRule(HOOK_FIELDS.tag),
    externalId: requiredRule(HOOK_FIELDS.externalId),
  },
  { title: 'NewHook', additionalProperties: false },
  [atLeastOne(...SUBJECTS)],
)

/**
 * Reads the definition of a hook from a body.
 * @param known the tag and externalId, if the path contains them
 * @throws {ApiError} 400 naming the field
 */
export function parseHook(fields: Fields, known?: Pair): HookDefinition {
  checkRequired(known === undefined ? NewHookBody : HookBody, fields)
  const { tag, externalId, enabled = true, detect: given, ...rest } = readFields(HOOK_FIELDS, fields, known)
  const [subject, second] = SUBJECTS.filter((name) => rest[name] !== undefined)
  if (second !== undefined) throw badParam(second, `Only one of ${SUBJECTS.join(', ')} is possible.`)
  const detect = given === undefined ? STANDARD[subject!] : detected(subject!, given)
  return { ...rest, tag: tag!, externalId: externalId!, enabled, detect }
}

function geofenceField(fields: Fields, name: string): Hook['geofence'] | undefined {
  const given = dictionaryField(fields, name)
  if (given === undefined) return undefined
  const tag = textField(given, 'tag', MAX_ID_LENGTH)
  const externalId = textField(given, 'externalId', MAX_ID_LENGTH)
  if (tag === undefined) throw badParam(`${name}.tag`, 'Required.')
  return { tag, ...(externalId !== undefined && { externalId }) }
}

function areaField(fields: Fields, name: string): Area | undefined {
  const given = dictionaryField(fields, name)
  if (given === undefined) return undefined
  const area = given as unknown as Area
  const own = { circle: ['center', 'radius'], box: ['box'], polygon: ['coordinates'] }[area.type]
  const foreign = Object.keys(AREA_MEMBERS).find((member) => !own.includes(member) && member in given)
  if (foreign !== undefined) throw badParam(`${name}.${foreign}`, `Not for the type ${area.type}.`)
  const live = readArea(area, name)
  try {
    new LiveAreas<string>().put(name, live)
  } catch (error) {
    throw error instanceof AreaError ? badParam(name, error.message) : error
  }
  return area
}

function roamField(fields: Fields, name: string): Hook['roam'] {
  const given = dictionaryField(fields, name)
  return given && { meters: required(`${name}.meters`, numberField(given, 'meters', MIN_METERS, MAX_METERS)) }
}

function detectField(fields: Fields, name: string): readonly string[] | undefined {
  return textsField(fields, name, MAX_FILTER_ITEMS, MAX_WORD_LENGTH)
}

/** The transitions in the order of the document. */
function detected(subject: HookSubject, given: readonly string[]): readonly HookTransition[] {
  const possible = Object.keys(HOOK_EVENTS[subject]) as HookTransition[]
  const unknown = given.find((word) => !(possible as string[]).includes(word))
  if (unknown !== undefined)
    throw badParam('detect', `Invalid detect. Of ${subject}, it must consist of ${possible.join(', ')}.`)
  return possible.filter((word) => given.includes(word))
}
