import type { DeviceTable } from '../actor/deviceTable.ts'
import type { Partition } from '../actor/partition.ts'
import type { InsideGeofence, UserList, UserOrder, UsersNear } from '../actor/port.ts'
import { locateUserRecord, type StoreSalt } from '../events/ids.ts'
import { isMeantFor } from '../rules/geofenceRules.ts'
import { pointDistance } from '../geometry/distance.ts'
import type { Profile } from '../model/device.ts'
import { metadataMatcher } from '../model/metadata.ts'
import { shownStay } from '../model/place.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Settings } from '../model/settings.ts'
import { TopK } from './topK.ts'

/**
 * Questions about users, answered by scanning the columns of the partitions' tables.
 *
 * The obvious way keeps an index of moving positions and of times, which every update must change: tens of thousands
 * of changes a second for a few questions a minute. A scan of the columns examines a million devices in milliseconds
 * and costs an update nothing.
 *
 * To be called between batches (`ActorHost.read`), so that they see committed state. Scans go in steps, between which
 * there may be batches: a record that moves meanwhile is found where it was or where it is.
 */

/** The partitions of one host, ascending by number, or only some of them. */
export interface Devices {
  readonly partitions: readonly Partition[]
  /** The partition of the device, if it is one of these. */
  partitionOf(deviceId: string): Partition
}

/** The position of one record. */
export interface UserRow {
  readonly partition: Partition
  readonly row: number
  /** A time in epoch milliseconds that shows later whether the row still has this record. */
  readonly createdAt: number
}

function userRow(partition: Partition, row: number): UserRow {
  return { partition, row, createdAt: partition.table.createdAt(row) }
}

/** Whether the row still has the same record. */
export function isThere({ partition, row, createdAt }: UserRow): boolean {
  return partition.table.exists(row) && partition.table.createdAt(row) === createdAt
}

/** How many rows a scan examines in one step, which takes a fraction of a millisecond. */
const ROWS_A_STEP = 512

/** The same number if each row may have to be unpacked. */
const UNPACKED_A_STEP = 64

/** Whether a scan pauses at a row. */
function isStep(row: number, rows = ROWS_A_STEP): boolean {
  return row % rows === rows - 1
}

/**
 * A page of at most this many rows, and one more that shows that there are others. Several scans may fill it at the same
 * time: rows with equal keys are in the order of partitions and rows.
 */
export function emptyPage(limit: number): TopK<UserRow> {
  return new TopK(limit + 1, isRowBefore)
}

function isRowBefore(one: UserRow, other: UserRow): boolean {
  if (one.partition !== other.partition) return one.partition.number < other.partition.number
  return one.row < other.row
}

/** The rows of one answer, and whether there are more. */
export interface UserPage {
  readonly users: readonly UserRow[]
  readonly hasMore: boolean
  readonly total?: number
}

/** The record with this `_id`. */
export function findUserRecord(
  devices: Devices,
  salt: StoreSalt,
  scope: ScopeId,
  id: string,
): UserRow | undefined {
  const place = locateUserRecord(salt, id)
  const partition = place && devices.partitions.find(({ number }) => number === place.partition)
  if (!partition?.table.exists(place!.row) || partition.table.scope(place!.row) !== scope) return undefined
  return partition.table.peek(place!.row).id === id ? userRow(partition, place!.row) : undefined
}

/** The record with this `_id`, userId or deviceId. If there are several, it is the first by {@link latestFirst}. */
export function findUser(devices: Devices, salt: StoreSalt, scope: ScopeId, id: string): UserRow | undefined {
  let found: UserRow | undefined
  const consider = (partition: Partition, row: number) => {
    found = later(found, userRow(partition, row))
  }
  const record = findUserRecord(devices, salt, scope, id)
  if (record !== undefined) consider(record.partition, record.row)
  const home = devices.partitionOf(id)
  for (let row = home.table.firstOf(scope, id); row >= 0; row = home.table.nextOf(row)) consider(home, row)
  for (const each of devices.partitions)
    for (const row of each.table.rowsOfUser(scope, id)) consider(each, row)
  return found
}

/** The record of the device that the user was last seen on. */
export function lastOfUser(devices: Devices, scope: ScopeId, userId: string): UserRow | undefined {
  let found: UserRow | undefined
  for (const partition of devices.partitions)
    for (const row of partition.table.rowsOfUser(scope, userId)) found = later(found, userRow(partition, row))
  return found
}

function later(one: UserRow | undefined, other: UserRow): UserRow {
  return one === undefined || isBefore(latestFirst(other), latestFirst(one)) ? other : one
}

