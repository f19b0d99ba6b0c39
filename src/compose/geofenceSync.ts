/** Nightly syncs of geofences, the same in both engines. This file is part of the composition roots. */
import { join } from 'node:path'
import type { Options } from '../../config/options.ts'
import type { Route } from '../http/route.ts'
import type { AreaFinder } from '../registry/geofences/areaFinder.ts'
import type { Registry } from '../registry/registry.ts'
import { systemTime as time } from '../runtime/clock.ts'
import type { Service } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import { Outgoing } from '../runtime/outgoing.ts'
import { FETCH_LIMITS, fetchSource, peekSource } from '../sync/fetchSource.ts'
import { geofenceSyncRoutes } from '../sync/geofenceSyncRoutes.ts'
import { openSourceRows } from '../sync/rowsThread.ts'
import { openSecretBox } from '../sync/secretBox.ts'
import { SyncRunner, type SyncRunnerParts } from '../sync/syncRunner.ts'
import { testSource } from '../sync/testSource.ts'

/** How many bytes of a source a test of its settings reads. */
const PEEK_BYTES = 256 * 1024

export interface GeofenceSync {
  /** The job that does the runs. */
  readonly runner: SyncRunner
  readonly routes: readonly Route[]
  /** A service that is stopped after the job. */
  readonly service: Service
}

export function openGeofenceSync(parts: {
  readonly options: Options
  readonly logger: Logger
  readonly registry: Registry
  readonly finder: AreaFinder
  readonly tell: SyncRunnerParts['tell']
}): GeofenceSync {
  const { options, logger, registry, finder, tell } = parts
  const { syncs, geofences } = registry
  const outgoing = new Outgoing(options.syncPrivateAddresses)
  const box = openSecretBox(options.data, options.syncKey)
  const limits = { ...FETCH_LIMITS, maxBytes: options.syncMaxBytes }
  const runner = new SyncRunner({
    syncs,
    geofences,
    finder,
    tell,
    box,
    time,
    logger,
    folder: join(options.data, 'sync'),
    openRows: openSourceRows,
    fetch: (source, file, known, signal) => fetchSource(outgoing, source, file, known, limits, signal),
  })
  const routes = geofenceSyncRoutes({
    syncs,
    runner,
    box,
    outgoing,
    clock: time,
    test: (source) => testSource(() => peekSource(outgoing, source, PEEK_BYTES, FETCH_LIMITS)),
  })
  const service: Service = {
    name: 'geofence syncs under way',
    async stop() {
      await runner.stopped()
      await outgoing.close()
    },
  }
  return { runner, routes, service }
}
