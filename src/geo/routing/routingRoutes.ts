import type { Route } from '../../http/route.ts'
import { directionsRoutes } from './directionsRoutes.ts'
import { distanceRoutes } from './distanceRoutes.ts'
import { isochroneRoutes } from './isochroneRoutes.ts'
import { matchRoutes } from './matchRoutes.ts'
import { matrixRoutes } from './matrixRoutes.ts'
import { optimizeRoutes } from './optimizeRoutes.ts'
import type { RoutingEngines } from './port.ts'

/** The routes for distances on roads, matrices, matching, directions, the best order of stops, and isochrones. */
export function routingRoutes(engines: RoutingEngines): Route[] {
  return [
    ...distanceRoutes(engines),
    ...matrixRoutes(engines),
    ...matchRoutes(engines),
    ...directionsRoutes(engines),
    ...optimizeRoutes(engines),
    ...isochroneRoutes(engines),
  ]
}
