import type { Event } from '../../../../sdk/src/types.ts'
import { pagePath } from '../../router.ts'
import { FactRows, type Fact } from '../../ui/facts.tsx'
import { reasonName, recordName } from '../../ui/words.ts'

/** What an event is about, as facts with links to the records. */
export function SubjectFacts({ event }: { readonly event: Event }) {
  const { geofence, beacon, region, place, alternatePlaces, trip, failureReasons } = event
  const facts: readonly Fact[] = [
    ['Geofence', geofence && <a href={pagePath(`geofences/${geofence._id}`)}>{recordName(geofence)}</a>],
    ['Beacon', beacon && <a href={pagePath(`beacons/${beacon._id}`)}>{recordName(beacon)}</a>],
    ['Region', region && `${region.name} (${region.code})`],
    ['Place', place?.name],
    ['Chain', place?.chain?.name],
    ['Categories', place?.categories.join(', ')],
    ['Or instead', alternatePlaces?.map(({ name }) => name).join(', ')],
    ['Trip', trip && <a href={pagePath(`trips/${trip._id}`)}>{trip.externalId}</a>],
    ['Failed, because', failureReasons?.map(reasonName).join(', ')],
  ]
  return <FactRows facts={facts} />
}
