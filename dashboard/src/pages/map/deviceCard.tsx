import { call } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import type { LngLat } from '../../map/geometry.ts'
import { pagePath } from '../../router.ts'
import { may } from '../../session/session.ts'
import { Ago, Badge, Button, LinkButton } from '../../ui/parts.tsx'
import { metersText, recordName, userName } from '../../ui/words.ts'
import { newGeofencePath } from '../geofences/newPath.ts'
import type { LiveMap } from './liveMap.ts'

const EVERY_MS = 3000

/** The chosen device: what is known of it, and what one can do. */
export function DeviceCard({ live }: { readonly live: LiveMap }) {
  const deviceId = live.chosen.value
  return deviceId === undefined ? null : <Card key={deviceId} live={live} deviceId={deviceId} />
}

function Card({ live, deviceId }: { readonly live: LiveMap; readonly deviceId: string }) {
  // Read, so that the card shows every change.
  void live.news.value
  const slot = live.fleet.slotOf(deviceId)
  const position = slot === undefined ? undefined : live.fleet.positions[slot]
  const { data } = useQuery(
    `device ${deviceId}`,
    async (signal) => (await call('get', '/v1/users', { query: { deviceId, limit: 1 }, signal })).users[0],
    { everyMs: EVERY_MS },
  )
  const user = data ?? position?.user
  const at = (position ?? data)?.location.coordinates as LngLat | undefined
  const isFollowing = live.following.value
  return (
    <section class="panel device-card" aria-label={`Device ${deviceId}`}>
      <header>
        <h2>{userName(user ?? { deviceId })}</h2>
        {data && <Badge tone={data.stopped ? undefined : 'ok'}>{data.stopped ? 'stopped' : 'moving'}</Badge>}
        <Button
          kind="plain"
          size="small"
          icon="close"
          label="Close the card"
          onClick={() => live.choose(undefined)}
        />
      </header>
      <dl class="facts">
        <dt>Seen</dt>
        <dd>
          <Ago at={position?.updatedAt ?? data?.updatedAt} />
          {position === undefined && data && ', elsewhere'}
        </dd>
        {position?.locationAccuracy !== undefined && (
          <>
            <dt>Accuracy</dt>
            <dd>{metersText(position.locationAccuracy)}</dd>
          </>
        )}
        <dt>In</dt>
        <dd>
          <span class="chips">
            {data?.geofences.map((fence) => (
              <a key={fence._id} class="badge accent" href={pagePath(`geofences/${fence._id}`)}>
                {recordName(fence)}
              </a>
            ))}
            {data?.geofences.length === 0 && <span class="quiet">no geofence</span>}
          </span>
        </dd>
      </dl>
      <div class="actions">
        <Button
          size="small"
          icon="follow"
          pressed={isFollowing}
          onClick={() => (live.following.value = !isFollowing)}
        >
          Follow
        </Button>
        {at && may('POST /v1/geofences') && (
          <LinkButton size="small" href={newGeofencePath(at)}>
            Geofence here
          </LinkButton>
        )}
        {user?._id && (
          <>
            <LinkButton size="small" href={pagePath(`users/${user._id}/explain`)}>
              Explain
            </LinkButton>
            <LinkButton size="small" kind="primary" href={pagePath(`users/${user._id}`)}>
              Open
            </LinkButton>
          </>
        )}
      </div>
    </section>
  )
}
