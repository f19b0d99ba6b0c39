import { useEffect, useState } from 'preact/hooks'
import type { Event } from '../../../../sdk/src/types.ts'
import { call } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import type { LngLat } from '../../map/geometry.ts'
import { place, setQuery } from '../../router.ts'
import { Ago, Button, Empty } from '../../ui/parts.tsx'
import { eventName, userName } from '../../ui/words.ts'
import { EventSign, subjectName } from '../events/eventLine.tsx'
import { EVENT_TYPES } from '../events/eventTypes.ts'
import type { LiveMap } from './liveMap.ts'

const SHOWN = 200

/** Events as they happen; one leads to where it happened. */
export function EventsBeside({ live }: { readonly live: LiveMap }) {
  const isPaused = live.paused.value
  const [held, setHeld] = useState<readonly Event[]>([])
  const type = place.value.query.get('type') ?? ''
  useEffect(() => live.connection.follow(type === '' ? {} : { types: [type] }), [live, type])
  const before = useQuery(`events before ${type}`, async (signal) => {
    const query = { limit: 50, ...(type && { type }) }
    return (await call('get', '/v1/events', { query, signal })).events
  })
  const now = live.connection.events.value
  const known = new Set(now.map(({ _id }) => _id))
  const all = [...now, ...(before.data ?? []).filter(({ _id }) => !known.has(_id))].slice(0, SHOWN)
  const shown = isPaused ? held : all
  const { status } = live.connection.state.value
  return (
    <aside class="beside" aria-label="Events">
      <header>
        <span class={`pulse ${status === 'open' ? '' : 'bad'}`} aria-hidden="true" />
        <h2>Events</h2>
        <span class="visually-hidden" role="status">
          {status === 'open' ? 'connected' : 'not connected'}
        </span>
        <select
          class="input"
          aria-label="Only events of this type"
          value={type}
          onChange={(event) => setQuery({ type: event.currentTarget.value })}
        >
          <option value="">all types</option>
          {[...new Set([...EVENT_TYPES, ...(type && [type])])].map((name) => (
            <option key={name} value={name}>
              {eventName(name)}
            </option>
          ))}
        </select>
        <Button
          kind="plain"
          icon={isPaused ? 'play' : 'pause'}
          label={isPaused ? 'Go on' : 'Pause'}
          pressed={isPaused}
          onClick={() => {
            setHeld(all)
            live.setPaused(!isPaused)
          }}
        />
      </header>
      <div class="scroll" tabIndex={0} role="region" aria-label="Events as they happen">
        {shown.length === 0 ? (
          <Empty title="Waiting for the first event">
            <p>An event happens when a device enters or leaves a geofence.</p>
          </Empty>
        ) : (
          <ul>
            {shown.map((event) => (
              <Line key={event._id} event={event} live={live} />
            ))}
          </ul>
        )}
      </div>
    </aside>
  )
}

function Line({ event, live }: { readonly event: Event; readonly live: LiveMap }) {
  const show = () => {
    if (event.user.deviceId !== undefined) live.choose(event.user.deviceId)
    if (event.location) live.fly(event.location.coordinates as unknown as LngLat)
  }
  return (
    <li class="event-line">
      <button type="button" onClick={show}>
        <EventSign type={event.type} />
        <span class="what">
          <strong>{eventName(event.type)}</strong> {subjectName(event)}
          <br />
          <span class="quiet">
            {userName(event.user)} · <Ago at={event.createdAt} />
          </span>
        </span>
      </button>
    </li>
  )
}
