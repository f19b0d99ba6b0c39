import type { GeofenceProperties, Position } from '../../model/geofence.ts'
import type { Destination } from '../../model/trip.ts'

/** A geofence as trips see it. */
export interface KnownGeofence {
  readonly geofence: GeofenceProperties
  readonly center: Position
  /** In metres. */
  readonly radius: number
}

/** The present geofences of a scope. */
export interface KnownGeofences {
  /** The geofence with that pair, whether it is enabled or not; undefined if there is none. */
  named(tag: string, externalId: string): KnownGeofence | undefined
  /** The geofence with that `_id`. */
  withId(id: string): KnownGeofence | undefined
}

/** The destination with the present data of its geofence. It is the same object if nothing has changed. */
export function seen(destination: Destination, geofences: KnownGeofences): Destination {
  const { tag, externalId } = destination
  if (tag === undefined || externalId === undefined) return destination
  const known = geofences.named(tag, externalId)
  if (known === undefined) return destination
  const { geofence, center, radius } = known
  const [longitude, latitude] = destination.location ?? []
  const isSame =
    destination.geofenceId === geofence.id &&
    destination.radius === radius &&
    longitude === center[0] &&
    latitude === center[1]
  return isSame ? destination : { ...destination, geofenceId: geofence.id, location: center, radius }
}

/** Whether two destinations lead to the same place. */
export function isSamePlace(a: Destination | undefined, b: Destination | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return (
    a.type === b.type &&
    a.tag === b.tag &&
    a.externalId === b.externalId &&
    a.address === b.address &&
    a.radius === b.radius &&
    a.location?.[0] === b.location?.[0] &&
    a.location?.[1] === b.location?.[1]
  )
}
