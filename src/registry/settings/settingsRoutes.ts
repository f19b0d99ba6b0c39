import Type from 'typebox'
import type { Route } from '../../http/route.ts'
import { route } from '../../http/route.ts'
import type { Fields } from '../../http/fields.ts'
import type { SettingsRegistry } from './settingsRegistry.ts'
import { parseSettingsChange, SettingsChange, SettingsRecord } from './settingsSchema.ts'

const Answer = Type.Object({ settings: SettingsRecord })
const TAG = 'Settings'

/** Settings of the key's environment. */
export function settingsRoutes(registry: SettingsRegistry): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/settings',
      auth: 'secret',
      tag: TAG,
      summary: "Get the environment's settings",
      answers: { 200: Answer },
      handler: (call) => ({ body: { settings: registry.of(call.credentials!.scope) } }),
    }),
    route({
      method: 'PATCH',
      path: '/v1/settings',
      auth: 'secret',
      tag: TAG,
      summary: 'Change settings',
      description:
        'The settings in the body change and the others stay the same. null, or an empty value in a form, removes dwellThreshold and ' +
        'maxAccuracyMeters and empties beaconUuids and beaconUids; for other settings it is ignored.',
      body: SettingsChange,
      answers: { 200: Answer },
      handler: async (call) => {
        const change = parseSettingsChange(call.body as Fields)
        const { scope } = call.credentials!
        const settings = await registry.edit(() => registry.update(scope, change))
        return { body: { settings } }
      },
    }),
  ]
}
