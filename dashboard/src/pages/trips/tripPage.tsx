import { useState } from 'preact/hooks'
import type { Event } from '../../../../sdk/src/types.ts'
import { addressOf, call } from '../../api/call.ts'
import { hasCall } from '../../api/document.ts'
import { useQuery } from '../../api/useQuery.ts'
import { circleRing, lineOf, type LngLat } from '../../map/geometry.ts'
import { go, pagePath } from '../../router.ts'
import { may } from '../../session/session.ts'
import { usePageKey } from '../../shell/keys.tsx'
import { isDark } from '../../theme/theme.ts'
import { Chart } from '../../ui/chart.tsx'
import { CallButton } from '../../ui/code.tsx'
import { FactRows, type Fact } from '../../ui/facts.tsx'
import { Ago, Badge, Button, Dialog, Empty, Failure, LinkButton, Loading } from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import { metersText, userName } from '../../ui/words.ts'
import { EventLine } from '../events/eventLine.tsx'
import { MarkMap } from '../maps/markMap.tsx'
import { TripDialog } from './tripDialog.tsx'
import {
  isActive,
  legName,
  minutesText,
  TRIP_TONES,
  tripMarks,
  destinationName,
  type Leg,
  type Trip,
} from './tripWords.ts'

const EVERY_MS = 3000
const MAX_EVENTS = 500
const TRIP_EVENTS = [
  'user.started_trip',
  'user.updated_trip',
  'user.approaching_trip_destination',
  'user.arrived_at_trip_destination',
  'user.arrived_at_wrong_trip_destination',
  'user.delayed_during_trip',
  'user.stopped_trip',
].join()

/** One trip: where it is, what it expects, and what happened. */
export function TripPage({ id }: { readonly id: string }) {
  const params = { id }
  const { data, failure, reload } = useQuery(
    `trip ${id}`,
    async (signal) => (await call('get', '/v1/trips/{id}', { params, signal })).trip,
    { everyMs: EVERY_MS },
  )
  usePageKey('Escape', () => go(pagePath('trips')))
  if (failure && data === undefined)
    return (
      <div class="page">
        <Failure failure={failure} retry={reload} />
      </div>
    )
  return data === undefined ? <Loading /> : <Shown trip={data} reload={reload} />
}

