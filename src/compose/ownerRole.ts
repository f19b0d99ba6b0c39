/**
 * The role `actors` of the distributed engine: partitions by ownership. This file is part of the composition roots.
 */
import { randomBytes } from 'node:crypto'
import { eventsOfFrame } from '../actor/frameEvents.ts'
import type { ActorHost } from '../actor/host.ts'
import { deviceMemoryOf, unpackedBytesOf } from '../actor/deviceMemory.ts'
import { Partition } from '../actor/partition.ts'
import { ALL_ACTOR_TYPES } from '../trips/tripTypes.ts'
import { TwiceObserved } from '../actor/copiedPositions.ts'
import { HostPositions } from '../actor/hostPositions.ts'
import { Gateway } from '../cluster/gateway/gateway.ts'
import { RemoteTrips } from '../cluster/gateway/remoteTrips.ts'
import { PartitionServer } from '../cluster/owner/partitionServer.ts'
import type { CopiedPositions } from '../actor/port.ts'
import { PositionServer } from '../cluster/owner/positionServer.ts'
import { EventPublisher } from '../cluster/journal/eventPublisher.ts'
import { persistently } from '../cluster/nats/jetStreamConnection.ts'
import { JetStreamEvents } from '../cluster/journal/jetStreamEvents.ts'
import { JetStreamJournal } from '../cluster/journal/jetStreamJournal.ts'
import { openJetStreamLog } from '../cluster/journal/jetStreamLog.ts'
import { joinHosts } from '../cluster/ownership/jetStreamOwnership.ts'
import { openJetStreamSnapshots } from '../cluster/journal/jetStreamSnapshots.ts'
import type { Ownership, OwnershipHandlers } from '../log/port.ts'
import { registerActorMetrics } from '../ops/engineMetrics.ts'
import type { WayMeasurer } from '../trips/tripDelivery.ts'
import { ByteBound } from '../runtime/byteBound.ts'
import { systemClock as clock } from '../runtime/clock.ts'
import type { Service } from '../runtime/lifecycle.ts'
import type { DistributedParts } from './distributedParts.ts'
import { openDispatcher, SEEN_BYTES } from './tripFeeds.ts'
import { scopesOf } from './tile38.ts'

const MIB = 1024 * 1024
/** A host that has been silent for this long is gone; others have its partitions before gateways give up (10 s). */
const HOST_TTL_MS = 4000
/** How many bytes of committed events may wait to be published. Beyond that, commits wait. */
const BACKLOG_BYTES = 64 * MIB

/**
 * Opens the partitions that this process owns.
 * @param ways measures distances on roads
 */
export async function openOwners(parts: DistributedParts, ways: WayMeasurer) {
  const { options, logger, id, nats, streams, salt, calls, registry, measurer, metrics, tile38, troubled } =
    parts
  const { natsReplicas: replicas, partitions, mailboxBytes, limits } = options
  const { connection } = nats
  const { manager, storeId } = streams
  const publisher = new EventPublisher({
    stream: new JetStreamEvents(connection, manager),
    maxBacklogBytes: BACKLOG_BYTES,
    troubled,
  })
  const damaged = (object: string, reason: string) =>
    logger.error({ object, reason }, 'skipped a damaged snapshot')
  const snapshots = await persistently(
    () => openJetStreamSnapshots(connection, storeId, replicas, damaged),
    troubled,
  )
  let ownership: Ownership | undefined
  const memory = deviceMemoryOf(options.deviceBytes)
  const unpackedBytes = unpackedBytesOf(partitions)
  // Trips of a device may be in partitions of other hosts.
  const mailbox = new ByteBound(mailboxBytes)
  const gateway = new Gateway({
    calls,
    gateway: `${id}-trips`,
    registry,
    mailbox,
    partitions,
    salt,
    troubled,
  })
  const trips = new RemoteTrips({ calls, registry, partitions, salt })
  const server = new PartitionServer({
    calls,
    registry,
    snapshots,
    salt,
    clock,
    senders: parts.senders,
    measurer,
    mailboxBytes: shareOf(mailboxBytes, partitions),
    createPartition: (number) =>
      new Partition(number, salt, limits['POST /v1/track'], ALL_ACTOR_TYPES, unpackedBytes),
    memory,
    eventBacklog: () => publisher.backlogBytes,
    openDispatcher: (acknowledge) =>
      openDispatcher({
        intake: gateway,
        trips,
        directory: registry.trips,
        registry,
        ways,
        store: { partitions, salt },
        clock,
        acknowledge,
        seenBytes: SEEN_BYTES / partitions,
        troubled,
      }),
    openLog: (partition, fencedOut) =>
      openJetStreamLog({
        partition,
        journal: new JetStreamJournal(connection, manager, partition),
        publisher,
        owner: randomBytes(8).toString('hex'),
        eventsOf: eventsOfFrame,
        fencedOut,
        troubled,
      }),
    isLive: () => isLive(),
    lost(partition) {
      logger.warn({ partition }, 'another host has taken over the partition')
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
  registerActorMetrics(metrics, { hosts: () => server.hosts, measurer, memory })
  const service: Service = {
    name: 'partitions',
    async start() {
      server.start()
      positions.start()
      tile38?.writeDevices({
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
      const handlers: OwnershipHandlers = {
        async acquire(partition) {
          const epoch = await server.acquire(partition)
          positions.came()
          return epoch
        },
        release: (partition) => server.release(partition),
      }
      const joined = () =>
        joinHosts({
          connection,
          host: id,
          partitions,
          replicas,
          ttlMs: HOST_TTL_MS,
          handlers,
          troubled,
        })
      ownership = await persistently(joined, troubled)
    },
    /** Partitions stop first, because questions about a partition are answered until another host has it. */
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
  return {
    services: [service],
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

/**
 * The positions of the devices of each partition, for two observers. A partition keeps its object for as long as it is
 * here.
 */
function copiedPositions(hosts: () => readonly ActorHost[]) {
  const known = new WeakMap<ActorHost, CopiedPositions>()
  return () =>
    hosts().map((host) => {
      const positions = known.get(host) ?? new TwiceObserved(new HostPositions(host))
      known.set(host, positions)
      return { number: host.partitions[0]!.number, positions }
    })
}

/** The positions for one observer, which cost nothing while nobody watches. */
function plainPositions(hosts: () => readonly ActorHost[]) {
  return () =>
    hosts().map((host) => ({ number: host.partitions[0]!.number, positions: new HostPositions(host) }))
}

/** A partition's share of the process's bound. */
function shareOf(bytes: number, partitions: number): number {
  return Math.max(MIB, Math.floor(bytes / partitions))
}
