import Type from 'typebox'
import { DateText, Text } from '../api/schemas.ts'
import {
  BooleanOrText,
  DictionaryOrText,
  ListOrText,
  NumberOrText,
  optional,
  TextsOrText,
} from './recordSchemas.ts'
import { MAX_ADDRESS_LENGTH, MAX_DESCRIPTION_LENGTH, MAX_ID_LENGTH, MAX_WORD_LENGTH } from './recordFields.ts'

/**
 * The body of a geofence definition as the reference shows it. It holds the JSON kinds apart; the rules, which need
 * more than one field or more than a kind, are those of geofenceSchema.ts.
 */
export const GeofenceBody = Type.Object(
  optional({
    description: Text(MAX_DESCRIPTION_LENGTH, 'Required. Display name.'),
    type: Text(MAX_WORD_LENGTH, 'Required. circle, polygon or isochrone.'),
    tag: Text(MAX_ID_LENGTH, 'Required unless the path contains it. Group of the geofence.'),
    externalId: Text(
      MAX_ID_LENGTH,
      'Required unless the path contains it. Your own id, unique within the tag.',
    ),
    coordinates: ListOrText(
      'circle and isochrone: [longitude, latitude]. polygon: a closed ring [[longitude, latitude], …] of 4 to 2,000. ' +
        'A list or its JSON text.',
    ),
    address: Text(MAX_ADDRESS_LENGTH, 'Instead of coordinates; needs a geocoder.'),
    placeId: Text(MAX_ID_LENGTH, 'Instead of coordinates; needs a database of places.'),
    radius: NumberOrText('circle: metres, 10 to 10,000. isochrone: minutes of travel.'),
    mode: Text(MAX_WORD_LENGTH, 'car, truck, foot, bike or motorbike; required for an isochrone.'),
    enabled: BooleanOrText('Whether it causes events; default true.'),
    metadata: DictionaryOrText('Up to 16 keys; values are strings, booleans or numbers.'),
    operatingHours: DictionaryOrText(
      'Day names (Sunday or Sun) with lists of [open, close], such as 9:00 AM or 17:30. Without it, the geofence is always open.',
    ),
    stopDetection: BooleanOrText("Overrides the project's stop detection."),
    disableAfter: DateText,
    deleteAfter: DateText,
    userId: Text(MAX_ID_LENGTH, 'Deprecated: use userIds.'),
    userIds: TextsOrText('Only these users cause events; a list or comma-separated.'),
    ip: TextsOrText(
      'Only requests from these addresses, wildcards or CIDR ranges cause events; comma-separated.',
    ),
    dwellThreshold: NumberOrText('Minutes inside before a dwell event.'),
    tripApproachingThreshold: NumberOrText('Minutes before arrival at which a trip is approaching.'),
  }),
  { title: 'GeofenceDefinition' },
)
