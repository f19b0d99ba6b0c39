/** How the reference shows `GET /v1/stream`, which is not a route: the server accepts WebSockets beside its routes. */
export const STREAM_OPERATION = {
  path: '/v1/stream',
  operation: {
    operationId: 'getV1Stream',
    summary: 'Open a stream (WebSocket)',
    description: `A WebSocket for many location updates, subscriptions to events, and the positions of devices in watched areas. The
messages, encodings, limits and close codes are in the guide [Streams](/docs/guides/stream).

Send a publishable or secret key in \`Authorization\`. Browsers cannot send headers with a WebSocket; they send a publishable key in the parameter
\`publishableKey\`. Pages of people who signed in get a ticket by POST /v1/sessions/current/ticket and send it as the subprotocol
\`ringfence.ticket.{ticket}\`, beside that of the encoding; updates need the role \`write\`. Watches, and subscriptions that name no devices or users, need a secret key. The package \`@ringfence/client\` implements the protocol.

A plain HTTP request gets the status with which a stream would be refused, such as 429 if the key has too many streams, or 426 if it would be accepted.`,
    tags: ['Streams'],
    security: [{ publishableKey: [] }],
    parameters: [
      {
        name: 'publishableKey',
        in: 'query',
        required: false,
        description:
          'Instead of the header. A secret key is refused here (403), because URLs end up in logs.',
        schema: { type: 'string', maxLength: 128 },
      },
      {
        name: 'Sec-WebSocket-Protocol',
        in: 'header',
        required: false,
        description: 'The encoding of the messages.',
        schema: {
          type: 'string',
          enum: ['ringfence.json', 'ringfence.msgpack', 'ringfence.protobuf'],
          default: 'ringfence.json',
        },
      },
    ],
    responses: {
      101: { description: 'Switching protocols: the stream is open.' },
      ...Object.fromEntries(
        [400, 401, 402, 403, 426, 429, 503].map((status) => [
          status,
          { $ref: `#/components/responses/Error${status}` },
        ]),
      ),
    },
  },
} as const
