/**
 * The composition root: reads top to bottom as the flow of the data, and is the only file that knows every technology.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { helpText, loadOptions, OptionError, type Options } from '../config/options.ts'
import packageJson from '../package.json' with { type: 'json' }
import { Checkpointer } from './actor/checkpoint.ts'
import { ActorHost } from './actor/host.ts'
import { Partition } from './actor/partition.ts'
import { recover } from './actor/recovery.ts'
import { Housekeeping } from './actor/housekeeping.ts'
import { openApiRoute } from './api/openapi.ts'
import { withLimits } from './api/limits.ts'
import { KeyWatch } from './api/keyWatch.ts'
import { createServer } from './api/server.ts'
import { OpenStore } from './backup/source.ts'
import { ControlServer } from './control/server.ts'
import { clientRoutes } from './client/clientRoutes.ts'
import { syncRoutes } from './client/syncRoutes.ts'
import { contextRoutes } from './context/contextRoutes.ts'
import { CopiedPositions } from './engine/copiedPositions.ts'
import { HostPositions } from './engine/hostPositions.ts'
import { HostUsers } from './engine/hostUsers.ts'
import type { Positions } from './engine/port.ts'
import { openEventIndex } from './events/eventIndex.ts'
import type { NatsBridge } from './delivery/natsBridge.ts'
import { NatsPlace } from './delivery/natsPlace.ts'
import { ServerSentEvents } from './delivery/serverSentEvents.ts'
import { senderThrough } from './delivery/webhookMessage.ts'
import { webhookRoutes } from './delivery/webhookRoutes.ts'
import { Webhooks } from './delivery/webhooks.ts'
import { openDeliveries } from './delivery/webhookThread.ts'
import { EventFeed } from './events/feed.ts'
import { eventRoutes } from './events/eventRoutes.ts'
import { storeSalt } from './events/ids.ts'
import { conversionRoutes } from './ingest/conversionRoutes.ts'
import { trackRoutes } from './ingest/trackRoutes.ts'
import { openCommitLog } from './log/commitLog.ts'
import { openSnapshots } from './log/snapshots.ts'
import { openStore } from './log/store.ts'
import { registerEngineMetrics } from './ops/engineMetrics.ts'
import { healthRoutes } from './ops/healthRoutes.ts'
import { Metrics } from './ops/metrics.ts'
import { registerNatsMetrics } from './ops/natsMetrics.ts'
import { registerTile38Metrics } from './ops/tile38Metrics.ts'
import { registerWebhookMetrics } from './ops/webhookMetrics.ts'
import { EXAMPLE, firstStartText } from './ops/welcome.ts'
import { scopeId, type ScopeId } from './model/scope.ts'
import { commandHelp, operate } from './operator.ts'
import { runRegistryCommand } from './registry/cli.ts'
import { beaconRoutes } from './registry/beaconRoutes.ts'
import { exportRoutes } from './registry/exportRoutes.ts'
import { geofenceRoutes } from './registry/geofenceRoutes.ts'
import { importRoutes } from './registry/importRoutes.ts'
import { keyRoutes } from './registry/keyRoutes.ts'
import { parseKeys } from './registry/keys.ts'
import { openRegistry, type Registry } from './registry/registry.ts'
import { referenceRoutes } from './reference/referenceRoutes.ts'
import { referenceTexts } from './reference/texts.ts'
import { ByteBound } from './runtime/byteBound.ts'
import { systemClock as clock, systemTime as time } from './runtime/clock.ts'
import { Lifecycle } from './runtime/lifecycle.ts'
import { createLogger, type Logger } from './runtime/logger.ts'
import { Outgoing } from './runtime/outgoing.ts'
import { connectionRoom, openFileLimit } from './runtime/openFiles.ts'
import { createGeofenceIndex } from './spatial/cellIndex.ts'
import { MeasuringPool } from './spatial/measuringPool.ts'
import type { Tile38Copies } from './spatial/tile38Copies.ts'
import { encodeEvent } from './stream/protobufCodec.ts'
import { StreamServer } from './stream/streamServer.ts'
import { PlaceTokens } from './stream/placeTokens.ts'
import { Subscriptions } from './stream/subscriptions.ts'
import { Watches } from './stream/watches.ts'
import { settingsRoutes } from './registry/settingsRoutes.ts'
import { userRoutes } from './users/userRoutes.ts'

/** Longer than any batch takes; then a part that hangs is named and the process ends. */
const DRAIN_MILLISECONDS = 15_000
const DAY_MILLISECONDS = 86_400_000
/** How often a long start tells how far it is. */
const PROGRESS_MILLISECONDS = 2000
/** The event index is copied at 60 MB a second at most: the disk is the commit log's. */
const BACKUP_PAUSE_MILLISECONDS = 4

