/** The settings that concern trips. */
import Type from 'typebox'
import { booleanField, numberField, positiveField, type Fields } from '../../http/fields.ts'
import { badParam } from '../../runtime/errors.ts'

/** The most minutes before arrival at which a trip may be approaching. */
const MAX_APPROACHING_MINUTES = 1440
/** The longest time that a trip may take, in minutes: a year. */
const MAX_TRIP_MINUTES = 525_600
const MAX_SECONDS = 86_400

const minutesOrNull = (low: number, high: number, description: string) => ({
  schema: Type.Union([Type.Number({ minimum: low, maximum: high }), Type.Null()], { description }),
  read: (fields: Fields, name: string) => numberField(fields, name, low, high) ?? null,
})

const seconds = (description: string) => ({
  schema: Type.Number({ minimum: 0, maximum: MAX_SECONDS, description }),
  read: (fields: Fields, name: string) => numberField(fields, name, 0, MAX_SECONDS),
})

export const TRIP_SETTINGS = {
  tripApproachingThreshold: {
    schema: Type.Union(
      [Type.Number({ exclusiveMinimum: 0, maximum: MAX_APPROACHING_MINUTES }), Type.Null()],
      {
        description:
          'Minutes before arrival at which a trip is approaching, if neither the trip nor its destination has its own. null: never.',
      },
    ),
    read: (fields: Fields, name: string) => approachingField(fields, name) ?? null,
  },
  tripExpirationMinutes: minutesOrNull(
    1,
    MAX_TRIP_MINUTES,
    'Minutes after which a trip without an end expires: after its creation, start and scheduled arrival. null: never.',
  ),
  tripDelayThreshold: minutesOrNull(
    0,
    MAX_TRIP_MINUTES,
    'Minutes: a trip that is later than that is delayed. null: `delayed` stays false, and user.delayed_during_trip is not generated.',
  ),
  tripWrongDestinationEvents: {
    schema: Type.Boolean({
      description:
        'Whether user.arrived_at_wrong_trip_destination is generated: a trip enters another geofence with the tag of its destination.',
    }),
    read: booleanField,
  },
  tripUpdateSeconds: seconds(
    'The least time between two events user.updated_trip of a trip that are caused by location updates; 0: each update causes one.',
  ),
  tripEtaSeconds: seconds('The least time between two computations of the route to the destination.'),
}

/**
 * Reads the minutes before arrival at which a trip is approaching: more than 0 and up to 1440, or their text.
 * @throws {ApiError} 400 naming the field
 */
export function approachingField(fields: Fields, name: string): number | undefined {
  const minutes = positiveField(fields, name)
  if (minutes !== undefined && minutes > MAX_APPROACHING_MINUTES)
    throw badParam(name, `Invalid ${name}. Valid range: (0, ${MAX_APPROACHING_MINUTES}].`)
  return minutes
}
