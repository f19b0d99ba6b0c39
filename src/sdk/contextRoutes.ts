import { setTimeout as sleep } from 'node:timers/promises'
import Type from 'typebox'
import { listPieces } from '../http/answerText.ts'
import { route, type Route } from '../http/route.ts'
import { CoordinatesText, parseCoordinates, Text } from '../http/schemas.ts'
import { GeofenceContextSchema } from '../events/fieldSchemas.ts'
import { geofenceText } from '../events/record.ts'
import { contextOf, createEvaluators } from '../rules/evaluators.ts'
import type { Position } from '../model/geofence.ts'
import { REGION_KINDS, type RegionFinder, type Regions } from '../model/region.ts'
import type { RegistryView } from '../rules/port.ts'
import { ApiError } from '../runtime/errors.ts'
import { mapInSlices } from '../runtime/slices.ts'

/** The first question makes the data of the world, which takes half a minute on a slow machine. SDKs wait for 10 s. */
const REGIONS_MS = 2000

const RegionSchema = Type.Object({
  _id: Type.String(),
  type: Type.Enum([...REGION_KINDS]),
  code: Type.String({ examples: ['US', 'NY', '501', '11201'] }),
  name: Type.String(),
})

const Context = {
  geofences: Type.Array(GeofenceContextSchema, { description: 'The enabled geofences around the location.' }),
  country: Type.Optional(Type.Interface([RegionSchema], { flag: Type.String({ description: 'Emoji.' }) })),
  state: Type.Optional(RegionSchema),
  dma: Type.Optional(RegionSchema),
  postalCode: Type.Optional(RegionSchema),
}

/** GET /v1/context: the geofences and regions at a location, without a user and without storing anything. */
export function contextRoutes(registry: RegistryView, finder: RegionFinder): Route[] {
  const evaluators = createEvaluators()
  return [
    route({
      method: 'GET',
      path: '/v1/context',
      auth: 'publishable',
      tag: 'Context',
      summary: 'Get the context of a location',
      description:
        'The geofences that a location lies in, by their boundary alone: stop detection, buffers, hours and addresses ' +
        'do not count. Geofences for certain users are listed for those only. The country and, in the United States, the ' +
        'state, television market (DMA) and postal code of the location; without these while the server still prepares them, ' +
        'after its first start. Nothing is stored. The web SDK reads the ' +
        'root of the answer, native SDKs read `context`.',
      query: Type.Object({
        coordinates: CoordinatesText,
        accuracy: Type.Optional(Text(64, 'Metres; not used.')),
        userId: Type.Optional(Text(256, 'Shows the geofences that are for this user only.')),
        deviceId: Type.Optional(Text(256, 'Not used.')),
      }),
      answers: { 200: Type.Object({ context: Type.Object(Context), ...Context }) },
      handler: async (call) => {
        const { latitude, longitude } = parseCoordinates('coordinates', call.query.coordinates)
        const view = registry.scope(call.credentials!.scope)
        const { userId } = call.query
        const spot = { view, latitude, longitude, userId, receivedAt: call.receivedAt }
        const regions = await regionsAt(finder, [longitude, latitude])
        const { geofences } = contextOf(evaluators, spot)
        // Geofences that are deleted in the meantime are left out.
        const texts = await mapInSlices(geofences, (geofence) => {
          const slot = view.index.slotOf(geofence.id)
          return slot < 0 ? undefined : geofenceText(geofence, view.index.outline(slot))
        })
        const text = JSON.stringify(regions).slice(1, -1)
        const more = text === '' ? '' : `,${text}`
        const context = listPieces('"context":{"geofences":', texts, `${more}}`)
        return { pieces: [...context, ...listPieces(',"geofences":', texts, more)] }
      },
    }),
  ]
}

/**
 * None where the data of the world are not installed, or are still being made; the geofences are answered all the
 * same.
 */
async function regionsAt(finder: RegionFinder, position: Position): Promise<Regions> {
  const late = new AbortController()
  const found = finder.regionsAt(position).catch((error: unknown) => {
    if (error instanceof ApiError && error.retryAfter === undefined) return {}
    throw error
  })
  try {
    return await Promise.race([found, sleep(REGIONS_MS, {}, { ref: false, signal: late.signal })])
  } finally {
    late.abort()
  }
}
