import Type from 'typebox'
import { isoDate } from '../model/isoDate.ts'
import { isLive } from '../model/scope.ts'
import { WEBHOOK_FILTERS, type Webhook } from '../model/webhook.ts'
import { DateTime } from '../http/schemas.ts'
import type { Attempt, Delivery, AttemptOutcome } from './webhookPort.ts'
import { DELIVERY_STATUSES, KEPT_ATTEMPTS } from './webhookPort.ts'
import type { WebhookStanding } from './webhooks.ts'

/** The public records of webhooks and deliveries, and their schemas. */

const literals = (values: readonly string[]) => values.map((value) => Type.Literal(value))

export const WebhookRecord = Type.Object(
  {
    _id: Type.String(),
    createdAt: DateTime,
    updatedAt: DateTime,
    live: Type.Boolean(),
    url: Type.String(),
    description: Type.Optional(Type.String()),
    enabled: Type.Boolean(),
    mode: Type.Union(literals(['single', 'multiple'])),
    types: Type.Optional(Type.Array(Type.String(), { description: 'Only events of these types.' })),
    tags: Type.Optional(
      Type.Array(Type.String(), { description: 'Only events of geofences or beacons with these tags.' }),
    ),
    placeIds: Type.Optional(Type.Array(Type.String(), { description: 'Only events of these places.' })),
    chains: Type.Optional(
      Type.Array(Type.String(), { description: 'Only events of places of these chains.' }),
    ),
    categories: Type.Optional(
      Type.Array(Type.String(), { description: 'Only events of places of these categories.' }),
    ),
    regions: Type.Optional(Type.Array(Type.String(), { description: 'Only events of these regions.' })),
    failureReasons: Type.Optional(
      Type.Array(Type.String(), { description: 'Only events of fraud with one of these reasons.' }),
    ),
    secretLastFour: Type.String({ description: 'The last characters of the secret.' }),
    secret: Type.Optional(
      Type.String({ description: 'The whole secret; only in the responses to creation and rotation.' }),
    ),
    status: Type.Union(literals(['active', 'failing', 'paused', 'disabled']), {
      description:
        '`failing`: the last attempts failed, and retries continue. `paused`: nothing is sent until it is enabled again; ' +
        'events that happen in the meantime are kept.',
    }),
    since: Type.Optional(
      Type.String({ format: 'date-time', description: 'Since when it is failing or paused.' }),
    ),
    reason: Type.Optional(Type.String({ description: 'Why it is failing or paused.' })),
    pending: Type.Integer({ description: 'Deliveries that wait to be sent.' }),
    lostBefore: Type.Optional(
      Type.String({
        format: 'date-time',
        description:
          'The pause lasted longer than events are kept, so undelivered events from before this time are lost.',
      }),
    ),
    redelivery: Type.Optional(
      Type.Object(
        { from: DateTime, to: DateTime },
        { description: 'The time range that is being redelivered.' },
      ),
    ),
  },
  { title: 'Webhook' },
)

/** @param secret whether it is shown in full */
export function webhookRecord(webhook: Webhook, standing: WebhookStanding, secret = false) {
  const { since, lostBefore, redelivery } = standing
  return {
    _id: webhook.id,
    createdAt: isoDate(webhook.createdAt),
    updatedAt: isoDate(webhook.updatedAt),
    live: isLive(webhook.scope),
    url: webhook.url,
    description: webhook.description,
    enabled: webhook.enabled,
    mode: webhook.mode,
    ...Object.fromEntries(WEBHOOK_FILTERS.map((name) => [name, webhook[name]])),
    secretLastFour: webhook.secret.slice(-4),
    secret: secret ? webhook.secret : undefined,
    status: standing.status,
    since: since && isoDate(since),
    reason: standing.reason,
    pending: standing.pending,
    lostBefore: lostBefore && isoDate(lostBefore),
    redelivery: redelivery && { from: isoDate(redelivery.from), to: isoDate(redelivery.to) },
  }
}

const AttemptRecord = Type.Object({
  at: DateTime,
  latency: Type.Integer({ description: 'Milliseconds.' }),
  status: Type.Optional(Type.Integer({ description: 'HTTP status; absent if there was no response.' })),
  error: Type.Optional(Type.String({ description: 'Why the attempt failed; absent if it succeeded.' })),
})

const AnswerBody = Type.Optional(
  Type.String({ description: 'The beginning of the last response body, up to 1 KB.' }),
)

export const DeliveryRecord = Type.Object(
  {
    _id: Type.String(),
    createdAt: DateTime,
    messageId: Type.String({ description: 'The header `webhook-id`.' }),
    deviceId: Type.String(),
    events: Type.Array(Type.Object({ _id: Type.String(), type: Type.String() })),
    status: Type.Union(literals(DELIVERY_STATUSES), {
      description:
        '`failed`: given up after all retries. `dropped`: the events were deleted before they could be sent.',
    }),
    attemptCount: Type.Integer({ description: 'How often it was sent.' }),
    attempts: Type.Array(AttemptRecord, {
      description: `The last ${KEPT_ATTEMPTS} attempts, oldest first.`,
    }),
    nextAttemptAt: Type.Optional(DateTime),
    lastResponseBody: AnswerBody,
  },
  { title: 'Delivery' },
)

export function deliveryRecord(delivery: Delivery) {
  const { eventIds, types, nextAttemptAt } = delivery
  return {
    _id: delivery.id,
    createdAt: isoDate(delivery.createdAt),
    messageId: delivery.messageId,
    deviceId: delivery.deviceId,
    events: eventIds.map((_id, i) => ({ _id, type: types[i] })),
    status: delivery.status,
    attemptCount: delivery.attemptCount,
    attempts: delivery.attempts.map(attemptRecord),
    nextAttemptAt: nextAttemptAt && isoDate(nextAttemptAt),
    lastResponseBody: delivery.lastBody,
  }
}

export const TestRecord = Type.Object({
  delivered: Type.Boolean({ description: 'Whether the endpoint responded with 2xx.' }),
  ...AttemptRecord.properties,
  lastResponseBody: AnswerBody,
})

export function testRecord({ body, ...attempt }: AttemptOutcome) {
  return { delivered: attempt.error === undefined, ...attemptRecord(attempt), lastResponseBody: body }
}

function attemptRecord({ at, latency, status, error }: Attempt) {
  return { at: isoDate(at), latency, status, error }
}
