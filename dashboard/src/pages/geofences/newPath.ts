import type { LngLat } from '../../map/geometry.ts'
import { pagePath } from '../../router.ts'

/** The page of a new geofence whose centre is at a place. */
export function newGeofencePath([longitude, latitude]: LngLat): string {
  return pagePath('geofences/new', { at: `${latitude.toFixed(6)},${longitude.toFixed(6)}` })
}
