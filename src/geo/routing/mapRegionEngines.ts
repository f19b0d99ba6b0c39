import { readdirSync } from 'node:fs'
import type { PlacedPoint, RoutedMapRegion, MapRegions } from '../extract/port.ts'
import type { AnswerCache } from './cache.ts'
import { CachedEngine, type RoutingObserver } from './engine.ts'
import type { RoutingEngine, RoutingEngines } from './port.ts'
import type { Valhalla } from './valhalla.ts'

interface RunningMapRegion {
  readonly region: RoutedMapRegion
  readonly valhalla: Valhalla
  readonly engine: RoutingEngine
}

export interface MapRegionEnginesParts {
  readonly regions: MapRegions
  readonly open: (region: RoutedMapRegion) => Valhalla
  readonly cache: AnswerCache
  readonly observer: RoutingObserver
}

/**
 * An engine for each map region that is used. An engine whose build is no longer served finishes its requests and
 * ends; later requests go to the build that replaced it.
 */
export class MapRegionEngines implements RoutingEngines {
  readonly name = 'routing'
  readonly #parts: MapRegionEnginesParts
  /** The running engines by the region's id. */
  readonly #running = new Map<string, RunningMapRegion>()
  readonly #ending = new Set<Promise<void>>()
  readonly #endWatch: () => void

  constructor(parts: MapRegionEnginesParts) {
    this.#parts = parts
    this.#endWatch = parts.regions.onChange(() => this.#endReplaced())
  }

  /** The engines of the map regions that have been used. */
  get valhallas(): readonly Valhalla[] {
    return [...this.#running.values()].map(({ valhalla }) => valhalla)
  }

  /** The state of the engines, in a few words for an operator. */
  get condition(): string {
    const conditions = [...this.#running.values()].map(
      ({ region, valhalla }) => `${region.name}: ${valhalla.condition}`,
    )
    return conditions.join('; ') || 'starts with the next request'
  }

  containing(points: readonly PlacedPoint[]): RoutingEngine {
    return this.#engineOf(this.#parts.regions.containing(points))
  }

  async stop(): Promise<void> {
    this.#endWatch()
    for (const id of this.#running.keys()) this.#end(id)
    await Promise.all(this.#ending)
  }

  #engineOf(region: RoutedMapRegion): RoutingEngine {
    const running = this.#running.get(region.id)
    if (running !== undefined) return running.engine
    const { cache, observer, open } = this.#parts
    const valhalla = open(region)
    const { id: key, attribution } = region
    const maxAgeMs = Infinity
    const isThere = () => hasFiles(region.tiles)
    const engine = new CachedEngine({
      valhalla,
      cache,
      attribution,
      key,
      maxAgeMs,
      isThere,
      observer,
    })
    this.#running.set(region.id, { region, valhalla, engine })
    return engine
  }

  #endReplaced(): void {
    const served = new Set(this.#parts.regions.all.map(({ id }) => id))
    for (const id of this.#running.keys()) if (!served.has(id)) this.#end(id)
  }

  #end(id: string): void {
    const ending = this.#running.get(id)!.valhalla.stop()
    this.#running.delete(id)
    this.#ending.add(ending)
    void ending.finally(() => this.#ending.delete(ending))
  }
}

/** Whether the folder contains anything. Somebody may have deleted its files. */
function hasFiles(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0
  } catch {
    return false
  }
}
