/** What the tests of registries that several processes share have in common: edits drawn at random, an oracle, replicas. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { Test } from 'tap'
import type { ScopeId } from '../../src/model/scope.ts'
import type { EditStream } from '../../src/registry/editStream.ts'
import type { GeofenceDefinition } from '../../src/registry/geofenceRow.ts'
import { openEditStream } from '../../src/registry/jetStreamEdits.ts'
import type { Registry } from '../../src/registry/registry.ts'
import {
  openReplicatedRegistry,
  type ReplicatedRegistryOptions,
} from '../../src/registry/replicatedRegistry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/cellIndex.ts'
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

/** A folder that is removed with the test. */
export function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-replica-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A process that shares the registry, as far as the registry goes. */
export async function openReplica(
  t: Test,
  openStream: ReplicatedRegistryOptions['openStream'],
  options: Partial<ReplicatedRegistryOptions> = {},
): Promise<Registry> {
  const registry = await openReplicatedRegistry({
    folder: folderOf(t),
    clock: new ManualClock(START),
    createIndex: createGeofenceIndex,
    openStream,
    unreadable: (entry, reason) => t.fail(`${entry}: ${reason}`),
    troubled: () => {},
    ...options,
  })
  t.teardown(() => registry.close())
  return registry
}

/** Opens the stream of a real server over a connection of its own, as another process would. */
export function streamOn(t: Test, server: NatsServer): ReplicatedRegistryOptions['openStream'] {
  let connection: NatsConnection | undefined
  return async (firstSequence): Promise<EditStream> => {
    if (connection === undefined) {
      const opened = await connect({
        servers: server.address,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 50,
        reconnectJitter: 50,
      })
      connection = opened
      t.teardown(() => opened.close())
    }
    return openEditStream(connection, { replicas: 1, firstSequence })
  }
}

/** All that can be read. */
export function contentsOf(registry: Registry, scopes: readonly ScopeId[] = [SCOPE]): unknown {
  return {
    revision: registry.revision,
    projects: registry.projects.list(),
    keys: registry.keys.projects().flatMap(({ id }) => registry.keys.list(id)),
    webhooks: registry.webhooks.all(),
    scopes: scopes.map((scope) => {
      const store = registry.scope(scope)
      return {
        settings: store.settings,
        geofences: [...store.wholeInOrder()],
        beacons: [...store.beacons.records.inOrder()],
        geofenceImports: registry.imports.list(scope, 'geofences', { limit: 1000 }).imports,
      }
    }),
  }
}

/** Resolves once it is so. */
export async function until(what: () => boolean): Promise<void> {
  while (!what()) await new Promise((resolve) => setTimeout(resolve, 5))
}
