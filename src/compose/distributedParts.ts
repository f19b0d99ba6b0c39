/** The common basis of all roles of the distributed engine. This file is part of the composition roots. */
import { Senders } from '../wire/senders.ts'
import { failureFields } from '../runtime/errors.ts'
import { randomBytes } from 'node:crypto'
import type { NodeConnectionOptions } from '@nats-io/transport-node'
import type { Options } from '../../config/options.ts'
import type { Calls } from '../cluster/nats/calls.ts'
import { NatsCalls } from '../cluster/nats/natsCalls.ts'
import { Requests } from '../cluster/nats/requests.ts'
import { storeSalt, type StoreSalt } from '../events/ids.ts'
import { NatsLink, persistently } from '../cluster/nats/jetStreamConnection.ts'
import { Lease, makeLeases } from '../cluster/ownership/jetStreamLease.ts'
import {
  findStreams,
  openStreams,
  ServersUnfit,
  type OpenStreams,
} from '../cluster/journal/jetStreamStreams.ts'
import { natsConnectionOptions } from '../cluster/nats/natsConnection.ts'
import type { ReadinessCheck } from '../ops/healthRoutes.ts'
import { Metrics } from '../ops/metrics.ts'
import type { OpenLease } from '../jobs/port.ts'
import { openEditStream } from '../cluster/registry/jetStreamEdits.ts'
import { openUsageSums } from '../cluster/registry/jetStreamUsage.ts'
import { parseKeys } from '../registry/projects/keys.ts'
import type { Registry } from '../registry/registry.ts'
import type { Atlas } from '../rules/atlas.ts'
import { openReplicatedRegistry } from '../cluster/registry/replicatedRegistry.ts'
import { systemClock as clock } from '../runtime/clock.ts'
import type { Service } from '../runtime/lifecycle.ts'
import { progressLog, type Logger } from '../runtime/logger.ts'
import { Troubles } from '../runtime/troubles.ts'
import { createGeofenceIndex } from '../spatial/geofenceIndex.ts'
import { MeasuringPool } from '../spatial/measuringPool.ts'
import { onlyRole, type ProcessRole } from './roles.ts'
import type { Tile38Copies } from '../tile38/tile38Copies.ts'
import { openTile38 } from './tile38.ts'

const DAY_MS = 86_400_000
/** A lease holder that has been silent for this long is gone. */
const LEASE_TTL_MS = 6000

/** The common basis of all roles. */
export interface DistributedParts {
  readonly options: Options
  readonly logger: Logger
  /** Identifies this run of the process. */
  readonly id: string
  readonly nats: NatsLink
  readonly streams: OpenStreams
  readonly salt: StoreSalt
  readonly calls: Calls
  readonly registry: Registry
  readonly measurer: MeasuringPool
  /** The senders of all roles of this process. */
  readonly senders: Senders
  readonly metrics: Metrics
  /** The copies of positions in Tile38. Undefined if no Tile38 is set, or if the roles do not need it. */
  readonly tile38: Tile38Copies | undefined
  /** Called for each failure that is tried again. */
  readonly troubled: (error: Error) => void
  /** Ends the process, because a part can no longer work. */
  readonly fatal: (error: Error) => void
}

/**
 * Waits for the servers and for the streams and buckets, and brings the registry up to date. Processes with
 * partitions create what is missing; the others may not have the permission (config/nats/users.conf).
 */
export async function openDistributedParts(
  options: Options,
  isIn: (role: ProcessRole) => boolean,
  logger: Logger,
  metrics: Metrics,
  atlas: Atlas | undefined,
): Promise<DistributedParts> {
  const { natsReplicas, partitions, eventsDays, data, keys } = options
  const { tell: troubled } = new Troubles(clock, (err) => logger.warn(failureFields(err), 'failed; retrying'))
  const fatal = (error: Error) => {
    logger.fatal({ err: error }, 'fatal error; everything that was acknowledged is safe')
    process.exit(1)
  }
  const inboxPrefix = `_INBOX.${onlyRole(isIn) ?? 'all'}`
  const nats = await openNats({ ...natsConnectionOptions(options), inboxPrefix }, logger)
  const { connection } = nats
  // Named here, because a role may be answered in its own inbox only.
  Requests.of(connection, inboxPrefix)
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
  const needsTile38 = mayEdit || isIn('delivery')
  const tile38 = needsTile38 ? await openTile38(options, logger, { storeId, process: id }) : undefined
  const registry = await openReplicatedRegistry({
    folder: data,
    clock,
    atlas,
    createIndex: createGeofenceIndex,
    isMaintainer: isIn('actors'),
    firstKeys: mayEdit && keys.length > 0 ? parseKeys(keys.join(',')) : undefined,
    usage: await persistently(() => openUsageSums(connection, replicas), troubled),
    openStream: (firstSequence) =>
      openEditStream(connection, replicas === undefined ? undefined : { replicas, firstSequence }),
    unreadable: (entry, reason) => logger.error({ entry, reason }, 'an entry of the registry cannot be read'),
    troubled,
    onProgress: progressLog(logger, clock, 'reading geofences'),
    onUsageFailure: (err) => logger.error(failureFields(err), 'the registry cannot be written; retrying'),
  })
  process.once('exit', () => registry.close())
  tile38?.start()
  return {
    options,
    logger,
    id,
    nats,
    streams,
    salt: storeSalt(streams.storeId),
    calls: new NatsCalls(connection, inboxPrefix, troubled),
    registry,
    measurer: new MeasuringPool(logger),
    senders: new Senders(),
    metrics,
    tile38,
    troubled,
    fatal,
  }
}

/** Connects, however long it takes, and logs what happens to the connection. */
async function openNats(way: NodeConnectionOptions, logger: Logger): Promise<NatsLink> {
  const { tell } = new Troubles(clock, ({ message: reason }) =>
    logger.warn({ reason }, 'cannot connect to NATS; retrying'),
  )
  const unreachable = (reason: string) => tell(new Error(reason))
  const changed = (isUp: boolean) =>
    isUp ? logger.info('connected to NATS again') : logger.warn('lost the connection to NATS')
  const { tell: refused } = new Troubles(clock, ({ message: reason }) =>
    logger.warn({ reason }, 'NATS denies permission: check its users and their permissions'),
  )
  const nats = await NatsLink.open(way, unreachable, changed, refused)
  logger.info({ server: nats.connection.getServer() }, 'connected to NATS')
  return nats
}

export function distributedChecks({ nats, registry }: DistributedParts): ReadinessCheck[] {
  return [
    { name: 'NATS', check: () => nats.status },
    { name: 'registry', check: () => registry.health },
  ]
}

/** The parts that a role adds to the process. */
export interface RoleParts {
  readonly services: readonly Service[]
  readonly checks: readonly ReadinessCheck[]
}

/** Leases among all processes. Opening one waits for the servers. */
export function leases({ id, nats, troubled }: DistributedParts): OpenLease<Lease> {
  const { connection } = nats
  return (name, holder, isAble) => {
    const options = { connection, name, holderId: id, ttlMs: LEASE_TTL_MS, isAble, troubled }
    return persistently(() => Lease.open(options, holder), troubled)
  }
}
