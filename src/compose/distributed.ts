/**
 * The distributed engine: a process with some of the roles, on NATS JetStream, which all processes share. Reads top
 * to bottom as the flow of the data. Part of the composition roots.
 *
 * | role | has | answers |
 * |---|---|---|
 * | `gateway` | the registry, an index of the events | the whole API, by asking the owners of partitions |
 * | `actors` | the registry, partitions by ownership | gateways |
 * | `delivery` | the registry, an index of the events, deliveries | gateways, about webhooks |
 */
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { PROCESS_ROLES } from '../../config/serverOptions.ts'
import type { Options } from '../../config/options.ts'
import { AuditSweep } from '../registry/audit/auditSweep.ts'
import { ExpirySweep } from '../accounts/expirySweep.ts'
import { housekeepingJobs } from '../actor/housekeeping.ts'
import { createServer } from '../http/server.ts'
import type { BackupSource } from '../cli/backup/port.ts'
import { ControlServer } from '../cli/control/server.ts'
import type { EventIndex } from '../events/port.ts'
import { takeFolder } from '../log/store.ts'
import { registerDistributedMetrics } from '../ops/distributedMetrics.ts'
import { registerProcessMetrics, registerServerMetrics } from '../ops/engineMetrics.ts'
import { healthRoutes, type ReadinessCheck } from '../ops/healthRoutes.ts'
import { Jobs } from '../jobs/jobs.ts'
import type { Job } from '../jobs/port.ts'
import { registerJobMetrics } from '../ops/jobMetrics.ts'
import { Metrics } from '../ops/metrics.ts'
import { DateSweep } from '../registry/geofences/dateSweep.ts'
import { siteOf } from '../cli/site.ts'
import { runRegistryCommand } from '../cli/registryCommands.ts'
import { systemClock as clock, systemTime as time } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'
import { DRAIN_MS, Lifecycle } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import { closeDataFolder } from '../runtime/privateFiles.ts'
import { ComparedImports } from '../cluster/gateway/comparedImports.ts'
import { openDelivery } from './deliveryRole.ts'
import { listen, welcome } from './publicApi.ts'
import { openEvents, openGateway, openGatewayApi } from './gatewayRole.ts'
import { type DistributedParts, openDistributedParts, distributedChecks, leases } from './distributedParts.ts'
import { openOwners } from './ownerRole.ts'
import { tripJobs } from '../trips/tripJobs.ts'
import { rolesOf } from './roles.ts'
import { openGeofenceSync } from './geofenceSync.ts'
import { openNotifications } from './notifications.ts'
import { openGeoServices } from './geoServices.ts'
import { openMapData, type MapData, placesCheck } from './mapData.ts'
import { watchTile38 } from './tile38.ts'

/** Starts the process, which waits for its servers and runs until a signal ends it. */
export async function runDistributed(options: Options, logger: Logger): Promise<void> {
  const isIn = rolesOf(options)
  const release = takeFolder(options.data)
  closeDataFolder(options.data, logger)
  if (existsSync(join(options.data, 'store.json')))
    logger.warn('the data folder has devices and events of an embedded engine; only its registry is used')
  const metrics = new Metrics()
  const waiting = await openWaitingRoom(options, metrics)
  // Each process that evaluates updates, and each gateway, reads its own map regions.
  const map = isIn('gateway') || isIn('actors') ? openMapData({ options, logger }) : undefined
  const parts = await openDistributedParts(options, isIn, logger, metrics, map?.atlas)
  const { nats, registry, measurer, tile38 } = parts

  const events = isIn('gateway') || isIn('delivery') ? await openEvents(parts) : undefined
  // Owners need them to measure distances on roads for trips.
  const geo = map && openGeoServices({ options, logger, metrics, registry, map })
  const owners = isIn('actors') ? await openOwners(parts, geo!.ways) : undefined
  const asking = events && openGateway(parts)
  const delivery = isIn('delivery') ? await openDelivery(parts, events!, asking!.gateway) : undefined
  const tile38Checks = watchTile38(tile38, metrics)
  const imports = map && compareImports(parts, map, PROCESS_ROLES.filter(isIn))
  const mapChecks =
    map === undefined ? [] : [...map.checks, placesCheck(registry, map), importsCheck(imports!)]
  const notifications = await openNotifications({ options, logger, registry })
  const sync = isIn('gateway')
    ? openGeofenceSync({ options, logger, registry, finder: geo!.finder, tell: notifications.tellRun })
    : undefined
  const api = isIn('gateway')
    ? openGatewayApi(
        parts,
        events!,
        asking!,
        geo!,
        [...tile38Checks, ...mapChecks],
        [...sync!.routes, ...notifications.routes],
      )
    : undefined
  const checks = [
    ...distributedChecks(parts),
    ...tile38Checks,
    ...(events?.checks ?? []),
    ...mapChecks,
    ...(owners?.checks ?? []),
    ...(delivery?.checks ?? []),
  ]
  const server = api?.server ?? openBackServer(parts, checks)
  registerProcessMetrics(metrics, registry)
  registerDistributedMetrics(metrics, { nats, registry, partitions: options.partitions, owned: owners })

  const jobs = new Jobs({ time, logger, openLease: leases(parts) })
  registerJobMetrics(metrics, jobs)

  const lifecycle = new Lifecycle(logger, DRAIN_MS)
  lifecycle.add({ name: 'data folder', stop: release })
  lifecycle.add({ name: 'NATS', stop: () => nats.close() })
  lifecycle.add({ name: 'registry', stop: () => registry.stop() })
  for (const service of events?.services ?? []) lifecycle.add(service)
  for (const service of [...(map?.services ?? []), ...(geo?.services ?? [])]) lifecycle.add(service)
  if (imports !== undefined) lifecycle.add(imports)
  if (sync !== undefined) {
    lifecycle.add(sync.service)
    lifecycle.add(jobs.service(sync.runner))
    for (const job of notifications.jobs) lifecycle.add(jobs.service(job))
  }
  if (api !== undefined) {
    lifecycle.add(jobs.service(geo!.isochrones))
    lifecycle.add(api.peerService)
    lifecycle.add(jobs.service(new ExpirySweep(registry.people)))
    lifecycle.add(jobs.service(new AuditSweep(registry.audit, options.auditDays)))
  }
  if (owners !== undefined) lifecycle.add(jobs.service(new DateSweep(registry.geofences)))
  lifecycle.add(jobs.service(notifications.disk))
  if (delivery !== undefined) lifecycle.add(jobs.service(notifications.webhookJob(delivery.webhooks)))
  lifecycle.add({ name: 'geometry threads', stop: () => measurer.close() })
  lifecycle.add({ name: 'Tile38', stop: () => tile38?.stop() })
  if (owners !== undefined && tile38 !== undefined) lifecycle.add(jobs.service(tile38.job))
  for (const service of owners?.services ?? []) lifecycle.add(service)
  for (const job of housekeeping(parts, events?.index, owners)) lifecycle.add(jobs.service(job))
  if (owners !== undefined)
    for (const job of tripJobs({ ...options, hosts: () => owners.hosts, registry, clock }))
      lifecycle.add(jobs.service(job))
  if (asking !== undefined) lifecycle.add({ name: 'updates under way', stop: () => asking.gateway.drained() })
  for (const service of delivery?.services ?? []) lifecycle.add(service)
  lifecycle.add({
    name: 'http',
    start: async () => {
      await waiting.close()
      const url = await listen(server, { ...options, port: waiting.port })
      const listening = () => logger.info({ url, roles: PROCESS_ROLES.filter(isIn) }, 'listening')
      if (api === undefined) listening()
      else await welcome(registry, url, options, listening)
    },
    stop: () => server.close(),
  })
  lifecycle.add(control(parts))
  if (api !== undefined) {
    lifecycle.add(api.keyWatch)
    lifecycle.add(api.eventStreams)
    lifecycle.add(api.streamServer)
    lifecycle.add(api.dashboard)
    lifecycle.add(api.simulations)
  }
  if (map !== undefined) lifecycle.add(map.world)
  // Owners have only the map regions that somebody imported for them.
  if (api !== undefined) lifecycle.add(map!.sample)
  lifecycle.handleSignals()
  await lifecycle.start()
}

