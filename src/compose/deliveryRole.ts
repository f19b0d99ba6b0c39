/** The role `delivery` of the distributed engine: webhooks and hooks. This file is part of the composition roots. */
import { auditedRoutes } from '../registry/audit/auditedRoutes.ts'
import { join } from 'node:path'
import type { Served } from '../cluster/nats/calls.ts'
import { Gateway } from '../cluster/gateway/gateway.ts'
import { serveRoutes } from '../cluster/gateway/remoteRoutes.ts'
import { webhooksSubject } from '../cluster/nats/subjects.ts'
import type { LeaseHolder } from '../jobs/port.ts'
import { registerWebhookMetrics } from '../ops/webhookMetrics.ts'
import type { Webhooks } from '../delivery/webhooks.ts'
import type { Service } from '../runtime/lifecycle.ts'
import { Outgoing } from '../runtime/outgoing.ts'
import { managementRoutes, openHooks, openWebhooks } from './deliveries.ts'
import type { Events } from './gatewayRole.ts'
import { type DistributedParts, type RoleParts, leases } from './distributedParts.ts'
import { sharesOf } from './tile38.ts'

/** Webhooks and hooks, sent by one process at a time. */
export async function openDelivery(
  parts: DistributedParts,
  events: Events,
  users: Gateway,
): Promise<RoleParts & { readonly webhooks: Webhooks }> {
  const { options, logger, streams, calls, registry, metrics, tile38, fatal } = parts
  const { index, feed, shared } = events
  const outgoing = new Outgoing(options.webhookPrivateAddresses)
  const file = (name: string) => join(options.data, `${name}-${streams.storeId}.sqlite`)
  const delivery = { options, logger, registry, events: index, feed, outgoing, failed: fatal }
  const webhooks = openWebhooks({ ...delivery, users, file: file('deliveries') })
  const { partitions } = options
  const hooks = openHooks({
    ...delivery,
    file: file('hooks'),
    messagesFile: file('hook-messages'),
    places: tile38?.readDevices({ shares: sharesOf(partitions), partitions, users }),
  })
  const routes = auditedRoutes(managementRoutes({ webhooks, hooks, registry, outgoing }), registry.audit)
  registerWebhookMetrics(metrics, webhooks.endpoints)
  registerWebhookMetrics(metrics, hooks.endpoints, 'hook')
  let served: Served | undefined
  const holder: LeaseHolder = {
    async begin() {
      // A webhook that it does not know yet begins at the end of the events, so all events must be here first.
      await shared.caughtUp()
      await webhooks.start()
      await hooks.start()
      served = serveRoutes(routes, calls, webhooksSubject)
      logger.info('delivering webhooks')
    },
    async end() {
      await served?.stop()
      served = undefined
      await webhooks.stop()
      await hooks.stop()
      logger.info('no longer delivering webhooks')
    },
  }
  let lease: Pick<LeaseHolder, 'end'> | undefined
  const service: Service = {
    name: webhooks.name,
    async start() {
      lease = await leases(parts)('delivery', holder)
    },
    async stop() {
      webhooks.endTests()
      await lease?.end()
    },
  }
  const check = () => ({
    ok: true,
    detail: served === undefined ? 'waiting: another process delivers webhooks' : 'delivering',
  })
  return {
    webhooks,
    services: [{ name: 'outgoing requests', stop: () => outgoing.close() }, service],
    checks: [{ name: service.name, check }],
  }
}
