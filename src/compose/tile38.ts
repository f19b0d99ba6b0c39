/** Tile38 beside either engine, if it is configured. This file is part of the composition roots. */
import type { Options } from '../../config/options.ts'
import { scopeId, type ScopeId } from '../model/scope.ts'
import type { ReadinessCheck } from '../ops/healthRoutes.ts'
import type { Metrics } from '../ops/metrics.ts'
import { registerTile38Metrics } from '../ops/tile38Metrics.ts'
import type { Registry } from '../registry/registry.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Tile38Copies } from '../tile38/tile38Copies.ts'

/**
 * Opens the copies in Tile38. Undefined if none is set; the client is loaded only if one is.
 * @param parts.process identifies this run of the process
 */
export async function openTile38(
  options: Options,
  logger: Logger,
  parts: { readonly storeId: string; readonly process: string },
): Promise<Tile38Copies | undefined> {
  const { tile38Url: urls, tile38Password: password, tile38TlsCa: tlsCa } = options
  if (urls.length === 0) return undefined
  const { Tile38Copies } = await import('../tile38/tile38Copies.ts')
  return new Tile38Copies({ ...parts, address: { urls, password, tlsCa }, logger })
}

/** What probes and operators see of Tile38. The process is ready without it, and the detail says how it works then. */
export function watchTile38(tile38: Tile38Copies | undefined, metrics: Metrics): ReadinessCheck[] {
  if (tile38 === undefined) return []
  registerTile38Metrics(metrics, tile38)
  return [{ name: tile38.name, check: () => ({ ok: true, detail: tile38.status.detail }) }]
}

/** The scopes that may have devices. */
export function scopesOf(registry: Registry): ScopeId[] {
  return registry.keys.projects().flatMap(({ id }) => [scopeId(id, false), scopeId(id, true)])
}

/** The names of the shares in which the distributed engine writes devices: one for each partition. */
export function sharesOf(partitions: number): string[] {
  return Array.from({ length: partitions }, (_, partition) => String(partition))
}
