import Type from 'typebox'
import { TRAVEL_MODES, TRIP_STATUSES } from '../model/trip.ts'
import { DateSchema, MetadataSchema, PointSchema } from './fieldSchemas.ts'

/**
 * Schemas of trips as users and events contain them, for the OpenAPI document; responses are not checked at run time.
 */

const words = (values: readonly string[]) => Type.Union(values.map((value) => Type.Literal(value)))

const EtaSchema = Type.Object({
  duration: Type.Number({ description: 'Minutes, with one decimal.' }),
  distance: Type.Number({ description: 'Metres.' }),
  source: Type.Union([Type.Literal('road'), Type.Literal('straight')], {
    description: '`straight`: 1.3 times the straight line, because the routing engine has no answer.',
  }),
})

export const LegRecord = Type.Object(
  {
    _id: Type.String(),
    status: words(TRIP_STATUSES),
    createdAt: DateSchema,
    updatedAt: DateSchema,
    arrivedAt: Type.Optional(DateSchema),
    completedAt: Type.Optional(DateSchema),
    eta: Type.Optional(EtaSchema),
    stopDuration: Type.Number({ description: 'Minutes.' }),
    metadata: Type.Optional(MetadataSchema),
    destination: Type.Object({
      type: words(['geofence', 'address', 'coordinates']),
      source: Type.Object({
        geofence: Type.Optional(Type.String({ description: 'The `_id` of a geofence.' })),
        data: Type.Union([
          Type.Object({ tag: Type.String(), externalId: Type.String() }),
          Type.String(),
          Type.Array(Type.Number(), { description: '[latitude, longitude]' }),
        ]),
      }),
      location: Type.Optional(PointSchema),
      arrivalRadius: Type.Optional(Type.Number({ description: 'Metres.' })),
    }),
    destinationGeofenceTag: Type.Optional(Type.String()),
    destinationGeofenceExternalId: Type.Optional(Type.String()),
    destinationGeofenceId: Type.Optional(Type.String()),
    address: Type.Optional(Type.String()),
  },
  { title: 'Leg' },
)

export const TripContextSchema = Type.Object(
  {
    _id: Type.String(),
    live: Type.Boolean(),
    externalId: Type.String(),
    userId: Type.Optional(Type.String()),
    metadata: Type.Optional(MetadataSchema),
    mode: words(TRAVEL_MODES),
    status: words(TRIP_STATUSES),
    createdAt: DateSchema,
    updatedAt: DateSchema,
    startedAt: Type.Optional(DateSchema),
    arrivedAt: Type.Optional(DateSchema),
    completedAt: Type.Optional(DateSchema),
    endedAt: Type.Optional(DateSchema),
    scheduledArrivalAt: Type.Optional(DateSchema),
    approachingThreshold: Type.Optional(
      Type.Number({ description: 'Minutes; the value that was set for this trip.' }),
    ),
    destinationGeofenceTag: Type.Optional(Type.String()),
    destinationGeofenceExternalId: Type.Optional(Type.String()),
    destinationLocation: Type.Optional(PointSchema),
    eta: Type.Optional(EtaSchema),
    delay: Type.Optional(
      Type.Object({
        delayed: Type.Boolean(),
        scheduledArrivalTimeDelay: Type.Number({ description: 'Minutes, with one decimal.' }),
      }),
    ),
    legs: Type.Optional(Type.Array(LegRecord)),
    currentLeg: Type.Optional(
      Type.String({ description: 'The `_id` of the leg whose destination is the trip’s.' }),
    ),
    currentLegId: Type.Optional(Type.String()),
  },
  { title: 'TripContext' },
)
