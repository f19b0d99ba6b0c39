import Type from 'typebox'
import { Name, Text } from '../http/schemas.ts'
import { badParam } from '../runtime/errors.ts'
import type { EventContent } from './port.ts'

/** Conditions on the content of events: one of these types, this pair, and at least this confidence. */
export const CONTENT = {
  types: Type.Optional(Text(8192, 'Comma-separated.')),
  tag: Type.Optional(Name(256, 'That of the geofence or beacon, or of the destination of the trip.')),
  externalId: Type.Optional(Name(256, 'That of the geofence or beacon, or of the destination of the trip.')),
  placeId: Type.Optional(Name(256, 'The `_id` of the place.')),
  chain: Type.Optional(Name(256, 'The slug of the place’s chain.')),
  category: Type.Optional(Name(256, 'The slug of a category of the place.')),
  region: Type.Optional(Name(256, 'The code or `_id` of the region.')),
  failureReason: Type.Optional(Name(256, 'One of the `failureReasons` of user.failed_fraud.')),
  text: Type.Optional(
    Name(
      256,
      'A text to look for in the userId or deviceId, in the description, tag or externalId of the geofence or beacon, in the externalId or destination of the trip, and in the name of ' +
        'the place. Upper and lower case are equal.',
    ),
  ),
  minimumConfidence: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 3, description: 'Events with at least this `confidence`.' }),
  ),
}
/** How many types one filter may have. */
const MAX_TYPES = 50

interface ContentQuery {
  readonly types?: string
  readonly tag?: string
  readonly externalId?: string
  readonly placeId?: string
  readonly chain?: string
  readonly category?: string
  readonly region?: string
  readonly failureReason?: string
  readonly text?: string
  readonly minimumConfidence?: number
}

/**
 * The conditions of a checked query.
 * @throws {ApiError} 400
 */
export function contentOf({
  types,
  tag,
  externalId,
  placeId,
  chain,
  category,
  region,
  failureReason,
  text,
  minimumConfidence,
}: ContentQuery): EventContent {
  const list = types?.split(',').map((type) => type.trim())
  if (list !== undefined && (list.includes('') || list.length > MAX_TYPES))
    throw badParam('types', `Must be 1 to ${MAX_TYPES} types, separated by commas.`)
  return {
    types: list,
    tag,
    externalId,
    placeId,
    chain,
    category,
    region,
    failureReason,
    text,
    minimumConfidence,
  }
}
