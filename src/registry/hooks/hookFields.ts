import Type, { type TObject } from 'typebox'
import { checkRequired, dictionaryField, textField, textsField, type Fields } from '../../http/fields.ts'
import { Text } from '../../http/schemas.ts'
import { HOOK_EVENTS, type Hook, type HookTransition } from '../../model/hook.ts'
import { badParam } from '../../runtime/errors.ts'
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

/** A hook without what the registry gives it: the content of one definition. */
export type HookDefinition = Omit<Hook, 'id' | 'scope' | 'createdAt' | 'updatedAt'>

const MAX_FILTER_ITEMS = 100
const TRANSITIONS = Object.keys(HOOK_EVENTS) as HookTransition[]
const STANDARD: readonly HookTransition[] = ['enter', 'exit']

const GeofenceBody = Type.Object(
  {
    tag: Text(MAX_ID_LENGTH, 'Of the geofence.'),
    externalId: Type.Optional(Text(MAX_ID_LENGTH, 'Of the geofence; absent: all geofences with the tag.')),
  },
  { additionalProperties: false },
)

/** The fields of a hook definition. */
const HOOK_FIELDS = {
  tag: reference('tag', 'Group of the hook.'),
  externalId: reference('externalId', 'Your own id, unique within the tag.'),
  description: text(MAX_DESCRIPTION_LENGTH, 'For people.'),
  enabled: flag('Default true. While it is false, nothing is sent, and it is not sent later either.'),
  geofence: requiredRule(
    custom(
      { ...GeofenceBody, description: 'A geofence, or all geofences with a tag. They need not exist yet.' },
      geofenceField,
    ),
  ),
  detect: custom(
    TextsOrText('`enter`, `exit` and `dwell`; a list or comma-separated. Default: enter and exit.'),
    detectField,
  ),
  userIds: textList(MAX_FILTER_ITEMS, MAX_ID_LENGTH, 'Only these users; absent: all.'),
  deviceIds: textList(MAX_FILTER_ITEMS, MAX_ID_LENGTH, 'Only these devices; absent: all.'),
  endpoint: requiredRule(
    custom({ ...EndpointBody, description: 'Where the messages are sent.' }, (fields, name) => {
      const given = dictionaryField(fields, name)
      return given && parseEndpoint(given, name)
    }),
  ),
}

/** The body of a hook definition whose pair is known. A mistyped filter would mean all, so no other fields are allowed. */
export const HookBody: TObject = bodyOf(HOOK_FIELDS, { title: 'HookDefinition', additionalProperties: false })

/** The body of a hook definition that contains its pair. */
export const NewHookBody: TObject = bodyOf(
  {
    ...HOOK_FIELDS,
    tag: requiredRule(HOOK_FIELDS.tag),
    externalId: requiredRule(HOOK_FIELDS.externalId),
  },
  { title: 'NewHook', additionalProperties: false },
)

/**
 * Reads the definition of a hook from a body.
 * @param known the pair if the path contains it
 * @throws ApiError 400 naming the field
 */
export function parseHook(fields: Fields, known?: Pair): HookDefinition {
  checkRequired(known === undefined ? NewHookBody : HookBody, fields)
  const {
    tag,
    externalId,
    enabled = true,
    detect = STANDARD,
    ...rest
  } = readFields(HOOK_FIELDS, fields, known)
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

function detectField(fields: Fields, name: string): readonly HookTransition[] | undefined {
  const given = textsField(fields, name, TRANSITIONS.length + 1, MAX_WORD_LENGTH)
  if (given === undefined) return undefined
  const unknown = given.find((word) => !(TRANSITIONS as string[]).includes(word))
  if (unknown !== undefined)
    throw badParam(name, `Invalid detect. It must consist of ${TRANSITIONS.join(', ')}.`)
  return TRANSITIONS.filter((word) => given.includes(word))
}
