// oxlint-disable-next-line import/no-unassigned-import
import '../maps/mapBox.css'
// oxlint-disable-next-line import/no-unassigned-import
import './map.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Geofence } from '../../../../sdk/src/types.ts'
import { call } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { boxAround, type LngLat } from '../../map/geometry.ts'
import type { View } from '../../map/map.ts'
import { go, pagePath, place, setQuery } from '../../router.ts'
import { usePageKey } from '../../shell/keys.tsx'
import { Button } from '../../ui/parts.tsx'
import { countText } from '../../ui/words.ts'
import { DeviceCard } from './deviceCard.tsx'
import { DeviceTable } from './deviceTable.tsx'
import { EventsBeside } from './eventsBeside.tsx'
import { LiveMap } from './liveMap.ts'
import { MapCall } from './mapCall.tsx'
import { SimulatedCity, useSimulation, Welcome } from './welcome.tsx'

/** The number of geofences that is enough to see where they are. */
const MAX_FENCES = 200

/** The home of the dashboard: devices as they move, geofences, and events as they happen. */
export default function MapPage() {
  const container = useRef<HTMLDivElement>(null)
  const [live, setLive] = useState<LiveMap | undefined>()
  const [credits, setCredits] = useState('')
  const [isList, setList] = useState(false)
  useEffect(() => {
    const opened = new LiveMap(container.current!, viewOf(place.value.query), {
      onCredits: setCredits,
      onView: ({ center, zoom }) =>
        setQuery({ at: `${center[0].toFixed(5)},${center[1].toFixed(5)}`, zoom: zoom.toFixed(2) }),
      onFence: (id) => go(pagePath(`geofences/${id}`)),
    })
    setLive(opened)
    // The bench and the tests of pages read the map here.
    ;(window as { ringfenceMap?: LiveMap }).ringfenceMap = opened
    return () => opened.close()
  }, [])
  const fences = useQuery(
    'where geofences are',
    async (signal) =>
      (await call('get', '/v1/geofences', { query: { limit: MAX_FENCES }, signal })).geofences,
  )
  const simulation = useSimulation()
  useFirstView(live, fences.data)
  usePageKey(' ', () => live?.setPaused(!live.paused.value))
  usePageKey(
    'f',
    () => live && (live.following.value = live.chosen.value !== undefined && !live.following.value),
  )
  usePageKey('Escape', () => live?.choose(undefined))
  return (
    <div class="live">
      <h1 class="visually-hidden">Map</h1>
      <section class="map-frame" aria-label="Live map">
        <div class="map" ref={container} />
        <div class="over top-left">
          {live && <Filters live={live} isList={isList} onList={setList} />}
          {live && <Trouble live={live} />}
          <SimulatedCity simulation={simulation} />
        </div>
        {live && isList && <DeviceTable live={live} />}
        {live && <Welcome live={live} simulation={simulation} />}
        <div class="over bottom-left">{live && <DeviceCard live={live} />}</div>
        <div class="over bottom-right">
          {live?.opened && (
            <div class="panel zoom">
              <Button
                kind="plain"
                icon="plus"
                label="Zoom in"
                onClick={() => live.opened!.map.zoomIn({ animate: false })}
              />
              <Button
                kind="plain"
                icon="minus"
                label="Zoom out"
                onClick={() => live.opened!.map.zoomOut({ animate: false })}
              />
              <Button
                kind="plain"
                icon="fit"
                label="Show all"
                onClick={() => void showAll(live, fences.data ?? [])}
              />
            </div>
          )}
          {credits && <span class="credits">{credits}</span>}
        </div>
      </section>
      {live && <EventsBeside live={live} />}
    </div>
  )
}

function Filters({
  live,
  isList,
  onList,
}: {
  readonly live: LiveMap
  readonly isList: boolean
  readonly onList: (list: boolean) => void
}) {
  const query = place.value.query
  const [user, tag] = [query.get('user') ?? '', query.get('tag') ?? '']
  useEffect(() => {
    live.setFilter({ ...(user && { userIds: [user] }), ...(tag && { tags: [tag] }) })
  }, [live, user, tag])
  const { count, isCounted } = live.news.value
  return (
    <div class="panel live-filters">
      <input
        class="input"
        type="search"
        aria-label="Only this user id"
        placeholder="User id"
        value={user}
        onChange={(event) => setQuery({ user: event.currentTarget.value.trim() })}
      />
      <input
        class="input"
        type="search"
        aria-label="Only inside geofences with this tag"
        placeholder="In geofences tagged"
        value={tag}
        onChange={(event) => setQuery({ tag: event.currentTarget.value.trim() })}
      />
      <strong>
        {countText(count)} here{isCounted && ', counted'}
      </strong>
      <MapCall live={live} />
      <Button icon="list" label="The devices as a list" pressed={isList} onClick={() => onList(!isList)} />
    </div>
  )
}

/** The fault of the connection or of the watch, if there is one. */
function Trouble({ live }: { readonly live: LiveMap }) {
  const state = live.connection.state.value
  const trouble = live.connection.trouble.value
  if (state.status === 'lost')
    return (
      <div class="notice warn" role="status">
        Not connected since {state.since.toLocaleTimeString()}: {state.reason} It is tried again by itself;
        points are where they were.
      </div>
    )
  if (state.status === 'failed')
    return (
      <div class="notice bad" role="alert">
        {state.reason}
        <Button size="small" onClick={() => location.reload()}>
          Connect again
        </Button>
      </div>
    )
  if (trouble !== undefined)
    return (
      <div class="notice warn" role="status">
        {trouble} Zoom in, or choose a filter.
      </div>
    )
  if (live.opened === undefined)
    return (
      <div class="notice warn" role="status">
        This browser has no WebGL, so there is no map. The list has all devices.
      </div>
    )
  return null
}

/** Shows the view that the address names, otherwise the devices or geofences. */
function useFirstView(live: LiveMap | undefined, fences: readonly Geofence[] | undefined): void {
  const isDone = useRef(place.value.query.has('at'))
  useEffect(() => {
    if (live === undefined || fences === undefined || isDone.current) return
    isDone.current = true
    void showAll(live, fences)
  }, [live, fences])
}

async function showAll(live: LiveMap, fences: readonly Geofence[]): Promise<void> {
  // The devices that were seen last, wherever they are; without any, the geofences.
  const { users } = await call('get', '/v1/users', { query: { limit: 200 } })
  const seen = users.map((user) => user.location.coordinates as unknown as LngLat)
  const centers = fences.map((fence) => fence.geometryCenter.coordinates as unknown as LngLat)
  const box = boxAround(seen.length > 0 ? seen : centers)
  if (box !== undefined) live.fit(box)
}

function viewOf(query: URLSearchParams): View | undefined {
  const [longitude, latitude] = (query.get('at') ?? '').split(',').map(Number)
  const zoom = Number(query.get('zoom'))
  if (!Number.isFinite(longitude) || !Number.isFinite(latitude) || Math.abs(latitude!) > 90) return undefined
  return {
    center: [longitude!, latitude!],
    zoom: Number.isFinite(zoom) ? Math.min(Math.max(zoom, 0), 20) : 12,
  }
}
