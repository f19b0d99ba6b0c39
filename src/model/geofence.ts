import type { Metadata } from './metadata.ts'
import type { OperatingHours } from './operatingHours.ts'
import type { ScopeId } from './scope.ts'

export type GeofenceType = 'circle' | 'polygon' | 'isochrone'
export type TravelMode = 'car' | 'truck' | 'foot' | 'bike' | 'motorbike'

/** `[longitude, latitude]` in degrees, GeoJSON order. */
export type Position = readonly [longitude: number, latitude: number]

/** The geometry for evaluation: a circle on the ground, or one closed ring with edges that are straight in lon/lat. */
export type Shape =
  | {
      readonly kind: 'circle'
      readonly center: Position
      /** Metres, 10 to 10,000. */ readonly radius: number
    }
  | { readonly kind: 'polygon'; /** 4 to 2,000, first equals last. */ readonly ring: readonly Position[] }

/** The location of a shape, in short. */
export interface Outline {
  readonly center: Position
  /** Metres from the centre to the farthest corner; for a circle, its radius. */
  readonly radius: number
}

/** The definition of an isochrone, and the state of its computation. */
export interface Isochrone {
  /** Where the journeys end. */
  readonly destination: Position
  /** Minutes of travel, 1 to 120. */
  readonly minutes: number
  /** Epoch milliseconds at which the area was computed; absent if it has none yet, and nobody is inside. */
  readonly computedAt?: number
  /** The road network on which it was computed, or on which that failed. */
  readonly network?: string
  /** Why the last attempt to compute it on `network` failed. */
  readonly failure?: string
}

/**
 * A geofence except for its shape: what rules, events and filters read. Optional fields are absent if the definition
 * leaves them at their default.
 */
export interface GeofenceProperties {
  /** 24 hex, given at creation, kept by edits. */
  readonly id: string
  readonly scope: ScopeId
  readonly tag: string
  readonly externalId: string
  readonly description: string
  readonly type: GeofenceType
  readonly mode?: TravelMode
  /** Of an isochrone. */
  readonly isochrone?: Isochrone
  readonly enabled: boolean
  readonly metadata?: Metadata
  readonly operatingHours?: OperatingHours
  readonly stopDetection?: boolean
  /** Epoch milliseconds; server time decides. */
  readonly disableAfter?: number
  /** Epoch milliseconds; server time decides. */
  readonly deleteAfter?: number
  /** Deprecated; combined with `userIds`. */
  readonly userId?: string
  readonly userIds?: readonly string[]
  /** Comma-separated ranges as given; `ipRanges.ts` parses them. */
  readonly ip?: string
  /** Minutes, > 0. */
  readonly dwellThreshold?: number
  /** The place whose area it got. */
  readonly placeId?: string
  /** What its centre was found by. Not shown, so that a definition with the same address is an equal one. */
  readonly address?: string
  /** Minutes before arrival at which a trip is approaching. */
  readonly tripApproachingThreshold?: number
  /** IANA name of the zone of the geofence's centre. */
  readonly timeZone: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Epoch milliseconds. */
  readonly updatedAt: number
}

/** Whether anybody may be inside: an isochrone has no area before it was computed. */
export function isActive({ enabled, isochrone }: Pick<GeofenceProperties, 'enabled' | 'isochrone'>): boolean {
  return enabled && (isochrone === undefined || isochrone.computedAt !== undefined)
}

/** A geofence in the registry: validated, immutable, replaced as a whole by an edit. */
export interface Geofence extends GeofenceProperties {
  readonly shape: Shape
}

/**
 * The geofence's state at `now`: undefined once `deleteAfter` is reached, disabled once `disableAfter` is. Reads use
 * it, so that a date takes effect at its exact millisecond, whenever the sweep stores it.
 */
export function asOf<T extends GeofenceProperties>(geofence: T, now: number): T | undefined {
  if (geofence.deleteAfter !== undefined && now >= geofence.deleteAfter) return undefined
  if (geofence.enabled && geofence.disableAfter !== undefined && now >= geofence.disableAfter) {
    return { ...geofence, enabled: false } as T
  }
  return geofence
}

/** When a date is next due, epoch milliseconds; undefined: never. */
export function dueAt(geofence: GeofenceProperties): number | undefined {
  const { disableAfter = Infinity, deleteAfter = Infinity, enabled } = geofence
  const due = enabled ? Math.min(disableAfter, deleteAfter) : deleteAfter
  return due === Infinity ? undefined : due
}

/** Whether anybody may be inside at `now`. */
export function isActiveAt(geofence: GeofenceProperties, now: number): boolean {
  const standing = asOf(geofence, now)
  return standing !== undefined && isActive(standing)
}
