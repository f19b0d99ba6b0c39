/**
 * What users see, whichever engine is behind it: the HTTP API, streams, and what operators look at. Part of the
 * composition roots.
 */
import { join } from 'node:path'
import type { Senders } from '../wire/senders.ts'
import { OPTIONS, type Options } from '../../config/options.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { accountRoutes } from '../accounts/accountRoutes.ts'
import { sessionLookup } from '../accounts/sessionLookup.ts'
import { sessionRoutes } from '../accounts/sessionRoutes.ts'
import { SignIn } from '../accounts/signIn.ts'
import type { Tickets } from '../accounts/tickets.ts'
import { KeyWatch } from '../http/keyWatch.ts'
import { withLimits } from '../http/limits.ts'
import { openApiRoute } from '../http/openapi.ts'
import type { Route } from '../http/route.ts'
import { createServer, type Server } from '../http/server.ts'
import { localUrl } from '../cli/site.ts'
import { clientRoutes } from '../sdk/clientRoutes.ts'
import { syncRoutes } from '../sdk/syncRoutes.ts'
import { contextRoutes } from '../sdk/contextRoutes.ts'
import { ServerSentEvents } from '../delivery/serverSentEvents.ts'
import type { Dashboard } from '../dashboard/port.ts'
import type { Intake, Positions, Users } from '../actor/port.ts'
import { FanoutGroups } from '../events/fanoutGroup.ts'
import { eventRoutes } from '../events/eventRoutes.ts'
import type { EventFeed } from '../events/feed.ts'
import type { EventQueries } from '../events/port.ts'
import { conversionRoutes } from '../ingest/conversionRoutes.ts'
import { trackRoutes } from '../ingest/trackRoutes.ts'
import { scopeId, type ScopeId } from '../model/scope.ts'
import { registerReaderMetrics, registerServerMetrics } from '../ops/engineMetrics.ts'
import { healthRoutes, type ReadinessCheck } from '../ops/healthRoutes.ts'
import { statsRoutes } from '../ops/statsRoutes.ts'
import { mapRegionRoutes, type MapRegionImporter } from '../ops/mapRegionRoutes.ts'
import { systemRoutes } from '../ops/systemRoutes.ts'
import { UpdateCounts } from '../ops/updateCounts.ts'
import type { UpdateTotals } from '../model/updateTotals.ts'
import type { Metrics } from '../ops/metrics.ts'
import { EXAMPLE, firstStartText, laterStartText } from '../ops/welcome.ts'
import { BuiltDashboard } from '../dashboard/builtDashboard.ts'
import { dashboardRoutes } from '../dashboard/dashboardRoutes.ts'
import { referenceRoutes } from '../reference/referenceRoutes.ts'
import { referenceTexts } from '../reference/texts.ts'
import { auditedRoutes } from '../registry/audit/auditedRoutes.ts'
import { auditRoutes } from '../registry/audit/auditRoutes.ts'
import { beaconRoutes } from '../registry/beacons/beaconRoutes.ts'
import { exportRoutes } from '../registry/transfer/exportRoutes.ts'
import { GeofenceTiles } from '../geo/liveMap/geofenceTiles.ts'
import { liveMapRoutes } from '../geo/liveMap/liveMapRoutes.ts'
import { geofenceRoutes } from '../registry/geofences/geofenceRoutes.ts'
import { importRoutes } from '../registry/transfer/importRoutes.ts'
import { keyRoutes } from '../registry/projects/keyRoutes.ts'
import type { Registry } from '../registry/registry.ts'
import type { GeoServices } from './geoServices.ts'
import { settingsRoutes } from '../registry/settings/settingsRoutes.ts'
import type { ByteBound } from '../runtime/byteBound.ts'
import { KeyedBound, type KeyedLimits } from '../runtime/keyedBound.ts'
import { systemClock as clock } from '../runtime/clock.ts'
import { waitingEventsBound } from '../actor/waitingEvents.ts'
import type { Service } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import { connectionRoom, openFileLimit } from '../runtime/openFiles.ts'
import { whyNotListening } from '../runtime/portProbe.ts'
import type { Measurer } from '../spatial/port.ts'
import { scanJsonUpdate } from '../wire/jsonScanner.ts'
import { ResumeTokens } from '../stream/resumeTokens.ts'
import { StreamServer } from '../stream/streamServer.ts'
import { Subscriptions } from '../stream/subscriptions.ts'
import { Watches } from '../stream/watches.ts'
import { userRoutes } from '../users/userRoutes.ts'
import type { FeedOutcomes } from '../trips/feedOutcome.ts'
import type { Trips } from '../trips/port.ts'
import { UserTrips } from '../trips/userTrips.ts'
import { UsersWithTrips } from '../trips/usersWithTrips.ts'
import { TripService, type TripServiceParts } from '../trips/tripService.ts'
import { drivenRoutes } from '../geo/routing/drivenRoutes.ts'
import { tripRoutes } from '../trips/tripRoutes.ts'
import { simulationRoutes } from '../simulation/simulationRoutes.ts'
import { asyncApiRoute } from './asyncApi.ts'
import { simulatedCities } from './simulatedCities.ts'

