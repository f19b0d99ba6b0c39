import Type from 'typebox'
import type { Route } from '../../http/route.ts'
import { route } from '../../http/route.ts'
import type { Fields } from '../../http/fields.ts'
import { publicSettings, type Settings } from '../../model/settings.ts'
import { ownTurn } from '../../runtime/slices.ts'
import { PLACE_SETTINGS } from './placeSettings.ts'
import type { SettingsRegistry } from './settingsRegistry.ts'
import { parseSettingsChange, SettingsChange, SettingsRecord } from './settingsSchema.ts'

/** Clients of the interface find the settings of places at the root. */
const Answer = Type.Object({
  settings: SettingsRecord,
  chainMappings: PLACE_SETTINGS.chainMappings.schema,
  chainMetadata: PLACE_SETTINGS.chainMetadata.schema,
  placeFilters: PLACE_SETTINGS.placeFilters.schema,
})
const TAG = 'Settings'

/** The routes of the settings of the key's environment. */
export function settingsRoutes(registry: SettingsRegistry): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/settings',
      auth: 'secret',
      tag: TAG,
      summary: "Get the environment's settings",
      answers: { 200: Answer },
      handler: (call) => ({ body: shown(registry.of(call.credentials!.scope)) }),
    }),
    route({
      method: 'PATCH',
      path: '/v1/settings',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'Change settings',
      description:
        'The settings in the body change and the others stay the same. null, or an empty value in a form, removes dwellThreshold, ' +
        'maxAccuracyMeters, tripApproachingThreshold, tripExpirationMinutes and tripDelayThreshold and empties lists and dictionaries; ' +
        'for other settings it is ignored. A dictionary is replaced as a whole.',
      body: SettingsChange,
      answers: { 200: Answer },
      handler: async (call) => {
        const change = parseSettingsChange(call.body as Fields)
        const { scope } = call.credentials!
        const settings = await registry.edit(() => registry.update(scope, change))
        // Twenty thousand identifiers take milliseconds to write, as they did for the edit.
        await ownTurn()
        return { body: shown(settings) }
      },
    }),
  ]
}

function shown(settings: Settings) {
  const { chainMappings, chainMetadata, placeFilters } = settings
  return { settings: publicSettings(settings), chainMappings, chainMetadata, placeFilters }
}
