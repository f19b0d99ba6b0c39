/** What the tests of shared registries have in common: random edits, an oracle, replicas. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { Test } from 'tap'
import type { ScopeId } from '../../src/model/scope.ts'
import type { EditStream } from '../../src/cluster/registry/editStream.ts'
import type { GeofenceDefinition } from '../../src/registry/geofences/geofenceRows.ts'
import { openEditStream } from '../../src/cluster/registry/jetStreamEdits.ts'
import { openUsageSums } from '../../src/cluster/registry/jetStreamUsage.ts'
import type { Registry } from '../../src/registry/registry.ts'
import {
  openReplicatedRegistry,
  type ReplicatedRegistryOptions,
} from '../../src/cluster/registry/replicatedRegistry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import type { NatsServer } from '../kit/nats.ts'

export const START = Date.UTC(2026, 10, 20)
export const SCOPE: ScopeId = 2

export function circle(externalId: string, more: Partial<GeofenceDefinition> = {}): GeofenceDefinition {
  return {
    tag: 'store',
    externalId,
    description: externalId,
    type: 'circle',
    shape: { kind: 'circle', center: [-73.99, 40.73], radius: 100 },
    enabled: true,
    ...more,
  }
}

/** A folder that is removed when the test ends. */
export function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-replica-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The registry of a process that shares it with others. */
export async function openReplica(
  t: Test,
  openStream: ReplicatedRegistryOptions['openStream'],
  options: Partial<ReplicatedRegistryOptions> = {},
): Promise<Registry> {
  const registry = await openReplicatedRegistry({
    folder: folderOf(t),
    clock: new ManualClock(START),
    createIndex: createGeofenceIndex,
    isMaintainer: true,
    openStream,
    unreadable: (entry, reason) => t.fail(`${entry}: ${reason}`),
    troubled: () => {},
    ...options,
  })
  t.teardown(() => registry.close())
  return registry
}

/** A separate connection, like that of another process. */
async function connectTo(t: Test, server: NatsServer): Promise<NatsConnection> {
  const connection = await connect({
    servers: server.address,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 50,
    reconnectJitter: 50,
  })
  t.teardown(() => connection.close())
  return connection
}

/** Like {@link openReplica}, with a real server. */
export async function openOn(
  t: Test,
  server: NatsServer,
  options: Partial<ReplicatedRegistryOptions> = {},
): Promise<Registry> {
  const connection = await connectTo(t, server)
  const openStream = (firstSequence: number): Promise<EditStream> =>
    openEditStream(connection, { replicas: 1, firstSequence })
  return openReplica(t, openStream, { usage: await openUsageSums(connection, 1), ...options })
}

/** Everything that can be read from the registry. */
export function contentsOf(registry: Registry, scopes: readonly ScopeId[] = [SCOPE]) {
  return {
    revision: registry.revision,
    projects: registry.projects.list(),
    keys: registry.keys.projects().flatMap(({ id }) => registry.keys.list(id)),
    webhooks: registry.webhooks.all(),
    scopes: scopes.map((scope) => {
      const store = registry.scope(scope)
      const geofences = [...store.geofences.inOrder()]
      return {
        settings: store.settings,
        geofences,
        foundByPair: geofences.map(({ tag, externalId }) => store.geofences.byPair(tag, externalId)?.id),
        beacons: [...store.beacons.records.inOrder()],
        geofenceImports: registry.imports.list(scope, 'geofences', { limit: 1000 }).imports,
      }
    }),
  }
}