export interface PublicApiParts {
  readonly options: Options
  readonly logger: Logger
  readonly registry: Registry
  readonly intake: Intake
  readonly users: Users
  readonly trips: Trips
  readonly outcomes: FeedOutcomes
  /** The number of partitions of the store, and the salt of its ids. */
  readonly store: TripServiceParts['store']
  readonly measurer: Measurer
  /** The senders of this host, for streams and requests. */
  readonly senders: Senders
  readonly events: EventQueries
  readonly feed: EventFeed
  readonly positions: Positions
  /** Tickets for the streams of people who have signed in. */
  readonly tickets: Tickets
  /** The secret that seals offsets in the log, for clients that resume. */
  readonly secret: string
  /** Routes that manage webhooks and hooks. They are audited in the process that does the work. */
  readonly webhooks: readonly Route[]
  /**
   * Adds the counts of other processes, if other processes count updates, too. If absent, only this process counts.
   */
  readonly totalsOf?: (own: UpdateTotals) => UpdateTotals
  readonly geo: GeoServices
  /** Or a sentence that says why map regions are not imported over HTTP. */
  readonly importer: MapRegionImporter | string
  readonly sync: readonly Route[]
  readonly checks: readonly ReadinessCheck[]
  /** How many events one replay may cause, if they must be published within a time. */
  readonly mostReplayEvents?: number
  readonly metrics: Metrics
}

export interface PublicApi {
  readonly server: Server
  readonly keyWatch: KeyWatch
  readonly eventStreams: ServerSentEvents
  readonly streamServer: StreamServer
  /** The simulations, which end before the devices stop. */
  readonly simulations: Service
  /** The dashboard. It starts after the server listens, because a build keeps a processor busy for some seconds. */
  readonly dashboard: Service
}

/** The complete API, which does not listen yet. */
export function openPublicApi(parts: PublicApiParts): PublicApi {
  const { options, logger, registry, users, measurer, senders, events, feed, positions, geo, metrics } = parts
  const intake = new UpdateCounts(parts.intake, clock)
  const checks = [...parts.checks, ...geo.checks]
  const { people } = registry
  const keyWatch = new KeyWatch({
    isCurrent: (credentials) =>
      credentials.session === undefined
        ? registry.keys.isCurrent(credentials)
        : people.sessions.isCurrent(credentials),
    quotas: registry.projects,
    clock,
  })
  const signIn = new SignIn({ people, keys: registry.keys, clock, byKey: options.keySignIn, logger })
  const fanoutGroups = new FanoutGroups(feed)
  const kept = new KeyedBound('Filters and areas', boundsOf(options.subscriptionBytes))
  const waitingEvents = waitingEventsBound()
  const eventStreams = new ServerSentEvents(feed, fanoutGroups, keyWatch, kept)
  const tripService = new TripService({
    intake,
    users,
    trips: parts.trips,
    directory: registry.trips,
    finder: geo.finder,
    store: parts.store,
    clock,
  })
  const userTrips = new UserTrips(parts.outcomes, parts.trips)
  const usersWithTrips = new UsersWithTrips(users, userTrips, registry.trips)
  const simulations = simulatedCities(registry, intake, geo.finder)
  const operator = {
    operatorProject: options.operatorProject,
    firstProject: () => registry.keys.projects()[0]?.id,
  }
  const definitions = [
    ...trackRoutes({
      intake,
      registry,
      rateLimits: options.rateLimits,
      measurer,
      waitingEvents,
      mostReplayEvents: parts.mostReplayEvents,
      trips: userTrips,
      scan: (body, stamp) => scanJsonUpdate(body, stamp, senders),
    }),
    ...conversionRoutes({ intake, users }),
    ...contextRoutes(registry),
    ...clientRoutes(registry),
    ...syncRoutes(registry),
    ...userRoutes({ users: usersWithTrips, intake, registry, times: geo.times }),
    ...tripRoutes({ service: tripService, trips: parts.trips, users }),
    ...drivenRoutes(geo.engines, tripService),
    ...eventRoutes(events, feed),
    eventStreams.route(),
    ...geofenceRoutes(registry.geofences, geo.finder),
    ...liveMapRoutes(new GeofenceTiles((scope) => tiledGeofences(registry, scope), clock), positions),
    ...beaconRoutes(registry),
    ...importRoutes(registry, geo.finder),
    ...exportRoutes(registry),
    ...settingsRoutes(registry.settings),
    ...keyRoutes(registry),
    ...sessionRoutes({ people, signIn, tickets: parts.tickets }),
    ...accountRoutes(people),
    ...auditRoutes(registry.audit),
    ...parts.sync,
    ...geo.routes,
    ...healthRoutes(checks, metrics, options.metricsToken),
    ...statsRoutes({
      updates: parts.totalsOf?.(intake) ?? intake,
      events,
      totals: (scope) => totalsOf(registry, scope),
    }),
    ...mapRegionRoutes({
      ...operator,
      mapRegions: geo.mapRegions,
      importer: parts.importer,
      // Without an importer, nothing is read of it.
      maxBytes: Math.max(1, options.regionMaxBytes),
    }),
    ...systemRoutes({
      ...operator,
      version: packageJson.version,
      engine: options.engine,
      folder: options.data,
      checks,
      metrics,
    }),
    ...simulationRoutes(simulations),
    asyncApiRoute(packageJson.version),
  ]
  const audited = [...auditedRoutes(definitions, registry.audit), ...parts.webhooks]
  const routes = options.rateLimits ? withLimits(audited, options.limits) : audited
  const subscriptions = new Subscriptions(feed, fanoutGroups, logger, new ResumeTokens(parts.secret))
  const watches = new Watches({ positions, registry, clock })
  const streamServer = new StreamServer({
    ...options,
    intake,
    senders,
    features: [subscriptions, watches],
    keyWatch,
    kept,
    waitingEvents,
    quotas: registry.projects,
    streamDeviceLimit: options.rateLimits && options.streamDeviceLimit,
    clock,
    logger,
  })
  const dashboard = openDashboard(options, logger)
  const server = createServer({
    ...options,
    sockets: [streamServer],
    routes: [
      ...routes,
      openApiRoute(routes, packageJson.version, referenceTexts),
      ...dashboardRoutes(dashboard),
      ...referenceRoutes(),
    ],
    observe: (route) => metrics.observe(route),
    authenticate: (key) => registry.keys.authenticate(key),
    sessions: sessionLookup(people.sessions, parts.tickets),
    quotas: registry.projects,
    maxConnections: roomFor(options, logger),
    refusedConnection: (refusal) => logger.warn(refusal, 'too many connections; refused one'),
    clock,
    logger,
  })
  registerServerMetrics(metrics, server)
  registerReaderMetrics(metrics, {
    streams: streamServer,
    eventReaders: eventStreams,
    subscriptions,
    watches,
    kept,
    waitingEvents,
  })
  return { server, keyWatch, eventStreams, streamServer, simulations, dashboard }
}

