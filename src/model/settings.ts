import { DEFAULT_FRAUD, type FraudSettings } from './fraud.ts'
import type { Metadata } from './metadata.ts'
import { REGION_KINDS, type RegionKind } from './region.ts'
import { definitionOf, type UserSegment, type SegmentDefinition } from './segment.ts'

/**
 * Project settings of one environment: the table of GET and PATCH /v1/settings. They decide how updates are
 * evaluated; a change applies from the next update on.
 */
export interface Settings {
  /** Entries need `stopped` or `foreground`; a geofence's own `stopDetection` overrides it. */
  readonly stopDetection: boolean
  /** An entry also happens within the update's accuracy outside the boundary. */
  readonly bufferEntries: boolean
  /** An exit needs more than the update's accuracy outside the boundary. */
  readonly bufferExits: boolean
  /** No geofence events outside operating hours. */
  readonly restrictToOperatingHours: boolean
  /** `user.dwelled_in_geofence` is generated. */
  readonly dwellEvents: boolean
  /** Minutes, > 0, for geofences without their own; `null`: none. */
  readonly dwellThreshold: number | null
  /** iBeacon UUIDs handed to clients. */
  readonly beaconUuids: readonly string[]
  /** Eddystone UIDs handed to clients. */
  readonly beaconUids: readonly string[]
  /** 1 to 3: an entry or exit below it does not happen yet. */
  readonly minimumConfidence: number
  /** Seconds, ≥ 0, that the entry condition must have held across updates. */
  readonly entryDelaySeconds: number
  /** Seconds, ≥ 0, that the exit condition must have held across updates. */
  readonly exitDelaySeconds: number
  /** Metres, > 0: a less accurate update moves the device but does not affect geofences; `null`: no limit. */
  readonly maxAccuracyMeters: number | null
  /** Geofences crossed between two updates give entered + exited. */
  readonly detectCrossings: boolean
  /** Seconds, > 0: the longest gap between two updates in which crossings are detected. */
  readonly maxGapSeconds: number
  /** Users have their country, and in the United States their state, DMA and postal code. */
  readonly regions: boolean
  /** The kinds of regions whose entries and exits are events. */
  readonly regionEvents: readonly RegionKind[]
  /** Alpha-2 codes: updates from these countries are refused. */
  readonly blockedCountries: readonly string[]
  /** Alpha-2 codes: if there are any, updates from elsewhere are refused. */
  readonly allowedCountries: readonly string[]
  readonly fraud: FraudSettings
  /** The customer's ids of chains, by slug. */
  readonly chainMappings: Readonly<Record<string, string>>
  /** Custom data of chains, by slug. */
  readonly chainMetadata: Readonly<Record<string, Metadata>>
  readonly placeFilters: PlaceFilters
  /** Users have the place that they visit. */
  readonly places: boolean
  /** Seconds, ≥ 0, after which someone who has not stopped visits the place that is always the first candidate. */
  readonly placeMinimumStaySeconds: number
  /** Slugs: users have those that are near, and coming near is an event. */
  readonly nearbyPlaceChains: readonly string[]
  /** Metres. */
  readonly nearbyPlaceChainMeters: number
  /** Groups of users, by rules. */
  readonly segments: readonly UserSegment[]
  /** How many rules of segments were ever set: the number of the last one. Not public. */
  readonly segmentsSet: number
  /**
   * Minutes before arrival at which a trip is approaching, for trips and destinations without their own; `null`: none.
   */
  readonly tripApproachingThreshold: number | null
  /** Minutes after which a trip expires; `null`: never. */
  readonly tripExpirationMinutes: number | null
  /** Minutes late from which a trip is delayed; `null`: never. */
  readonly tripDelayThreshold: number | null
  /** `user.arrived_at_wrong_trip_destination` is generated. */
  readonly tripWrongDestinationEvents: boolean
  /** Seconds, ≥ 0: the least time t between two `user.updated_trip` of a trip that updates make. */
  readonly tripUpdateSeconds: number
  /** Seconds, ≥ 0: the least time t between two measured ways of a trip to its destination. */
  readonly tripEtaSeconds: number
  /** Addresses that get an e-mail when a webhook is paused, or when a quota is nearly used. */
  readonly notificationEmails: readonly string[]
}

/** Slugs: a place passes if it has one of either list, or if both are empty. */
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
