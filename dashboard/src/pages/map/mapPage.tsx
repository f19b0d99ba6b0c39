// oxlint-disable-next-line import/no-unassigned-import
import '../maps/mapBox.css'
// oxlint-disable-next-line import/no-unassigned-import
import './map.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Box } from '../../map/geometry.ts'
import type { View } from '../../map/map.ts'
import { go, pagePath, place, setQuery } from '../../router.ts'
import { usePageKey } from '../../shell/keys.tsx'
import { Button } from '../../ui/parts.tsx'
import { countText } from '../../ui/words.ts'
import { homeBox } from '../maps/home.ts'
import { DeviceCard } from './deviceCard.tsx'
import { DeviceTable } from './deviceTable.tsx'
import { EventsBeside } from './eventsBeside.tsx'
import { LiveMap } from './liveMap.ts'
import { MapCall } from './mapCall.tsx'
import { SimulatedCity, useSimulation, Welcome } from './welcome.tsx'

/** The name of the page in its address. */
const PAGE = 'map'

/** The home of the dashboard: devices as they move, geofences, and events as they happen. */
export default function MapPage() {
  const container = useRef<HTMLDivElement>(null)
  const [live, setLive] = useState<LiveMap | undefined>()
  const [credits, setCredits] = useState('')
  const [isList, setList] = useState(false)
  useEffect(() => {
    let isOver = false
    const made = new LiveMap({
      onCredits: setCredits,
      onView({ center, zoom }) {
        // The click that opens a geofence may end a movement, when the address is already that of the other page.
        if (place.value.parts[0] !== PAGE) return
        setQuery({ at: `${center[0].toFixed(5)},${center[1].toFixed(5)}`, zoom: zoom.toFixed(2) })
      },
      onFence: (id) => go(pagePath(`geofences/${id}`)),
    })
    const open = (start: View | Box | undefined) => {
      if (isOver) return
      made.open(container.current!, start)
      setLive(made)
      // The bench and the tests of pages read the map here.
      ;(window as { ringfenceMap?: LiveMap }).ringfenceMap = made
    }
    const named = viewOf(place.value.query)
    if (named === undefined) void homeBox().then(open)
    else open(named)
    return () => {
      isOver = true
      made.close()
    }
  }, [])
  const simulation = useSimulation()
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
                onClick={() => void homeBox().then((box) => box && live.fit(box))}
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
        placeholder="Geofence tag"
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

function viewOf(query: URLSearchParams): View | undefined {
  const [longitude, latitude] = (query.get('at') ?? '').split(',').map(Number)
  const zoom = Number(query.get('zoom'))
  if (!Number.isFinite(longitude) || !Number.isFinite(latitude) || Math.abs(latitude!) > 90) return undefined
  return {
    center: [longitude!, latitude!],
    zoom: Number.isFinite(zoom) ? Math.min(Math.max(zoom, 0), 20) : 12,
  }
}
