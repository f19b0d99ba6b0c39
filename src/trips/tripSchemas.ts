import Type from 'typebox'
import { EventSchema } from '../events/eventSchema.ts'
import { DateSchema, PointSchema } from '../events/fieldSchemas.ts'
import { TripContextSchema } from '../events/tripSchema.ts'

/** Schemas of the answers about trips, for the OpenAPI document; responses are not checked at run time. */

export const TripRecord = Type.Object(
  {
    ...TripContextSchema.properties,
    user: Type.Optional(
      Type.Object(
        { _id: Type.String(), userId: Type.Optional(Type.String()), deviceId: Type.String() },
        {
          description:
            'The user who moved the trip last; before that, the latest record of its `userId`. With a publishable key, only if the `userId` in the body is that of the trip.',
        },
      ),
    ),
    locations: Type.Array(Type.Object({ ...PointSchema.properties, updatedAt: DateSchema }), {
      description: 'The locations of the trip, oldest first. Empty with a publishable key.',
    }),
  },
  { title: 'Trip' },
)

/** The schema of an event in an answer. With a publishable key, some of its fields are missing. */
export const AnsweredEvent = Type.Object(
  {
    ...EventSchema.properties,
    trip: TripContextSchema,
    user: Type.Optional(EventSchema.properties.user),
  },
  { title: 'TripEvent' },
)
