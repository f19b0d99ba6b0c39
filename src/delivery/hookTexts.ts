import type { LivePosition } from '../actor/port.ts'
import type { Waypoint } from '../model/event.ts'
import { HOOK_EVENTS } from '../model/hook.ts'
import { isoDate } from '../model/isoDate.ts'
import { isLive, type ScopeId } from '../model/scope.ts'
import { newId } from '../runtime/newId.ts'
import type { HookMessage } from './hookLog.ts'

/** The messages of areas and roaming. They have the members of an event, as far as they apply. */

type Point = Pick<LivePosition, 'latitude' | 'longitude'>

/** The device in a message, as it was known when the message was made. */
export interface MessageDevice extends Point {
  readonly deviceId: string
  readonly recordId: string
  readonly userId: string | undefined
  /** In metres. NaN means that it is unknown. */
  readonly accuracy: number
  /** In epoch milliseconds. */
  readonly updatedAt: number
}

/** A message about a device and an area. */
export function areaMessage(
  scope: ScopeId,
  transition: keyof typeof HOOK_EVENTS.area,
  device: MessageDevice,
  now: number,
  path?: { readonly entered: Waypoint; readonly exited: Waypoint },
): HookMessage {
  const more = path && { entered: waypoint(path.entered), exited: waypoint(path.exited) }
  return message(scope, HOOK_EVENTS.area[transition], device.deviceId, device, now, more)
}

/**
 * A message about two devices, of which the first has moved.
 * @param line the same for all messages of the pair, which are sent in order
 * @param other the other device; its accuracy and time are left out if they do not belong to its position
 */
export function roamMessage(
  scope: ScopeId,
  transition: keyof typeof HOOK_EVENTS.roam,
  line: string,
  device: MessageDevice,
  other: MessageDevice,
  distance: number,
  now: number,
): HookMessage {
  return message(scope, HOOK_EVENTS.roam[transition], line, device, now, {
    distance: Math.round(distance * 100) / 100,
    other: {
      user: userOf(other),
      ...placed(other),
      updatedAt: Number.isNaN(other.updatedAt) ? undefined : isoDate(other.updatedAt),
    },
  })
}

function message(
  scope: ScopeId,
  type: string,
  line: string,
  device: MessageDevice,
  now: number,
  more: object | undefined,
): HookMessage {
  const id = newId(now)
  const { recordId, updatedAt } = device
  const json = JSON.stringify({
    _id: id,
    type,
    createdAt: isoDate(updatedAt),
    actualCreatedAt: isoDate(now),
    live: isLive(scope),
    user: userOf(device),
    ...placed(device),
    ...more,
  })
  return {
    id,
    type,
    deviceId: line,
    userRecordId: recordId,
    createdAt: updatedAt,
    actualCreatedAt: now,
    json,
  }
}

function userOf({ recordId, userId, deviceId }: MessageDevice) {
  return { _id: recordId, userId, deviceId }
}

function placed({ accuracy, ...point }: MessageDevice) {
  return { location: pointOf(point), locationAccuracy: Number.isNaN(accuracy) ? undefined : accuracy }
}

function waypoint({ time, ...point }: Waypoint) {
  return { at: isoDate(time), location: pointOf(point) }
}

function pointOf({ latitude, longitude }: Point) {
  return { type: 'Point', coordinates: [longitude, latitude] }
}