/**
 * The order for choosing one record: the one that was updated last, then the one that was received last, then the
 * newest.
 */
export function latestFirst({ partition, row }: UserRow): readonly number[] {
  const { table } = partition
  return [-table.updatedAt(row), -table.receivedAt(row), -table.createdAt(row), partition.number, row]
}

/** The order of lists. */
export function listOrder({ sortBy, isAscending }: UserOrder = {}): (user: UserRow) => readonly number[] {
  const sign = isAscending === true ? 1 : -1
  return ({ partition: { table, number }, row }) => [
    sign * (sortBy === 'updatedAt' ? table.updatedAt(row) : table.createdAt(row)),
    number,
    row,
  ]
}

/** The order for users in an area: newest first by their last update. */
export function lastMovedFirst({ partition, row }: UserRow): readonly number[] {
  return [-partition.table.updatedAt(row), partition.number, row]
}

/** The order for users near a point: nearest first. */
export function nearestFirst(
  { latitude, longitude }: UsersNear,
  { partition, row }: UserRow,
): readonly number[] {
  const { table } = partition
  const distance = pointDistance(latitude, longitude, table.latitude(row), table.longitude(row))
  return [distance, partition.number, row]
}

/** Whether one order comes before another of the same kind. */
export function isBefore(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((number, i) => number !== other[i])
  return at >= 0 && one[at]! < other[at]!
}

/**
 * Records in the order of {@link listOrder}.
 * @param settings those of the scope
 */
export function* listUsers(
  devices: Devices,
  scope: ScopeId,
  query: UserList,
  settings: Settings,
  page = new TopK<UserRow>(query.limit + 1),
): Generator<void, UserPage> {
  const { userId, deviceId, after, text, wantsTotal = false } = query
  const { createdBefore = Infinity, createdAfter = -Infinity } = query
  const { updatedBefore = Infinity, updatedAfter = -Infinity } = query
  // These are the numbers of listOrder, without an array for each row.
  const [afterKey = -Infinity, afterPartition = -1, afterRow = -1] = after ?? []
  const sign = query.isAscending === true ? 1 : -1
  const isByUpdate = query.sortBy === 'updatedAt'
  const hasText = text === undefined ? undefined : textMatcher(text)
  const belongs = belonging(query, settings)
  const stepRows = hasText === undefined && belongs === undefined ? ROWS_A_STEP : UNPACKED_A_STEP
  let total = 0
  const consider = (partition: Partition, row: number) => {
    const { table, number } = partition
    if (table.scope(row) !== scope) return
    const updatedAt = table.updatedAt(row)
    const createdAt = table.createdAt(row)
    if (createdAt >= createdBefore || createdAt <= createdAfter) return
    if (updatedAt >= updatedBefore || updatedAt <= updatedAfter) return
    const key = sign * (isByUpdate ? updatedAt : createdAt)
    const isAfter =
      key === afterKey
        ? number > afterPartition || (number === afterPartition && row > afterRow)
        : key > afterKey
    const isOnPage = isAfter && page.wants(key)
    // Unpacking is expensive, so records that are neither shown nor counted are skipped.
    if (!isOnPage && !wantsTotal) return
    if (hasText !== undefined && !hasText(table.peek(row))) return
    if (belongs !== undefined && !belongs(table, row)) return
    total++
    if (isOnPage) page.offer(key, userRow(partition, row))
  }
  for (const partition of devices.partitions) {
    const { table } = partition
    if (userId === undefined && deviceId === undefined) {
      for (let row = 0; row < table.length; row++) {
        if (isStep(row, stepRows)) yield
        consider(partition, row)
      }
    } else {
      for (const row of rowsNamed(table, scope, userId, deviceId)) consider(partition, row)
    }
  }
  const rows = page.items()
  const found = { users: rows.slice(0, query.limit), hasMore: rows.length > query.limit }
  return wantsTotal ? { ...found, total } : found
}

function textMatcher(text: string): (profile: Profile) => boolean {
  const wanted = text.toLowerCase()
  return ({ userId, deviceId, description }) =>
    [userId, deviceId, description].some((one) => one?.toLowerCase().includes(wanted))
}