/** Each process answers from its own map regions, so differences between processes are reported. */
function compareImports(
  { calls, id, logger, options }: DistributedParts,
  { imports }: MapData,
  roles: readonly string[],
): ComparedImports {
  const place = `${roles.join(', ')} at ${hostname()}:${options.port}`
  const differ: ConstructorParameters<typeof ComparedImports>[0]['differ'] = (others) =>
    others.length === 0
      ? logger.info('all processes have the same regions')
      : logger.warn({ others }, 'other processes have other regions: import the same into all')
  return new ComparedImports({ calls, time, process: id, place, imports, differ })
}

/** The process is ready even if the map regions differ, because tracking works. */
function importsCheck(imports: ComparedImports): ReadinessCheck {
  return { name: imports.name, check: () => ({ ok: true, detail: imports.condition }) }
}

/** Answers probes while waiting for the servers, and 503 to all other requests. */
async function openWaitingRoom(options: Options, metrics: Metrics) {
  const check = { name: 'NATS', check: () => ({ ok: false, detail: 'waiting for the servers' }) }
  const server = createServer({
    routes: healthRoutes([check], metrics, options.metricsToken),
    // A client that got 404 would not send it again.
    elsewhere: new ApiError(503, 'The server is starting. Try again.', { retryAfter: 1 }),
    authenticate: () => undefined,
    trustedProxies: [],
    clock,
  })
  const url = await listen(server, options)
  return { port: Number(new URL(url).port), close: () => server.close() }
}

/**
 * Snapshots and the retention of users in processes with partitions, retention of events in processes with an index.
 */
function housekeeping(
  { options, logger }: DistributedParts,
  events: EventIndex | undefined,
  owners: Awaited<ReturnType<typeof openOwners>> | undefined,
): Job[] {
  return housekeepingJobs({
    ...options,
    hosts: () => owners?.hosts ?? [],
    events,
    checkpoint: () => owners?.checkpoint(),
    clock,
    logger,
  })
}

/** Probes and metrics of a process without an API. */
function openBackServer({ options, logger, metrics }: DistributedParts, checks: readonly ReadinessCheck[]) {
  const server = createServer({
    routes: healthRoutes(checks, metrics, options.metricsToken),
    observe: (route) => metrics.observe(route),
    authenticate: () => undefined,
    trustedProxies: options.trustedProxies,
    clock,
    logger,
  })
  registerServerMetrics(metrics, server)
  return server
}

/** Lets the commands `npm run keys`, `projects` and `accounts` work beside any of the processes. */
function control({ options, logger, registry }: DistributedParts): ControlServer {
  const store: BackupSource = {
    hold: () =>
      Promise.reject(
        new Error(
          'The store of the distributed engine is in NATS: back up its streams there (docs/operating.md).',
        ),
      ),
  }
  const run = (line: readonly string[], print: (line: string) => void) =>
    runRegistryCommand(line, registry, siteOf(options), print)
  return new ControlServer({ dataFolder: options.data, run, store, logger })
}
