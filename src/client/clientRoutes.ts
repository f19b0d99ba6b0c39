import Type from 'typebox'
import { route, type Route } from '../api/route.ts'
import { Text } from '../api/schemas.ts'
import type { Settings } from '../model/settings.ts'
import type { RegistryView } from '../registry/port.ts'

const TAG = 'SDK'

const BeaconSettings = Type.Object({
  beacons: Type.Object({
    uuids: Type.Array(Type.String(), { description: 'What to range instead of the beacons nearby.' }),
    uids: Type.Array(Type.String()),
  }),
})

const SdkConfiguration = Type.Object(
  {
    stopDetection: Type.Boolean(),
    bufferGeofenceEntries: Type.Boolean(),
    bufferGeofenceExits: Type.Boolean(),
    defaultGeofenceDwellThreshold: Type.Integer({ description: 'Minutes; 0: none.' }),
  },
  { description: 'The project settings by which an SDK foresees what the server will decide.' },
)

/** Calls that SDKs make by themselves: their configuration, their logs, their clicks. */
export function clientRoutes(registry: RegistryView): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/config',
      auth: 'publishable',
      tag: TAG,
      summary: 'Get the configuration of an SDK',
      description: 'What the app has set in code stays: there are no remote tracking options.',
      query: Type.Object({
        deviceId: Type.Optional(Text(256, 'Not used, as are the other parameters that SDKs send.')),
        installId: Type.Optional(Text(256)),
        sessionId: Type.Optional(Text(256)),
        locationAuthorization: Type.Optional(Text(256)),
      }),
      meta: Type.Object({ settings: BeaconSettings, sdkConfiguration: SdkConfiguration }),
      answers: { 200: Type.Object({}) },
      handler: (call) => {
        const { settings } = registry.scope(call.credentials!.scope)
        return { meta: { settings: beaconSettings(settings), sdkConfiguration: sdkConfiguration(settings) } }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/logs',
      auth: 'publishable',
      tag: TAG,
      summary: 'Send the logs of an SDK',
      description: 'They are accepted and dropped.',
      body: Type.Object({ logs: Type.Optional(Type.Unknown()) }),
      answers: { 200: Type.Object({}) },
      handler: () => ({}),
    }),
    route({
      method: 'POST',
      path: '/v1/search/autocomplete/click',
      auth: 'publishable',
      tag: TAG,
      summary: 'Tell which completion was chosen',
      description: 'Accepted and dropped.',
      body: Type.Object({
        sessionToken: Type.Optional(Type.Unknown()),
        requestId: Type.Optional(Type.Unknown()),
        idx: Type.Optional(Type.Unknown()),
      }),
      answers: { 200: Type.Object({}) },
      handler: () => ({}),
    }),
  ]
}

/** `meta.settings`: the identifiers that SDKs range, where there are any, wherever the beacons stand. */
function beaconSettings({ beaconUuids, beaconUids }: Settings) {
  return { beacons: { uuids: beaconUuids, uids: beaconUids } }
}

/** SDKs that save calls count entries, exits and stays on the device; without these they would take buffers as on. */
function sdkConfiguration(settings: Settings) {
  return {
    stopDetection: settings.stopDetection,
    bufferGeofenceEntries: settings.bufferEntries,
    // A buffered entry is left by a buffered exit.
    bufferGeofenceExits: settings.bufferExits || settings.bufferEntries,
    // They read whole minutes; the later one, for the server decides by the update that they then send.
    defaultGeofenceDwellThreshold: settings.dwellEvents ? Math.ceil(settings.dwellThreshold ?? 0) : 0,
  }
}
