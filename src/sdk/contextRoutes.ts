import Type from 'typebox'
import { listPieces } from '../http/answerText.ts'
import { route, type Route } from '../http/route.ts'
import { CoordinatesText, parseCoordinates, Text } from '../http/schemas.ts'
import { GeofenceContextSchema } from '../events/eventSchema.ts'
import { geofenceText } from '../events/record.ts'
import { contextOf, createEvaluators } from '../rules/evaluators.ts'
import type { RegistryView } from '../rules/port.ts'
import { mapInSlices } from '../runtime/slices.ts'

const Context = {
  geofences: Type.Array(GeofenceContextSchema, { description: 'The enabled geofences around the location.' }),
}

/** GET /v1/context: the geofences at a location, without a user and without storing anything. */
export function contextRoutes(registry: RegistryView): Route[] {
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
        'do not count. Geofences for certain users are listed for those only. Nothing is stored. The web SDK reads the ' +
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
        const { geofences } = contextOf(evaluators, spot)
        // Geofences that are deleted in the meantime are left out.
        const texts = await mapInSlices(geofences, (geofence) => {
          const slot = view.index.slotOf(geofence.id)
          return slot < 0 ? undefined : geofenceText(geofence, view.index.outline(slot))
        })
        const context = listPieces('"context":{"geofences":', texts, '}')
        return { pieces: [...context, ...listPieces(',"geofences":', texts)] }
      },
    }),
  ]
}
