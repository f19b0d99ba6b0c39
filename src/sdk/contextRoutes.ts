import Type from 'typebox'
import { listPieces } from '../api/answerText.ts'
import { route, type Route } from '../api/route.ts'
import { CoordinatesText, parseCoordinates, Text } from '../api/schemas.ts'
import { GeofenceContextSchema } from '../events/eventSchema.ts'
import { geofenceContext } from '../events/record.ts'
import { isMeantFor } from '../rules/transitions.ts'
import { Probe } from '../geometry/probe.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import { isActiveAt } from '../registry/geofenceRow.ts'
import type { RegistryView, ScopeView } from '../rules/port.ts'
import { mapInTurns } from '../runtime/slices.ts'

const Context = {
  geofences: Type.Array(GeofenceContextSchema, { description: 'The enabled geofences around the location.' }),
}

/** GET /v1/context: where a location lies, without a user and without a trace. */
export function contextRoutes(registry: RegistryView): Route[] {
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
        const found = geofencesAround(view, latitude, longitude, call.query.userId, call.receivedAt)
        // What is deleted meanwhile is left out.
        const texts = await mapInTurns(found, (geofence) => {
          const slot = view.index.slotOf(geofence.id)
          return slot < 0 ? undefined : JSON.stringify(geofenceContext(geofence, view.index.outline(slot)))
        })
        const context = listPieces('"context":{"geofences":', texts, '}')
        return { pieces: [...context, ...listPieces(',"geofences":', texts)] }
      },
    }),
  ]
}

const probe = new Probe()

/** The enabled geofences that the point lies in and that are meant for the user, by `_id`. */
function geofencesAround(
  view: ScopeView,
  latitude: number,
  longitude: number,
  userId: string | undefined,
  now: number,
): GeofenceProperties[] {
  const { index } = view
  probe.set(latitude, longitude)
  const slots: number[] = []
  index.candidates(probe, 0, slots)
  return slots
    .filter((slot) => index.distance(slot, probe) <= 0)
    .map((slot) => index.geofence(slot))
    .filter((geofence) => isMeantFor(geofence, userId) && isActiveAt(geofence, now))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
}
