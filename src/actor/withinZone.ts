import type { Update } from '../model/update.ts'
import { evaluatedAccuracy } from '../geometry/confidence.ts'
import { maySuspect } from '../rules/fraud.ts'
import type { ScopeView } from '../rules/port.ts'
import { ZONE, type ZonesLeft } from '../rules/safeZone.ts'
import type { DeviceTable } from './deviceTable.ts'
import { movedFromZone, needsNoZone } from './passing.ts'
import { isInNewestStream, saysNothingNew } from './profile.ts'

/** Tells which updates change nothing, or only a part of the device, because it is still within its zones. */

const NO_BEACONS: NonNullable<Update['beacons']> = []

/**
 * Whether the update leaves everything as it is, because its device is still within its safe zone.
 * @param repeats whether the update has the same data about the device as the last one
 */
export function isWithinZone(
  table: DeviceTable,
  row: number,
  update: Update,
  view: ScopeView,
  time: number,
  repeats: boolean,
): boolean {
  const radius = table.zoneRadius(row)
  if (radius === 0 || table.zoneRevision(row) !== view.revision) return false
  if (update.beacons !== undefined && update.beacons.length > 0) return false
  if (time > table.zoneUntil(row) || update.receivedAt >= table.zoneUntilReceived(row)) return false
  if (evaluatedAccuracy(update.accuracy) > table.zoneAccuracy(row)) return false
  if ((update.stopped || update.foreground) && table.isZoneOnlyMoving(row)) return false
  if (movedFromZone(table, row, update) > radius) return false
  if (mayBeSuspect(table, row, update, view)) return false
  if (repeats) return true
  const profile = table.activeProfile(row)
  return isInNewestStream(profile, update) && saysNothingNew(profile, update)
}

/** Whether the update looks like one that was made up, so that all of it must be evaluated. */
export function mayBeSuspect(
  table: DeviceTable,
  row: number,
  update: Update,
  { settings }: ScopeView,
): boolean {
  const { fraud } = settings
  if (!fraud.enabled) return false
  return maySuspect(update, fraud, table.latitude(row), table.longitude(row), table.zoneCosine(row))
}

/** What is left of the zones by kind for an update that has left its device's zone; undefined if nothing is. */
export function zonesLeft(
  table: DeviceTable,
  row: number,
  update: Update,
  view: ScopeView,
  time: number,
  repeats: boolean,
): ZonesLeft | undefined {
  if (!table.kindZones.areUsed || table.zoneRevision(row) !== view.revision) return undefined
  const { beacons = NO_BEACONS } = update
  const moved = movedFromZone(table, row, update)
  const mayPass = needsNoZone(table, row, update, moved)
  const left = table.kindZones.left(row, moved, time, update, mayPass)
  if (left === undefined || mayBeSuspect(table, row, update, view)) return undefined
  if (!repeats && !saysNothingNew(table.activeProfile(row), update)) return undefined
  return beacons.length === 0 ? left : left.with(ZONE.geofences, undefined)
}
