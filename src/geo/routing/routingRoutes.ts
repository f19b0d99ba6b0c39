import type { Route } from '../../http/route.ts'
import { directionsRoutes } from './directionsRoutes.ts'
import { distanceRoutes } from './distanceRoutes.ts'
import { matchRoutes } from './matchRoutes.ts'
import { matrixRoutes } from './matrixRoutes.ts'
import { optimizeRoutes } from './optimizeRoutes.ts'
import type { RoutingEngines } from './port.ts'

/** Ways on roads: how far, between many, along a path, with instructions, in the best order. */
export function routingRoutes(engines: RoutingEngines): Route[] {
  return [
    ...distanceRoutes(engines),
    ...matrixRoutes(engines),
    ...matchRoutes(engines),
    ...directionsRoutes(engines),
    ...optimizeRoutes(engines),
  ]
}
