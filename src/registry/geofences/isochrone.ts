import type { Geofence, Position } from '../../model/geofence.ts'
import type { GeofenceDefinition } from './geofenceRows.ts'

/** The result of computing an isochrone, and its road network. */
export type IsochroneOutcome = { readonly network: string } & (
  | { readonly ring: readonly Position[]; readonly failure?: undefined }
  | { readonly ring?: undefined; readonly failure: string }
)

type AreaWanted = Pick<Geofence, 'isochrone' | 'mode'>

/** Whether both are isochrones of the same area. */
export function isSameIsochrone(a: AreaWanted, b: AreaWanted): boolean {
  if (a.isochrone === undefined || b.isochrone === undefined) return false
  const [longitude, latitude] = b.isochrone.destination
  return (
    a.mode === b.mode &&
    a.isochrone.minutes === b.isochrone.minutes &&
    a.isochrone.destination[0] === longitude &&
    a.isochrone.destination[1] === latitude
  )
}

/** A definition with the area of the previous geofence, if both are isochrones of the same area. */
export function withKnownArea(definition: GeofenceDefinition, before: Geofence): GeofenceDefinition {
  if (!isSameIsochrone(before, definition)) return definition
  return { ...definition, isochrone: before.isochrone!, shape: before.shape }
}

/** The geofence with its area, or with the reason why there is none, in which case it keeps its previous area. */
export function settled(
  geofence: Geofence,
  { network, ring, failure }: IsochroneOutcome,
  now: number,
): Geofence {
  const { failure: _, ...isochrone } = geofence.isochrone!
  if (ring === undefined) return { ...geofence, isochrone: { ...isochrone, network, failure } }
  return {
    ...geofence,
    shape: { kind: 'polygon', ring },
    isochrone: { ...isochrone, network, computedAt: now },
  }
}
