import type { Profile } from '../model/device.ts'
import { NO_FRAUD } from '../model/fraud.ts'
import { NO_PLACES } from '../model/place.ts'
import { NO_REGIONS } from '../model/region.ts'
import { NO_SEGMENTS } from '../model/segment.ts'

/** What the evaluators know about a device between updates. */
export type DeviceState = Pick<
  Profile,
  'visits' | 'approaches' | 'crossed' | 'beacons' | 'regions' | 'fraud' | 'places' | 'segments'
>

/** The state of a device before its first update. */
export const NO_STATE: DeviceState = {
  visits: [],
  approaches: [],
  crossed: [],
  beacons: [],
  regions: NO_REGIONS,
  fraud: NO_FRAUD,
  places: NO_PLACES,
  segments: NO_SEGMENTS,
}
