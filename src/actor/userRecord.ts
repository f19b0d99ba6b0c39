import type { HeadRest, UserParts } from './port.ts'
import type { Profile } from '../model/device.ts'
import { isActive } from '../model/geofence.ts'
import { isoDate } from '../model/isoDate.ts'
import { shownChain, shownPlace, shownStay, topChains, type PlaceStays } from '../model/place.ts'
import { shownSegments } from '../model/segment.ts'
import { isLive, type ScopeId } from '../model/scope.ts'
import {
  beaconContext,
  fraudText,
  geofenceContext,
  outlineIn,
  placeText,
  regionMembers,
} from '../events/record.ts'
import { isMeantFor } from '../rules/geofenceRules.ts'
import type { ScopeView } from '../rules/port.ts'
import { regionsOf } from '../rules/regions.ts'
import { FLAG_FOREGROUND, FLAG_STOPPED } from './deviceFlags.ts'
import type { DeviceTable, UserHead } from './deviceTable.ts'

/**
 * The public JSON of a user, in two parts: the head, which rarely changes and is kept for an active device, and the
 * tail, which every update changes. Written by hand, because it is the reply to every update.
 */
export function userParts(table: DeviceTable, row: number, { json, areBytes, rest }: UserHead): UserParts {
  const flags = table.flags(row)
  return {
    head: json,
    areBytes,
    rest,
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
  const { head, areBytes, rest } = parts
  return (
    (areBytes === true ? textOf(head) : head) +
    (rest.isAscii ? rest.bytes : textOf(rest.bytes)) +
    userTail(parts)
  )
}

/** The text whose bytes in UTF-8 these characters stand for. */
function textOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString()
}

/**
 * A head as it is kept for answers: as bytes if it has other than ASCII characters. Such a text takes two bytes a
 * character, and encoding it for each answer takes longer than everything else that the answer needs.
 */
export function keptHead(json: string, rest: HeadRest): UserHead {
  return Buffer.byteLength(json) === json.length
    ? { json, rest }
    : { json: Buffer.from(json).toString('latin1'), areBytes: true, rest }
}

/** For a text that only needs the tail. */
export const NO_HEAD: UserHead = { json: '', rest: { bytes: '', isAscii: true } }

/** The JSON from the coordinates to the end. */
export function userTail(parts: Omit<UserParts, 'head' | 'rest'>): string {
  const { longitude, latitude, accuracy, foreground, stopped, updatedAt, receivedAt } = parts
  return (
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

/**
 * The JSON up to the beacons.
 * @param now the server's time; what has expired by then is left out
 */
export function userHead(profile: Profile, scope: ScopeId, view: ScopeView, now: number): string {
  return headBefore(profile, scope) + JSON.stringify(currentGeofences(profile, view, now))
}

/** The JSON up to the coordinates, in pieces and in steps: for a user in a crowd of geofences, whose text may have megabytes. */
export function* userHeadSteps(
  profile: Profile,
  scope: ScopeId,
  view: ScopeView,
  now: number,
): Generator<void, string[]> {
  const pieces = [headBefore(profile, scope), '[']
  for (const { geofenceId } of profile.visits) {
    const geofence = currentGeofence(geofenceId, profile, view, now)
    if (geofence !== undefined) pieces.push((pieces.length > 2 ? ',' : '') + JSON.stringify(geofence))
    yield
  }
  pieces.push(']' + headRest(profile, view))
  return pieces
}

/** The JSON up to the geofences. */
function headBefore(profile: Profile, scope: ScopeId): string {
  const members = JSON.stringify({
    _id: profile.id,
    live: isLive(scope),
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
  })
  return `${members.slice(0, -1)},"geofences":`
}

/** The JSON from the beacons to the coordinates. */
export function headRest(profile: Profile, view: ScopeView): string {
  const beacons = JSON.stringify(currentBeacons(profile, view))
  const { settings, atlas } = view
  const regions = regionMembers(settings.regions ? regionsOf(profile.regions.codes, atlas) : [])
  const fraud = settings.fraud.enabled ? `,"fraud":${fraudText(profile.fraud)}` : ''
  const places = placeMembers(profile.places, view)
  const segments = JSON.stringify(shownSegments(profile.segments, settings.segments))
  return `,"beacons":${beacons}${regions}${places}${fraud},"segments":${segments},"location":{"type":"Point","coordinates":[`
}

/** The place, the chains nearby and the top chains as members of a user, after another member. */
function placeMembers(stays: PlaceStays, { settings }: ScopeView): string {
  const { nearby, visited } = stays
  const { places, nearbyPlaceChains } = settings
  const stay = shownStay(stays, settings)
  const place = stay === undefined ? '' : `,"place":${placeText(shownPlace(stay.place, settings))}`
  const watched = nearby.filter(({ slug }) => nearbyPlaceChains.includes(slug))
  const near =
    nearbyPlaceChains.length === 0
      ? ''
      : `,"nearbyPlaceChains":${JSON.stringify(watched.map((chain) => shownChain(chain, settings)))}`
  return `${place}${near},"topChains":${JSON.stringify(places ? topChains(visited, settings) : [])}`
}

/**
 * The server time from which a head would show something that must be hidden by then. Infinity if that never happens.
 */
export function headUntil(profile: Profile, view: ScopeView): number {
  let until = Infinity
  for (const { geofenceId } of profile.visits) {
    const geofence = view.geofence(geofenceId)
    if (geofence?.disableAfter !== undefined) until = Math.min(until, geofence.disableAfter)
    if (geofence?.deleteAfter !== undefined) until = Math.min(until, geofence.deleteAfter)
  }
  return until
}

/** The geofences that contain the user and still count, in the order of entry. */
export function currentGeofences(profile: Pick<Profile, 'visits' | 'userId'>, view: ScopeView, now: number) {
  const geofences = []
  for (const { geofenceId } of profile.visits) {
    const geofence = currentGeofence(geofenceId, profile, view, now)
    if (geofence !== undefined) geofences.push(geofence)
  }
  return geofences
}

function currentGeofence(id: string, { userId }: Pick<Profile, 'userId'>, view: ScopeView, now: number) {
  const geofence = view.geofence(id)
  if (geofence === undefined || !isActive(geofence) || !isMeantFor(geofence, userId)) return undefined
  if (geofence.disableAfter !== undefined && geofence.disableAfter <= now) return undefined
  return geofenceContext(geofence, outlineIn(view.index, geofence))
}

/** The beacons in range that still count, in the order of entry. */
export function currentBeacons(profile: Pick<Profile, 'beacons'>, view: ScopeView) {
  return profile.beacons
    .map(({ beaconId }) => view.beacons.beacon(beaconId))
    .filter((beacon) => beacon?.enabled)
    .map((beacon) => beaconContext(beacon!))
}
