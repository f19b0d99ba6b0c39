import Type from 'typebox'
import type { TSchema } from 'typebox'
import { DateText } from '../api/schemas.ts'

/**
 * The body of a geofence definition as the reference shows it. It holds the JSON kinds apart; the rules, which need
 * more than one field or more than a kind, are those of geofenceSchema.ts. Every field may be missing here, so that
 * the rules can say what is missing and why.
 */
const NumberOrText = (description: string) => Type.Union([Type.Number(), Type.String()], { description })
const BooleanOrText = (description: string) => Type.Union([Type.Boolean(), Type.String()], { description })
const ListOrText = (description: string) =>
  Type.Union([Type.Array(Type.Unknown()), Type.String()], { description })
const DictionaryOrText = (description: string) =>
  Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.String()], { description })
const Text = (description: string) => Type.String({ description })

function optional<T extends Record<string, TSchema>>(fields: T) {
  return Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, Type.Optional(schema)]))
}

export const GeofenceBody = Type.Object(
  optional({
    description: Text('Required. Display name.'),
    type: Text('Required. circle, polygon or isochrone.'),
    tag: Text('Required unless the address names it. Group of the geofence.'),
    externalId: Text('Required unless the address names it. Your own id, unique within the tag.'),
    coordinates: ListOrText(
      'circle and isochrone: [longitude, latitude]. polygon: a closed ring [[longitude, latitude], …] of 4 to 2,000. ' +
        'A list or its JSON text.',
    ),
    address: Text('In place of coordinates: needs a geocoder.'),
    placeId: Text('In place of coordinates: needs places.'),
    radius: NumberOrText('circle: metres, 10 to 10,000. isochrone: minutes of travel.'),
    mode: Text('car, truck, foot, bike or motorbike; required for an isochrone.'),
    enabled: BooleanOrText('Whether it generates events; default true.'),
    metadata: DictionaryOrText('Up to 16 keys; values are text, booleans or numbers.'),
    operatingHours: DictionaryOrText(
      'Day names (Sunday or Sun) to lists of [open, close], as 9:00 AM or 17:30. None: always open.',
    ),
    stopDetection: BooleanOrText("Overrides the project's stop detection."),
    disableAfter: DateText,
    deleteAfter: DateText,
    userId: Text('Deprecated: use userIds.'),
    userIds: ListOrText('Events only for these users; a list or comma-separated.'),
    ip: ListOrText(
      'Events only for requests from these addresses, wildcards or CIDR ranges; comma-separated.',
    ),
    dwellThreshold: NumberOrText('Minutes inside before a dwell event.'),
    tripApproachingThreshold: NumberOrText('Minutes before arrival at which a trip is approaching.'),
  }),
  { title: 'GeofenceDefinition' },
)