try {
  await main()
} catch (error) {
  console.error(`ringfence: ${(error as Error).message}`)
  process.exit(error instanceof OptionError ? error.exitCode : 1)
}

async function main(): Promise<void> {
  const { options, positionals, show } = loadOptions({
    argv: process.argv.slice(2),
    env: process.env,
    readFile: (path) => readFileSync(path, 'utf8'),
  })
  if (show === 'help') return console.log(commandHelp(positionals[0]) ?? helpText())
  if (show === 'version') return console.log(packageJson.version)
  if (positionals.length > 0) return process.exit(await operate(positionals, options, console.log))

  const logger = createLogger(options.logLevel)
  /** What is not on the disk must not be answered: a part that can no longer write ends the process. */
  const fatal = (error: Error) => {
    logger.fatal({ err: error }, 'cannot go on; what was acknowledged is safe on the disk')
    process.exit(1)
  }

  // Durable state, from the lock inwards.
  const store = openStore(options.data, options)
  const salt = storeSalt(store.storeId)
  const firstKeys = options.keys.length === 0 ? undefined : parseKeys(options.keys.join(','))
  const tile38 = await openTile38(options, store.storeId, logger)
  const registry = openRegistry({
    folder: options.data,
    clock,
    createIndex: () => tile38?.index(createGeofenceIndex()) ?? createGeofenceIndex(),
    firstKeys,
    onSweepFailure: (err) => logger.error({ err }, 'the registry cannot be written; trying again'),
  })
  // However the process ends: a write-ahead log left by a refused start would be played into a restored registry.
  process.once('exit', () => registry.close())
  const log = openCommitLog({ store, ...options, failed: fatal })
  const snapshots = openSnapshots(options.data, store.storeId, (file, reason) =>
    logger.error({ file, reason }, 'damaged snapshot passed over'),
  )
  let reportAt = clock.now() + PROGRESS_MILLISECONDS
  const events = await openEventIndex({
    file: join(options.data, 'events.sqlite'),
    failed: fatal,
    upgrading(done, places) {
      if (clock.now() < reportAt) return
      reportAt = clock.now() + PROGRESS_MILLISECONDS
      logger.info({ done, places }, 'bringing the event index up to date')
    },
  })

  // The device actors, as they were when the last frame became durable.
  const updatesPerSecond = options.limits['POST /v1/track']
  const partitions = Array.from(
    { length: store.partitions },
    (_, number) => new Partition(number, salt, updatesPerSecond),
  )
  const recovered = recover(partitions, log, snapshots, events, clock.now(), (position, last) => {
    if (clock.now() < reportAt) return
    reportAt = clock.now() + PROGRESS_MILLISECONDS
    logger.info({ position, last }, 'reading the commit log')
  })
  if (recovered.revision > registry.revision)
    throw new Error(
      `${join(options.data, 'registry.sqlite')} is at revision ${registry.revision}, but commits were made with ` +
        `revision ${recovered.revision}: it is older than the log, perhaps restored alone`,
    )
  const mailbox = new ByteBound(options.mailboxBytes)
  const feed = new EventFeed(events)
  const prepare = options.tile38Candidates ? tile38?.prepare.bind(tile38) : undefined
  const measurer = new MeasuringPool(logger)
  const host = new ActorHost({
    partitions,
    log,
    registry,
    events: feed,
    mailbox,
    clock,
    prepare,
    measurer,
  })
  const users = new HostUsers(() => [host], { salt, registry, clock })
  const checkpointer = new Checkpointer(
    { host, log, snapshots, events, registry, clock, logger },
    options.snapshotBytes,
  )

  // Where events go by themselves.
  const outgoing = new Outgoing(options.webhookPrivateAddresses)
  const webhooks = new Webhooks({
    feed,
    events,
    registry: registry.webhooks,
    openStore: () =>
      openDeliveries({ file: join(options.data, 'deliveries.sqlite'), retention: options, failed: fatal }),
    send: senderThrough(outgoing, {
      clock,
      version: packageJson.version,
      timeout: options.webhookTimeoutSeconds * 1000,
    }),
    userJson: async (scope, id) => (await users.ask({ scope, ask: 'record', id })).users[0]?.user,
    time,
    random: Math.random,
    retryMilliseconds: options.webhookRetrySeconds * 1000,
    retentionMilliseconds: options.eventsDays * DAY_MILLISECONDS,
    logger,
  })
  const nats = await openNats(options, feed, logger)

  // What users face.
  const keyWatch = new KeyWatch({
    isCurrent: (credentials) => registry.keys.isCurrent(credentials),
    quotas: registry.projects,
    clock,
  })
  const streams = new ServerSentEvents(feed, keyWatch)
  const metrics = new Metrics()
  const definitions = [
    ...trackRoutes({ intake: host, registry, rateLimits: options.rateLimits, measurer }),
    ...conversionRoutes({ intake: host, users }),
    ...contextRoutes(registry),
    ...clientRoutes(registry),
    ...syncRoutes(registry),
    ...userRoutes({ users, registry }),
    ...eventRoutes(events),
    streams.route(),
    ...geofenceRoutes(registry),
    ...beaconRoutes(registry),
    ...importRoutes(registry),
    ...exportRoutes(registry),
    ...settingsRoutes(registry),
    ...keyRoutes(registry),
    ...webhookRoutes({ webhooks, outgoing, clock }),
    ...healthRoutes(
      [
        { name: 'commit log', check: () => ({ ok: true, detail: `durability: ${options.durability}` }) },
        {
          name: 'mailbox',
          check: () => ({
            ok: mailbox.used < mailbox.limit * 0.9,
            detail: `${mailbox.used} of ${mailbox.limit} bytes waiting`,
          }),
        },
        // Ready without it: nobody waits for NATS.
        ...(nats ? [{ name: nats.name, check: () => ({ ok: true, detail: nats.status.detail }) }] : []),
        ...(tile38 ? [{ name: tile38.name, check: () => ({ ok: true, detail: tile38.status.detail }) }] : []),
      ],
      metrics,
    ),
  ]
  const routes = options.rateLimits ? withLimits(definitions, options.limits) : definitions
  const fileLimit = openFileLimit()
  const maxConnections = connectionRoom(options.maxConnections, fileLimit)
  if (maxConnections < options.maxConnections)
    logger.warn(
      { fileLimit, maxConnections, wanted: options.maxConnections },
      'the limit of open files leaves room for fewer connections than wanted; raise it with ulimit -n',
    )
  const subscriptions = new Subscriptions(feed, logger, new PlaceTokens(store.secret))
  const positions = copied(new HostPositions(host), tile38, registry)
  const watches = new Watches({ positions, registry, clock })
  const streamServer = new StreamServer({
    ...options,
    intake: host,
    features: [subscriptions, watches],
    keyWatch,
    quotas: registry.projects,
    streamDeviceLimit: options.rateLimits && options.streamDeviceLimit,
    clock,
    logger,
  })
  const server = createServer({
    sockets: [streamServer],
    routes: [...routes, openApiRoute(routes, packageJson.version, referenceTexts), ...referenceRoutes()],
    observe: (route) => metrics.observe(route),
    authenticate: (key) => registry.keys.authenticate(key),
    quotas: registry.projects,
    ...options,
    maxConnections,
    refusedConnection: (refusal) => logger.warn(refusal, 'too many connections: one was refused'),
    clock,
    logger,
  })
  registerEngineMetrics(metrics, {
    host,
    log,
    registry,
    mailbox,
    events,
    server,
    streams: streamServer,
    eventReaders: streams,
    subscriptions,
    watches,
    measurer,
  })
  if (nats !== undefined) registerNatsMetrics(metrics, nats)
  if (tile38 !== undefined) registerTile38Metrics(metrics, tile38)
  registerWebhookMetrics(metrics, webhooks)

  const lifecycle = new Lifecycle(logger, DRAIN_MILLISECONDS)
  lifecycle.add({ name: 'data folder', stop: () => store.release() })
  lifecycle.add({ name: 'registry', stop: () => registry.close() })
  lifecycle.add({ name: 'event index', stop: () => events.close() })
  lifecycle.add({ name: 'commit log', stop: () => log.close() })
  if (nats !== undefined) lifecycle.add(nats)
  if (tile38 !== undefined) lifecycle.add(tile38)
  lifecycle.add(new Housekeeping({ ...options, hosts: () => [host], events, checkpointer, clock, logger }))
  lifecycle.add({ name: 'threads that measure shapes', stop: () => measurer.close() })
  lifecycle.add({ name: 'device actors', stop: () => host.drained() })
  lifecycle.add({ name: 'outgoing requests', stop: () => outgoing.close() })
  lifecycle.add(webhooks)
  lifecycle.add({
    name: 'http',
    start: async () => {
      const port = await server.listen(options.host, options.port).catch((cause: Error) => {
        const others = '--port (RINGFENCE_PORT) and --host (RINGFENCE_HOST) take others.'
        throw new Error(`${cause.message} ${others}`, { cause })
      })
      const url = `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`
      // Not before the port is ours: the keys of a start that fails would be lost.
      const newKeys = await registry.edit(() => registry.createFirstProject())
      logger.info(
        { url, devices: host.users, framesReplayed: recovered.frames, durability: options.durability },
        'listening',
      )
      if (newKeys !== undefined) {
        console.log(firstStartText(newKeys, url))
        await addExample(registry)
      }
    },
    stop: () => server.close(),
  })
  lifecycle.add(
    new ControlServer({
      dataFolder: options.data,
      run: (line, print) => runRegistryCommand(line, registry, print),
      store: new OpenStore({
        ...store,
        log,
        events,
        pause: BACKUP_PAUSE_MILLISECONDS,
        registry,
        snapshots,
        holdSnapshots: () => checkpointer.hold(),
      }),
      logger,
    }),
  )
  lifecycle.add(keyWatch)
  lifecycle.add(streams)
  lifecycle.add({ name: 'webhook tests', stop: () => webhooks.endTests() })
  lifecycle.add(streamServer)
  lifecycle.handleSignals()
  await lifecycle.start()
}

