import type { UserParts } from './port.ts'
import type { Profile } from '../model/device.ts'
import { isActive } from '../model/geofence.ts'
import { isoDate } from '../model/isoDate.ts'
import { isLive } from '../model/scope.ts'
import { beaconContext, geofenceContext, outlineIn } from '../events/record.ts'
import { isMeantFor } from '../rules/transitions.ts'
import type { ScopeView } from '../rules/port.ts'
import { FLAG_FOREGROUND, FLAG_STOPPED, type DeviceTable } from './deviceTable.ts'

/**
 * The public JSON of a user, in two parts: the head, which seldom changes and is kept beside an active device, and
 * the tail, which every update changes. Written by hand, because it is the reply to every update.
 */
export function userParts(table: DeviceTable, row: number, head: string): UserParts {
  const flags = table.flags(row)
  return {
    head,
    longitude: table.longitude(row),
    latitude: table.latitude(row),
    accuracy: table.accuracy(row),
    foreground: (flags & FLAG_FOREGROUND) !== 0,
    stopped: (flags & FLAG_STOPPED) !== 0,
    updatedAt: table.updatedAt(row),
    receivedAt: table.receivedAt(row),
  }
}

export function userJson(parts: UserParts): string {
  const { head, longitude, latitude, accuracy, foreground, stopped, updatedAt, receivedAt } = parts
  return (
    head +
    longitude +
    ',' +
    latitude +
    (accuracy === accuracy ? `]},"locationAccuracy":${accuracy},"foreground":` : ']},"foreground":') +
    foreground +
    ',"stopped":' +
    stopped +
    ',"updatedAt":"' +
    isoDate(updatedAt) +
    '","actualUpdatedAt":"' +
    isoDate(receivedAt) +
    '"}'
  )
}

/** Everything up to the coordinates; `now` is the server's time: what has expired by then is hidden. */
export function userHead(table: DeviceTable, row: number, view: ScopeView, now: number): string {
  const profile = table.profile(row)
  const head = JSON.stringify({
    _id: profile.id,
    live: isLive(table.scope(row)),
    userId: profile.userId,
    deviceId: profile.deviceId,
    description: profile.description,
    metadata: profile.metadata,
    deviceType: profile.deviceType,
    deviceOS: profile.deviceOS,
    deviceMake: profile.deviceMake,
    deviceModel: profile.deviceModel,
    source: profile.source,
    ip: profile.ip,
    createdAt: isoDate(profile.createdAt),
    geofences: currentGeofences(profile, view, now),
    beacons: currentBeacons(profile, view),
    segments: [],
    topChains: [],
  })
  return head.slice(0, -1) + ',"location":{"type":"Point","coordinates":['
}

/** The server time from which a head made before would show what is hidden by then; Infinity: never. */
export function headUntil(profile: Profile, view: ScopeView): number {
  let until = Infinity
  for (const { geofenceId } of profile.visits) {
    const geofence = view.geofence(geofenceId)
    if (geofence?.disableAfter !== undefined) until = Math.min(until, geofence.disableAfter)
    if (geofence?.deleteAfter !== undefined) until = Math.min(until, geofence.deleteAfter)
  }
  return until
}

/** The geofences that the user is in and that still count, in the order of entry. */
export function currentGeofences(profile: Pick<Profile, 'visits' | 'userId'>, view: ScopeView, now: number) {
  const geofences = []
  for (const { geofenceId } of profile.visits) {
    const geofence = view.geofence(geofenceId)
    if (geofence === undefined || !isActive(geofence) || !isMeantFor(geofence, profile.userId)) continue
    if (geofence.disableAfter !== undefined && geofence.disableAfter <= now) continue
    geofences.push(geofenceContext(geofence, outlineIn(view.index, geofence)))
  }
  return geofences
}

/** The beacons in range that still count, in the order of entry. */
export function currentBeacons(profile: Pick<Profile, 'beacons'>, view: ScopeView) {
  return profile.beacons
    .map(({ beaconId }) => view.beacons.beacon(beaconId))
    .filter((beacon) => beacon?.enabled)
    .map((beacon) => beaconContext(beacon!))
}