/** Whether a row is in the place and the segment of a question, as its user shows them; undefined if it asks for none. */
function belonging(
  { placeId, segment }: UserList,
  settings: Settings,
): ((table: DeviceTable, row: number) => boolean) | undefined {
  if (placeId === undefined && segment === undefined) return undefined
  const bytes = placeId === undefined ? undefined : Buffer.from(placeId)
  const numbers = settings.segments
    .filter(({ externalId }) => externalId === segment)
    .map(({ number }) => number)
  if (segment !== undefined && numbers.length === 0) return () => false
  return (table, row) => {
    // Most idle profiles need not be unpacked.
    if (bytes !== undefined && !table.mayMention(row, bytes)) return false
    if (segment !== undefined && !table.mayBeInSegment(row)) return false
    const { places, segments } = table.peek(row)
    if (placeId !== undefined && shownStay(places, settings)?.place.id !== placeId) return false
    return segment === undefined || numbers.some((number) => segments.members.includes(number))
  }
}

/** The rows of a user, of a device, or of the user on the device, ascending. */
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

/** The shortest degree of latitude in metres. A box that is computed with it contains the circle. */
const SHORTEST_DEGREE_METERS = 110_500

/** Records whose last location is within the radius, in the order of {@link nearestFirst}. */
export function* usersNear(
  devices: Devices,
  scope: ScopeId,
  near: UsersNear,
  page = new TopK<UserRow>(near.limit + 1),
): Generator<void, UserPage> {
  const { latitude, longitude, radiusMeters, metadata, limit } = near
  const { updatedAfter = -Infinity, maxAccuracy = Infinity } = near
  const isWanted = metadata && metadataMatcher(metadata)
  const latitudeReach = radiusMeters / SHORTEST_DEGREE_METERS
  const low = latitude - latitudeReach
  const high = latitude + latitudeReach
  // The parallel of the box that is nearest to a pole has the shortest degrees of longitude.
  const poleward = Math.min(90, Math.max(Math.abs(low), Math.abs(high)))
  const cosine = Math.cos((poleward * Math.PI) / 180)
  const longitudeReach = cosine < 0.001 ? 360 : latitudeReach / cosine
  for (const partition of devices.partitions) {
    const { table } = partition
    for (let row = 0; row < table.length; row++) {
      if (isStep(row)) yield
      if (table.scope(row) !== scope) continue
      const lat = table.latitude(row)
      if (lat < low || lat > high || table.updatedAt(row) <= updatedAfter) continue
      // An unknown accuracy is NaN, and passes this check.
      if (table.accuracy(row) > maxAccuracy) continue
      const turn = Math.abs(table.longitude(row) - longitude)
      if (Math.min(turn, 360 - turn) > longitudeReach) continue
      const distance = pointDistance(latitude, longitude, lat, table.longitude(row))
      if (distance > radiusMeters || !page.wants(distance)) continue
      if (isWanted !== undefined && !isWanted(table.peek(row).metadata)) continue
      page.offer(distance, userRow(partition, row))
    }
  }
  const users = page.items()
  return { users: users.slice(0, limit), hasMore: users.length > limit }
}

/** Records that are in the geofence now, in the order of {@link lastMovedFirst}. */
export function usersIn(
  devices: Devices,
  scope: ScopeId,
  geofence: InsideGeofence,
  limit: number,
  page?: TopK<UserRow>,
): Generator<void, UserPage> {
  return latestUsers(
    devices,
    scope,
    geofence.id,
    limit,
    ({ visits, userId }) =>
      visits.some((visit) => visit.geofenceId === geofence.id) && isMeantFor(geofence, userId),
    page,
  )
}

/** Records that are in range of the beacon now, in the order of {@link lastMovedFirst}. */
export function usersInRange(
  devices: Devices,
  scope: ScopeId,
  beaconId: string,
  limit: number,
  page?: TopK<UserRow>,
): Generator<void, UserPage> {
  const accept = ({ beacons }: Profile) => beacons.some((visit) => visit.beaconId === beaconId)
  return latestUsers(devices, scope, beaconId, limit, accept, page)
}

/** Records that contain the id and are accepted, in the order of {@link lastMovedFirst}. */
function* latestUsers(
  devices: Devices,
  scope: ScopeId,
  id: string,
  limit: number,
  accept: (profile: Profile) => boolean,
  page = new TopK<UserRow>(limit + 1),
): Generator<void, UserPage> {
  const bytes = Buffer.from(id)
  for (const partition of devices.partitions) {
    const { table } = partition
    for (let row = 0; row < table.length; row++) {
      if (isStep(row)) yield
      const key = -table.updatedAt(row)
      if (table.scope(row) !== scope || !page.wants(key)) continue
      if (table.mayMention(row, bytes) && accept(table.peek(row))) page.offer(key, userRow(partition, row))
    }
  }
  const rows = page.items()
  return { users: rows.slice(0, limit), hasMore: rows.length > limit }
}
