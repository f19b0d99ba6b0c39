import { isIos } from '../../http/deviceType.ts'
import type { Beacon } from '../../model/beacon.ts'

/**
 * Which beacons a client can read: the iOS SDK rejects the whole list if one has no uuid, major and minor, and iOS
 * does not range Eddystone beacons anyway.
 * @param headers of its request, DEVICE_TYPE_HEADER among them
 */
export function readableBeacons(headers: Readonly<Record<string, string>>): (beacon: Beacon) => boolean {
  const ibeaconsOnly = isIos(headers)
  return ({ type }) => type === 'ibeacon' || !ibeaconsOnly
}
