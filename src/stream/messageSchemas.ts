import Type, { type TObject } from 'typebox'
import { EventSchema } from '../events/eventSchema.ts'
import { DateSchema, PointSchema } from '../events/fieldSchemas.ts'
import { TrackBody } from '../wire/trackSchema.ts'
import { Subscribe, Unsubscribe } from './subscriptions.ts'
import { UnwatchSchema, WatchSchema } from './watches.ts'

/**
 * The schemas of a stream's messages in the JSON encoding, for the AsyncAPI document. Those of the client are the
 * ones by which the server checks them; its own messages are not checked at run time.
 */

/** A message and its purpose. */
export interface DescribedMessage {
  readonly summary: string
  readonly schema: TObject
}

const FrameId = Type.Integer({ minimum: 1, description: 'Frames of a connection are numbered 1, 2, 3, ….' })
const Seconds = Type.Number({ description: 'Seconds.' })
const Position = {
  change: Type.Enum(['enter', 'move', 'leave']),
  user: Type.Object({
    _id: Type.String(),
    userId: Type.Optional(Type.String()),
    deviceId: Type.String(),
  }),
  location: PointSchema,
  locationAccuracy: Type.Optional(Type.Number({ description: 'Metres.' })),
  updatedAt: DateSchema,
}

/** The messages that clients send, by type. */
export const CLIENT_MESSAGES: Readonly<Record<string, DescribedMessage>> = {
  track: {
    summary: 'A frame of updates, which are applied in order',
    schema: Type.Object({
      id: FrameId,
      updates: Type.Array(TrackBody, { minItems: 1, maxItems: 1000 }),
      events: Type.Optional(
        Type.Boolean({
          description: 'If true, the frame gets its own `ack`, with the events of its updates.',
        }),
      ),
      stream: Type.Optional(
        Type.String({
          description: 'Together with `sequence`: updates that are sent again are applied only once.',
        }),
      ),
      sequence: Type.Optional(Type.Integer({ description: 'The sequence of the first update.' })),
    }),
  },
  subscribe: { summary: 'Request events as they happen', schema: Subscribe },
  unsubscribe: { summary: 'End a subscription', schema: Unsubscribe },
  watch: { summary: 'Request the positions of devices in an area; needs a secret key', schema: WatchSchema },
  unwatch: { summary: 'End a watch', schema: UnwatchSchema },
  ping: { summary: 'Ask for a pong', schema: Type.Object({}) },
}

/** The messages that the server sends, by type. */
export const SERVER_MESSAGES: Readonly<Record<string, DescribedMessage>> = {
  ack: {
    summary: 'All frames up to this one are on disk, or were refused',
    schema: Type.Object({
      id: FrameId,
      events: Type.Optional(Type.Array(EventSchema)),
      omittedEvents: Type.Optional(
        Type.Integer({ description: 'How many events were left out, because there were too many.' }),
      ),
    }),
  },
  error: {
    summary: 'An update, a frame, a subscription, a watch or a message was refused',
    schema: Type.Object({
      id: Type.Optional(FrameId),
      index: Type.Optional(
        Type.Integer({ minimum: 0, description: 'The index of the update in its frame.' }),
      ),
      subscription: Type.Optional(Type.String()),
      watch: Type.Optional(Type.String()),
      code: Type.Integer({ description: 'Like the status of an HTTP response.' }),
      param: Type.Optional(Type.String()),
      message: Type.String(),
      retryAfter: Type.Optional(Seconds),
    }),
  },
  busy: {
    summary: 'The frame was not accepted: send it and those after it again later',
    schema: Type.Object({ id: FrameId, retryAfter: Seconds }),
  },
  pong: { summary: 'The reply to a ping', schema: Type.Object({}) },
  subscribed: {
    summary: 'A subscription has begun',
    schema: Type.Object({
      id: Type.String(),
      from: Type.String({
        description:
          'The point at which it began, for a client that resumes before it has received an event.',
      }),
    }),
  },
  unsubscribed: { summary: 'A subscription has ended', schema: Type.Object({ id: Type.String() }) },
  event: {
    summary: 'An event of a subscription, once and in the order of the log',
    schema: Type.Object({ subscription: Type.String(), event: EventSchema }),
  },
  events: {
    summary: 'A batch of events, of a subscription with `batch`, each once and in the order of the log',
    schema: Type.Object({ subscription: Type.String(), events: Type.Array(EventSchema) }),
  },
  watching: { summary: 'A watch has begun', schema: Type.Object({ id: Type.String() }) },
  unwatched: { summary: 'A watch has ended', schema: Type.Object({ id: Type.String() }) },
  position: {
    summary: 'A device has entered, moved in or left the area',
    schema: Type.Object({ watch: Type.String(), ...Position }),
  },
  positions: {
    summary: 'A batch of positions, of a watch with `batch`',
    schema: Type.Object({ watch: Type.String(), positions: Type.Array(Type.Object(Position)) }),
  },
}
