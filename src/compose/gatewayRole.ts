/**
 * The role `gateway` of the distributed engine: the whole API, which asks the owners of partitions. This file is part
 * of the composition roots.
 */
import { join } from 'node:path'
import { Tickets } from '../accounts/tickets.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Route } from '../http/route.ts'
import { hookRoutes } from '../delivery/hookRoutes.ts'
import { webhookRoutes } from '../delivery/webhookRoutes.ts'
import { Gateway } from '../cluster/gateway/gateway.ts'
import type { Served } from '../cluster/nats/calls.ts'
import { RemoteCounts, serveCounts } from '../cluster/gateway/remoteCounts.ts'
import { serveTickets, ticketsThrough } from '../cluster/gateway/remoteTickets.ts'
import { RemotePositions } from '../cluster/gateway/remotePositions.ts'
import { RemoteOutcomes } from '../cluster/gateway/remoteOutcomes.ts'
import { RemoteTrips } from '../cluster/gateway/remoteTrips.ts'
import { remoteRoutes } from '../cluster/gateway/remoteRoutes.ts'
import { MOST_PUBLISHED_EVENTS } from '../ingest/replayBound.ts'
import { webhooksSubject } from '../cluster/nats/subjects.ts'
import { openEventIndex } from '../events/eventIndex.ts'
import { EventFeed } from '../events/feed.ts'
import { EventsMissing, SharedIndex } from '../cluster/journal/sharedIndex.ts'
import { persistently } from '../cluster/nats/jetStreamConnection.ts'
import { JetStreamEventReader } from '../cluster/journal/jetStreamEventReader.ts'
import { registerEventMetrics, registerMailboxMetrics } from '../ops/engineMetrics.ts'
import type { ReadinessCheck } from '../ops/healthRoutes.ts'
import type { UpdateTotals } from '../model/updateTotals.ts'
import { ByteBound } from '../runtime/byteBound.ts'
import { systemClock as clock } from '../runtime/clock.ts'
import type { Service } from '../runtime/lifecycle.ts'
import { openPublicApi, roomIn, type PublicApi } from './publicApi.ts'
import { type DistributedParts, distributedChecks } from './distributedParts.ts'
import type { GeoServices } from './geoServices.ts'
import { sharesOf } from './tile38.ts'

/**
 * The events of all processes, in this process's index. It is named after the store, because it is a copy of that
 * store's stream.
 */
export async function openEvents({
  options,
  logger,
  nats,
  streams,
  metrics,
  troubled,
  fatal,
}: DistributedParts) {
  const { manager, storeId } = streams
  const index = await openEventIndex({
    file: join(options.data, `events-${storeId}.sqlite`),
    failed: fatal,
  })
  const feed = new EventFeed(index, undefined, () => shared.upToDate())
  const reader = new JetStreamEventReader(nats.connection, manager, (sequence, reason) =>
    logger.error({ sequence, reason }, 'skipped a message of the stream EVENTS that cannot be read'),
  )
  const shared: SharedIndex = await persistently(
    () => SharedIndex.open({ shared: reader, index, feed, troubled, pause: sleep }),
    (error) => {
      if (error instanceof EventsMissing) throw error
      troubled(error)
    },
  )
  registerEventMetrics(metrics, index)
  const close: Service = { name: 'event index', stop: () => index.close() }
  const checks: ReadinessCheck[] = [{ name: shared.name, check: () => shared.status }]
  return { index, feed, shared, services: [close, shared], checks }
}

export type Events = Awaited<ReturnType<typeof openEvents>>

/** Connects the gateway to the owners of partitions. */
export function openGateway({ options, id, salt, calls, registry, metrics, troubled }: DistributedParts) {
  const mailbox = new ByteBound(options.mailboxBytes)
  registerMailboxMetrics(metrics, mailbox)
  const { partitions } = options
  const gateway = new Gateway({ calls, gateway: id, registry, mailbox, partitions, salt, troubled })
  return { gateway, mailbox }
}

/** The whole API. Requests about webhooks are passed on to the process that delivers them. */
export function openGatewayApi(
  parts: DistributedParts,
  { shared, feed, checks }: Events,
  { gateway, mailbox }: ReturnType<typeof openGateway>,
  geo: GeoServices,
  otherChecks: readonly ReadinessCheck[],
  sync: readonly Route[],
): PublicApi & { readonly peerService: Service } {
  const { options, logger, id, streams, registry, measurer, metrics, calls, tile38 } = parts
  const { partitions } = options
  const read = tile38?.readDevices({ shares: sharesOf(partitions), partitions, users: gateway })
  const managed = [...webhookRoutes(), ...hookRoutes()].map(({ shape }) => shape)
  const nobody = 'No process delivers webhooks at the moment. Try again.'
  const tickets = new Tickets({ process: id, clock, ask: ticketsThrough(calls) })
  let own: UpdateTotals | undefined
  let served: readonly Served[] = []
  const peerService: Service = {
    name: 'questions of other gateways',
    start: () => void (served = [serveTickets(tickets, calls, id), serveCounts(own!, calls, id)]),
    stop: async () => void (await Promise.all(served.map((one) => one.stop()))),
  }
  const api = openPublicApi({
    options,
    logger,
    registry,
    intake: gateway,
    users: read?.users ?? gateway,
    trips: new RemoteTrips({ calls, registry, partitions, salt: parts.salt }),
    outcomes: new RemoteOutcomes({ calls, partitions }),
    store: { partitions, salt: parts.salt },
    measurer,
    senders: parts.senders,
    events: shared,
    feed,
    positions: read?.positions ?? new RemotePositions({ calls, gateway: id, partitions }),
    tickets,
    totalsOf: (counts) => {
      own = counts
      return new RemoteCounts(calls)
    },
    secret: streams.secret,
    webhooks: remoteRoutes(managed, calls, webhooksSubject, nobody),
    geo,
    importer:
      'In the distributed engine, each process has its own map regions: run `npm run region -- import` for each data folder.',
    sync,
    mostReplayEvents: MOST_PUBLISHED_EVENTS,
    checks: [...distributedChecks(parts), ...otherChecks, roomIn(mailbox), ...checks],
    metrics,
  })
  return { ...api, peerService }
}
