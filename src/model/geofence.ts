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

/** A geofence as the registry holds it: validated, immutable, replaced whole by an edit. */
export interface Geofence extends GeofenceProperties {
  readonly shape: Shape
}