/** The pages at `/`. If the dashboard is off, the server behaves as if it had none. */
function openDashboard({ dashboard: isOn }: Options, logger: Logger): Dashboard & Service {
  if (isOn) return new BuiltDashboard(join(import.meta.dirname, '..', '..', 'dashboard'), logger)
  return { name: 'dashboard', state: 'absent', page: () => undefined, asset: () => undefined, stop() {} }
}

function tiledGeofences(registry: Registry, scope: ScopeId) {
  const store = registry.scope(scope)
  return { revision: store.revision, index: store.geofences.index }
}

function totalsOf(registry: Registry, scope: ScopeId) {
  const { geofences, beacons } = registry.scope(scope)
  return { geofences: geofences.records.size, beacons: beacons.records.size }
}

/** Limits for streams: one key may use half of the memory, and one connection a sixty-fourth. */
function boundsOf(all: number): KeyedLimits {
  return { connection: Math.floor(all / 64), key: Math.floor(all / 2), all }
}

/** Reports whether the mailbox has room for more updates. */
export function roomIn(mailbox: ByteBound): ReadinessCheck {
  return {
    name: 'mailbox',
    check: () => ({
      ok: mailbox.used < mailbox.limit * 0.9,
      detail: `${mailbox.used} of ${mailbox.limit} bytes waiting`,
    }),
  }
}

/** The number of connections that are possible, because the limit of open files may be lower than the setting. */
function roomFor(options: Options, logger: Logger): number {
  const fileLimit = openFileLimit()
  const maxConnections = connectionRoom(options.maxConnections, fileLimit)
  if (maxConnections < options.maxConnections)
    logger.warn(
      { fileLimit, maxConnections, wanted: options.maxConnections },
      'the limit of open files allows fewer connections than maxConnections; raise it with ulimit -n',
    )
  return maxConnections
}

/**
 * Listens at the configured address.
 * @returns the URL
 * @throws Error if it cannot
 */
export async function listen(server: Server, { host, port: wanted }: Options): Promise<string> {
  const port = await server.listen(host, wanted).catch(async (cause: Error) => {
    throw new Error(`${cause.message}: ${await whyNotListening(host, wanted)}`, { cause })
  })
  return localUrl(host, port)
}

/**
 * Creates the first project if there is none, and shows its keys. Otherwise it says where the reference and the keys
 * are. This happens only when the port is open, because the keys of a failed start would be lost.
 */
export async function welcome(
  registry: Registry,
  url: string,
  { data }: Options,
  listening: () => void,
): Promise<void> {
  const newKeys = await registry.edit(() => registry.createFirstProject())
  listening()
  const flags = data === OPTIONS.data.default ? '' : ` --data ${JSON.stringify(data)}`
  if (newKeys === undefined) return console.log(laterStartText(url, flags))
  console.log(firstStartText(newKeys, url, flags))
  const { center, radius, ...definition } = EXAMPLE
  const shape = { kind: 'circle', center, radius } as const
  await registry.edit(() =>
    registry.geofences.put(scopeId(1, false), { ...definition, type: 'circle', shape, enabled: true }),
  )
}