/** The bridge, where one is asked for. Its client, 45 ms and 15 MB, is loaded only then. */
async function openNats(options: Options, feed: EventFeed, logger: Logger): Promise<NatsBridge | undefined> {
  if (options.natsUrl.length === 0) return undefined
  const { NatsBridge } = await import('./delivery/natsBridge.ts')
  return new NatsBridge({
    feed,
    place: new NatsPlace(join(options.data, 'nats.json'), feed.lastPlace, (err) =>
      logger.error({ err }, 'nats.json cannot be written; trying again'),
    ),
    address: { urls: options.natsUrl, credentials: options.natsCredentials },
    encode: options.natsFormat === 'json' ? (json) => Buffer.from(json) : encodeEvent,
    logger,
  })
}

/** The copies in Tile38, where they are asked for. */
async function openTile38(
  options: Options,
  storeId: string,
  logger: Logger,
): Promise<Tile38Copies | undefined> {
  const { tile38Url: url, tile38Password: password, tile38HooksUrl: hooksUrl } = options
  if (url === '') return undefined
  const { Tile38Copies } = await import('./spatial/tile38Copies.ts')
  return new Tile38Copies({ address: { url, password }, storeId, writer: randomUUID(), hooksUrl, logger })
}

/** The positions, of which Tile38 is told too, where it is asked for. */
function copied(positions: Positions, tile38: Tile38Copies | undefined, registry: Registry): Positions {
  if (tile38 === undefined) return positions
  const geofences = {
    get revision() {
      return registry.revision
    },
    geofences: (scope: ScopeId) => registry.scope(scope).wholeInOrder(),
  }
  const scopes = () => registry.keys.projects().flatMap(({ id }) => [scopeId(id, false), scopeId(id, true)])
  return new CopiedPositions(positions, tile38.open(geofences, positions, scopes))
}

function addExample(registry: Registry): Promise<unknown> {
  const { center, radius, ...definition } = EXAMPLE
  const shape = { kind: 'circle', center, radius } as const
  return registry.edit(() =>
    registry.putGeofence(scopeId(1, false), { ...definition, type: 'circle', shape, enabled: true }),
  )
}
