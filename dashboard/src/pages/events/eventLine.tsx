// oxlint-disable-next-line import/no-unassigned-import
import './events.css'
import { memo } from 'preact/compat'
import type { Event } from '../../../../sdk/src/types.ts'
import { pagePath } from '../../router.ts'
import { Ago } from '../../ui/parts.tsx'
import { EVENT_SIGNS, eventKind, eventName, reasonName, recordName, userName } from '../../ui/words.ts'

/** What an event is about: the geofence, the beacon, the region, the place, the trip, or why somebody failed. */
export function subjectName(event: Event): string {
  const { type, geofence, beacon, region, place, failureReasons } = event
  if (geofence) return recordName(geofence)
  if (beacon) return recordName(beacon)
  if (region) return region.name
  if (place) return (type === 'user.nearby_place_chain' && place.chain?.name) || place.name
  if (failureReasons) return failureReasons.map(reasonName).join(', ')
  return event.trip?.externalId ?? ''
}

/** The sign of an event; its name stands beside it. */
export function EventSign({ type }: { readonly type: string }) {
  const kind = eventKind(type)
  return (
    <span class={`sign ${kind}`} aria-hidden="true">
      {EVENT_SIGNS[kind]}
    </span>
  )
}

/** Low, medium or high, as one to three dots. */
export function Confidence({ value }: { readonly value: number }) {
  const word = ['', 'low', 'medium', 'high'][value] ?? ''
  return (
    <span class="confidence" title={`confidence ${value}: ${word}`}>
      <span aria-hidden="true">
        <b>{'●'.repeat(value)}</b>
        {'●'.repeat(3 - value)}
      </span>
      <span class="visually-hidden">confidence {word}</span>
    </span>
  )
}

/** An event in a narrow list. A list of hundreds draws only what is new. */
export const EventLine = memo(
  function EventLine({ event, withUser = false }: { readonly event: Event; readonly withUser?: boolean }) {
    return (
      <li class="event-line">
        <a href={pagePath(`events/${event._id}`)}>
          <EventSign type={event.type} />
          <span class="what">
            <strong>{eventName(event.type)}</strong> {subjectName(event)}
            {withUser && <span class="quiet"> · {userName(event.user)}</span>}
          </span>
          <span class="quiet">
            <Ago at={event.createdAt} />
          </span>
        </a>
      </li>
    )
  },
  (before, after) => before.event._id === after.event._id,
)
