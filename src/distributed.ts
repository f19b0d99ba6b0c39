/**
 * The distributed engine: a process with some of the roles, on NATS JetStream, which all processes share. Reads top to bottom as the
 * flow of the data. A part of the composition roots.
 *
 * | role | has | answers |
 * |---|---|---|
 * | `gateway` | the registry, an index of the events | the whole API, by asking the owners of partitions |
 * | `actors` | the registry, partitions by ownership | gateways |
 * | `delivery` | the registry, an index of the events, deliveries | gateways, about webhooks |
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeConnectionOptions } from '@nats-io/transport-node'
import { OptionError, ROLES, type Options } from '../config/options.ts'
import { eventsOfFrame } from './actor/frameEvents.ts'
import type { ActorHost } from './actor/host.ts'
import { Housekeeping } from './actor/housekeeping.ts'
import type { BackupSource } from './backup/port.ts'
import { createServer } from './api/server.ts'
import { ControlServer } from './control/server.ts'
import { webhookRoutes, type WebhookRouteParts } from './delivery/webhookRoutes.ts'
import type { Calls, Served } from './engine/calls.ts'
import { TwiceObserved } from './engine/copiedPositions.ts'
import { Gateway } from './engine/gateway.ts'
import { HostPositions } from './engine/hostPositions.ts'
import { NatsCalls } from './engine/natsCalls.ts'
import { PartitionServer } from './engine/partitionServer.ts'
import type { CopiedPositions } from './engine/port.ts'
import { PositionServer } from './engine/positionServer.ts'
import { RemotePositions } from './engine/remotePositions.ts'
import { remoteRoutes, serveRoutes } from './engine/remoteRoutes.ts'
import { webhooksSubject } from './engine/subjects.ts'
import { openEventIndex } from './events/eventIndex.ts'
import { EventFeed } from './events/feed.ts'
import { storeSalt, type StoreSalt } from './events/ids.ts'
import type { EventIndex } from './events/port.ts'
import { EventsMissing, SharedIndex } from './events/sharedIndex.ts'
import { listen, openFront, openWebhooks, roomIn, welcome, type Front } from './front.ts'
import { EventPublisher } from './log/eventPublisher.ts'
import { NatsLink, persistently } from './log/jetStreamConnection.ts'
import { JetStreamEventReader } from './log/jetStreamEventReader.ts'
import { JetStreamEvents } from './log/jetStreamEvents.ts'
import { JetStreamJournal } from './log/jetStreamJournal.ts'
import { Lease, makeLeases, type Tenure } from './log/jetStreamLease.ts'
import { openJetStreamLog } from './log/jetStreamLog.ts'
import { joinHosts } from './log/jetStreamOwnership.ts'
import { openJetStreamSnapshots } from './log/jetStreamSnapshots.ts'
import { findStreams, openStreams, ServersUnfit, type OpenStreams } from './log/jetStreamStreams.ts'
import { natsConnectionOptions } from './log/natsConnection.ts'
import type { Ownership } from './log/port.ts'
import { takeFolder } from './log/store.ts'
import { registerDistributedMetrics } from './ops/distributedMetrics.ts'
import {
  registerActorMetrics,
  registerEventMetrics,
  registerMailboxMetrics,
  registerProcessMetrics,
  registerServerMetrics,
} from './ops/engineMetrics.ts'
import { healthRoutes, type ReadinessCheck } from './ops/healthRoutes.ts'
import { Metrics } from './ops/metrics.ts'
import { registerWebhookMetrics } from './ops/webhookMetrics.ts'
import { runRegistryCommand } from './registry/cli.ts'
import { openEditStream } from './registry/jetStreamEdits.ts'
import { openUsageSums } from './registry/jetStreamUsage.ts'
import { parseKeys } from './registry/keys.ts'
import type { Registry } from './registry/registry.ts'
import { openReplicatedRegistry } from './registry/replicatedRegistry.ts'
import { openRoads, type Roads } from './roads.ts'
import { ByteBound } from './runtime/byteBound.ts'
import { systemClock as clock } from './runtime/clock.ts'
import { ApiError } from './runtime/errors.ts'
import { DRAIN_MILLISECONDS, Lifecycle, type Service } from './runtime/lifecycle.ts'
import type { Logger } from './runtime/logger.ts'
import { Outgoing } from './runtime/outgoing.ts'
import { Troubles } from './runtime/troubles.ts'
import { createGeofenceIndex } from './spatial/cellIndex.ts'
import { MeasuringPool } from './spatial/measuringPool.ts'
import { geofencesOf, openSharedTile38, scopesOf, watchTile38 } from './tile38.ts'

const DAY_MS = 86_400_000
const MIB = 1024 * 1024
/** A host that has said nothing for so long is gone; others have its partitions before gateways give up (10 s). */
const HOST_TTL_MS = 4000
/** A process that does what one does at a time, and has said nothing for so long, is gone. */
const LEASE_TTL_MS = 6000
/** Of committed events that wait to be published; beyond it commits wait. */
const BACKLOG_BYTES = 64 * MIB

