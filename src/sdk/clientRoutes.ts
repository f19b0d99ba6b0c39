import Type from 'typebox'
import { DEVICE_TYPE_HEADER, isIos } from '../http/deviceType.ts'
import { route, type Route } from '../http/route.ts'
import { Text } from '../http/schemas.ts'
import type { Settings } from '../model/settings.ts'
import type { RegistryView } from '../rules/port.ts'

import { FEATURE_SETTINGS, FeatureSettings, sdkConfiguration, SdkConfiguration } from './sdkConfiguration.ts'

const TAG = 'SDK'

const BeaconSettings = Type.Object({
  beacons: Type.Object({
    uuids: Type.Array(Type.String(), { description: 'Identifiers to range, instead of the nearby beacons.' }),
    uids: Type.Array(Type.String()),
  }),
})

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
        'There are no remote tracking options, so the options that the app sets in its code apply.',
      query: Type.Object({
        deviceId: Type.Optional(
          Text(256, 'Not used. The other parameters that SDKs send are not used either.'),
        ),
        installId: Type.Optional(Text(256)),
        sessionId: Type.Optional(Text(256)),
        locationAuthorization: Type.Optional(Text(256)),
      }),
      meta: Type.Object({
        settings: BeaconSettings,
        sdkConfiguration: SdkConfiguration,
        featureSettings: FeatureSettings,
      }),
      answers: { 200: Type.Object({}) },
      headers: [DEVICE_TYPE_HEADER],
      handler: (call) => {
        const { settings } = registry.scope(call.credentials!.scope)
        return {
          meta: {
            settings: beaconSettings(settings),
            sdkConfiguration: sdkConfiguration(settings, isIos(call.headers)),
            featureSettings: FEATURE_SETTINGS,
          },
        }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/logs',
      auth: 'publishable',
      role: 'write',
      tag: TAG,
      summary: 'Send the logs of an SDK',
      description: 'Any body is accepted and dropped without being read.',
      answers: { 200: Type.Object({}) },
      handler: () => ({}),
    }),
    route({
      method: 'POST',
      path: '/v1/search/autocomplete/click',
      auth: 'publishable',
      role: 'write',
      tag: TAG,
      summary: 'Report which completion was chosen',
      description: 'Accepted and discarded.',
      body: Type.Object({
        sessionToken: Type.Optional(Type.Any()),
        requestId: Type.Optional(Type.Any()),
        idx: Type.Optional(Type.Any()),
      }),
      answers: { 200: Type.Object({}) },
      handler: () => ({}),
    }),
  ]
}

/** `meta.settings`: the identifiers that SDKs range, if there are any, wherever the beacons are. */
function beaconSettings({ beaconUuids, beaconUids }: Settings) {
  return { beacons: { uuids: beaconUuids, uids: beaconUids } }
}
