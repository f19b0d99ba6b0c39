import type { Metadata } from './metadata.ts'
import type { OperatingHours } from './operatingHours.ts'
import type { ScopeId } from './scope.ts'

export type GeofenceType = 'circle' | 'polygon' | 'isochrone'
export type TravelMode = 'car' | 'truck' | 'foot' | 'bike' | 'motorbike'

/** `[longitude, latitude]` in degrees, GeoJSON order. */
export type Position = readonly [longitude: number, latitude: number]

/** The geometry that decides: a circle on the ground, or one closed ring with edges straight in lon/lat. */
export type Shape =
  | {
      readonly kind: 'circle'
      readonly center: Position
      /** Metres, 10 to 10,000. */ readonly radius: number
    }
  | { readonly kind: 'polygon'; /** 4 to 2,000, first equals last. */ readonly ring: readonly Position[] }

/** Where a shape is, in short. */
export interface Outline {
  readonly center: Position
  /** Metres from the centre to the farthest corner; of a circle its own. */
  readonly radius: number
}

/** What an isochrone is made of, and how far that is. */
export interface Isochrone {
  /** Where the journeys end. */
  readonly destination: Position
  /** Of travel, 1 to 120. */
  readonly minutes: number
  /** Epoch milliseconds at which the area was computed; absent: it has none yet, and nobody is inside. */
  readonly computedAt?: number
  /** The road network that it was computed on; where none could be, the one that was asked. */
  readonly network?: string
  /** Why the last attempt to compute it on `network` failed. */
  readonly failure?: string
}

/**
 * A geofence but for its shape: what rules, events and filters read of it. Optional fields are absent when the definition
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
  /** Deprecated; united with `userIds`. */
  readonly userId?: string
  readonly userIds?: readonly string[]
  /** Comma-separated ranges as given; `ipRanges.ts` parses them. */
  readonly ip?: string
  /** Minutes, > 0. */
  readonly dwellThreshold?: number
  readonly placeId?: string
  /** Minutes before arrival at which a trip is approaching. */
  readonly tripApproachingThreshold?: number
  /** IANA name of the zone of the geofence's centre. */
  readonly timeZone: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Epoch milliseconds. */
  readonly updatedAt: number
}

/** Whether it may have somebody inside: an isochrone has no area before it was computed. */
export function isActive({ enabled, isochrone }: Pick<GeofenceProperties, 'enabled' | 'isochrone'>): boolean {
  return enabled && (isochrone === undefined || isochrone.computedAt !== undefined)
}

/** A geofence as the registry holds it: validated, immutable, replaced whole by an edit. */
export interface Geofence extends GeofenceProperties {
  readonly shape: Shape
}

/**
 * The geofence as it stands at `now`: undefined once `deleteAfter` is reached, disabled once `disableAfter` is. Reads
 * go through it, so that a date counts from its very millisecond whenever the sweep writes it down.
 */
export function asOf<T extends GeofenceProperties>(geofence: T, now: number): T | undefined {
  if (geofence.deleteAfter !== undefined && now >= geofence.deleteAfter) return undefined
  if (geofence.enabled && geofence.disableAfter !== undefined && now >= geofence.disableAfter) {
    return { ...geofence, enabled: false } as T
  }
  return geofence
}

/** When something is next due for it by itself, epoch milliseconds; undefined: never. */
export function dueAt(geofence: GeofenceProperties): number | undefined {
  const { disableAfter = Infinity, deleteAfter = Infinity, enabled } = geofence
  const due = enabled ? Math.min(disableAfter, deleteAfter) : deleteAfter
  return due === Infinity ? undefined : due
}

/** Whether it may have somebody inside at `now`. */
export function isActiveAt(geofence: GeofenceProperties, now: number): boolean {
  const standing = asOf(geofence, now)
  return standing !== undefined && isActive(standing)
}