/** What all roles stand on. */
interface Ground {
  readonly options: Options
  readonly logger: Logger
  /** This run of the process; no other has the same. */
  readonly id: string
  readonly nats: NatsLink
  readonly streams: OpenStreams
  readonly salt: StoreSalt
  readonly calls: Calls
  readonly registry: Registry
  readonly measurer: MeasuringPool
  readonly metrics: Metrics
  /** Undefined where no Tile38 is set, and where the roles have nothing to do with it. */
  readonly tile38: Awaited<ReturnType<typeof openSharedTile38>>
  /** Told of what is tried again. */
  readonly troubled: (error: Error) => void
  /** Ends the process: a part can no longer do its work. */
  readonly fatal: (error: Error) => void
}

/** Starts the process, which waits for its servers; it ends by a signal. */
export async function runDistributed(options: Options, logger: Logger): Promise<void> {
  const isIn = rolesOf(options)
  const release = takeFolder(options.data)
  if (existsSync(join(options.data, 'store.json')))
    logger.warn(
      'the data folder has devices and events of an embedded engine; of it, only the registry is taken',
    )
  const metrics = new Metrics()
  const waiting = await openWaitingRoom(options, metrics)
  const ground = await openGround(options, isIn, logger, metrics)
  const { nats, registry, measurer, tile38 } = ground

  const events = isIn('gateway') || isIn('delivery') ? await openEvents(ground) : undefined
  const owners = isIn('actors') ? await openOwners(ground) : undefined
  const asking = events && openGateway(ground)
  const delivery = isIn('delivery') ? await openDelivery(ground, events!, asking!.gateway) : undefined
  const tile38Checks = watchTile38(tile38?.copies, metrics)
  // Each gateway has its own.
  const roads = isIn('gateway') ? openRoads({ options, logger, metrics, registry }) : undefined
  const front = roads && openGatewayFront(ground, events!, asking!, roads, tile38Checks)
  const checks = [
    ...groundChecks(ground),
    ...tile38Checks,
    ...(events?.checks ?? []),
    ...(owners?.checks ?? []),
    ...(delivery?.checks ?? []),
  ]
  const server = front?.server ?? openBackServer(ground, checks)
  registerProcessMetrics(metrics, registry)
  registerDistributedMetrics(metrics, { nats, registry, partitions: options.partitions, owned: owners })

  const lifecycle = new Lifecycle(logger, DRAIN_MILLISECONDS)
  lifecycle.add({ name: 'data folder', stop: release })
  lifecycle.add({ name: 'NATS', stop: () => nats.close() })
  lifecycle.add({ name: 'registry', stop: () => registry.close() })
  for (const service of events?.services ?? []) lifecycle.add(service)
  for (const service of roads?.services ?? []) lifecycle.add(service)
  if (roads !== undefined) lifecycle.add(leased(ground, 'isochrones', roads.isochrones))
  lifecycle.add({ name: 'threads that measure shapes', stop: () => measurer.close() })
  lifecycle.add({ name: 'Tile38', stop: () => tile38?.copies.stop() })
  for (const service of owners?.services ?? []) lifecycle.add(service)
  lifecycle.add(housekeeping(ground, events?.index, owners))
  if (asking !== undefined) lifecycle.add({ name: 'updates under way', stop: () => asking.gateway.drained() })
  for (const service of delivery?.services ?? []) lifecycle.add(service)
  lifecycle.add({
    name: 'http',
    start: async () => {
      await waiting.close()
      const url = await listen(server, { ...options, port: waiting.port })
      const listening = () => logger.info({ url, roles: ROLES.filter(isIn) }, 'listening')
      if (front === undefined) listening()
      else await welcome(registry, url, listening)
    },
    stop: () => server.close(),
  })
  lifecycle.add(control(ground))
  if (front !== undefined) {
    lifecycle.add(front.keyWatch)
    lifecycle.add(front.eventStreams)
    lifecycle.add(front.streamServer)
  }
  if (roads !== undefined) lifecycle.add(roads.sample)
  lifecycle.handleSignals()
  await lifecycle.start()
}

