import Type, { type Static } from 'typebox'
import { DateText, Latitude, Longitude, Name, parseDate, Text } from '../http/schemas.ts'
import { claimsOf } from '../model/fraud.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Update } from '../model/update.ts'
import { badParam } from '../runtime/errors.ts'
import { checkMetadata, MetadataBody } from './metadataSchema.ts'
import { RangedBeaconBody, rangedBeacons } from './rangedBeacon.ts'

/** How many beacons an update may list, which is more than a phone can receive. */
const MAX_BEACONS = 1000
/** How many stays an anonymous client may send, because it keeps a part of its state itself. */
const MAX_STAYS = 10_000
/** How many regions it may send. There are fewer kinds, but clients may send old ones along. */
const MAX_REGIONS = 100

const DEFAULT_NEARBY_GEOFENCES = 10
const MAX_NEARBY_GEOFENCES = 100

/** The body of POST /v1/track, and of each item of a replay. Other fields that SDKs send are ignored. */
export const TrackBody = Type.Object(
  {
    deviceId: Name(
      256,
      'Identifies the device; without a `userId`, it identifies a logged-out user. `anonymous`: nothing is stored.',
    ),
    userId: Type.Optional(Text(256, 'Stable unique id of the user. Do not use personal data.')),
    latitude: Latitude,
    longitude: Longitude,
    accuracy: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        description:
          'Metres, greater than 0. Required, except in requests from an SDK: there, confidence is 1 if it is missing.',
      }),
    ),
    foreground: Type.Optional(Type.Boolean()),
    stopped: Type.Optional(Type.Boolean()),
    description: Type.Optional(Text(2000)),
    metadata: Type.Optional(MetadataBody),
    deviceType: Type.Optional(
      Type.Union([Type.Literal('iOS'), Type.Literal('Android'), Type.Literal('Web')]),
    ),
    updatedAt: Type.Optional(DateText),
    updatedAtMs: Type.Optional(
      Type.Number({ description: 'Unix time in milliseconds; used if `replayed` is true.' }),
    ),
    updatedAtMsDiff: Type.Optional(
      Type.Number({
        description:
          'Age of the location in milliseconds, up to a day. Used if there is no `updatedAt` or `updatedAtMs`.',
      }),
    ),
    replayed: Type.Optional(
      Type.Boolean({ description: 'Whether the update was recorded earlier. Default false.' }),
    ),
    deviceOS: Type.Optional(Text(256)),
    deviceMake: Type.Optional(Text(256)),
    deviceModel: Type.Optional(Text(256)),
    source: Type.Optional(
      Text(64, 'What made an SDK send the update, such as `FOREGROUND_LOCATION`: stored with the user.'),
    ),
    mocked: Type.Optional(
      Type.Boolean({ description: 'Whether the location comes from an app that simulates locations.' }),
    ),
    compromised: Type.Optional(
      Type.Boolean({
        description: 'Whether the app found signs that the device is rooted or tampered with.',
      }),
    ),
    sharing: Type.Optional(Type.Boolean({ description: 'Whether the screen is being shared.' })),
    verified: Type.Optional(
      Type.Boolean({
        description:
          'Whether this is a verified track. If the setting `fraud` is on, the answer then says whether the user passed.',
      }),
    ),
    installId: Type.Optional(Text(256)),
    sdkVersion: Type.Optional(Text(64)),
    beacons: Type.Optional(
      Type.Array(RangedBeaconBody, {
        maxItems: MAX_BEACONS,
        description:
          'The beacons in range. An empty list means that the device has left all beacons; without a list, the distance decides.',
      }),
    ),
    nearbyGeofences: Type.Optional(
      Type.Union([Type.Boolean(), Type.Number(), Type.String({ maxLength: 64 })], {
        description: 'Whether the response should contain `nearbyGeofences`: those within 100 km.',
      }),
    ),
    nearbyGeofencesLimit: Type.Optional(
      Type.Number({
        description: `The maximum number of them, 1 to ${MAX_NEARBY_GEOFENCES}; ${DEFAULT_NEARBY_GEOFENCES} if it is absent or less than 1.`,
      }),
    ),
    geofenceIds: Type.Optional(
      Type.Array(Text(256), {
        maxItems: MAX_STAYS,
        description: 'For deviceId `anonymous`: the `_id`s of `user.geofences` in the previous response.',
      }),
    ),
    beaconIds: Type.Optional(
      Type.Array(Text(256), {
        maxItems: MAX_STAYS,
        description: 'For deviceId `anonymous`: the `_id`s of `user.beacons` in the previous response.',
      }),
    ),
    placeId: Type.Optional(
      Text(256, 'For deviceId `anonymous`: the `_id` of `user.place` in the previous response.'),
    ),
    regionIds: Type.Optional(
      Type.Array(Text(256), {
        maxItems: MAX_REGIONS,
        description:
          'For deviceId `anonymous`: the `_id`s of `user.country`, `user.state`, `user.dma` and `user.postalCode` in the ' +
          'previous response. Without this field, the response has the regions of the location, but no events about them.',
      }),
    ),
    tripOptions: Type.Optional(
      Type.Unknown({
        description:
          'The trip that the device is on, by its `externalId`. If there is no such trip, it is created with the other fields: ' +
          '`destinationGeofenceTag` and `destinationGeofenceExternalId`, `mode`, `approachingThreshold`, ' +
          '`scheduledArrivalAt`, `metadata`. These do not change a trip that exists.',
      }),
    ),
    stream: Type.Optional(
      Name(
        64,
        'Identifies the stream of the sender. With `sequence`, an update that is sent again is applied only once.',
      ),
    ),
    sequence: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Increases within the stream.',
      }),
    ),
  },
  { dependentRequired: { stream: ['sequence'], sequence: ['stream'] } },
)

