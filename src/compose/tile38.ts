/** Tile38 beside either engine, if it is configured. Part of the composition roots. */
import type { Options } from '../../config/options.ts'
import type { Lease } from '../cluster/ownership/jetStreamLease.ts'
import type { LeaseHolder } from '../jobs/port.ts'
import { scopeId, type ScopeId } from '../model/scope.ts'
import type { ReadinessCheck } from '../ops/healthRoutes.ts'
import type { Metrics } from '../ops/metrics.ts'
import { registerTile38Metrics } from '../ops/tile38Metrics.ts'
import type { Registry } from '../registry/registry.ts'
import type { Service } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Tile38Copies } from '../tile38/tile38Copies.ts'
import type { GeofenceSource } from '../tile38/tile38Geofences.ts'

/**
 * Undefined if no Tile38 is set. Its client is only loaded if one is.
 * @param process identifies this run of the process
 * @param writer the process that writes the geofences, as far as it is known
 */
export async function openTile38(
  options: Options,
  logger: Logger,
  parts: { readonly storeId: string; readonly process: string; readonly writer: () => string | undefined },
): Promise<Tile38Copies | undefined> {
  const { tile38Url: url, tile38Password: password } = options
  if (url === '') return undefined
  const { Tile38Copies } = await import('../tile38/tile38Copies.ts')
  return new Tile38Copies({ ...parts, address: { url, password }, logger })
}

/**
 * The same for one of several processes, of which the holder of a lease writes the geofences.
 * @returns `writing`: competes for the lease
 */
export async function openSharedTile38(
  options: Options,
  logger: Logger,
  parts: { readonly storeId: string; readonly process: string },
) {
  let lease: Lease | undefined
  const copies = await openTile38(options, logger, { ...parts, writer: () => lease?.holderId })
  if (copies === undefined) return undefined
  const holder: LeaseHolder = {
    begin: async () => copies.writeGeofences(),
    end: async () => copies.yieldGeofences(),
  }
  const writing = (open: (holder: LeaseHolder) => Promise<Lease>): Service => ({
    name: 'geofences in Tile38',
    async start() {
      lease = await open(holder)
    },
    stop: () => lease?.end(),
  })
  return { copies, writing }
}

/** What probes and operators see of it. The process is ready without it; the detail says what it does then. */
export function watchTile38(tile38: Tile38Copies | undefined, metrics: Metrics): ReadinessCheck[] {
  if (tile38 === undefined) return []
  registerTile38Metrics(metrics, tile38)
  return [{ name: tile38.name, check: () => ({ ok: true, detail: tile38.status.detail }) }]
}

/** The part of the registry that Tile38 gets. */
export function geofencesOf(registry: Registry): GeofenceSource {
  return {
    get revision() {
      return registry.revision
    },
    geofences: (scope) => registry.scope(scope).geofences.inOrder(),
  }
}

/** The scopes that may have devices. */
export function scopesOf(registry: Registry): ScopeId[] {
  return registry.keys.projects().flatMap(({ id }) => [scopeId(id, false), scopeId(id, true)])
}
