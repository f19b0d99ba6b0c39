import Type from 'typebox'
import { Text } from '../../http/schemas.ts'
import type { Webhook } from '../../model/webhook.ts'
import { badParam } from '../../runtime/errors.ts'
import type { Fields } from '../../http/fields.ts'
import { booleanField, checkRequired, choiceField, textField, textsField } from '../../http/fields.ts'
import { MAX_DESCRIPTION_LENGTH, MAX_ID_LENGTH, withoutUndefined } from '../records/recordFields.ts'
import { BooleanOrText, optional, TextsOrText } from '../records/recordSchemas.ts'

/** A webhook without what the registry gives it. */
export type WebhookDefinition = Pick<Webhook, 'url' | 'description' | 'enabled' | 'mode' | 'types' | 'tags'>
/** What an edit names; undefined takes a description or filter away. */
export type WebhookChange = Partial<Pick<Webhook, 'url' | 'enabled' | 'mode'>> & {
  readonly [K in (typeof REMOVABLE)[number]]?: Webhook[K] | undefined
}

const MODES = ['single', 'multiple'] as const
const MAX_URL_LENGTH = 2048
const MAX_FILTER_ITEMS = 100
/** Fields that an edit takes away by null. */
const REMOVABLE = ['description', 'types', 'tags'] as const

const FIELDS = {
  url: Text(MAX_URL_LENGTH, 'http or https.'),
  description: Text(MAX_DESCRIPTION_LENGTH, 'For people.'),
  enabled: BooleanOrText(
    'Default true. While it is false, events are not sent, and they are not sent later either.',
  ),
  mode: Type.Union(
    MODES.map((mode) => Type.Literal(mode)),
    { description: '`single` (default): one event a request; `multiple`: up to 5 of one user.' },
  ),
  types: TextsOrText('Only events of these types, e.g. `user.entered_geofence`; absent: all.'),
  tags: TextsOrText('Only events of geofences or beacons with these tags; absent: all.'),
}

/** The fields of a definition, for requests. */
export const WebhookBody = Type.Object(
  { ...optional(FIELDS), url: FIELDS.url },
  {
    title: 'WebhookDefinition',
    // A mistyped filter would mean all events.
    additionalProperties: false,
  },
)

/** The fields of an edit, for requests. */
export const WebhookChangeBody = Type.Object(
  optional({
    ...FIELDS,
    ...Object.fromEntries(REMOVABLE.map((name) => [name, Type.Union([FIELDS[name], Type.Null()])])),
  }),
  { title: 'WebhookChange' },
)

/** @throws ApiError 400 naming the field */
export function parseWebhook(body: Fields): WebhookDefinition {
  checkRequired(WebhookBody, body)
  const { url, enabled, mode, ...rest } = parseWebhookChange(body)
  return {
    url: url!,
    enabled: enabled ?? true,
    mode: mode ?? 'single',
    ...withoutUndefined(rest),
  }
}

/**
 * Reads an edit: what it does not name stays; null takes a description or filter away.
 * @throws ApiError 400 naming the field
 */
export function parseWebhookChange(body: Fields): WebhookChange {
  const named = {
    url: urlField(body),
    description: textField(body, 'description', MAX_DESCRIPTION_LENGTH),
    enabled: booleanField(body, 'enabled'),
    mode: choiceField(body, 'mode', MODES),
    types: textsField(body, 'types', MAX_FILTER_ITEMS, MAX_ID_LENGTH),
    tags: textsField(body, 'tags', MAX_FILTER_ITEMS, MAX_ID_LENGTH),
  }
  const removed = REMOVABLE.filter((name) => Object.hasOwn(body, name) && named[name] === undefined)
  return { ...withoutUndefined(named), ...Object.fromEntries(removed.map((name) => [name, undefined])) }
}

/** A web address as the URL standard writes it: `http://2130706433` becomes `http://127.0.0.1/`. */
function urlField(body: Fields): string | undefined {
  const text = textField(body, 'url', MAX_URL_LENGTH)
  if (text === undefined) return undefined
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw badParam('url', 'Invalid url. It must be an http or https address.')
  if (url.username !== '' || url.password !== '')
    throw badParam('url', 'Invalid url. It must not carry a user name or password.')
  url.hash = ''
  return url.href
}