export type TrackBody = Static<typeof TrackBody>

/** How far a device's clock may be ahead of the server, and how old a location with a known age may be. */
const DAY_MS = 24 * 3_600_000

/** The parts of a request that are added to the update. */
export interface Stamp {
  readonly scope: ScopeId
  readonly ip: string
  /** In epoch milliseconds. */
  readonly receivedAt: number
  readonly fromSdk: boolean
}

/**
 * The update of a checked body.
 * @param at the prefix of parameter names in messages, such as `replays.3.`, or empty
 * @throws {ApiError} 400 for what a schema cannot express
 */
export function updateFrom(body: TrackBody, stamp: Stamp, at = ''): Update {
  if (body.accuracy === undefined && !stamp.fromSdk && body.sdkVersion === undefined)
    throw badParam(`${at}accuracy`, 'Required.')
  checkMetadata(`${at}metadata`, body.metadata)
  const replayed = body.replayed ?? false
  const claims = claimsOf(body)
  return {
    // Hardly any update has them.
    ...(claims !== 0 && { claims }),
    scope: stamp.scope,
    deviceId: body.deviceId,
    // Logged-out apps send an empty text for "nobody".
    userId: body.userId || undefined,
    installId: body.installId || undefined,
    latitude: body.latitude,
    longitude: body.longitude,
    accuracy: body.accuracy,
    foreground: body.foreground ?? false,
    stopped: body.stopped ?? false,
    replayed,
    updatedAt: timeOf(body, replayed, stamp.receivedAt, at),
    description: body.description,
    metadata: body.metadata,
    deviceType: body.deviceType,
    deviceOS: body.deviceOS,
    deviceMake: body.deviceMake,
    deviceModel: body.deviceModel,
    source: body.source,
    beacons: body.beacons && rangedBeacons(body.beacons),
    stream: body.stream,
    sequence: body.sequence,
    receivedAt: stamp.receivedAt,
    ip: stamp.ip,
  }
}

/**
 * How many geofences the response should list, 0 to {@link MAX_NEARBY_GEOFENCES}; 0 if the body does not ask for any.
 */
export function nearbyGeofencesLimit({
  nearbyGeofences,
  nearbyGeofencesLimit: limit = 0,
}: TrackBody): number {
  if (
    !nearbyGeofences ||
    (typeof nearbyGeofences === 'string' && /^(?:false|0|no|none)$/i.test(nearbyGeofences))
  )
    return 0
  // SDKs send their tracking options unchanged, and some of those are 0.
  return limit < 1 ? DEFAULT_NEARBY_GEOFENCES : Math.min(Math.floor(limit), MAX_NEARBY_GEOFENCES)
}

function timeOf(body: TrackBody, replayed: boolean, receivedAt: number, at: string): number | undefined {
  let time: number
  let param: string
  if (replayed && body.updatedAtMs !== undefined) {
    param = `${at}updatedAtMs`
    time = parseDate(param, body.updatedAtMs)
  } else if (body.updatedAt !== undefined) {
    param = `${at}updatedAt`
    time = parseDate(param, body.updatedAt)
  } else {
    // The age does not depend on the device's clock. An invalid age is ignored.
    const age = body.updatedAtMsDiff
    return age !== undefined && age >= 0 && age <= DAY_MS ? receivedAt - Math.round(age) : undefined
  }
  return notFarAhead(param, time, receivedAt)
}

/**
 * Checks a time.
 * @throws {ApiError} 400 for a time that cannot come from a clock that is merely wrong
 */
export function notFarAhead(param: string, time: number, receivedAt: number): number {
  if (time > receivedAt + DAY_MS) throw badParam(param, 'Must not be more than 24 hours in the future.')
  return time
}
