/**
 * The devices of the fan-out bench. Each update takes a device into the only geofence near it or out again, and so
 * makes one event. Their ids can be found in any text, whatever surrounds them.
 */
export const DEVICES = 100
export const DEVICE_PREFIX = 'fanout-'
const DIGITS = 6
export const DEVICE_ID_LENGTH = DEVICE_PREFIX.length + DIGITS

/** A geofence that is far away from all others. */
export const HUB = {
  tag: 'bench',
  externalId: 'hub',
  description: 'Hub',
  type: 'circle',
  coordinates: [-150, 0],
  radius: 100,
}

export function deviceId(device: number): string {
  return DEVICE_PREFIX + String(device).padStart(DIGITS, '0')
}

/** The number of a device, read from the bytes of its id, which are digits only. */
export function deviceAt(bytes: Buffer, start: number): number {
  let device = 0
  for (let i = start + DEVICE_PREFIX.length; i < start + DEVICE_ID_LENGTH; i++)
    device = device * 10 + bytes[i]! - 48
  return device
}

/** The n-th update of a device: inside the hub, outside, inside … */
export function toggle(device: number, n: number): object {
  return {
    deviceId: deviceId(device),
    latitude: n % 2 === 0 ? 0 : 0.01,
    longitude: -150,
    accuracy: 5,
  }
}
