import { isMeantFor } from '../rules/geofenceRules.ts'
import { Probe } from '../geometry/probe.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import type { Update } from '../model/update.ts'
import { geofenceRecord } from '../registry/geofences/geofenceRecord.ts'
import { isActiveAt } from '../model/geofence.ts'
import type { ScopeView } from '../rules/port.ts'
import { inSlices, mapInSlices } from '../runtime/slices.ts'
import { TextCache } from '../runtime/textCache.ts'
import type { GeofenceIndex } from '../spatial/port.ts'

/** How far around an update geofences are searched: farther than a device travels before its next one. */
const MAX_NEARBY_METERS = 100_000
/**
 * If this many geofences belong to others (for instance, a home for each user), the search ends with what it has found
 * within a smaller distance.
 */
const MOST_LOOKED_AT = 5000

/** How many characters of records are cached, in each of two generations. */
const KEPT_CHARACTERS = 8 * 1024 * 1024

/**
 * The JSON texts of the geofences nearest to an update, nearest first: enabled ones for its user, with their geometry
 * and the distance in metres (0 inside). Apps hand them to their system's geofencing. Made in turns with other
 * requests; geofences that are deleted in the meantime are left out.
 */
export async function nearbyGeofences(
  { index }: ScopeView,
  update: Pick<Update, 'latitude' | 'longitude' | 'userId' | 'receivedAt'>,
  limit: number,
): Promise<string[]> {
  const { latitude, longitude, userId, receivedAt } = update
  const at = new Probe().set(latitude, longitude)
  const accept = (geofence: GeofenceProperties) =>
    isMeantFor(geofence, userId) && isActiveAt(geofence, receivedAt)
  const { found } = await inSlices(index.nearestSteps(at, limit, MAX_NEARBY_METERS, accept, MOST_LOOKED_AT))
  return mapInSlices(found, ({ geofence, distance }) => {
    const slot = index.slotOf(geofence.id)
    return slot < 0 ? undefined : `${openRecord(index, geofence, slot)},"distance":${distance}}`
  })
}

/**
 * Records without their closing brace. Making one takes about twenty microseconds, mostly for the ring of a circle,
 * and many devices request the same few with each update.
 */
const openRecords = new TextCache<GeofenceProperties>(KEPT_CHARACTERS)

function openRecord(index: GeofenceIndex, geofence: GeofenceProperties, slot: number): string {
  return openRecords.get(geofence, () =>
    JSON.stringify(geofenceRecord({ ...geofence, shape: index.shape(slot) })).slice(0, -1),
  )
}
