import Type from 'typebox'
import { createdQuery, PageAnswers, PageQuery, unknownBefore } from '../http/listQuery.ts'
import { atLeastOne } from '../http/needs.ts'
import { routeFor, type Answer, type Call, type RouteFor } from '../http/route.ts'
import { DateText, dateText, Page, Text } from '../http/schemas.ts'
import type { Webhook } from '../model/webhook.ts'
import type { Fields } from '../http/fields.ts'
import { dateField, textField } from '../http/fields.ts'
import { MAX_ID_LENGTH } from '../registry/records/recordFields.ts'
import { Id, Nothing } from '../registry/records/recordSchemas.ts'
import {
  parseWebhook,
  parseWebhookChange,
  WebhookBody,
  WebhookChangeBody,
} from '../registry/webhooks/webhookSchema.ts'
import type { Clock } from '../runtime/clock.ts'
import { badParam, notFound } from '../runtime/errors.ts'
import type { Outgoing } from '../runtime/outgoing.ts'
import { DELIVERY_STATUSES } from './webhookPort.ts'
import { DeliveryRecord, deliveryRecord, TestRecord, testRecord } from './webhookRecord.ts'
import { WebhookRecord, webhookRecord } from './webhookRecord.ts'
import type { Webhooks } from './webhooks.ts'
import { refusePrivate } from './privateUrl.ts'

const TAG = 'Webhooks'
const OneWebhook = Type.Object({ webhook: WebhookRecord })
const Conflict = Type.Object({}, { description: 'Conflict: see `meta.message`.' })
const Redelivery = Type.Object(
  {
    deliveryId: Type.Optional(Text(MAX_ID_LENGTH, 'Required if there is no from.')),
    from: Type.Optional(dateText('Required if there is no deliveryId.')),
    to: Type.Optional(DateText),
  },
  { allOf: [atLeastOne('from', 'deliveryId')] },
)

/** The dependencies of the webhooks' routes. */
export interface WebhookRouteParts {
  readonly webhooks: Webhooks
  readonly outgoing: Outgoing
  readonly clock: Clock
}

const webhookRoute = routeFor<WebhookRouteParts>()

/** Management of webhooks and their deliveries, answered by the process that sends them. */
export function webhookRoutes(): RouteFor<WebhookRouteParts>[] {
  return [...recordRoutes(), ...actionRoutes(), ...deliveryRoutes()]
}

function recordRoutes(): RouteFor<WebhookRouteParts>[] {
  return [
    webhookRoute({
      method: 'POST',
      path: '/v1/webhooks',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'Create a webhook',
      description:
        'Events that happen from now on are sent to the url. Only this response contains the secret.',
      body: WebhookBody,
      answers: { 200: OneWebhook, 409: Conflict },
      handler: async (call, { webhooks, outgoing }) => {
        const definition = parseWebhook(call.body as Fields)
        refusePrivate(outgoing, definition.url)
        const webhook = await webhooks.create(call.credentials!.scope, definition)
        return answer(webhooks, webhook, true)
      },
    }),
    webhookRoute({
      method: 'GET',
      path: '/v1/webhooks',
      auth: 'secret',
      tag: TAG,
      summary: 'List webhooks',
      answers: { 200: Type.Object({ webhooks: Type.Array(WebhookRecord) }) },
      handler: (call, { webhooks }) => {
        const records = webhooks
          .list(call.credentials!.scope)
          .map((webhook) => webhookRecord(webhook, webhooks.standing(webhook)))
        return { body: { webhooks: records } }
      },
    }),
    webhookRoute({
      method: 'GET',
      path: '/v1/webhooks/:id',
      auth: 'secret',
      tag: TAG,
      summary: 'Get a webhook',
      params: Id,
      answers: { 200: OneWebhook },
      handler: (call, { webhooks }) => answer(webhooks, found(webhooks, call)),
    }),
    webhookRoute({
      method: 'PATCH',
      path: '/v1/webhooks/:id',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'Change a webhook',
      description:
        'The fields in the body change and the others stay the same; null, or an empty value in a form, removes description, types and ' +
        'tags. A new url applies to waiting events too; new filters apply to events that happen from now on.',
      params: Id,
      body: WebhookChangeBody,
      answers: { 200: OneWebhook },
      handler: async (call, { webhooks, outgoing }) => {
        const change = parseWebhookChange(call.body as Fields)
        if (change.url !== undefined) refusePrivate(outgoing, change.url)
        return answer(webhooks, there(await webhooks.change(found(webhooks, call), change)))
      },
    }),
    webhookRoute({
      method: 'DELETE',
      path: '/v1/webhooks/:id',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'Delete a webhook',
      description: 'Its delivery log is deleted too, and waiting events are not sent.',
      params: Id,
      answers: { 200: Nothing },
      handler: async (call, { webhooks }) => {
        await webhooks.remove(found(webhooks, call))
        return {}
      },
    }),
  ]
}

