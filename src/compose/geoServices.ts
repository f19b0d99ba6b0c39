/** What is built on map regions: routing, geocoding and isochrones. This file is part of the composition roots. */
import { availableParallelism } from 'node:os'
import type { Options } from '../../config/options.ts'
import type { Route } from '../http/route.ts'
import type { MapRegion, MapRegions } from '../geo/extract/port.ts'
import type { ShownMapRegion } from '../ops/mapRegionRoutes.ts'
import type { ReadinessCheck } from '../ops/healthRoutes.ts'
import type { Metrics } from '../ops/metrics.ts'
import {
  registerIsochroneMetrics,
  registerRoutingMetrics,
  registerWayMetrics,
  watchRouting,
} from '../ops/routingMetrics.ts'
import type { MapData } from './mapData.ts'
import type { Job } from '../jobs/port.ts'
import { IsochroneWorker } from '../registry/geofences/isochroneWorker.ts'
import type { AreaFinder } from '../registry/geofences/areaFinder.ts'
import type { AreaSource } from '../registry/geofences/areaSource.ts'
import type { Registry } from '../registry/registry.ts'
import { GeocoderPool } from '../geo/geocoding/geocoderPool.ts'
import { geocodingRoutes } from '../geo/geocoding/geocodingRoutes.ts'
import { placeRoutes } from '../geo/geocoding/placeRoutes.ts'
import { validationRoutes } from '../geo/geocoding/validationRoutes.ts'
import { IpGeocoder } from '../geo/ip/ipGeocoder.ts'
import { ipRoutes } from '../geo/ip/ipRoutes.ts'
import { MapPool } from '../geo/maps/mapPool.ts'
import { mapRoutes } from '../geo/maps/mapRoutes.ts'
import { AnswerCache } from '../geo/routing/cache.ts'
import { CachedEngine } from '../geo/routing/engine.ts'
import type { RoutingEngines } from '../geo/routing/port.ts'
import { MapRegionEngines } from '../geo/routing/mapRegionEngines.ts'
import { RemoteValhalla } from '../geo/routing/remoteValhalla.ts'
import { RoadAreas } from '../geo/routing/roadAreas.ts'
import { routingRoutes } from '../geo/routing/routingRoutes.ts'
import { RoadWays } from '../geo/routing/roadWays.ts'
import { RoadTravelTimes } from '../geo/routing/travelTimes.ts'
import { ValhallaProcess } from '../geo/routing/valhallaProcess.ts'
import { systemClock as clock } from '../runtime/clock.ts'
import type { Service } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import type { TravelTimes } from '../users/travelSearch.ts'

/** How long answers of a remote routing server are kept, because its road network may change without notice. */
const REMOTE_ANSWER_MS = 300_000

export interface GeoServices {
  readonly routes: readonly Route[]
  readonly times: TravelTimes
  /** Measures distances on roads, for trips. */
  readonly ways: RoadWays
  readonly engines: RoutingEngines
  readonly checks: readonly ReadinessCheck[]
  /** Services that start before the server accepts requests. */
  readonly services: readonly Service[]
  readonly isochrones: Job
  /** Finds the areas of addresses and places, for geofences. */
  readonly finder: AreaFinder
  /** The map regions in service. */
  readonly mapRegions: () => readonly ShownMapRegion[]
}

