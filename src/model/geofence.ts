import type { Metadata } from './metadata.ts'
import type { OperatingHours } from './operatingHours.ts'
import type { ScopeId } from './scope.ts'

export type GeofenceType = 'circle' | 'polygon' | 'isochrone'
export type TravelMode = 'car' | 'truck' | 'foot' | 'bike' | 'motorbike'

/** `[longitude, latitude]` in degrees, in the order of GeoJSON. */
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
  /** The distance from the centre to the farthest corner in metres. For a circle, it is its radius. */
  readonly radius: number
}

/** The definition of an isochrone, and the state of its computation. */
export interface Isochrone {
  /** The point where the journeys end. */
  readonly destination: Position
  /** The minutes of travel, 1 to 120. */
  readonly minutes: number
  /**
   * When the area was computed, in epoch milliseconds. It is absent if there is none yet, and then nobody is inside.
   */
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
  /** 24 hex digits, which are drawn at creation and kept by edits. */
  readonly id: string
  readonly scope: ScopeId
  readonly tag: string
  readonly externalId: string
  readonly description: string
  readonly type: GeofenceType
  readonly mode?: TravelMode
  /** Present if the geofence is an isochrone. */
  readonly isochrone?: Isochrone
  readonly enabled: boolean
  readonly metadata?: Metadata
  readonly operatingHours?: OperatingHours
  readonly stopDetection?: boolean
  /** In epoch milliseconds. The server's time decides. */
  readonly disableAfter?: number
  /** In epoch milliseconds. The server's time decides. */
  readonly deleteAfter?: number
  /** A deprecated form, which is combined with `userIds`. */
  readonly userId?: string
  readonly userIds?: readonly string[]
  /** Comma-separated ranges as they were given. `ipRanges.ts` parses them. */
  readonly ip?: string
  /** In minutes, more than 0. */
  readonly dwellThreshold?: number
  /** The `_id` of the place from which it got its area. */
  readonly placeId?: string
  /**
   * The address by which its centre was found. It is not shown, so that a definition with the same address counts as
   * equal.
   */
  readonly address?: string
  /** How many minutes before arrival a trip is approaching. */
  readonly tripApproachingThreshold?: number
  /** The IANA name of the time zone of the geofence's centre. */
  readonly timeZone: string
  /** In epoch milliseconds. */
  readonly createdAt: number
  /** In epoch milliseconds. */
  readonly updatedAt: number
}

/** Whether anybody may be inside. An isochrone has no area before it was computed. */
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

/** When a date is next due, in epoch milliseconds; undefined if none will be. */
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
