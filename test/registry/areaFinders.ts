import type { AreaFinder } from '../../src/registry/geofences/areaFinder.ts'
import type { GeofenceDefinition } from '../../src/registry/geofences/geofenceRows.ts'
import { parseGeofence } from '../../src/registry/geofences/parseGeofence.ts'
import { resolveArea } from '../../src/registry/geofences/resolveArea.ts'
import { ApiError } from '../../src/runtime/errors.ts'

/** Of a server that cannot look anything up. */
export const NO_AREAS: AreaFinder = {
  positionOf: () => Promise.reject(new ApiError(503, 'The package any is not installed.')),
  placeArea: () => Promise.reject(new ApiError(503, 'The package any is not installed.')),
}

/** A definition that needs no look-up. */
export function definitionOf(fields: Readonly<Record<string, unknown>>): GeofenceDefinition {
  return resolveArea(parseGeofence(fields), NO_AREAS) as GeofenceDefinition
}
