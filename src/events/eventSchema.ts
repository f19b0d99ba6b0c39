import Type from 'typebox'

/**
 * Schemas of events and of the parts that users have in common with them, for the OpenAPI document; responses are not
 * checked at run time.
 */

export const PointSchema = Type.Object({
  type: Type.Literal('Point'),
  coordinates: Type.Array(Type.Number(), { minItems: 2, maxItems: 2, description: '[longitude, latitude]' }),
})

export const MetadataSchema = Type.Record(
  Type.String(),
  Type.Union([Type.String(), Type.Boolean(), Type.Number()]),
)

export const DateSchema = Type.String({ format: 'date-time', examples: ['2026-11-20T04:21:00.123Z'] })

/** A geofence as it appears in user context and in events. */
export const GeofenceContextSchema = Type.Object({
  _id: Type.String(),
  tag: Type.String(),
  externalId: Type.String(),
  description: Type.String(),
  metadata: Type.Optional(MetadataSchema),
  type: Type.Union([Type.Literal('circle'), Type.Literal('polygon'), Type.Literal('isochrone')]),
  geometryCenter: PointSchema,
  geometryRadius: Type.Number({
    description: 'In metres: the radius of the circle, or of a circle around the polygon.',
  }),
})

/** A beacon as it appears in user context and in events. */
export const BeaconContextSchema = Type.Object({
  _id: Type.String(),
  type: Type.Union([Type.Literal('ibeacon'), Type.Literal('eddystone')]),
  uuid: Type.Optional(Type.String()),
  major: Type.Optional(Type.String()),
  minor: Type.Optional(Type.String()),
  uid: Type.Optional(Type.String()),
  instance: Type.Optional(Type.String()),
  description: Type.String(),
  tag: Type.Optional(Type.String()),
  externalId: Type.Optional(Type.String()),
  enabled: Type.Boolean(),
  metadata: Type.Optional(MetadataSchema),
})

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
        description: 'Of a conversion of a device that has sent no location: an id that no user has.',
      }),
      userId: Type.Optional(Type.String()),
      deviceId: Type.String(),
      metadata: Type.Optional(MetadataSchema),
    }),
    geofence: Type.Optional(GeofenceContextSchema),
    beacon: Type.Optional(BeaconContextSchema),
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
