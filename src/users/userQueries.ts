import type { DeviceTable } from '../actor/deviceTable.ts'
import type { ActorHost } from '../actor/host.ts'
import type { Partition } from '../actor/partition.ts'
import { locateUserRecord, type StoreSalt } from '../events/ids.ts'
import { isMeantFor } from '../events/transitions.ts'
import { pointDistance } from '../geometry/distance.ts'
import type { Beacon } from '../model/beacon.ts'
import type { Profile } from '../model/device.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import type { ScopeId } from '../model/scope.ts'
import { Lowest } from './lowest.ts'

/**
 * Questions about users, answered by scanning the columns of the partitions' tables.
 *
 * The naive way keeps an index of moving positions and of times, which every update must change: tens of thousands of
 * changes a second for a few questions a minute. A scan of the columns looks at a million devices in milliseconds and
 * costs an update nothing.
 *
 * To be called between batches (`ActorHost.read`), so that they see committed state.
 */

/** One record, where it lies. */
export interface UserRow {
  readonly partition: Partition
  readonly row: number
}

/** Rows of one answer, and whether there are more. */
export interface UserPage {
  readonly users: readonly UserRow[]
  readonly hasMore: boolean
}

/** Bounds are exclusive, epoch milliseconds. */
export interface UserQuery {
  readonly userId?: string | undefined
  readonly deviceId?: string | undefined
  /** The record after which the page begins. */
  readonly before?: UserRow | undefined
  readonly createdBefore?: number | undefined
  readonly createdAfter?: number | undefined
  readonly updatedBefore?: number | undefined
  readonly updatedAfter?: number | undefined
  readonly limit: number
}

/** The record with this `_id`. */
export function findUserRecord(
  host: ActorHost,
  salt: StoreSalt,
  scope: ScopeId,
  id: string,
): UserRow | undefined {
  const place = locateUserRecord(salt, id)
  const partition = place && host.partitions[place.partition]
  if (!partition?.table.exists(place!.row) || partition.table.scope(place!.row) !== scope) return undefined
  return partition.table.peek(place!.row).id === id ? { partition, row: place!.row } : undefined
}

/** The record with this `_id`, userId or deviceId; of several, the latest updated. */
export function findUser(host: ActorHost, salt: StoreSalt, scope: ScopeId, id: string): UserRow | undefined {
  let found: UserRow | undefined
  const consider = (partition: Partition, row: number) => {
    const { table } = partition
    if (found === undefined || table.updatedAt(row) > found.partition.table.updatedAt(found.row))
      found = { partition, row }
  }
  const record = findUserRecord(host, salt, scope, id)
  if (record !== undefined) consider(record.partition, record.row)
  const home = host.partitionOf(id)
  for (let row = home.table.firstOf(scope, id); row >= 0; row = home.table.nextOf(row)) consider(home, row)
  for (const each of host.partitions) for (const row of each.table.rowsOfUser(scope, id)) consider(each, row)
  return found
}

/** Records, newest first by creation; those of one time by partition and row. */
export function listUsers(host: ActorHost, scope: ScopeId, query: UserQuery): UserPage {
  const { userId, deviceId, before } = query
  const { createdBefore = Infinity, createdAfter = -Infinity } = query
  const { updatedBefore = Infinity, updatedAfter = -Infinity } = query
  const page = new Lowest<UserRow>(query.limit + 1)
  const lastCreatedAt = before === undefined ? Infinity : before.partition.table.createdAt(before.row)
  const lastPartition = before === undefined ? -1 : host.partitions.indexOf(before.partition)
  const lastRow = before?.row ?? -1
  const consider = (partition: Partition, at: number, row: number) => {
    const { table } = partition
    if (table.scope(row) !== scope) return
    const updatedAt = table.updatedAt(row)
    const createdAt = table.createdAt(row)
    if (createdAt > lastCreatedAt || createdAt >= createdBefore || createdAt <= createdAfter) return
    if (createdAt === lastCreatedAt && (at < lastPartition || (at === lastPartition && row <= lastRow)))
      return
    if (updatedAt >= updatedBefore || updatedAt <= updatedAfter) return
    if (page.wants(-createdAt)) page.offer(-createdAt, { partition, row })
  }
  for (const [at, partition] of host.partitions.entries()) {
    const { table } = partition
    if (userId === undefined && deviceId === undefined) {
      for (let row = 0; row < table.length; row++) consider(partition, at, row)
    } else {
      for (const row of rowsNamed(table, scope, userId, deviceId)) consider(partition, at, row)
    }
  }
  const rows = page.items()
  return { users: rows.slice(0, query.limit), hasMore: rows.length > query.limit }
}

