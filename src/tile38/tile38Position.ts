import type { LivePosition } from '../actor/port.ts'
import { decimalOf } from '../model/decimal.ts'
import { deviceHash as textHash } from '../model/deviceHash.ts'
import type { Metadata, WantedMetadata } from '../model/metadata.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Tile38Command, Tile38Reply } from './tile38Port.ts'
import type { Tile38Keys } from './tile38Texts.ts'

/**
 * A device in Tile38: a point with fields, by which Tile38 itself selects before it returns anything.
 *
 * | field | value |
 * |---|---|
 * | `recordId`, `userId` | the id after `=`, because Tile38 would read some ids as numbers and cut others |
 * | `accuracy` | metres; {@link UNKNOWN} if it is not known |
 * | `updatedAt` | epoch milliseconds |
 * | `records` | what watches filter by, as JSON after `=`: the user's metadata, and the ids of the geofences that the device is in |
 * | `m…` | for each key of the user's metadata, named by its hash: the hash of the value's text |
 */

/** The value that stands for an unknown accuracy. Tile38 does not store 0, and returns no field for it. */
const UNKNOWN = -1
/** Words after the key of a search that mean that there is no lower, or no upper, limit. */
const NO_LEAST = '-inf'
const NO_MOST = '+inf'

/** The command that writes a position for its device, whose id in the collection is given. */
export function positionCommand(keys: Tile38Keys, id: string, position: LivePosition): Tile38Command {
  const { scope, recordId, userId, latitude, longitude, accuracy, updatedAt, metadata, geofenceIds } =
    position
  return [
    'SET',
    keys.devices(scope),
    id,
    ...field('recordId', idText(recordId)),
    ...(userId === undefined ? [] : field('userId', idText(userId))),
    ...field('accuracy', `${Number.isNaN(accuracy) ? UNKNOWN : accuracy}`),
    ...field('updatedAt', `${updatedAt}`),
    ...(geofenceIds === undefined
      ? []
      : field('records', idText(JSON.stringify([metadata ?? null, geofenceIds])))),
    ...metadataFields(metadata),
    'POINT',
    `${latitude}`,
    `${longitude}`,
  ]
}

/** Which positions are wanted. Tile38's answer contains all that match, and perhaps others. */
export interface WantedPositions {
  /** Positions that were updated later than this, in epoch milliseconds. */
  readonly updatedAfter?: number | undefined
  /** In metres. Positions with an unknown accuracy match. */
  readonly maxAccuracy?: number | undefined
  readonly metadata?: WantedMetadata | undefined
  /** Positions of one of these users. */
  readonly userIds?: readonly string[] | undefined
}

/** The words of a search for such positions. */
export function wantedWords({ updatedAfter, maxAccuracy, metadata, userIds }: WantedPositions): string[] {
  const words: string[] = []
  if (updatedAfter !== undefined) words.push('WHERE', 'updatedAt', `(${updatedAfter}`, NO_MOST)
  if (maxAccuracy !== undefined) words.push('WHERE', 'accuracy', NO_LEAST, `${maxAccuracy}`)
  if (userIds !== undefined) words.push('WHEREIN', 'userId', `${userIds.length}`, ...userIds.map(idText))
  for (const [key, text] of Object.entries(metadata ?? {})) {
    const number = decimalOf(text)
    const texts = Number.isNaN(number) ? [text] : [text, String(number)]
    words.push('WHEREIN', metadataField(key), `${texts.length}`, ...texts.map(valueHash))
  }
  return words
}

/** The fields of a position by name. The values are in the form in which Tile38 returns them. */
type Fields = Readonly<Record<string, string | number | undefined>>

/** The position in an entry of a search for POINTS: `[id, [latitude, longitude], [field, value, …]]`. */
export function readPoint(
  scope: ScopeId,
  deviceId: string,
  [, point, fields]: readonly Tile38Reply[],
): LivePosition | undefined {
  return readReply(scope, deviceId, [point ?? null, fields ?? null])
}

/** The position in the reply to GET with WITHFIELDS and POINT; undefined if there is none. */
export function readReply(
  scope: ScopeId,
  deviceId: string,
  reply: Tile38Reply | undefined,
): LivePosition | undefined {
  const [point, names] = (reply ?? []) as readonly Tile38Reply[]
  if (!Array.isArray(point)) return undefined
  const fields: Record<string, string> = {}
  if (Array.isArray(names))
    for (let i = 0; i + 1 < names.length; i += 2) fields[String(names[i])] = String(names[i + 1])
  return positionOf(scope, deviceId, Number(point[0]), Number(point[1]), fields)
}

/** The object and the fields of a message of a fence. */
export interface FencedPosition {
  readonly object?: { readonly type?: string; readonly coordinates?: readonly number[] }
  readonly fields?: Fields
}

/** The position in a message of a fence; undefined if this program did not write it. */
export function readFenced(
  scope: ScopeId,
  deviceId: string,
  { object, fields = {} }: FencedPosition,
): LivePosition | undefined {
  const [longitude = NaN, latitude = NaN] = object?.coordinates ?? []
  return positionOf(scope, deviceId, latitude, longitude, fields)
}

function positionOf(
  scope: ScopeId,
  deviceId: string,
  latitude: number,
  longitude: number,
  { recordId, userId, accuracy = 0, updatedAt, records }: Fields,
): LivePosition | undefined {
  if (Number.isNaN(latitude) || Number.isNaN(longitude) || recordId === undefined) return undefined
  return {
    scope,
    deviceId,
    recordId: String(recordId).slice(1),
    userId: userId === undefined ? undefined : String(userId).slice(1),
    latitude,
    longitude,
    accuracy: Number(accuracy) === UNKNOWN ? NaN : Number(accuracy),
    updatedAt: Number(updatedAt),
    ...(records !== undefined && recordsOf(String(records).slice(1))),
  }
}

function recordsOf(text: string): Pick<LivePosition, 'metadata' | 'geofenceIds'> {
  const [metadata, geofenceIds] = JSON.parse(text) as [Metadata | null, readonly string[]]
  return { metadata: metadata ?? undefined, geofenceIds }
}

function field(name: string, value: string): string[] {
  return ['FIELD', name, value]
}

/** An id as text. Tile38 reads it as JSON, so that nothing of it is lost. */
function idText(id: string): string {
  return JSON.stringify(`=${id}`)
}

function metadataFields(metadata: Metadata | undefined): string[] {
  if (metadata === undefined) return []
  return Object.entries(metadata).flatMap(([key, value]) =>
    field(metadataField(key), valueHash(String(value))),
  )
}

function metadataField(key: string): string {
  return `m${textHash(key).toString(36)}`
}

/** The hash of a value. It is never 0, because Tile38 does not store that. */
function valueHash(text: string): string {
  return `${textHash(text) + 1}`
}
