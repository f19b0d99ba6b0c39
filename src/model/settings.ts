import { DEFAULT_FRAUD, type FraudSettings } from './fraud.ts'
import type { Metadata } from './metadata.ts'
import { REGION_KINDS, type RegionKind } from './region.ts'
import { definitionOf, type UserSegment, type SegmentDefinition } from './segment.ts'

/**
 * Project settings of one environment: the table of GET and PATCH /v1/settings. They decide how updates are
 * evaluated; a change applies from the next update on.
 */
export interface Settings {
  /** Whether entries need `stopped` or `foreground`. A geofence's own `stopDetection` overrides it. */
  readonly stopDetection: boolean
  /** Whether an entry also happens outside the boundary within the update's accuracy. */
  readonly bufferEntries: boolean
  /** Whether an exit needs more distance from the boundary than the update's accuracy. */
  readonly bufferExits: boolean
  /** Whether there are no geofence events outside operating hours. */
  readonly restrictToOperatingHours: boolean
  /** Whether `user.dwelled_in_geofence` is generated. */
  readonly dwellEvents: boolean
  /** Minutes, more than 0, for geofences without their own; `null` means none. */
  readonly dwellThreshold: number | null
  /** iBeacon UUIDs that clients get. */
  readonly beaconUuids: readonly string[]
  /** Eddystone UIDs that clients get. */
  readonly beaconUids: readonly string[]
  /** From 1 to 3. An entry or exit with less confidence does not happen yet. */
  readonly minimumConfidence: number
  /** How many seconds, at least 0, the entry condition must have held across updates. */
  readonly entryDelaySeconds: number
  /** How many seconds, at least 0, the exit condition must have held across updates. */
  readonly exitDelaySeconds: number
  /**
   * In metres, more than 0. A less accurate update moves the device but does not affect geofences. `null` means no
   * limit.
   */
  readonly maxAccuracyMeters: number | null
  /** Whether geofences that were crossed between two updates are entered and exited. */
  readonly detectCrossings: boolean
  /** The longest gap in seconds, more than 0, between two updates in which crossings are detected. */
  readonly maxGapSeconds: number
  /** Whether users have their country, and in the United States their state, DMA and postal code. */
  readonly regions: boolean
  /** The kinds of regions whose entries and exits are events. */
  readonly regionEvents: readonly RegionKind[]
  /** Alpha-2 codes of countries whose updates are refused. */
  readonly blockedCountries: readonly string[]
  /** Alpha-2 codes. If there are any, updates from elsewhere are refused. */
  readonly allowedCountries: readonly string[]
  readonly fraud: FraudSettings
  /** The customer's ids of chains, by slug. */
  readonly chainMappings: Readonly<Record<string, string>>
  /** Custom data of chains, by slug. */
  readonly chainMetadata: Readonly<Record<string, Metadata>>
  readonly placeFilters: PlaceFilters
  /** Whether users have the place that they visit. */
  readonly places: boolean
  /**
   * After how many seconds, at least 0, someone who has not stopped visits the place that is always the first
   * candidate.
   */
  readonly placeMinimumStaySeconds: number
  /** Slugs of chains. Users have those that are near, and coming near is an event. */
  readonly nearbyPlaceChains: readonly string[]
  /** In metres. */
  readonly nearbyPlaceChainMeters: number
  /** Groups of users, by rules. */
  readonly segments: readonly UserSegment[]
  /** How many rules of segments were ever set, which is the number of the last one. It is not public. */
  readonly segmentsSet: number
  /**
   * How many minutes before arrival a trip is approaching, for trips and destinations without their own; `null` means
   * never.
   */
  readonly tripApproachingThreshold: number | null
  /** After how many minutes a trip expires; `null` means never. */
  readonly tripExpirationMinutes: number | null
  /** From how many minutes of delay a trip is delayed; `null` means never. */
  readonly tripDelayThreshold: number | null
  /** Whether `user.arrived_at_wrong_trip_destination` is generated. */
  readonly tripWrongDestinationEvents: boolean
  /** The least time t between two `user.updated_trip` of a trip that updates make, in seconds, at least 0. */
  readonly tripUpdateSeconds: number
  /** The least time t between two measured ways of a trip to its destination, in seconds, at least 0. */
  readonly tripEtaSeconds: number
  /** Addresses that get an e-mail when a webhook is paused, or when a quota is nearly used. */
  readonly notificationEmails: readonly string[]
}

/** Slugs. A place passes if it has one of either list, or if both lists are empty. */
export interface PlaceFilters {
  readonly chain: readonly string[]
  readonly category: readonly string[]
}

/** The settings of a new environment. */
export const DEFAULT_SETTINGS: Settings = {
  stopDetection: false,
  bufferEntries: false,
  bufferExits: false,
  restrictToOperatingHours: false,
  dwellEvents: false,
  dwellThreshold: null,
  beaconUuids: [],
  beaconUids: [],
  minimumConfidence: 1,
  entryDelaySeconds: 0,
  exitDelaySeconds: 0,
  maxAccuracyMeters: null,
  detectCrossings: false,
  maxGapSeconds: 300,
  regions: false,
  regionEvents: REGION_KINDS,
  blockedCountries: [],
  allowedCountries: [],
  fraud: DEFAULT_FRAUD,
  chainMappings: {},
  chainMetadata: {},
  placeFilters: { chain: [], category: [] },
  places: false,
  placeMinimumStaySeconds: 300,
  nearbyPlaceChains: [],
  nearbyPlaceChainMeters: 1000,
  segments: [],
  segmentsSet: 0,
  tripApproachingThreshold: 5,
  tripExpirationMinutes: 1440,
  tripDelayThreshold: null,
  tripWrongDestinationEvents: false,
  tripUpdateSeconds: 30,
  tripEtaSeconds: 30,
  notificationEmails: [],
}

/** The settings as answers have them. */
export type PublicSettings = Omit<Settings, 'segments' | 'segmentsSet'> & {
  readonly segments: readonly SegmentDefinition[]
}

export function publicSettings({ segmentsSet: _set, ...settings }: Settings): PublicSettings {
  return { ...settings, segments: settings.segments.map(definitionOf) }
}