function actionRoutes(): RouteFor<WebhookRouteParts>[] {
  return [
    webhookRoute({
      method: 'POST',
      path: '/v1/webhooks/:id/rotate',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'Replace the secret',
      description:
        'Only this response contains the new secret. For a day, requests are also signed with the old one in ' +
        '`webhook-signature`.',
      params: Id,
      answers: { 200: OneWebhook },
      handler: async (call, { webhooks }) =>
        answer(webhooks, there(await webhooks.rotate(found(webhooks, call))), true),
    }),
    webhookRoute({
      method: 'POST',
      path: '/v1/webhooks/:id/enable',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'Enable a webhook again',
      description:
        'Ends a pause: waiting events are sent in order, with all retries. Also enables a disabled webhook.',
      params: Id,
      answers: { 200: OneWebhook },
      handler: async (call, { webhooks }) =>
        answer(webhooks, there(await webhooks.enable(found(webhooks, call)))),
    }),
    webhookRoute({
      method: 'POST',
      path: '/v1/webhooks/:id/test',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'Send a sample event now',
      description: 'The response contains the result. This works with any status of the webhook.',
      params: Id,
      answers: { 200: Type.Object({ test: TestRecord }) },
      handler: async (call, { webhooks }) => ({
        body: { test: testRecord(await webhooks.test(found(webhooks, call))) },
      }),
    }),
  ]
}

function deliveryRoutes(): RouteFor<WebhookRouteParts>[] {
  return [
    webhookRoute({
      method: 'GET',
      path: '/v1/webhooks/:id/deliveries',
      auth: 'secret',
      tag: TAG,
      summary: 'List deliveries, newest first',
      params: Id,
      query: Type.Object({
        status: Type.Optional(Type.Union(DELIVERY_STATUSES.map((status) => Type.Literal(status)))),
        ...PageQuery,
        ...createdQuery('when it was made, by the server’s clock'),
      }),
      meta: Page,
      answers: { 200: Type.Object({ deliveries: Type.Array(DeliveryRecord) }), ...PageAnswers },
      handler: async (call, { webhooks }) => {
        const webhook = found(webhooks, call)
        const { deliveries, hasMore } = await webhooks.deliveries(webhook, {
          ...call.query,
          createdBefore: dateField(call.query, 'createdBefore'),
          createdAfter: dateField(call.query, 'createdAfter'),
        })
        const { before } = call.query
        // Checked last, because a delivery that was removed in the meantime must not look like the end of the list.
        if (before !== undefined && deliveries.length === 0) {
          if ((await webhooks.delivery(webhook, before)) === undefined) throw unknownBefore()
        }
        return { meta: { hasMore }, body: { deliveries: deliveries.map(deliveryRecord) } }
      },
    }),
    webhookRoute({
      method: 'POST',
      path: '/v1/webhooks/:id/redeliver',
      auth: 'secret',
      role: 'write',
      tag: TAG,
      summary: 'Send again',
      description:
        'One delivery, by its `deliveryId`, or the events that the server created in a time range, with `from` included and `to` ' +
        'excluded, by the current filters. `webhook-id` is the same as before.',
      params: Id,
      body: Redelivery,
      answers: {
        200: Type.Object({ webhook: Type.Optional(WebhookRecord), delivery: Type.Optional(DeliveryRecord) }),
        409: Conflict,
      },
      handler: async (call, { webhooks, clock }): Promise<Answer> => {
        const webhook = found(webhooks, call)
        const body = call.body as Fields
        const deliveryId = textField(body, 'deliveryId', MAX_ID_LENGTH)
        const from = dateField(body, 'from')
        const to = dateField(body, 'to') ?? clock.now()
        if (deliveryId !== undefined) {
          if (from !== undefined) throw badParam('from', 'Not together with a deliveryId.')
          const delivery = await webhooks.redeliver(webhook, deliveryId)
          if (delivery === undefined) throw notFound('Delivery')
          return { body: { delivery: deliveryRecord(delivery) } }
        }
        if (from === undefined) throw badParam('from', 'One of from and deliveryId is required.')
        if (from >= to)
          throw badParam('from', 'Invalid from. It must be before to, which defaults to the current time.')
        await webhooks.redeliverRange(webhook, from, to)
        return answer(webhooks, webhook)
      },
    }),
  ]
}

type WebhookCall = Pick<Call<typeof Id, undefined, undefined>, 'credentials' | 'params'>

function found(webhooks: Webhooks, call: WebhookCall): Webhook {
  return there(webhooks.get(call.credentials!.scope, call.params.id))
}

function there(webhook: Webhook | undefined): Webhook {
  if (webhook === undefined) throw notFound('Webhook')
  return webhook
}

function answer(webhooks: Webhooks, webhook: Webhook, secret = false) {
  return { body: { webhook: webhookRecord(webhook, webhooks.standing(webhook), secret) } }
}