export function openGeoServices(parts: {
  readonly options: Options
  readonly logger: Logger
  readonly metrics: Metrics
  readonly registry: Registry
  readonly map: MapData
}): GeoServices {
  const { options, logger, metrics, registry } = parts
  const { regions, world, cities, proxies } = parts.map
  const routing = openRouting({ options, logger, metrics, regions })
  const areThere = () => options.routingUrl !== '' || regions.routed.length > 0
  const areas = new RoadAreas(routing.engines, routing.networks)
  const isochrones = new IsochroneWorker(registry.geofences, areas, areThere)
  registerIsochroneMetrics(metrics, isochrones)
  const ways = new RoadWays(routing.engines)
  registerWayMetrics(metrics, ways)
  const geocoder = new GeocoderPool(regions, () => world.soon(), logger)
  const maps = new MapPool({ regions, world: () => world.soon(), files: options.mapFiles, clock, logger })
  const ipGeocoder = new IpGeocoder(cities, proxies)
  return {
    routes: [
      ...routingRoutes(routing.engines),
      ...validationRoutes(geocoder),
      ...placeRoutes(geocoder, (scope) => registry.settings.of(scope)),
      ...geocodingRoutes(geocoder, (ip) => ipGeocoder.positionOf(ip)),
      ...ipRoutes(ipGeocoder),
      ...mapRoutes(maps),
    ],
    times: new RoadTravelTimes(routing.engines),
    ways,
    engines: routing.engines,
    // The process is ready without them, because tracking needs no map.
    checks: [routing.check, { name: 'map files', check: () => ({ ok: true, detail: maps.condition }) }],
    services: [routing.service, geocoder, maps],
    isochrones,
    finder: geocoder,
    mapRegions: () => regions.all.map(shownMapRegion),
  }
}

function shownMapRegion({ name, bounds, attribution, tiles, places, map }: MapRegion): ShownMapRegion {
  const products = { routing: tiles, geocoding: places, maps: map }
  return {
    name,
    bounds,
    attribution,
    products: Object.entries(products).flatMap(([product, file]) => (file === undefined ? [] : [product])),
  }
}

interface Routing {
  readonly engines: RoutingEngines
  readonly networks: Pick<AreaSource, 'networkAt' | 'onChange'>
  readonly check: ReadinessCheck
  readonly service: Service
}

/** The road network of the configured server. Without one, a child process serves each region in use. */
function openRouting(parts: {
  readonly options: Options
  readonly logger: Logger
  readonly metrics: Metrics
  readonly regions: MapRegions
}): Routing {
  const { options, logger, metrics, regions } = parts
  const cache = new AnswerCache(options.routingCacheBytes, clock)
  const observer = watchRouting(metrics)
  const limits = {
    timeoutMs: options.routingTimeoutSeconds * 1000,
    maxWaiting: options.routingQueue,
  }
  // The process is ready without it, because tracking needs no roads.
  const checkOf = (routed: { readonly condition: string }): ReadinessCheck => ({
    name: 'routing',
    check: () => ({ ok: true, detail: routed.condition }),
  })
  if (options.routingUrl !== '') {
    const valhalla = new RemoteValhalla({ url: options.routingUrl, ...limits, logger })
    const engine = new CachedEngine({
      valhalla,
      cache,
      attribution: undefined,
      key: options.routingUrl,
      maxAgeMs: REMOTE_ANSWER_MS,
      observer,
    })
    registerRoutingMetrics(metrics, { cache, engines: () => [valhalla] })
    return {
      engines: { containing: () => engine },
      networks: { networkAt: () => options.routingUrl, onChange: () => () => {} },
      check: checkOf(valhalla),
      service: { name: 'routing', stop: () => valhalla.stop() },
    }
  }
  const engines = new MapRegionEngines({
    regions,
    open: ({ tiles, name }) =>
      new ValhallaProcess({
        tiles,
        name,
        threads: options.routingThreads || Math.max(1, availableParallelism() - 1),
        memoryBytes: options.routingMemoryBytes,
        ...limits,
        logger,
        ended: (end) => observer.ended(end),
      }),
    cache,
    observer,
  })
  registerRoutingMetrics(metrics, { cache, engines: () => engines.valhallas })
  const networks: Routing['networks'] = {
    networkAt: (place) => regions.at(place)?.id ?? (regions.routed.length === 0 ? undefined : ''),
    onChange: (listener) => regions.onChange(listener),
  }
  return { engines, networks, check: checkOf(engines), service: engines }
}
