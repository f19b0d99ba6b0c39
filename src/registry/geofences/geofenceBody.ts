import Type from 'typebox'
import { atLeastOne, neededBy } from '../../http/needs.ts'
import { DateText, Text } from '../../http/schemas.ts'
import {
  BooleanOrText,
  DictionaryOrText,
  ListOrText,
  NumberOrText,
  optional,
  TextsOrText,
} from '../records/recordSchemas.ts'
import {
  MAX_ADDRESS_LENGTH,
  MAX_DESCRIPTION_LENGTH,
  MAX_ID_LENGTH,
  MAX_WORD_LENGTH,
} from '../records/recordFields.ts'

const TAG = Text(MAX_ID_LENGTH, 'Group of the geofence.')
const EXTERNAL_ID = Text(MAX_ID_LENGTH, 'Your own id, unique within the tag.')

const FIELDS = {
  description: Text(MAX_DESCRIPTION_LENGTH, 'Display name.'),
  type: Text(MAX_WORD_LENGTH, 'circle, polygon or isochrone.'),
  tag: Type.Optional(TAG),
  externalId: Type.Optional(EXTERNAL_ID),
  ...optional({
    coordinates: ListOrText(
      'Required if there is no address and no placeId. circle and isochrone: [longitude, latitude]. polygon: a closed ring ' +
        '[[longitude, latitude], …] of 4 to 2,000 positions. A list or its JSON text; a form may also repeat the field for each number in turn.',
    ),
    address: Text(MAX_ADDRESS_LENGTH, 'Instead of coordinates; needs a geocoder.'),
    placeId: Text(MAX_ID_LENGTH, 'Instead of coordinates; needs a database of places.'),
    radius: NumberOrText(
      'Required for a circle: metres, 10 to 10,000. Required for an isochrone: minutes of travel, 1 to 120.',
    ),
    mode: Text(MAX_WORD_LENGTH, 'Required for an isochrone: car, truck, foot, bike or motorbike.'),
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
}

const PLACE = ['coordinates', 'address', 'placeId']
const ALL_OF = neededBy('type', {
  circle: { required: ['radius'], ...atLeastOne(...PLACE) },
  polygon: atLeastOne('coordinates', 'placeId'),
  isochrone: { required: ['mode', 'radius'], ...atLeastOne(...PLACE) },
})

/**
 * The body of a geofence definition whose pair is known. It says what is required and holds the JSON kinds apart; the
 * rules, which need more than one field or more than a kind, are those of geofenceSchema.ts.
 */
export const GeofenceBody = Type.Object(FIELDS, { title: 'GeofenceDefinition', allOf: ALL_OF })

/** The body of a geofence definition that says its pair itself. */
export const NewGeofenceBody = Type.Object(
  { ...FIELDS, tag: TAG, externalId: EXTERNAL_ID },
  { title: 'NewGeofence', allOf: ALL_OF },
)
