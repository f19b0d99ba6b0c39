import { call } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { metersBetween, type LngLat } from '../../map/geometry.ts'
import { pagePath } from '../../router.ts'
import { Empty, Failure, Loading } from '../../ui/parts.tsx'
import { metersText, recordName } from '../../ui/words.ts'

/** How many of the geofences with such a name are told. */
const TOLD = 5

/** Why none of the geofences near an update has this in its name: those that have it are elsewhere, or there are none. */
export function WhyNothing({ text, at }: { readonly text: string; readonly at: LngLat }) {
  const { data, failure, reload } = useQuery(`geofences like ${text}`, (signal) =>
    call('get', '/v1/geofences', { query: { text, limit: TOLD }, signal }),
  )
  if (failure)
    return (
      <div class="body">
        <Failure failure={failure} retry={reload} />
      </div>
    )
  if (data === undefined) return <Loading lines={2} />
  const { geofences, meta } = data
  if (geofences.length === 0)
    return (
      <Empty title="There is no such geofence">
        <p>No geofence has “{text}” in its name, tag or id.</p>
      </Empty>
    )
  return (
    <Empty title="It was too far away to matter">
      <p>Only geofences near the location can cause events.</p>
      <ul class="stack">
        {geofences.map((fence) => (
          <li key={fence._id}>
            <a href={pagePath(`geofences/${fence._id}`)}>{recordName(fence)}</a>: its centre is{' '}
            {metersText(metersBetween(at, fence.geometryCenter.coordinates as unknown as LngLat))} from the
            update.
          </li>
        ))}
        {meta.hasMore && <li>There are more with “{text}” in their name.</li>}
      </ul>
    </Empty>
  )
}
