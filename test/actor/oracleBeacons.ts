import geodesic from 'geographiclib-geodesic'
import type { Beacon } from '../../src/model/beacon.ts'
import type { Update } from '../../src/model/update.ts'

/** The beacons part of oracle.ts. It looks at every beacon for every update. */

export interface BeaconStay {
  readonly beaconId: string
  readonly enteredAt: number
}

export interface BeaconAnswer {
  readonly stays: readonly BeaconStay[]
  readonly exited: readonly { readonly beacon: Beacon; readonly minutes: number }[]
  readonly entered: readonly Beacon[]
}

/**
 * @param answered the ids of the beacons that the engine reports as in range, which decide cases that are too close
 * to call
 */
export function evaluateBeacons(
  beacons: ReadonlyMap<string, Beacon>,
  before: readonly BeaconStay[],
  update: Update,
  time: number,
  answered: ReadonlySet<string>,
): BeaconAnswer {
  const stays: BeaconStay[] = []
  const exited: { beacon: Beacon; minutes: number }[] = []
  for (const stay of before) {
    const beacon = beacons.get(stay.beaconId)
    if (beacon === undefined || !beacon.enabled) continue
    const remains = update.beacons === undefined ? isNear(beacon) : isListed(beacon)
    if (remains) stays.push(stay)
    else exited.push({ beacon, minutes: (time - stay.enteredAt) / 60_000 })
  }
  const entered = [...beacons.values()]
    .filter((one) => one.enabled && isListed(one) && !before.some((stay) => stay.beaconId === one.id))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  for (const { id } of entered) stays.push({ beaconId: id, enteredAt: time })
  return { stays, exited, entered }

  function isListed(beacon: Beacon): boolean {
    return (update.beacons ?? []).some((ranged) => {
      if (ranged.type !== beacon.type) return false
      const fields = (['uuid', 'major', 'minor', 'uid', 'instance'] as const).filter(
        (field) => beacon[field] !== undefined,
      )
      return fields.every((field) => ranged[field]?.toUpperCase() === beacon[field]?.toUpperCase())
    })
  }

  function isNear({ id, coordinates: [longitude, latitude] }: Beacon): boolean {
    const accuracy = Math.min(update.accuracy ?? 0, 50_000)
    const { s12 } = geodesic.Geodesic.WGS84.Inverse(update.latitude, update.longitude, latitude, longitude)
    const over = s12! - (100 + accuracy)
    return Math.abs(over) <= 0.001 + 0.002 * s12! ? answered.has(id) : over < 0
  }
}
