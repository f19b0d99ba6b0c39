import Type from 'typebox'
import { route, type Route } from '../api/route.ts'
import { Text } from '../api/schemas.ts'
import type { Settings } from '../model/settings.ts'
import type { RegistryView } from '../registry/port.ts'

const TAG = 'SDK'

const BeaconSettings = Type.Object({
  beacons: Type.Object({
    uuids: Type.Array(Type.String(), { description: 'Identifiers to range, instead of the nearby beacons.' }),
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
  { description: 'The project settings that tell an SDK what the server will decide.' },
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
      description:
        'The options that the app sets in code stay in force: there are no remote tracking options.',
      query: Type.Object({
        deviceId: Type.Optional(
          Text(256, 'Not used. The other parameters that SDKs send are not used either.'),
        ),
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
      description: 'The logs are accepted and discarded.',
      body: Type.Object({ logs: Type.Optional(Type.Unknown()) }),
      answers: { 200: Type.Object({}) },
      handler: () => ({}),
    }),
    route({
      method: 'POST',
      path: '/v1/search/autocomplete/click',
      auth: 'publishable',
      tag: TAG,
      summary: 'Report which completion was chosen',
      description: 'Accepted and discarded.',
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