function Shown({ trip, reload }: { readonly trip: Trip; readonly reload: () => void }) {
  const [open, setOpen] = useState<'change' | 'delete' | undefined>()
  const { _id, destinationGeofenceTag: tag, destinationGeofenceExternalId: externalId } = trip
  const params = { id: _id }
  const destination = useQuery(`destination ${tag} ${externalId}`, async (signal) => {
    if (tag === undefined || externalId === undefined) return null
    const path = '/v1/geofences/{tag}/{externalId}'
    const answer = await call('get', path, { params: { tag, externalId }, signal }).catch(() => undefined)
    return answer?.geofence ?? null
  })
  const way = useQuery(`way ${_id} ${trip.status}`, async (signal) => {
    if (isActive(trip) || trip.locations.length < 2 || !hasCall('GET /v1/trips/{id}/route')) return null
    const query = { units: 'metric', geometry: 'linestring' } as const
    return call('get', '/v1/trips/{id}/route', { params, query, signal })
  })
  const events = useTripEvents(trip)
  const canWrite = may('PATCH /v1/trips/{id}')
  const fence = destination.data
  const ring =
    fence &&
    (fence.type === 'circle'
      ? circleRing(fence.geometryCenter.coordinates as unknown as LngLat, fence.geometryRadius)
      : (fence.geometry?.coordinates[0] as unknown as LngLat[] | undefined))
  const set = async (status: string, said: string) => {
    try {
      await call('patch', '/v1/trips/{id}', { params, body: { status } })
      say(said)
    } catch (error) {
      say((error as Error).message, 'bad')
    }
    reload()
  }
  return (
    <div class="page">
      <header>
        <LinkButton href={pagePath('trips')} kind="plain" icon="back">
          Trips
        </LinkButton>
        <h1>{trip.externalId}</h1>
        <Badge tone={TRIP_TONES[trip.status]}>{trip.status}</Badge>
        {trip.delay?.delayed && <Badge tone="bad">late</Badge>}
        <CallButton call={{ method: 'GET', path: addressOf('/v1/trips/{id}', { params }) }} />
        {canWrite && (
          <>
            {trip.status === 'pending' && (
              <Button kind="primary" onClick={() => void set('started', 'The trip has started.')}>
                Start
              </Button>
            )}
            {isActive(trip) && (
              <>
                <Button onClick={() => setOpen('change')}>Change</Button>
                <Button onClick={() => void set('completed', 'The trip is completed.')}>Complete</Button>
                <Button onClick={() => void set('canceled', 'The trip was canceled.')}>Cancel it</Button>
              </>
            )}
            {!isActive(trip) && (
              <Button onClick={() => void set('started', 'The trip has started again.')}>Start again</Button>
            )}
            <Button kind="danger" icon="trash" label="Delete the trip" onClick={() => setOpen('delete')} />
          </>
        )}
      </header>
      <div class="split">
        <div class="stack">
          <Facts trip={trip} />
          {trip.legs !== undefined && trip.legs.length > 0 && <Legs trip={trip} reload={reload} />}
          <section class="card" aria-label="Events">
            <header>
              <h2>Events</h2>
            </header>
            {events.failure && <Failure failure={events.failure} />}
            {events.data?.length === 0 && (
              <Empty title="Nothing has happened yet">
                <p>The first location of the user starts the trip.</p>
              </Empty>
            )}
            <ul>
              {events.data?.slice(0, 100).map((event) => (
                <EventLine key={event._id} event={event} />
              ))}
            </ul>
          </section>
        </div>
        <div class="stack">
          <MarkMap
            label="The trip on the map"
            marks={tripMarks(trip, ring ?? undefined, way.data ? lineOf(way.data.geometry) : undefined)}
            fitKey={`${_id} ${ring !== undefined}`}
            height={520}
          />
          {way.failure && <Failure failure={way.failure} retry={() => way.reload()} />}
          {way.data && (
            <p class="quiet">
              The way it took: {way.data.distance.text},{' '}
              {way.data.matched
                ? 'along the roads.'
                : 'straight between its locations: no roads were found there.'}
            </p>
          )}
          <EtaChart trip={trip} events={events.data ?? []} />
        </div>
      </div>
      {open === 'change' && (
        <TripDialog
          trip={trip}
          onClose={() => setOpen(undefined)}
          onSaved={() => {
            setOpen(undefined)
            reload()
          }}
        />
      )}
      {open === 'delete' && <DeleteDialog trip={trip} onClose={() => setOpen(undefined)} />}
    </div>
  )
}

/** The events of this trip, the newest first. */
function useTripEvents(trip: Trip) {
  const { _id, user, userId, createdAt } = trip
  const who = userId === undefined ? { deviceId: user?.deviceId } : { userId }
  return useQuery(
    `events of trip ${_id} ${JSON.stringify(who)}`,
    async (signal): Promise<readonly Event[]> => {
      if (who.deviceId === undefined && who.userId === undefined) return []
      const query = { ...who, types: TRIP_EVENTS, limit: MAX_EVENTS, createdAfter: createdAt }
      const { events } = await call('get', '/v1/events', { query, signal })
      return events.filter((event) => event.trip?._id === _id)
    },
    { everyMs: EVERY_MS },
  )
}

function Facts({ trip }: { readonly trip: Trip }) {
  const { user, eta, delay } = trip
  const facts: readonly Fact[] = [
    [
      'User',
      user ? <a href={pagePath(`users/${user._id}`)}>{userName(user)}</a> : (trip.userId ?? 'not known yet'),
    ],
    ['Destination', destinationName(trip) || 'none'],
    ['By', trip.mode],
    [
      'Arrives',
      trip.arrivedAt !== undefined ? (
        <>
          arrived <Ago at={trip.arrivedAt} />
        </>
      ) : eta === undefined ? (
        'not known yet'
      ) : (
        `in ${minutesText(eta.duration)}, ${metersText(eta.distance)} ${eta.source === 'road' ? 'by road' : 'in a straight line'}`
      ),
    ],
    [
      'Planned arrival',
      trip.scheduledArrivalAt && (
        <>
          {new Date(trip.scheduledArrivalAt).toLocaleString()}
          {delay && delay.scheduledArrivalTimeDelay > 0 && (
            <Badge tone={delay.delayed ? 'bad' : 'warn'}>
              {minutesText(delay.scheduledArrivalTimeDelay)} late
            </Badge>
          )}
        </>
      ),
    ],
    ['Created', <Ago key="created" at={trip.createdAt} />],
    ['Started', trip.startedAt && <Ago at={trip.startedAt} />],
    ['Ended', trip.endedAt && <Ago at={trip.endedAt} />],
    ['Kept locations', String(trip.locations.length)],
    ...Object.entries(trip.metadata ?? {}).map(([name, value]) => [name, String(value)] as const),
  ]
  return (
    <section class="card" aria-label="The trip">
      <div class="body">
        <dl class="facts">
          <FactRows facts={facts} valueClass="chips" />
        </dl>
      </div>
    </section>
  )
}

