/**
 * The embedded engine: one process with all parts. The file reads from top to bottom as the flow of the data. It is
 * part of the composition roots.
 */
import { Senders } from '../wire/senders.ts'
import { failureFields } from '../runtime/errors.ts'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Options } from '../../config/options.ts'
import { auditedRoutes } from '../registry/audit/auditedRoutes.ts'
import { AuditSweep } from '../registry/audit/auditSweep.ts'
import { ExpirySweep } from '../accounts/expirySweep.ts'
import { Tickets } from '../accounts/tickets.ts'
import { Checkpointer } from '../actor/checkpoint.ts'
import { FEED_ACK } from '../actor/feedAck.ts'
import { ActorHost } from '../actor/host.ts'
import { deviceMemoryOf, unpackedBytesOf } from '../actor/deviceMemory.ts'
import { Partition } from '../actor/partition.ts'
import { recover } from '../actor/recovery.ts'
import { housekeepingJobs } from '../actor/housekeeping.ts'
import { OpenStore } from '../cli/backup/source.ts'
import { ControlServer } from '../cli/control/server.ts'
import type { NatsBridge } from '../delivery/natsBridge.ts'
import { NatsOffset } from '../delivery/natsOffset.ts'
import { TwiceObserved } from '../actor/copiedPositions.ts'
import { HostPositions } from '../actor/hostPositions.ts'
import { HostUsers } from '../users/hostUsers.ts'
import { HostTrips } from '../trips/hostTrips.ts'
import { tripJobs } from '../trips/tripJobs.ts'
import { KnownQuestions } from '../trips/knownQuestions.ts'
import { TripShortcut } from '../trips/tripShortcut.ts'
import { ALL_ACTOR_TYPES } from '../trips/tripTypes.ts'
import { openEventIndex } from '../events/eventIndex.ts'
import { EventFeed } from '../events/feed.ts'
import { storeSalt } from '../events/ids.ts'
import { managementRoutes, openHooks, openWebhooks } from './deliveries.ts'
import { listen, openPublicApi, roomIn, welcome } from './publicApi.ts'
import { openCommitLog } from '../log/commitLog.ts'
import { openSnapshots } from '../log/snapshots.ts'
import { openStore } from '../log/store.ts'
import {
  registerActorMetrics,
  registerEventMetrics,
  registerLogMetrics,
  registerMailboxMetrics,
  registerProcessMetrics,
} from '../ops/engineMetrics.ts'
import { registerJobMetrics } from '../ops/jobMetrics.ts'
import { Metrics } from '../ops/metrics.ts'
import { registerNatsMetrics } from '../ops/natsMetrics.ts'
import { registerWebhookMetrics } from '../ops/webhookMetrics.ts'
import { siteOf } from '../cli/site.ts'
import { runRegistryCommand } from '../cli/registryCommands.ts'
import { parseKeys } from '../registry/projects/keys.ts'
import { openRegistry } from '../registry/registry.ts'
import { DateSweep } from '../registry/geofences/dateSweep.ts'
import { Jobs } from '../jobs/jobs.ts'
import { aloneWith } from '../jobs/port.ts'
import { openGeoServices } from './geoServices.ts'
import { openMapData, placesCheck } from './mapData.ts'
import { ByteBound } from '../runtime/byteBound.ts'
import { systemClock as clock, systemTime as time } from '../runtime/clock.ts'
import { DRAIN_MS, Lifecycle } from '../runtime/lifecycle.ts'
import { progressLog, type Logger } from '../runtime/logger.ts'
import { openGeofenceSync } from './geofenceSync.ts'
import { openNotifications } from './notifications.ts'
import { Outgoing } from '../runtime/outgoing.ts'
import { closeDataFolder } from '../runtime/privateFiles.ts'
import { createGeofenceIndex } from '../spatial/geofenceIndex.ts'
import { MeasuringPool } from '../spatial/measuringPool.ts'
import { encodeEvent } from '../stream/protobufCodec.ts'
import { openDispatcher, SEEN_BYTES } from './tripFeeds.ts'
import { openTile38, scopesOf, watchTile38 } from './tile38.ts'

