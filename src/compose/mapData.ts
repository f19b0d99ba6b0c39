/**
 * The data about the world and about imported map regions, and the atlas that the engine reads of them. Every process
 * that evaluates updates or has the API opens its own. Part of the composition roots.
 */
import { resolve } from 'node:path'
import type { Options } from '../../config/options.ts'
import { CellAtlas } from '../geo/atlas/cellAtlas.ts'
import { CellThreads } from '../geo/atlas/cellThreads.ts'
import { PlaceFiles } from '../geo/atlas/placeFiles.ts'
import type { MapRegions } from '../geo/extract/port.ts'
import type { MapRegionUploads } from '../geo/extract/mapRegionUploads.ts'
import { CityFiles } from '../geo/ip/cityFiles.ts'
import { IpFacts } from '../geo/ip/ipFacts.ts'
import { ProxyLists } from '../geo/ip/proxyLists.ts'
import { placeFileState } from '../geo/placeDatabase/fileHeader.ts'
import { WorldData } from '../geo/world/worldData.ts'
import type { Registry } from '../registry/registry.ts'
import type { ReadinessCheck } from '../ops/healthRoutes.ts'
import { systemClock as clock, systemTime as time } from '../runtime/clock.ts'
import type { Service } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import { openMapRegions } from './mapRegions.ts'

export interface MapData {
  readonly regions: MapRegions
  /** The name of each map region and the files it was made of. */
  readonly imports: () => readonly string[]
  /** The data about the world. It is stopped before the server drains, because questions wait for it. */
  readonly world: WorldData
  readonly atlas: CellAtlas
  readonly placeFiles: PlaceFiles
  readonly cities: CityFiles
  readonly proxies: ProxyLists
  readonly checks: readonly ReadinessCheck[]
  /** Services that start before the server accepts requests. */
  readonly services: readonly Service[]
  /** Builds the sample. It starts when the server listens, because tracking does not wait for it. */
  readonly sample: Service
  /** Imports over HTTP; used by the embedded engine. */
  readonly uploads: MapRegionUploads
}

/**
 * Reports whether this process has places, if any environment wants them. The process is ready without them: tracking
 * goes on, users keep the places that they are in, and enter none.
 */
export function placesCheck(
  registry: Pick<Registry, 'scopes' | 'scope'>,
  { regions, placeFiles, atlas }: Pick<MapData, 'regions' | 'placeFiles' | 'atlas'>,
): ReadinessCheck {
  return {
    name: 'places',
    check() {
      let isWanted = false
      for (const scope of registry.scopes) {
        const { places, nearbyPlaceChains } = registry.scope(scope).settings
        isWanted ||= places || nearbyPlaceChains.length > 0
      }
      const { unreadable } = placeFiles
      const names = regions.all
        .filter(
          ({ name, places }) => places !== undefined && !unreadable.some(({ region }) => region === name),
        )
        .map(({ name }) => name)
      const bad = unreadable.map(({ region, problem }) => `the place database of ${region} ${problem}`)
      if (atlas.failingPlaces > 0 && bad.length === 0)
        bad.push(`${atlas.failingPlaces} squares of the place databases cannot be read (the log says why)`)
      if (bad.length > 0) {
        const warning = `warning: ${bad.join(', ')}${isWanted ? `; there, users ${KEEP}` : ''}`
        return { ok: true, detail: [...(isWanted ? names : [OFF]), warning].join('; ') }
      }
      if (!isWanted) return { ok: true, detail: OFF }
      const none = `no map region with places on this machine: users ${KEEP}`
      return { ok: true, detail: names.length === 0 ? none : names.join(', ') }
    },
  }
}

/** Searches for places work nevertheless. */
const OFF = 'visits to places are off in the settings'
const KEEP = 'keep their places and enter none'

/**
 * Opens the data about the world and the map regions.
 * @throws {MapRegionsRefused} if the data folder's map regions are of a later version or damaged
 */
export function openMapData(parts: { readonly options: Options; readonly logger: Logger }): MapData {
  const { options, logger } = parts
  const world = new WorldData(resolve(options.data), time, logger)
  const { regions, sample, uploads, check } = openMapRegions({ ...parts, world: () => world.file() })
  const cells = new CellThreads(regions, () => world.file(), logger)
  const cities = new CityFiles(options.ipCityFile, { clock, logger })
  const proxies = new ProxyLists(
    { proxies: options.ipProxyFiles, tor: options.ipTorFile, allowed: options.ipAllowedFile },
    { clock, logger },
  )
  const ips = new IpFacts({ places: cities, proxies, clock, logger })
  const atlas = new CellAtlas(cells, clock, logger, ips)
  regions.onChange(() => atlas.changed())
  const placeFiles = new PlaceFiles({
    regions,
    stateOf: placeFileState,
    changed: () => atlas.changed(),
    time,
    logger,
  })
  // The process is ready without it, because tracking does not need it.
  const worldCheck: ReadinessCheck = {
    name: world.name,
    check: () => ({ ok: true, detail: world.condition }),
  }
  const services = [regions, placeFiles, cells, cities, proxies]
  const checks = [check, worldCheck]
  const imports = (): readonly string[] => regions.imports
  return { regions, imports, world, atlas, placeFiles, cities, proxies, checks, services, sample, uploads }
}
