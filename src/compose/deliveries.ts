/** What webhooks and hooks need, whichever process sends them. This file is part of the composition roots. */
import type { Options } from '../../config/options.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { answeredWith, type Route } from '../http/route.ts'
import { hookRoutes } from '../delivery/hookRoutes.ts'
import { Hooks } from '../delivery/hooks.ts'
import { openHookStore } from '../delivery/hookThread.ts'
import type { HookPositions } from '../delivery/hookWatches.ts'
import { HookSender } from '../delivery/hookSender.ts'
import { senderThrough } from '../delivery/webhookMessage.ts'
import { webhookRoutes } from '../delivery/webhookRoutes.ts'
import { Webhooks } from '../delivery/webhooks.ts'
import { openDeliveries } from '../delivery/webhookThread.ts'
import type { Users } from '../actor/port.ts'
import type { EventFeed } from '../events/feed.ts'
import type { EventIndex } from '../events/port.ts'
import type { Registry } from '../registry/registry.ts'
import { systemClock as clock, systemTime as time } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Outgoing } from '../runtime/outgoing.ts'

const DAY_MS = 86_400_000

/** The parts from which webhooks and hooks are built. */
export interface DeliveryParts {
  readonly options: Options
  readonly logger: Logger
  /** The path of the file with their deliveries. */
  readonly file: string
  readonly registry: Registry
  readonly events: EventIndex
  readonly feed: EventFeed
  readonly outgoing: Outgoing
  /** Called if the deliveries can no longer be written. */
  readonly failed: (error: Error) => void
}

/** The webhooks of all projects, sent from this process. */
export function openWebhooks(parts: DeliveryParts & { readonly users: Users }): Webhooks {
  const { registry, outgoing, users } = parts
  return new Webhooks({
    ...deliveryOf(parts),
    registry: registry.webhooks,
    send: senderThrough(outgoing, requestsOf(parts)),
    userJson: async (scope, id) => (await users.ask({ scope, ask: 'record', id })).users[0]?.user.join(''),
  })
}

/** The hooks of all projects, sent from this process. */
export function openHooks(
  parts: DeliveryParts & { readonly messagesFile: string; readonly places: HookPositions | undefined },
): Hooks {
  const { registry, outgoing, failed, messagesFile: file, places } = parts
  const sender = new HookSender({
    ...requestsOf(parts),
    outgoing,
    loadNats: () => import('../delivery/natsPublisher.ts'),
  })
  const delivery = deliveryOf(parts)
  const openLog = () => openHookStore({ file, keepMs: delivery.retentionMs, failed })
  return new Hooks({ ...delivery, registry: registry.hooks, sender, openLog, places })
}

/** Management of webhooks and hooks, in the process that sends their messages. */
export function managementRoutes(parts: {
  readonly webhooks: Webhooks
  readonly hooks: Hooks
  readonly registry: Registry
  readonly outgoing: Outgoing
}): Route[] {
  const { webhooks, hooks, registry, outgoing } = parts
  return [
    ...answeredWith(webhookRoutes(), { webhooks, outgoing, clock }),
    ...answeredWith(hookRoutes(), { hooks, collection: registry.hooks, outgoing }),
  ]
}

function deliveryOf({ options, logger, file, events, feed, failed }: DeliveryParts) {
  return {
    feed,
    events,
    openStore: () => openDeliveries({ file, retention: options, failed }),
    time,
    random: Math.random,
    retryMs: options.webhookRetrySeconds * 1000,
    retentionMs: options.eventsDays * DAY_MS,
    logger,
  }
}

function requestsOf({ options }: DeliveryParts) {
  return { clock, version: packageJson.version, timeoutMs: options.webhookTimeoutSeconds * 1000 }
}
