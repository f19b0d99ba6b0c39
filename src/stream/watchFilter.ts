import Type from 'typebox'
import type { LivePosition } from '../actor/port.ts'
import { Name } from '../http/schemas.ts'
import type { Metadata } from '../model/metadata.ts'
import { checkMetadata, MetadataBody } from '../wire/metadataSchema.ts'
import type { WatchFilter } from './messages.ts'

/** How many items a list may have. */
const MAX_ITEMS = 1000
/** The memory of an item besides its characters. */
const ITEM_BYTES = 100

const Items = Type.Optional(Type.Array(Name(256), { minItems: 1, maxItems: MAX_ITEMS }))

/** Other members are refused, because a misspelt name would mean all devices. */
export const WatchFilterSchema = Type.Object(
  { tags: Items, userIds: Items, metadata: Type.Optional(MetadataBody) },
  { additionalProperties: false },
)

/** What a test reads of a position. */
export type TestedPosition = Pick<LivePosition, 'userId' | 'metadata' | 'geofenceIds'>

/** Tells which devices are wanted. Each part that is present must match. */
export interface DeviceTest {
  /** Whether it reads `metadata` and `geofenceIds` of positions. */
  readonly readsRecords: boolean
  /** Whether the device is wanted; undefined if the position does not tell. */
  matches(position: TestedPosition): boolean | undefined
}

/**
 * Makes the test of a filter.
 * @param tagOf returns the tag of a geofence by its `_id`
 * @returns undefined if the filter wants all devices
 * @throws {ApiError} 400 naming the field
 */
export function deviceTest(
  { tags, userIds, metadata }: WatchFilter,
  tagOf: (geofenceId: string) => string | undefined,
): DeviceTest | undefined {
  checkMetadata('filter.metadata', metadata)
  const members = Object.entries(metadata ?? {})
  if (tags === undefined && userIds === undefined && members.length === 0) return undefined
  const wantedTags = tags && new Set(tags)
  const wantedUsers = userIds && new Set(userIds)
  return {
    readsRecords: tags !== undefined || members.length > 0,
    matches(position) {
      if (wantedUsers !== undefined) {
        const { userId } = position
        if (userId === undefined || !wantedUsers.has(userId)) return false
      }
      if (wantedTags === undefined && members.length === 0) return true
      const { geofenceIds } = position
      if (geofenceIds === undefined) return undefined
      if (wantedTags !== undefined && !geofenceIds.some((id) => wantedTags.has(tagOf(id)!))) return false
      return hasMembers(position.metadata, members)
    },
  }
}

function hasMembers(
  metadata: Metadata | undefined,
  members: readonly (readonly [string, unknown])[],
): boolean {
  if (members.length === 0) return true
  if (metadata === undefined) return false
  return members.every(([key, value]) => Object.hasOwn(metadata, key) && metadata[key] === value)
}

/** Approximate bytes that a filter takes in memory. */
export function watchFilterBytes({ tags = [], userIds = [], metadata = {} }: WatchFilter): number {
  const members = Object.entries(metadata).flatMap(([key, value]) => [key, String(value)])
  let bytes = 0
  for (const text of [...tags, ...userIds, ...members]) bytes += ITEM_BYTES + 2 * text.length
  return bytes
}