function Legs({ trip, reload }: { readonly trip: Trip; readonly reload: () => void }) {
  const canWrite = may('PATCH /v1/trips/{id}/legs/{legId}') && isActive(trip)
  const set = async (leg: Leg, status: string) => {
    try {
      await call('patch', '/v1/trips/{id}/legs/{legId}', {
        params: { id: trip._id, legId: leg._id },
        body: { status },
      })
      say(`${legName(leg)} is ${status}.`)
    } catch (error) {
      say((error as Error).message, 'bad')
    }
    reload()
  }
  return (
    <section class="card" aria-label="Stops">
      <header>
        <h2>Stops</h2>
      </header>
      <ol class="steps">
        {trip.legs!.map((leg, i) => (
          <li key={leg._id}>
            <span class="number-sign">{i + 1}</span>
            <span>
              <strong>{legName(leg)}</strong>{' '}
              <span class="quiet">
                {leg.arrivedAt === undefined ? leg.eta && `in ${minutesText(leg.eta.duration)}` : 'arrived'}
                {leg.stopDuration > 0 && ` · stays ${minutesText(leg.stopDuration)}`}
                {leg._id === trip.currentLegId && ' · now'}
              </span>
            </span>
            <span class="chips">
              <Badge tone={TRIP_TONES[leg.status]}>{leg.status}</Badge>
              {canWrite && !['completed', 'canceled'].includes(leg.status) && (
                <Button size="small" onClick={() => void set(leg, 'completed')}>
                  Done
                </Button>
              )}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}

/** The time to go as it was expected at each event of the trip. */
function EtaChart({ trip, events }: { readonly trip: Trip; readonly events: readonly Event[] }) {
  const told = events.filter((event) => event.trip?.eta !== undefined).toReversed()
  if (told.length < 2) return null
  const distinct = told.filter((event, i) => event.createdAt !== told[i + 1]?.createdAt)
  const late = distinct.map((event) => event.trip!.delay?.scheduledArrivalTimeDelay ?? null)
  const first = distinct[0]!.trip!.eta!.duration
  const now = distinct.at(-1)!.trip!.eta!.duration
  return (
    <section class="card" aria-label="Expected arrival over time">
      <div class="body">
        <Chart
          title="ETA as it was over time"
          summary={`minutes to go: ${Math.round(first)} at first, ${Math.round(now)} now`}
          times={distinct.map((event) => Date.parse(event.createdAt) / 1000)}
          series={[
            {
              name: 'minutes to go',
              color: 'accent',
              values: distinct.map((event) => event.trip!.eta!.duration),
            },
            ...(trip.scheduledArrivalAt === undefined
              ? []
              : [{ name: 'minutes late', color: 'bad', values: late }]),
          ]}
          format={(value) => String(Math.round(value * 10) / 10)}
          theme={isDark.value}
        />
      </div>
    </section>
  )
}

function DeleteDialog({ trip, onClose }: { readonly trip: Trip; readonly onClose: () => void }) {
  const remove = async () => {
    try {
      await call('delete', '/v1/trips/{id}', { params: { id: trip._id } })
      say(`${trip.externalId} was deleted.`)
      go(pagePath('trips'))
    } catch (error) {
      say((error as Error).message, 'bad')
    }
  }
  return (
    <Dialog title={`Delete ${trip.externalId}?`} onClose={onClose}>
      <p>
        The trip and its locations are deleted, without an event. Its past events stay. This cannot be undone.
      </p>
      <div class="actions">
        <Button onClick={onClose}>Keep it</Button>
        <Button kind="danger" onClick={() => void remove()}>
          Delete
        </Button>
      </div>
    </Dialog>
  )
}
