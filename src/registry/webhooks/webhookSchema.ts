import Type, { type TObject } from 'typebox'
import { checkRequired, choiceField, textField, type Fields } from '../../http/fields.ts'
import { Text } from '../../http/schemas.ts'
import { WEBHOOK_FILTERS, type Webhook } from '../../model/webhook.ts'
import { badParam } from '../../runtime/errors.ts'
import { bodyOf, custom, flag, readFields, requiredRule, text, textList } from '../records/fieldRules.ts'
import { MAX_DESCRIPTION_LENGTH, MAX_ID_LENGTH } from '../records/recordFields.ts'

/** A webhook without the members that the registry adds. */
export type WebhookDefinition = Pick<
  Webhook,
  'url' | 'description' | 'enabled' | 'mode' | (typeof WEBHOOK_FILTERS)[number]
>
/** The members that an edit sets. An undefined one removes a description or filter. */
export type WebhookChange = Partial<Pick<Webhook, 'url' | 'enabled' | 'mode'>> & {
  readonly [K in (typeof REMOVABLE)[number]]?: Webhook[K] | undefined
}

const MODES = ['single', 'multiple'] as const
const MAX_URL_LENGTH = 2048
const MAX_FILTER_ITEMS = 100
/** Fields that null removes in an edit. */
const REMOVABLE = ['description', ...WEBHOOK_FILTERS] as const

const filter = (description: string) => textList(MAX_FILTER_ITEMS, MAX_ID_LENGTH, description)

/** The fields of a webhook definition. */
const WEBHOOK_FIELDS = {
  url: custom(Text(MAX_URL_LENGTH, 'http or https.'), urlField),
  description: text(MAX_DESCRIPTION_LENGTH, 'A text for people.'),
  enabled: flag('Default true. While it is false, events are not sent, and they are not sent later either.'),
  mode: custom(
    Type.Union(
      MODES.map((mode) => Type.Literal(mode)),
      { description: '`single` (default): one event a request; `multiple`: up to 5 of one user.' },
    ),
    (fields, name) => choiceField(fields, name, MODES),
  ),
  types: filter('Only events of these types, e.g. `user.entered_geofence`; absent: all.'),
  tags: filter('Only events of geofences or beacons with these tags; absent: all.'),
  placeIds: filter('Only events of places with these `_id`s; absent: all.'),
  chains: filter('Only events of places of chains with these slugs; absent: all.'),
  categories: filter('Only events of places of categories with these slugs; absent: all.'),
  regions: filter('Only events of regions with these codes or `_id`s; absent: all.'),
  failureReasons: filter('Only `user.failed_fraud` with one of these reasons; absent: all.'),
}

/** The fields of a definition, for requests. A mistyped filter would mean all events, so no other fields are allowed. */
export const WebhookBody: TObject = bodyOf(
  { ...WEBHOOK_FIELDS, url: requiredRule(WEBHOOK_FIELDS.url) },
  { title: 'WebhookDefinition', additionalProperties: false },
)

/** The fields of an edit, for requests. Like in a definition, no other fields are allowed. */
export const WebhookChangeBody: TObject = bodyOf(
  {
    ...WEBHOOK_FIELDS,
    ...Object.fromEntries(
      REMOVABLE.map((name) => {
        const { schema, read } = WEBHOOK_FIELDS[name]
        return [name, custom<unknown>(Type.Union([schema, Type.Null()]), read)]
      }),
    ),
  },
  { title: 'WebhookChange', additionalProperties: false },
)

/**
 * Reads a definition.
 * @throws {ApiError} 400 naming the field
 */
export function parseWebhook(body: Fields): WebhookDefinition {
  checkRequired(WebhookBody, body)
  const { url, enabled = true, mode = 'single', ...rest } = readFields(WEBHOOK_FIELDS, body)
  return { url: url!, enabled, mode, ...rest }
}

/**
 * Reads an edit. Fields that it does not name stay; null removes a description or filter.
 * @throws {ApiError} 400 naming the field
 */
export function parseWebhookChange(body: Fields): WebhookChange {
  const named: WebhookChange = readFields(WEBHOOK_FIELDS, body)
  const removed = REMOVABLE.filter((name) => Object.hasOwn(body, name) && named[name] === undefined)
  return { ...named, ...Object.fromEntries(removed.map((name) => [name, undefined])) }
}

/** A web address in the form of the URL standard: `http://2130706433` becomes `http://127.0.0.1/`. */
function urlField(body: Fields, name: string): string | undefined {
  const given = textField(body, name, MAX_URL_LENGTH)
  if (given === undefined) return undefined
  const url = URL.parse(given)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw badParam('url', 'Invalid url. It must be an http or https address.')
  if (url.username !== '' || url.password !== '')
    throw badParam('url', 'Invalid url. It must not carry a user name or password.')
  url.hash = ''
  return url.href
}
