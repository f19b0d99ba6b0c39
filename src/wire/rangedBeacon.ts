import Type, { type Static } from 'typebox'
import { beaconKey, type RangedBeacon } from '../model/beacon.ts'

const Identifier = Type.Union([Type.String({ maxLength: 256 }), Type.Number()])

/** One of the `beacons` of a track, as an SDK's scan found it. Android and iOS write major and minor as text. */
export const RangedBeaconBody = Type.Object({
  type: Type.Optional(
    Type.String({
      maxLength: 64,
      description: '`ibeacon` or `eddystone`; if absent, it follows from the identifiers.',
    }),
  ),
  uuid: Type.Optional(Identifier),
  major: Type.Optional(Identifier),
  minor: Type.Optional(Identifier),
  uid: Type.Optional(Identifier),
  instance: Type.Optional(Identifier),
  rssi: Type.Optional(Type.Number({ description: 'Signal strength in dBm; not used.' })),
})

/** The results of a scan, each beacon once. */
export function rangedBeacons(bodies: readonly Static<typeof RangedBeaconBody>[]): RangedBeacon[] {
  const beacons = new Map<string, RangedBeacon>()
  for (const body of bodies) {
    const beacon = rangedBeacon(body)
    if (beacon !== undefined) beacons.set(beaconKey(beacon), beacon)
  }
  return [...beacons.values()]
}

/** The beacon; undefined if it has another type or lacks an identifier, because it can then match no beacon. */
function rangedBeacon(body: Static<typeof RangedBeaconBody>): RangedBeacon | undefined {
  const { uuid, major, minor, uid, instance } = body
  const type = body.type?.toLowerCase() ?? (uid === undefined ? 'ibeacon' : 'eddystone')
  if (type === 'ibeacon' && uuid !== undefined && major !== undefined && minor !== undefined)
    return { type, uuid: String(uuid), major: String(major), minor: String(minor) }
  if (type === 'eddystone' && uid !== undefined && instance !== undefined)
    return { type, uid: String(uid), instance: String(instance) }
  return undefined
}
