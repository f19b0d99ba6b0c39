import Type from 'typebox'
import type { Settings } from '../model/settings.ts'

/**
 * The contents of GET /v1/config for an SDK: the project settings with which it predicts decisions, and for
 * everything else the defaults of the SDKs themselves, so that apps behave as they do without this answer. Tracking
 * options are never included: clients store them, and they would override what the app has set in code.
 */

const OFF = {
  startTrackingOnInitialize: false,
  trackOnceOnAppOpen: false,
  usePersistence: false,
  extendFlushReplays: false,
  useLogPersistence: false,
  useRadarModifiedBeacon: false,
  useLocationMetadata: false,
  useForegroundLocationUpdatedAtMsDiff: false,
  useNotificationDiff: false,
  useNotificationDiffV2: false,
  syncAfterSetUser: false,
  useSyncRegion: false,
  useOfflineRTOUpdates: false,
  offlineEventGenerationEnabled: false,
  startUpdatesWhileInUse: false,
  useSwiftLocationManager: false,
  useSwiftVerificationManager: false,
} as const

const NUMBERS = { maxConcurrentJobs: 1, locationManagerTimeout: 0, maxReplayBufferSize: 120 } as const

const constants = <T extends Record<string, boolean | number>>(values: T) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'boolean' ? Type.Boolean() : Type.Number(),
    ]),
  ) as { [K in keyof T]: ReturnType<typeof Type.Boolean> | ReturnType<typeof Type.Number> }

export const SdkConfiguration = Type.Object(
  {
    stopDetection: Type.Boolean(),
    bufferGeofenceEntries: Type.Boolean(),
    bufferGeofenceExits: Type.Boolean(),
    defaultGeofenceDwellThreshold: Type.Integer({ description: 'Minutes; 0: none.' }),
    logLevel: Type.String(),
    skipForegroundCheck: Type.Boolean(),
    useOpenedAppConversion: Type.Boolean(),
    networkAny: Type.Boolean(),
    ...constants(NUMBERS),
    ...constants(OFF),
  },
  {
    description:
      'The first four are settings of the project, from which an SDK can see what the server will decide; the others are the defaults of the SDKs.',
  },
)

/**
 * The configuration of an SDK. SDKs that save calls detect entries, exits and stays on the device; without these
 * settings, they would assume that buffers are on.
 */
export function sdkConfiguration(settings: Settings, forIos: boolean) {
  return {
    stopDetection: settings.stopDetection,
    bufferGeofenceEntries: settings.bufferEntries,
    // A buffered entry needs a buffered exit.
    bufferGeofenceExits: settings.bufferExits || settings.bufferEntries,
    // They read whole minutes. The value is rounded up, because the server decides with the update that they send
    // then.
    defaultGeofenceDwellThreshold: settings.dwellEvents ? Math.ceil(settings.dwellThreshold ?? 0) : 0,
    logLevel: 'info',
    skipForegroundCheck: true,
    // The only default that differs between the platforms.
    useOpenedAppConversion: !forIos,
    networkAny: false,
    ...NUMBERS,
    ...OFF,
  }
}

/** The defaults of older SDKs, which read these instead of the above. */
export const FEATURE_SETTINGS = {
  usePersistence: false,
  extendFlushReplays: false,
  useLogPersistence: false,
  useRadarModifiedBeacon: false,
  useLocationMetadata: false,
  useRadarKVStore: false,
  networkAny: false,
  maxConcurrentJobs: 1,
  // In metres.
  radarLowPowerManagerDesiredAccuracy: 3000,
  radarLowPowerManagerDistanceFilter: 3000,
} as const

export const FeatureSettings = Type.Object(constants(FEATURE_SETTINGS), {
  description: 'Older SDKs read this instead. It contains their defaults.',
})
