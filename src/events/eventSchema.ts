import Type from 'typebox'
import { FAILURE_REASONS } from '../model/fraud.ts'
import {
  BeaconContextSchema,
  DateSchema,
  GeofenceContextSchema,
  MetadataSchema,
  PointSchema,
  FraudSchema,
  PlaceSchema,
  RegionSchema,
} from './fieldSchemas.ts'
import { TripContextSchema } from './tripSchema.ts'

/** The schema of events, for the OpenAPI document. */
export const EventSchema = Type.Object(
  {
    _id: Type.String(),
    type: Type.String({
      description: 'The type of the event; for a conversion, its name.',
      examples: ['user.entered_geofence'],
    }),
    createdAt: DateSchema,
    actualCreatedAt: DateSchema,
    live: Type.Boolean(),
    user: Type.Object({
      _id: Type.String({
        description:
          'For a conversion of a device that has not sent a location, this is an id that no user has.',
      }),
      userId: Type.Optional(Type.String()),
      deviceId: Type.Optional(
        Type.String({ description: 'Absent if no device has moved the trip of the event yet.' }),
      ),
      metadata: Type.Optional(MetadataSchema),
    }),
    geofence: Type.Optional(GeofenceContextSchema),
    beacon: Type.Optional(BeaconContextSchema),
    trip: Type.Optional(TripContextSchema),
    region: Type.Optional(RegionSchema),
    place: Type.Optional(PlaceSchema),
    alternatePlaces: Type.Optional(
      Type.Array(PlaceSchema, {
        maxItems: 4,
        description:
          'On entries into places: the other places in which the user might be, the most likely first.',
      }),
    ),
    fraud: Type.Optional(FraudSchema),
    failureReasons: Type.Optional(
      Type.Array(Type.Enum([...FAILURE_REASONS]), { description: 'Why the user failed.' }),
    ),
    location: Type.Optional(PointSchema),
    locationAccuracy: Type.Optional(Type.Number({ description: 'Metres.' })),
    confidence: Type.Integer({
      minimum: 1,
      maximum: 3,
      description: '1 low, 2 medium, 3 high; 3 on conversions, which lack the following fields.',
    }),
    currentlyOperating: Type.Optional(Type.Boolean()),
    duration: Type.Optional(Type.Number({ description: 'Minutes since entry; on exits.' })),
    replayed: Type.Optional(Type.Boolean()),
    foreground: Type.Optional(Type.Boolean()),
    stopped: Type.Optional(Type.Boolean()),
    metadata: Type.Optional(MetadataSchema),
    verification: Type.Optional(
      Type.Integer({
        minimum: -1,
        maximum: 1,
        description: 'The verification by a client: 1 accepted, -1 rejected.',
      }),
    ),
    verifiedPlaceId: Type.Optional(Type.String()),
  },
  { title: 'Event' },
)