/** The rows of a user, of a device, or of the user on the device; ascending. */
function rowsNamed(
  table: DeviceTable,
  scope: ScopeId,
  userId: string | undefined,
  deviceId: string | undefined,
): number[] {
  const rows: number[] = []
  if (deviceId !== undefined) {
    for (let row = table.firstOf(scope, deviceId); row >= 0; row = table.nextOf(row)) {
      if (userId === undefined || table.peek(row).userId === userId) rows.push(row)
    }
  } else if (userId !== undefined) {
    for (const row of table.rowsOfUser(scope, userId)) rows.push(row)
  }
  return rows.sort((a, b) => a - b)
}

/** Metres of one degree of latitude, at the least: a box of this measure holds the circle. */
const SHORTEST_DEGREE_METERS = 110_500

/** Records whose last location lies within the radius, nearest first. */
export function usersNear(
  host: ActorHost,
  scope: ScopeId,
  latitude: number,
  longitude: number,
  radiusMeters: number,
  limit: number,
  accept: (profile: Profile) => boolean,
): UserRow[] {
  const page = new Lowest<UserRow>(limit)
  const latitudeReach = radiusMeters / SHORTEST_DEGREE_METERS
  const low = latitude - latitudeReach
  const high = latitude + latitudeReach
  // The parallel of the box that is nearest to a pole has the shortest degrees of longitude.
  const poleward = Math.min(90, Math.max(Math.abs(low), Math.abs(high)))
  const cosine = Math.cos((poleward * Math.PI) / 180)
  const longitudeReach = cosine < 0.001 ? 360 : latitudeReach / cosine
  for (const partition of host.partitions) {
    const { table } = partition
    for (let row = 0; row < table.length; row++) {
      if (table.scope(row) !== scope) continue
      const lat = table.latitude(row)
      if (lat < low || lat > high) continue
      const turn = Math.abs(table.longitude(row) - longitude)
      if (Math.min(turn, 360 - turn) > longitudeReach) continue
      const distance = pointDistance(latitude, longitude, lat, table.longitude(row))
      if (distance > radiusMeters || !page.wants(distance) || !accept(table.peek(row))) continue
      page.offer(distance, { partition, row })
    }
  }
  return page.items()
}

/** Records that are in the geofence now, newest first by their last update. */
export function usersIn(host: ActorHost, geofence: GeofenceProperties, limit: number): UserPage {
  return latestUsers(
    host,
    geofence.scope,
    geofence.id,
    limit,
    ({ visits, userId }) =>
      visits.some((visit) => visit.geofenceId === geofence.id) && isMeantFor(geofence, userId),
  )
}

/** Records that are in range of the beacon now, newest first by their last update. */
export function usersInRange(host: ActorHost, beacon: Beacon, limit: number): UserPage {
  return latestUsers(host, beacon.scope, beacon.id, limit, ({ beacons }) =>
    beacons.some((visit) => visit.beaconId === beacon.id),
  )
}

/** Records that name the id and are accepted, newest first by their last update. */
function latestUsers(
  host: ActorHost,
  scope: ScopeId,
  id: string,
  limit: number,
  accept: (profile: Profile) => boolean,
): UserPage {
  const page = new Lowest<UserRow>(limit + 1)
  const bytes = Buffer.from(id)
  for (const partition of host.partitions) {
    const { table } = partition
    for (let row = 0; row < table.length; row++) {
      const key = -table.updatedAt(row)
      if (table.scope(row) !== scope || !page.wants(key)) continue
      if (table.mayMention(row, bytes) && accept(table.peek(row))) page.offer(key, { partition, row })
    }
  }
  const rows = page.items()
  return { users: rows.slice(0, limit), hasMore: rows.length > limit }
}
