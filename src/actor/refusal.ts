import type { GeofenceProperties } from '../model/geofence.ts'
import { Barred } from '../rules/countries.ts'
import { Unready } from '../rules/unready.ts'
import { countryBarred, countryUnknown } from '../runtime/countryErrors.ts'
import { ApiError } from '../runtime/errors.ts'

/** Why a partition does not apply an update. */

/** The device has sent more than its rate allows; nothing was changed. */
export const RATE_LIMITED: unique symbol = Symbol('rate limited')
/** The device has {@link MAX_RECORDS} records already; nothing was changed. */
export const TOO_MANY_RECORDS: unique symbol = Symbol('too many records')
/** There is no room for a new record; nothing was changed. */
export const NO_ROOM_FOR_RECORD: unique symbol = Symbol('no room for a record')
/** There is no room for more text in a record; nothing was changed. */
export const NO_ROOM_FOR_TEXT: unique symbol = Symbol('no room for text')
/** The events of the update would exceed {@link MAX_EVENT_CHARACTERS}; nothing was changed. */
export const TOO_MANY_EVENTS: unique symbol = Symbol('too many events')

/** Updates from the update's country are refused; nothing was changed. */
const COUNTRY_BARRED: unique symbol = Symbol('country barred')
/** The update's country is not known, and only some countries are accepted; nothing was changed. */
const COUNTRY_UNKNOWN: unique symbol = Symbol('country unknown')
/** Too much waits for the trips of the device; nothing was changed. */
export const FEED_FULL: unique symbol = Symbol('feed full')

/**
 * The update makes so many events that it must wait behind the updates of others. Geofence texts that are missing are
 * written meanwhile. Nothing was changed.
 */
export class Unwritten extends Unready {
  /** The geofences whose texts are needed, as they are in the index of the update's scope. */
  readonly geofences: readonly GeofenceProperties[]

  constructor(geofences: readonly GeofenceProperties[]) {
    super()
    this.geofences = geofences
  }
}

/** Refusals that the sender of the update is told. */
type Refused =
  | typeof RATE_LIMITED
  | typeof TOO_MANY_EVENTS
  | typeof TOO_MANY_RECORDS
  | typeof NO_ROOM_FOR_RECORD
  | typeof NO_ROOM_FOR_TEXT
  | typeof COUNTRY_BARRED
  | typeof COUNTRY_UNKNOWN
  | typeof FEED_FULL

/** Why an update was not applied. */
export type Refusal = Refused | Unready

/** The refusal of an update that could not be evaluated. */
export function refusalOf(unready: Unready): Exclude<Refusal, typeof RATE_LIMITED> {
  if (unready instanceof Barred) return unready.isCertain ? COUNTRY_BARRED : COUNTRY_UNKNOWN
  return unready
}

/**
 * How many user records a device may have. Each of its updates goes through all of them, and no real device has so
 * many.
 */
export const MAX_RECORDS = 1000

/**
 * The bound of one update's events together, in characters of their JSON. Each repeats the user's metadata, so one
 * update with much metadata in thousands of geofences would otherwise be a frame that no log accepts.
 */
export const MAX_EVENT_CHARACTERS = 32 * 1024 * 1024

export function errorOf(refused: Refused): ApiError {
  if (refused === RATE_LIMITED) return tooFast()
  if (refused === FEED_FULL)
    return new ApiError(503, 'Too many updates wait for the trips of this device. Try again.', {
      retryAfter: 1,
    })
  if (refused === COUNTRY_BARRED) return countryBarred()
  if (refused === COUNTRY_UNKNOWN) return countryUnknown()
  if (refused === NO_ROOM_FOR_RECORD) return noRoom('deviceId', 'No room for another user')
  if (refused === NO_ROOM_FOR_TEXT) return noRoom('metadata', 'No room for more data about this user')
  return refused === TOO_MANY_EVENTS ? tooManyEvents() : tooManyRecords()
}

/** An error for a lack of room. Its code is not 503, which would mean that the same update may succeed at once. */
function noRoom(param: string, what: string): ApiError {
  const sentence = `${param}: ${what}: the users of this environment or server take as much memory as they may (deviceBytes).`
  return new ApiError(429, sentence, { param, retryAfter: 60 })
}

function tooManyEvents(): ApiError {
  const sentence =
    'metadata: The many events of this update would be too large together: each repeats the metadata of the user ' +
    'and of its geofence.'
  return new ApiError(400, sentence, { param: 'metadata' })
}

function tooManyRecords(): ApiError {
  return new ApiError(400, `userId: This device has already had ${MAX_RECORDS} users, which is the limit.`, {
    param: 'userId',
  })
}

function tooFast(): ApiError {
  return new ApiError(429, 'Rate limit exceeded: 1 update per second and device.', {
    param: 'deviceId',
    type: 'second',
    retryAfter: 1,
  })
}
