import type { BeaconVisit, Visit } from '../model/device.ts'
import { NO_PLACES, type PlaceStays } from '../model/place.ts'
import { isRecordId } from '../model/recordId.ts'
import { NO_REGIONS, REGION_KINDS, regionCodes, type RegionStays } from '../model/region.ts'
import { fetched, Unknown, type Atlas } from '../rules/atlas.ts'
import type { ScopeView } from '../rules/port.ts'

/** The stays of an anonymous client, as it knows them from the previous answer. */
export interface AnonymousStays {
  readonly visits: readonly Visit[]
  readonly beacons: readonly BeaconVisit[]
  readonly places: PlaceStays
  readonly regions: RegionStays
  /**
   * Whether the client said in which regions it was. Otherwise nobody knows, and there are no events about regions.
   */
  readonly knowsRegions: boolean
}

/** What a client says about its stays. */
interface NamedStays {
  readonly geofenceIds?: readonly string[]
  readonly beaconIds?: readonly string[]
  readonly placeId?: string
  readonly regionIds?: readonly string[]
}

/** The stays that a client names; unknown ids drop out by themselves. */
export async function anonymousStays(
  { geofenceIds, beaconIds, placeId, regionIds }: NamedStays,
  { settings, atlas }: ScopeView,
): Promise<AnonymousStays> {
  return {
    // They are marked as dwelled, so that a stay of unknown length makes no dwell event.
    visits: [...new Set(geofenceIds)].map((geofenceId) => ({ geofenceId, enteredAt: 0, dwelled: true })),
    beacons: [...new Set(beaconIds)].map((beaconId) => ({ beaconId, enteredAt: 0 })),
    places: settings.places && placeId !== undefined ? await stayIn(placeId, atlas) : NO_PLACES,
    regions: settings.regions && regionIds !== undefined ? await staysIn(regionIds, atlas) : NO_REGIONS,
    knowsRegions: regionIds !== undefined,
  }
}

async function stayIn(id: string, atlas: Atlas): Promise<PlaceStays> {
  if (!isRecordId(id)) return NO_PLACES
  const place = await fetched(() => atlas.placeById(id))
  if (place === undefined || place instanceof Unknown) return NO_PLACES
  return { ...NO_PLACES, stay: { place, enteredAt: 0 } }
}

/** The regions that are named. If there are several of one kind, the last one counts. */
async function staysIn(ids: readonly string[], atlas: Atlas): Promise<RegionStays> {
  const codes = new Map<string, string>()
  for (const id of new Set(ids)) {
    if (!isRecordId(id)) continue
    const region = await fetched(() => atlas.regionById(id))
    if (region !== undefined && !(region instanceof Unknown)) codes.set(region.type, region.code)
  }
  return codes.size === 0
    ? NO_REGIONS
    : { codes: regionCodes(REGION_KINDS.map((kind) => codes.get(kind))), since: NO_REGIONS.since }
}
