import { FrameWriter } from '../../src/actor/commitCodec.ts'
import { Partition } from '../../src/actor/partition.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import { storeSalt } from '../../src/events/ids.ts'
import { DEFAULT_SETTINGS } from '../../src/model/settings.ts'
import { CachedOffsets } from '../../src/model/zoneOffsets.ts'
import { BeaconStore } from '../../src/registry/beacons/beaconStore.ts'
import { ScopeTrips } from '../../src/registry/trips/scopeTrips.ts'
import type { ScopeView } from '../../src/rules/port.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import type { PlacedCity } from './city.ts'
import type { Report } from './phone.ts'

/** A visit that somebody has found: seconds since the day began. */
export interface FoundVisit {
  readonly place: string
  readonly alternates: readonly string[]
  readonly from: number
  /** The end of the visit; Infinity if it was not over when the day was. */
  to: number
}

const START = Date.UTC(2026, 0, 5, 8)
const SCOPE = 2

/** The visits that the engine finds. */
export function visitsByEngine({ atlas }: PlacedCity, reports: readonly Report[]): FoundVisit[] {
  const view: ScopeView = {
    settings: { ...DEFAULT_SETTINGS, places: true },
    revision: 1,
    atlas,
    beacons: new BeaconStore(),
    index: createGeofenceIndex(),
    trips: new ScopeTrips(),
    geofence: () => undefined,
    zones: new CachedOffsets(),
    geofenceNamed: () => undefined,
  }
  const partition = new Partition(0, storeSalt('0123456789abcdef'))
  const writer = new FrameWriter()
  const visits: FoundVisit[] = []
  for (const { second, ...report } of reports) {
    const time = START + second * 1000
    writer.begin(time)
    partition.begin(writer, time, view.revision)
    const update = { scope: SCOPE, deviceId: 'phone', foreground: false, replayed: false, ip: '203.0.113.7' }
    const result = partition.apply(
      { ...update, ...report, updatedAt: time, receivedAt: time },
      view,
      writer,
      false,
    )
    partition.end(writer, [])
    if (typeof result === 'symbol' || !('events' in result)) throw new Error(String(result))
    for (const json of result.events) {
      const { type, place, alternatePlaces = [] } = JSON.parse(json)
      if (type === 'user.exited_place') visits.at(-1)!.to = second
      else {
        const alternates = alternatePlaces.map(({ _id }: { _id: string }) => _id)
        visits.push({ place: place._id, alternates, from: second, to: Infinity })
      }
    }
  }
  return visits
}

const NEAREST_METERS = 50

/** A simple rule, for comparison: whoever is within 50 m of a place visits the nearest one. */
export function visitsByNearest({ atlas }: PlacedCity, reports: readonly Report[]): FoundVisit[] {
  const visits: FoundVisit[] = []
  let open: FoundVisit | undefined
  for (const { second, latitude, longitude } of reports) {
    const here = atlas.placesAt(latitude, longitude)
    if (!('near' in here)) throw new Error('the places are not known')
    let nearest: string | undefined
    let least = NEAREST_METERS
    for (const { place } of here.near) {
      const [x, y] = place.position
      const meters = pointDistance(latitude, longitude, y, x)
      if (meters > least) continue
      least = meters
      nearest = place.id
    }
    if (open?.place === nearest) continue
    if (open !== undefined) open.to = second
    open = nearest === undefined ? undefined : { place: nearest, alternates: [], from: second, to: Infinity }
    if (open !== undefined) visits.push(open)
  }
  return visits
}
