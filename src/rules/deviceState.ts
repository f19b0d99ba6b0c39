import type { Profile } from '../model/device.ts'

/** What the evaluators know of a device from one update to the next. */
export type DeviceState = Pick<Profile, 'visits' | 'approaches' | 'crossed' | 'beacons'>

/** Of a device before its first update. */
export const NO_STATE: DeviceState = { visits: [], approaches: [], crossed: [], beacons: [] }
