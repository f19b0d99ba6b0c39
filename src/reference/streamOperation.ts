/** How the reference shows `GET /v1/stream`, which is no route: the server lets WebSockets in beside its routes. */
export const STREAM_OPERATION = {
  path: '/v1/stream',
  operation: {
    operationId: 'getV1Stream',
    summary: 'Open a stream (WebSocket)',
    description: `A WebSocket for many location updates, subscriptions to events, and the positions of devices in watched areas. The
messages, encodings, limits and close codes are in the guide [Streams](/docs/guides/stream).

Needs a key, publishable or secret, in \`Authorization\`; browsers, which cannot send headers here, name a publishable key as
\`publishableKey\`. Subscribing without naming devices or users, and watching, need a secret key. \`@ringfence/client\` speaks it.

A plain request is answered what stands against a stream, as 429 where the key has too many; 426 where nothing does.`,
    tags: ['Streams'],
    security: [{ publishableKey: [] }],
    parameters: [
      {
        name: 'publishableKey',
        in: 'query',
        required: false,
        description:
          'Instead of the header. A secret key is refused here (403), because URLs end up in logs.',
        schema: { type: 'string' },
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