type Role = (typeof ROLES)[number]

/** @throws {OptionError} for settings that the engine cannot do with */
function rolesOf({ roles, natsUrl, natsFormat }: Options): (role: Role) => boolean {
  if (natsUrl.length === 0) throw new OptionError('engine distributed needs natsUrl')
  if (natsFormat !== 'json') throw new OptionError('natsFormat must be json where engine is distributed')
  return (role) => roles.includes('all') || roles.includes(role)
}

/** The role of a process that has no other. */
function onlyRole(isIn: (role: Role) => boolean): Role | undefined {
  const roles = ROLES.filter(isIn)
  return roles.length === 1 ? roles[0] : undefined
}

/** Answers probes while the servers are waited for, and 503 to everybody else. */
async function openWaitingRoom(options: Options, metrics: Metrics) {
  const check = { name: 'NATS', check: () => ({ ok: false, detail: 'waiting for the servers' }) }
  const server = createServer({
    routes: healthRoutes([check], metrics),
    // Who would take 404 for an answer would not send it again.
    elsewhere: new ApiError(503, 'The server is starting. Try again.', { retryAfter: 1 }),
    authenticate: () => undefined,
    trustedProxies: [],
    clock,
  })
  const url = await listen(server, options)
  return { port: Number(new URL(url).port), close: () => server.close() }
}

/**
 * Waits for the servers, and for what is to be there, and brings the registry up to date. Who has partitions makes what is not there
 * yet: the others may be allowed no more than they do (config/nats/users.conf).
 */
async function openGround(
  options: Options,
  isIn: (role: Role) => boolean,
  logger: Logger,
  metrics: Metrics,
): Promise<Ground> {
  const { natsReplicas, partitions, eventsDays, data, keys } = options
  const { tell: troubled } = new Troubles(clock, (err) => logger.warn({ err }, 'failed; it is tried again'))
  const fatal = (error: Error) => {
    logger.fatal({ err: error }, 'cannot go on; what was acknowledged is safe')
    process.exit(1)
  }
  const inboxPrefix = `_INBOX.${onlyRole(isIn) ?? 'all'}`
  const nats = await openNats({ ...natsConnectionOptions(options), inboxPrefix }, logger)
  const { connection } = nats
  const replicas = isIn('actors') ? natsReplicas : undefined
  const streamOptions = { partitions, maxPartitionBytes: -1, eventsAgeMs: eventsDays * DAY_MS }
  const newStoreId = randomBytes(8).toString('hex')
  const open = async () => {
    if (replicas === undefined) return findStreams(connection, partitions)
    const opened = await openStreams(connection, { ...streamOptions, replicas, newStoreId })
    await makeLeases(connection, replicas, LEASE_TTL_MS)
    return opened
  }
  const streams = await persistently(open, (error) => {
    if (error instanceof ServersUnfit) throw error
    troubled(error)
  })
  const id = randomBytes(8).toString('hex')
  const { storeId } = streams
  const mayEdit = isIn('actors') || isIn('gateway')
  const tile38 = mayEdit ? await openSharedTile38(options, logger, { storeId, process: id }) : undefined
  const createIndex = () => {
    const index = createGeofenceIndex()
    return isIn('actors') ? (tile38?.copies.index(index) ?? index) : index
  }
  const registry = await openReplicatedRegistry({
    folder: data,
    clock,
    createIndex,
    tends: isIn('actors'),
    firstKeys: mayEdit && keys.length > 0 ? parseKeys(keys.join(',')) : undefined,
    usage: await persistently(() => openUsageSums(connection, replicas), troubled),
    openStream: (firstSequence) =>
      openEditStream(connection, replicas === undefined ? undefined : { replicas, firstSequence }),
    unreadable: (entry, reason) => logger.error({ entry, reason }, 'an entry of the registry cannot be read'),
    troubled,
    onSweepFailure: (err) => logger.error({ err }, 'the registry cannot be written; trying again'),
  })
  process.once('exit', () => registry.close())
  tile38?.copies.open(geofencesOf(registry))
  return {
    options,
    logger,
    id,
    nats,
    streams,
    salt: storeSalt(streams.storeId),
    calls: new NatsCalls(connection, inboxPrefix),
    registry,
    measurer: new MeasuringPool(logger),
    metrics,
    tile38,
    troubled,
    fatal,
  }
}