/** The only share of devices in Tile38, because all partitions are in this process. */
const SHARE = 'all'
/** The event index is copied with at most 60 MB a second, because the commit log needs the disk. */
const BACKUP_PAUSE_MS = 4

/** Starts the process, which runs until a signal ends it. */
export async function runEmbedded(options: Options, logger: Logger): Promise<void> {
  /** Nothing may be answered that is not on the disk, so a part that can no longer write ends the process. */
  const fatal = (error: Error) => {
    logger.fatal({ err: error }, 'fatal error; everything that was acknowledged is on disk')
    process.exit(1)
  }

  // Durable state, beginning with the lock.
  const store = openStore(options.data, options)
  closeDataFolder(options.data, logger)
  const salt = storeSalt(store.storeId)
  const firstKeys = options.keys.length === 0 ? undefined : parseKeys(options.keys.join(','))
  const tile38 = await openTile38(options, logger, { storeId: store.storeId, process: randomUUID() })
  const map = openMapData({ options, logger })
  const registry = openRegistry({
    folder: options.data,
    clock,
    atlas: map.atlas,
    createIndex: createGeofenceIndex,
    firstKeys,
    onProgress: progressLog(logger, clock, 'reading geofences'),
    onUsageFailure: (err) => logger.error(failureFields(err), 'the registry cannot be written; retrying'),
  })
  // This must happen however the process ends: the write-ahead log of a refused start would otherwise be applied to
  // a registry that is restored later.
  process.once('exit', () => registry.close())
  const log = openCommitLog({ store, ...options, failed: fatal })
  const snapshots = openSnapshots(options.data, store.storeId, (file, reason) =>
    logger.error({ file, reason }, 'skipped a damaged snapshot'),
  )
  const events = await openEventIndex({
    file: join(options.data, 'events.sqlite'),
    failed: fatal,
    upgrading: progressLog(logger, clock, 'bringing the event index up to date'),
  })

  // The device actors, in the state of the last durable frame.
  const updatesPerSecond = options.limits['POST /v1/track']
  const unpackedBytes = unpackedBytesOf(store.partitions)
  const partitions = Array.from(
    { length: store.partitions },
    (_, number) => new Partition(number, salt, updatesPerSecond, ALL_ACTOR_TYPES, unpackedBytes),
  )
  const reading = progressLog(logger, clock, 'reading the commit log')
  const recovered = recover(partitions, log, snapshots, events, clock.now(), reading)
  const memory = deviceMemoryOf(options.deviceBytes)
  for (const partition of partitions) partition.countIn(memory)
  if (recovered.revision > registry.revision)
    throw new Error(
      `${join(options.data, 'registry.sqlite')} is at revision ${registry.revision}, but commits were made with ` +
        `revision ${recovered.revision}: it is older than the log, perhaps restored alone`,
    )
  const metrics = new Metrics()
  const mailbox = new ByteBound(options.mailboxBytes)
  const feed = new EventFeed(events)
  const measurer = new MeasuringPool(logger)
  const geo = openGeoServices({ options, logger, metrics, registry, map })
  const questions = new KnownQuestions()
  const dispatcher = openDispatcher({
    intake: { execute: (...command) => host.execute(...command) },
    trips: { ask: (question) => trips.ask(question) },
    directory: registry.trips,
    registry,
    ways: geo.ways,
    questions,
    store: { partitions: store.partitions, salt },
    clock,
    acknowledge: (partition, numbers) =>
      host.executeIn(partition, FEED_ACK, { partition: partition.number, numbers }, 0),
    seenBytes: SEEN_BYTES,
    troubled: (err) => logger.error(failureFields(err), 'a trip was not told of an update; trying again'),
  })
  const host: ActorHost = new ActorHost({
    partitions,
    log,
    registry,
    events: feed,
    mailbox,
    clock,
    measurer,
    dispatcher,
    shortcut: new TripShortcut(partitions, salt, { ways: geo.ways, questions }),
  })
  const users = new HostUsers(() => [host], { salt, registry, clock })
  const trips: HostTrips = new HostTrips(() => [host], { registry, clock })
  const checkpointer = new Checkpointer(
    { host, log, snapshots, events, registry, clock, logger },
    options.snapshotBytes,
  )

  // Outgoing events.
  const outgoing = new Outgoing(options.webhookPrivateAddresses)
  const delivered = { options, logger, registry, events, feed, outgoing, failed: fatal }
  const webhooks = openWebhooks({ ...delivered, users, file: join(options.data, 'deliveries.sqlite') })
  const hooks = openHooks({
    ...delivered,
    file: join(options.data, 'hooks.sqlite'),
    messagesFile: join(options.data, 'hook-messages.sqlite'),
    places: tile38?.readDevices({ shares: [SHARE], partitions: store.partitions, users }),
  })
  const nats = await openNats(options, feed, logger)

  // The parts that users see. Positions also go to Tile38, but questions are answered in this process.
  const notifications = await openNotifications({ options, logger, registry })
  const sync = openGeofenceSync({
    options,
    logger,
    registry,
    finder: geo.finder,
    tell: notifications.tellRun,
  })
  const positions = new HostPositions(host)
  const copied = tile38 && new TwiceObserved(positions)
  const api = openPublicApi({
    options,
    logger,
    registry,
    intake: host,
    users,
    trips,
    outcomes: dispatcher,
    store: { partitions: store.partitions, salt },
    measurer,
    senders: new Senders(),
    events,
    feed,
    positions: copied ?? positions,
    tickets: new Tickets({ process: 'here', clock }),
    secret: store.secret,
    webhooks: auditedRoutes(managementRoutes({ webhooks, hooks, registry, outgoing }), registry.audit),
    geo,
    importer: options.regionMaxBytes > 0 ? map.uploads : 'The option regionMaxBytes turns this off.',
    sync: [...sync.routes, ...notifications.routes],
    checks: [
      { name: 'commit log', check: () => ({ ok: true, detail: `durability: ${options.durability}` }) },
      roomIn(mailbox),
      ...map.checks,
      placesCheck(registry, map),
      // Ready without it: nothing waits for NATS.
      ...(nats ? [{ name: nats.name, check: () => ({ ok: true, detail: nats.status.detail }) }] : []),
      ...watchTile38(tile38, metrics),
    ],
    metrics,
  })
  const { server } = api
  const jobs = new Jobs({ time, logger, openLease: aloneWith })
  registerActorMetrics(metrics, { hosts: () => [host], measurer, memory })
  registerLogMetrics(metrics, log)
  registerMailboxMetrics(metrics, mailbox)
  registerEventMetrics(metrics, events)
  registerProcessMetrics(metrics, registry)
  registerJobMetrics(metrics, jobs)
  if (nats !== undefined) registerNatsMetrics(metrics, nats)
  registerWebhookMetrics(metrics, webhooks.endpoints)
  registerWebhookMetrics(metrics, hooks.endpoints, 'hook')
  if (tile38 !== undefined) {
    tile38.start()
    const share = { name: SHARE, partitions: partitions.map(({ number }) => number), positions: copied! }
    tile38.writeDevices({
      partitions: store.partitions,
      shares: () => [share],
      scopes: () => scopesOf(registry),
      isLive: () => true,
    })
  }

  const lifecycle = new Lifecycle(logger, DRAIN_MS)
  lifecycle.add({ name: 'data folder', stop: () => store.release() })
  lifecycle.add({ name: 'registry', stop: () => registry.close() })
  lifecycle.add({ name: 'event index', stop: () => events.close() })
  lifecycle.add({ name: 'commit log', stop: () => log.close() })
  for (const service of [...map.services, ...geo.services]) lifecycle.add(service)
  lifecycle.add(jobs.service(geo.isochrones))
  lifecycle.add(sync.service)
  lifecycle.add(jobs.service(sync.runner))
  for (const job of [...notifications.jobs, notifications.disk, notifications.webhookJob(webhooks)])
    lifecycle.add(jobs.service(job))
  lifecycle.add(jobs.service(new DateSweep(registry.geofences)))
  lifecycle.add(jobs.service(new ExpirySweep(registry.people)))
  lifecycle.add(jobs.service(new AuditSweep(registry.audit, options.auditDays)))
  if (nats !== undefined) lifecycle.add(nats)
  if (tile38 !== undefined) {
    lifecycle.add(tile38)
    lifecycle.add(jobs.service(tile38.job))
  }
  lifecycle.add({ name: 'snapshots under way', stop: () => checkpointer.stop() })
  const housekeeping = { ...options, hosts: () => [host], events, clock, logger }
  for (const job of housekeepingJobs({ ...housekeeping, checkpoint: () => checkpointer.tick() }))
    lifecycle.add(jobs.service(job))
  for (const job of tripJobs({ ...options, hosts: () => [host], registry, clock }))
    lifecycle.add(jobs.service(job))
  lifecycle.add({ name: 'geometry threads', stop: () => measurer.close() })
  lifecycle.add({ name: 'device actors', stop: () => host.drained() })
  lifecycle.add({
    name: 'trips',
    // Trips are told what was not told before the last end of the process.
    start: () => dispatcher.committed(partitions),
    stop: () => dispatcher.stop(),
  })
  lifecycle.add({ name: 'outgoing requests', stop: () => outgoing.close() })
  lifecycle.add(webhooks)
  lifecycle.add(hooks)
  lifecycle.add({
    name: 'http',
    start: async () => {
      const url = await listen(server, options)
      await welcome(registry, url, options, () => {
        const { users: devices } = host
        const { durability } = options
        logger.info({ url, devices, framesReplayed: recovered.frames, durability }, 'listening')
      })
    },
    stop: () => server.close(),
  })
  lifecycle.add(
    new ControlServer({
      dataFolder: options.data,
      run: (line, print) => runRegistryCommand(line, registry, siteOf(options), print),
      store: new OpenStore({
        ...store,
        log,
        events,
        pauseMs: BACKUP_PAUSE_MS,
        registry,
        snapshots,
        holdSnapshots: () => checkpointer.hold(),
      }),
      logger,
    }),
  )
  lifecycle.add(api.keyWatch)
  lifecycle.add(api.eventStreams)
  lifecycle.add({ name: 'webhook tests', stop: () => webhooks.endTests() })
  lifecycle.add(api.streamServer)
  lifecycle.add(map.world)
  lifecycle.add(map.sample)
  lifecycle.add(map.uploads)
  lifecycle.add(api.dashboard)
  lifecycle.add(api.simulations)
  lifecycle.handleSignals()
  await lifecycle.start()
}

/** Opens the bridge to NATS if it is configured. Its client, which takes 45 ms and 15 MB, is loaded only then. */
async function openNats(options: Options, feed: EventFeed, logger: Logger): Promise<NatsBridge | undefined> {
  if (options.natsUrl.length === 0) return undefined
  const { natsConnectionOptions } = await import('../cluster/nats/natsConnection.ts')
  const { NatsBridge } = await import('../delivery/natsBridge.ts')
  return new NatsBridge({
    feed,
    offset: new NatsOffset(join(options.data, 'nats.json'), feed.lastOffset, (err) =>
      logger.error(failureFields(err), 'nats.json cannot be written; retrying'),
    ),
    connection: natsConnectionOptions(options),
    encode: options.natsFormat === 'json' ? (json) => Buffer.from(json) : encodeEvent,
    logger,
  })
}
