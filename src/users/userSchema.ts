import Type from 'typebox'
import {
  BeaconContextSchema,
  DateSchema,
  GeofenceContextSchema,
  MetadataSchema,
  PointSchema,
  ChainSchema,
  FraudSchema,
  PlaceSchema,
  RegionMembers,
} from '../events/fieldSchemas.ts'
import { TripContextSchema } from '../events/tripSchema.ts'

/** The schemas of users, for the OpenAPI document; responses are not checked at run time. */
export const UserSchema = Type.Object(
  {
    _id: Type.String(),
    live: Type.Boolean(),
    userId: Type.Optional(Type.String()),
    deviceId: Type.String(),
    description: Type.Optional(Type.String()),
    metadata: Type.Optional(MetadataSchema),
    location: PointSchema,
    locationAccuracy: Type.Optional(Type.Number({ description: 'Metres.' })),
    foreground: Type.Boolean(),
    stopped: Type.Boolean(),
    deviceType: Type.Optional(Type.String()),
    deviceOS: Type.Optional(Type.String()),
    deviceMake: Type.Optional(Type.String()),
    deviceModel: Type.Optional(Type.String()),
    source: Type.Optional(Type.String({ description: 'What made an SDK send its last update.' })),
    createdAt: DateSchema,
    updatedAt: DateSchema,
    actualUpdatedAt: Type.String({
      format: 'date-time',
      description: 'When the server received the last update, by the server’s clock.',
    }),
    ip: Type.String(),
    geofences: Type.Array(GeofenceContextSchema),
    beacons: Type.Array(BeaconContextSchema),
    trip: Type.Optional(TripContextSchema),
    ...RegionMembers,
    place: Type.Optional(PlaceSchema),
    nearbyPlaceChains: Type.Optional(
      Type.Array(ChainSchema, { description: 'The chains of the setting nearbyPlaceChains that are near.' }),
    ),
    fraud: Type.Optional(FraudSchema),
    segments: Type.Array(Type.Object({ description: Type.String(), externalId: Type.String() }), {
      description: 'The segments of the settings to which the user belongs, by the last update.',
    }),
    topChains: Type.Array(
      Type.Object({
        name: Type.String(),
        slug: Type.String(),
        externalId: Type.Optional(Type.String()),
      }),
      { description: 'The chains that were visited most often, at most five.' },
    ),
  },
  { title: 'User' },
)