/** Connects, as long as it takes, and says in the log what happens to the connection. */
async function openNats(way: NodeConnectionOptions, logger: Logger): Promise<NatsLink> {
  const unreachable = ({ name, message: reason }: Error) =>
    logger.warn(
      { reason },
      name === 'AuthorizationError'
        ? 'NATS does not take our credentials; trying again'
        : 'NATS is out of reach; trying again',
    )
  const changed = (isUp: boolean) =>
    isUp ? logger.info('connected to NATS again') : logger.warn('the connection to NATS is lost')
  const { tell: refused } = new Troubles(clock, ({ message: reason }) =>
    logger.warn({ reason }, 'NATS refuses us: look at its users and their permissions'),
  )
  const nats = await NatsLink.open(way, unreachable, changed, refused)
  logger.info({ server: nats.connection.getServer() }, 'connected to NATS')
  return nats
}

function groundChecks({ nats, registry }: Ground): ReadinessCheck[] {
  return [
    { name: 'NATS', check: () => nats.status },
    { name: 'registry', check: () => registry.health },
  ]
}

/** What a role adds to the process. */
interface Part {
  readonly services: readonly Service[]
  readonly checks: readonly ReadinessCheck[]
}

/** The events of all processes, in an index of this one: named by the store, since it is a copy of that store's stream. */
async function openEvents({ options, logger, nats, streams, metrics, troubled, fatal }: Ground) {
  const { manager, storeId } = streams
  const index = await openEventIndex({
    file: join(options.data, `events-${storeId}.sqlite`),
    failed: fatal,
  })
  const feed = new EventFeed(index)
  const reader = new JetStreamEventReader(nats.connection, manager, (sequence, reason) =>
    logger.error({ sequence, reason }, 'a message of the stream EVENTS cannot be read; it was passed over'),
  )
  const shared = await persistently(
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

type Events = Awaited<ReturnType<typeof openEvents>>

/** The partitions that this process owns. */
async function openOwners(ground: Ground) {
  const { options, logger, id, nats, streams, salt, calls, registry, measurer, metrics, tile38, troubled } =
    ground
  const { natsReplicas: replicas, partitions, mailboxBytes, limits } = options
  const { connection } = nats
  const { manager, storeId } = streams
  const publisher = new EventPublisher({
    stream: new JetStreamEvents(connection, manager),
    maxBacklogBytes: BACKLOG_BYTES,
    troubled,
  })
  const damaged = (object: string, reason: string) =>
    logger.error({ object, reason }, 'damaged snapshot passed over')
  const snapshots = await persistently(
    () => openJetStreamSnapshots(connection, storeId, replicas, damaged),
    troubled,
  )
  let ownership: Ownership | undefined
  const server = new PartitionServer({
    calls,
    registry,
    snapshots,
    salt,
    clock,
    measurer,
    prepare: options.tile38Candidates ? tile38?.copies.prepare.bind(tile38.copies) : undefined,
    mailboxBytes: shareOf(mailboxBytes, partitions),
    updatesPerSecond: limits['POST /v1/track'] ?? 1,
    openLog: (partition, fencedOut) =>
      openJetStreamLog({
        partition,
        journal: new JetStreamJournal(connection, manager, partition),
        publisher,
        owner: randomBytes(8).toString('hex'),
        eventsOf: eventsOfFrame,
        encode: (json) => Buffer.from(json),
        fencedOut,
        troubled,
      }),
    isLive: () => isLive(),
    lost(partition) {
      logger.warn({ partition }, 'another host took the partition')
      ownership?.lost(partition)
    },
    troubled,
  })
  const isLive = () => ownership?.isLive ?? false
  const copied = tile38 && copiedPositions(() => server.hosts)
  const positions = new PositionServer({
    calls,
    partitions: copied ?? plainPositions(() => server.hosts),
    isLive,
    troubled,
  })
  registerActorMetrics(metrics, { hosts: () => server.hosts, measurer })
  const service: Service = {
    name: 'partitions',
    async start() {
      server.start()
      positions.start()
      tile38?.copies.writeDevices({
        partitions,
        shares: () =>
          copied!().map(({ number, positions: of }) => ({
            name: String(number),
            partitions: [number],
            positions: of,
          })),
        scopes: () => scopesOf(registry),
        isLive,
      })
      const joined = () =>
        joinHosts({
          connection,
          host: id,
          partitions,
          replicas,
          ttlMs: HOST_TTL_MS,
          handlers: server,
          troubled,
        })
      ownership = await persistently(joined, troubled)
    },
    /** Partitions first: who asks about a partition is answered until another host has it. */
    async stop() {
      await ownership?.leave()
      await server.stop()
      await positions.stop()
    },
  }
  const check = () => ({
    ok: isLive(),
    detail: `${server.hosts.length} of ${partitions} partitions are here`,
  })
  const taking = (tenure: Tenure) =>
    persistently(
      () => Lease.open({ connection, name: 'tile38', holder: id, ttlMs: LEASE_TTL_MS, troubled }, tenure),
      troubled,
    )
  return {
    services: [service, ...(tile38 === undefined ? [] : [tile38.writing(taking)])],
    checks: [{ name: service.name, check }],
    get hosts() {
      return server.hosts
    },
    get backlogBytes() {
      return publisher.backlogBytes
    },
    checkpoint: () => server.checkpoint(shareOf(options.snapshotBytes, partitions)),
  }
}

/** Where the devices of each partition are, for two observers; the same object for as long as the partition is here. */
function copiedPositions(hosts: () => readonly ActorHost[]) {
  const known = new WeakMap<ActorHost, CopiedPositions>()
  return () =>
    hosts().map((host) => {
      const positions = known.get(host) ?? new TwiceObserved(new HostPositions(host))
      known.set(host, positions)
      return { number: host.partitions[0]!.number, positions }
    })
}

/** The same for one: who does not watch costs nothing. */
function plainPositions(hosts: () => readonly ActorHost[]) {
  return () =>
    hosts().map((host) => ({ number: host.partitions[0]!.number, positions: new HostPositions(host) }))
}

/** Of what the process may have, for one partition. */
function shareOf(bytes: number, partitions: number): number {
  return Math.max(MIB, Math.floor(bytes / partitions))
}

/** Snapshots and the retention of users where partitions are, retention of events where an index is. */
function housekeeping(
  { options, logger }: Ground,
  events: EventIndex | undefined,
  owners: Awaited<ReturnType<typeof openOwners>> | undefined,
): Housekeeping {
  return new Housekeeping({
    ...options,
    hosts: () => owners?.hosts ?? [],
    events,
    // Partitions wait for their own when they are given away.
    checkpointer: { tick: () => owners?.checkpoint(), stop: () => Promise.resolve() },
    clock,
    logger,
  })
}

/** The way to the owners of partitions. */
function openGateway({ options, id, salt, calls, registry, metrics, troubled }: Ground) {
  const mailbox = new ByteBound(options.mailboxBytes)
  registerMailboxMetrics(metrics, mailbox)
  const { partitions } = options
  const gateway = new Gateway({ calls, gateway: id, registry, mailbox, partitions, salt, troubled })
  return { gateway, mailbox }
}

/** The whole API. Webhooks are managed by the process that delivers to them. */
function openGatewayFront(
  ground: Ground,
  { shared, feed, checks }: Events,
  { gateway, mailbox }: ReturnType<typeof openGateway>,
  roads: Roads,
  tile38Checks: readonly ReadinessCheck[],
): Front {
  const { options, logger, id, streams, registry, measurer, metrics, calls, tile38 } = ground
  const { partitions } = options
  const shares = Array.from({ length: partitions }, (_, partition) => String(partition))
  const read = tile38?.copies.readDevices(shares, gateway)
  const nobody = 'Nobody delivers webhooks at the moment. Try again.'
  return openFront({
    options,
    logger,
    registry,
    intake: gateway,
    users: read?.users ?? gateway,
    measurer,
    events: shared,
    feed,
    positions: read?.positions ?? new RemotePositions({ calls, gateway: id, partitions }),
    secret: streams.secret,
    webhooks: remoteRoutes(webhookRoutes({} as WebhookRouteParts), calls, webhooksSubject, nobody),
    roads,
    checks: [...groundChecks(ground), ...tile38Checks, roomIn(mailbox), ...checks],
    metrics,
  })
}

/** A service of which one of all processes does the work at a time. */
function leased({ id, nats, troubled }: Ground, name: string, work: Service): Service {
  const options = { connection: nats.connection, name, holder: id, ttlMs: LEASE_TTL_MS, troubled }
  const tenure: Tenure = { begin: async () => work.start?.(), end: async () => work.stop() }
  let lease: Lease | undefined
  return {
    name,
    async start() {
      lease = await persistently(() => Lease.open(options, tenure), troubled)
    },
    stop: () => lease?.end(),
  }
}

/** Webhooks, sent by one process at a time. */
async function openDelivery(ground: Ground, events: Events, users: Gateway): Promise<Part> {
  const { options, logger, id, nats, streams, calls, registry, metrics, troubled, fatal } = ground
  const { index, feed, shared } = events
  const outgoing = new Outgoing(options.webhookPrivateAddresses)
  const file = join(options.data, `deliveries-${streams.storeId}.sqlite`)
  const parts = { options, logger, file, registry, events: index, feed, users, outgoing, failed: fatal }
  const webhooks = openWebhooks(parts)
  registerWebhookMetrics(metrics, webhooks)
  const leaseOptions = { connection: nats.connection, name: 'delivery', holder: id, ttlMs: LEASE_TTL_MS }
  let served: Served | undefined
  const tenure: Tenure = {
    async begin() {
      // A webhook that it does not know begins where the events end.
      await shared.caughtUp()
      await webhooks.start()
      served = serveRoutes(webhookRoutes({ webhooks, outgoing, clock }), calls, webhooksSubject)
      logger.info('delivering webhooks')
    },
    async end() {
      await served?.stop()
      served = undefined
      await webhooks.stop()
      logger.info('delivering webhooks no more')
    },
  }
  let lease: Lease | undefined
  const service: Service = {
    name: webhooks.name,
    async start() {
      lease = await persistently(() => Lease.open({ ...leaseOptions, troubled }, tenure), troubled)
    },
    async stop() {
      webhooks.endTests()
      await lease?.end()
    },
  }
  const check = () => ({
    ok: true,
    detail: served === undefined ? 'waiting: another process delivers, or began' : 'delivering',
  })
  return {
    services: [{ name: 'outgoing requests', stop: () => outgoing.close() }, service],
    checks: [{ name: service.name, check }],
  }
}

/** Probes and metrics of a process without an API. */
function openBackServer({ options, logger, metrics }: Ground, checks: readonly ReadinessCheck[]) {
  const server = createServer({
    routes: healthRoutes(checks, metrics),
    observe: (route) => metrics.observe(route),
    authenticate: () => undefined,
    trustedProxies: options.trustedProxies,
    clock,
    logger,
  })
  registerServerMetrics(metrics, server)
  return server
}

/** `npm run keys` and `npm run projects` beside any of the processes. */
function control({ options, logger, registry }: Ground): ControlServer {
  const store: BackupSource = {
    hold: () =>
      Promise.reject(
        new Error(
          'The store of the distributed engine is in NATS: back up its streams there (docs/operating.md).',
        ),
      ),
  }
  const run = (line: readonly string[], print: (line: string) => void) =>
    runRegistryCommand(line, registry, print)
  return new ControlServer({ dataFolder: options.data, run, store, logger })
}
