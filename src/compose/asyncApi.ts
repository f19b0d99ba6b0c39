import Type, { type TObject } from 'typebox'
import { EventSchema } from '../events/eventSchema.ts'
import { toJsonSchema } from '../http/jsonSchema.ts'
import { route, type Route } from '../http/route.ts'
import { MAX_WEBHOOK_EVENTS } from '../model/webhook.ts'
import { CLIENT_MESSAGES, SERVER_MESSAGES, type DescribedMessage } from '../stream/messageSchemas.ts'
import { UserSchema } from '../users/userSchema.ts'

type Json = Record<string, unknown>
type Messages = Readonly<Record<string, DescribedMessage>>

const User = Type.Optional(UserSchema)

/** The messages by the `mode` of the webhook. The user is missing if the record has been deleted. */
const WEBHOOK_MESSAGES: Messages = {
  single: {
    summary: 'One event, of a webhook with the mode `single`',
    schema: Type.Object({ event: EventSchema, user: User }),
  },
  multiple: {
    summary: 'Successive events of a device, of a webhook with the mode `multiple`',
    schema: Type.Object({
      events: Type.Array(EventSchema, { minItems: 1, maxItems: MAX_WEBHOOK_EVENTS }),
      user: User,
    }),
  },
}

const WEBHOOK_HEADERS: TObject = Type.Object({
  'webhook-id': Type.String({
    description: 'The id is the same for the same events, however often they are sent.',
  }),
  'webhook-timestamp': Type.String({ description: 'Unix time in seconds.' }),
  'webhook-signature': Type.String({
    description: 'The signature of Standard Webhooks, which covers id, time and body.',
  }),
  'X-Radar-Signing-Id': Type.String(),
  'X-Radar-Signature': Type.String({ description: 'Hexadecimal HMAC-SHA1 of the signing id only.' }),
})

/**
 * `GET /v1/asyncapi.json` describes what the server sends and receives besides requests. The text is made once, at the
 * first request.
 */
export function asyncApiRoute(version: string): Route {
  let content: string | undefined
  return route({
    method: 'GET',
    path: '/v1/asyncapi.json',
    auth: 'none',
    summary: 'A description of streams and webhooks',
    tag: 'Operations',
    answers: {
      200: Type.Object(
        {},
        {
          contents: {
            'application/json': Type.Object({}, { description: 'An AsyncAPI 3.0 document.' }),
          },
        },
      ),
    },
    handler() {
      content ??= JSON.stringify(asyncApiDocument(version))
      return { text: { contentType: 'application/json; charset=utf-8', content } }
    },
  })
}

/** The AsyncAPI 3.0 document of the stream, in its JSON encoding, and of webhooks, from the schemas of the server. */
function asyncApiDocument(version: string): Json {
  const schemas: Record<string, Json> = {}
  const messages: Record<string, Json> = {}
  // Two directions may have a message of the same type, so the names of components say which one is meant.
  const add = (prefix: string, described: Messages, more: Json = {}) =>
    Object.entries(described).map(([type, { summary, schema }]) => {
      const name = `${prefix}${type[0]!.toUpperCase()}${type.slice(1)}`
      messages[name] = { name, title: name, summary, ...more, payload: toJsonSchema(schema, schemas) }
      return name
    })
  const typed = (described: Messages): Messages =>
    Object.fromEntries(
      Object.entries(described).map(([type, { summary, schema }]) => [
        type,
        {
          summary,
          schema: Type.Object({ type: Type.Literal(type), ...schema.properties }, openness(schema)),
        },
      ]),
    )
  const client = add('Client', typed(CLIENT_MESSAGES))
  const server = add('Server', typed(SERVER_MESSAGES))
  const headers = toJsonSchema(WEBHOOK_HEADERS, schemas)
  const webhook = add('Webhook', WEBHOOK_MESSAGES, { headers })
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Ringfence',
      version,
      description: 'Streams and webhooks. What is requested over HTTP is in /v1/openapi.json.',
      license: { name: 'Apache-2.0' },
    },
    defaultContentType: 'application/json',
    channels: {
      stream: {
        address: '/v1/stream',
        title: 'Stream',
        description:
          'A WebSocket. The payloads are those of the subprotocol `ringfence.json`; `ringfence.msgpack` and `ringfence.protobuf` carry the same messages.',
        messages: refs([...client, ...server]),
        bindings: {
          ws: {
            method: 'GET',
            query: {
              type: 'object',
              properties: {
                publishableKey: { type: 'string', description: 'For clients that cannot send headers.' },
              },
            },
            headers: {
              type: 'object',
              properties: { Authorization: { type: 'string', description: 'A key, publishable or secret.' } },
            },
          },
        },
      },
      webhook: {
        // The address is unknown here, because users choose it in POST /v1/webhooks.
        address: null,
        title: 'Webhook',
        description: 'A POST to the URL of each webhook. It is repeated until the receiver answers with 2xx.',
        messages: refs(webhook),
      },
    },
    operations: {
      receiveStream: operation('receive', 'stream', client),
      sendStream: operation('send', 'stream', server),
      sendWebhook: operation('send', 'webhook', webhook),
    },
    components: { schemas, messages },
  }
}

/** Whether a schema refuses members that it does not know, in the form of options for a schema that adds members. */
function openness(schema: TObject): { additionalProperties?: boolean } {
  const { additionalProperties } = schema as { additionalProperties?: boolean }
  return additionalProperties === undefined ? {} : { additionalProperties }
}

function refs(names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }]))
}

/** An operation from the server's point of view: it receives what clients send. */
function operation(action: 'send' | 'receive', channel: string, names: readonly string[]): Json {
  return {
    action,
    channel: { $ref: `#/channels/${channel}` },
    messages: names.map((name) => ({ $ref: `#/channels/${channel}/messages/${name}` })),
  }
}
