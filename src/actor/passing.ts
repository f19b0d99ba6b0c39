import { evaluatedAccuracy } from '../geometry/confidence.ts'
import type { Place } from '../model/place.ts'
import type { Update } from '../model/update.ts'
import { EVALUATE, firstPast } from '../rules/places.ts'
import type { ScopeView } from '../rules/port.ts'
import { movedMeters } from '../rules/safeZone.ts'
import type { DeviceTable } from './deviceTable.ts'
import { isInNewestStream, saysNothingNew } from './profile.ts'

/**
 * Updates of devices that go past places. They have left the zone in which the first candidate stays the first, but are within
 * their passing zone and those of all other kinds, so nothing else can change.
 */

/**
 * A device that moved less than this since its last update, in metres, is evaluated: it gets a zone again, and may stand there for
 * long. Only if its last zone there was smaller than this, a new one would not help.
 */
const LEAST_METERS = 2
/** How far from the point of its zone a device is still there, in metres. */
const THERE_METERS = 10

/**
 * The place that is the first candidate after such an update, as `firstPast` of rules/places.ts says.
 * @param time the time t
 * @param repeats whether the update has the same data about the device as the last one
 */
export function passedFirst(
  table: DeviceTable,
  row: number,
  update: Update,
  view: ScopeView,
  time: number,
  repeats: boolean,
): Place | undefined | typeof EVALUATE {
  const { kindZones } = table
  if (!kindZones.areUsed || table.zoneRevision(row) !== view.revision) return EVALUATE
  const { beacons } = update
  if (beacons !== undefined && beacons.length > 0) return EVALUATE
  const moved = movedFromZone(table, row, update)
  if (!kindZones.isPassing(row, moved, time, update)) return EVALUATE
  if (!needsNoZone(table, row, update, moved)) return EVALUATE
  if (!repeats) {
    const profile = table.activeProfile(row)
    if (!isInNewestStream(profile, update) || !saysNothingNew(profile, update)) return EVALUATE
  }
  return firstAfter(table, row, update, view, time)
}

/** The place that is the first candidate after an update that is within the passing zone of its device, as {@link passedFirst} says. */
export function firstAfter(
  table: DeviceTable,
  row: number,
  update: Update,
  view: ScopeView,
  time: number,
): Place | undefined | typeof EVALUATE {
  const { placesAside } = table
  const older = placesAside.olderOf(row)
  const { stay, first } = older ?? table.activeProfile(row).places
  return firstPast(
    stay,
    older === undefined ? first?.id : placesAside.firstOf(row),
    older === undefined ? (first?.since ?? time) : placesAside.sinceOf(row),
    view.atlas,
    update,
    time,
    evaluatedAccuracy(update.accuracy),
    view.settings,
  )
}

/** How far an update is from the point of its device's zone, in metres, as {@link movedMeters} says. */
export function movedFromZone(table: DeviceTable, row: number, { latitude, longitude }: Update): number {
  const cosine = table.zoneCosine(row)
  return movedMeters(table.zoneLatitude(row), table.zoneLongitude(row), cosine, latitude, longitude)
}

/**
 * Whether a zone would not last until the next update of the device.
 * @param moved the distance from the point of the device's zone in metres
 */
export function needsNoZone(
  table: DeviceTable,
  row: number,
  { latitude, longitude }: Update,
  moved: number,
): boolean {
  if (moved < THERE_METERS && table.kindZones.placesRadius(row) < LEAST_METERS) return true
  const cosine = table.zoneCosine(row)
  return movedMeters(table.latitude(row), table.longitude(row), cosine, latitude, longitude) >= LEAST_METERS
}
