import { useState } from 'preact/hooks'
import { addressOf, call } from '../../api/call.ts'
import { usePages } from '../../api/usePages.ts'
import { useQuery } from '../../api/useQuery.ts'
import { go, pagePath, place, setQuery } from '../../router.ts'
import type { PageProps } from '../../routes.ts'
import { may } from '../../session/session.ts'
import { usePageKey } from '../../shell/keys.tsx'
import { CallButton } from '../../ui/code.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { RecordList } from '../../ui/list.tsx'
import { Ago, Badge, Button, Empty } from '../../ui/parts.tsx'
import type { Column } from '../../ui/table.tsx'
import { userName } from '../../ui/words.ts'
import { MarkMap } from '../maps/markMap.tsx'
import { TripDialog } from './tripDialog.tsx'
import { TripPage } from './tripPage.tsx'
import {
  ACTIVE,
  destinationName,
  minutesText,
  TRIP_TONES,
  STATUSES,
  tripMarks,
  type Trip,
} from './tripWords.ts'

const LIMIT = 100
const EVERY_MS = 4000
/** The maximum number of trips on the map, because nobody can tell more of them apart. */
const MAX_ON_MAP = 100
/** The end of a trail tells where a trip goes. All of a hundred long ones would be megabytes each time. */
const MAX_TRAIL = 50

export default function TripsPage({ parts: [id] }: PageProps) {
  return id === undefined ? <TripList /> : <TripPage key={id} id={id} />
}

const COLUMNS: readonly Column<Trip>[] = [
  {
    title: 'Trip',
    kind: 'cut',
    cell: (trip) => <a href={pagePath(`trips/${trip._id}`)}>{trip.externalId}</a>,
  },
  { title: 'Is', cell: ({ status }) => <Badge tone={TRIP_TONES[status]}>{status}</Badge> },
  {
    title: 'User',
    kind: 'cut',
    wide: true,
    cell: ({ user, userId }) => (user ? userName(user) : (userId ?? '')),
  },
  { title: 'To', kind: 'cut', roomy: true, cell: (trip) => destinationOf(trip) },
  { title: 'Arrives', cell: (trip) => <Arrival trip={trip} /> },
  { title: 'Updated', wide: true, cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
]

function destinationOf(trip: Trip): string {
  const stops = trip.legs?.length ?? 0
  const name = destinationName(trip)
  if (stops < 2) return name
  return name === '' ? `${stops} stops` : `${name} (${stops} stops)`
}

/** When a trip arrives, and whether that is too late. */
function Arrival({ trip: { status, eta, delay, arrivedAt } }: { readonly trip: Trip }) {
  if (arrivedAt !== undefined) return <Ago at={arrivedAt} />
  if (eta === undefined || !(ACTIVE as readonly string[]).includes(status))
    return <span class="quiet">unknown</span>
  return (
    <span class="chips">
      <span class="one-line">in {minutesText(eta.duration)}</span>
      {delay?.delayed && <Badge tone="bad">{minutesText(delay.scheduledArrivalTimeDelay)} late</Badge>}
    </span>
  )
}

function TripList() {
  const query = place.value.query
  const text = (name: string) => query.get(name) ?? ''
  const [status, user, tag, delayed] = [
    text('status') || 'active',
    text('user'),
    text('tag'),
    text('delayed'),
  ]
  const [isNew, setNew] = useState(false)
  const canWrite = may('POST /v1/trips')
  const statuses = status === 'active' ? ACTIVE.join() : status === 'all' ? '' : status
  const asked = {
    limit: LIMIT,
    ...(statuses && { status: statuses }),
    ...(user && { userId: user }),
    ...(tag && { destinationGeofenceTag: tag }),
    ...(delayed && { delayed: delayed === 'true' }),
  }
  const key = JSON.stringify(asked)
  const list = usePages(
    `trips ${key}`,
    async (before, signal) => {
      const { trips, meta } = await call('get', '/v1/trips', {
        query: { ...asked, ...(before && { before }) },
        signal,
      })
      return { rows: trips, hasMore: meta.hasMore }
    },
    { everyMs: EVERY_MS },
  )
  const onMap = useQuery(
    `trips on the map ${key}`,
    async (signal) =>
      call('get', '/v1/trips', {
        query: { ...asked, limit: MAX_ON_MAP, includeLocations: true, maxLocations: MAX_TRAIL },
        signal,
      }),
    { everyMs: EVERY_MS },
  )
  usePageKey('n', () => canWrite && setNew(true))
  const marks = (onMap.data?.trips ?? []).flatMap((trip) => tripMarks(trip))
  const isFiltered = user !== '' || tag !== '' || delayed !== ''
  return (
    <div class="page">
      <header>
        <h1>Trips</h1>
        <CallButton call={{ method: 'GET', path: addressOf('/v1/trips', { query: asked }) }} />
        {canWrite && (
          <Button kind="primary" icon="plus" onClick={() => setNew(true)}>
            New trip
          </Button>
        )}
      </header>
      <div class="filters" role="search">
        <SelectField
          label="Status"
          value={status}
          options={[['active', 'Under way'], ['all', 'All'], ...STATUSES.map((one) => [one, one] as const)]}
          onChange={(value) => setQuery({ status: value === 'active' ? undefined : value })}
        />
        <TextField
          label="User id"
          type="search"
          value={user}
          onInput={(value) => setQuery({ user: value })}
        />
        <TextField
          label="Destination’s tag"
          type="search"
          value={tag}
          onInput={(value) => setQuery({ tag: value })}
        />
        <SelectField
          label="Late"
          value={delayed}
          options={[
            ['', 'Late or not'],
            ['true', 'Only late ones'],
            ['false', 'Only those in time'],
          ]}
          onChange={(value) => setQuery({ delayed: value })}
        />
      </div>
      <div class="split">
        <RecordList
          caption="Trips, the last changed first"
          list={list}
          columns={COLUMNS}
          empty={
            <Empty title={isFiltered || status !== 'active' ? 'No trip matches' : 'Nobody is under way'}>
              <p>
                A trip follows a user to a destination: it tells the ETA, and when the user approaches and
                arrives. An app starts it, or you start one here.
              </p>
              {canWrite && (
                <Button kind="primary" onClick={() => setNew(true)}>
                  Start a trip
                </Button>
              )}
            </Empty>
          }
        />
        <div class="stack">
          <MarkMap
            label="Trips on the map"
            marks={marks}
            fitKey={key}
            height={620}
            onChoose={(id) => go(pagePath(`trips/${id}`))}
          />
          {onMap.data?.meta.hasMore && (
            <p class="quiet">
              The map shows the {onMap.data.trips.length} that changed last. Filter to see others.
            </p>
          )}
        </div>
      </div>
      {isNew && (
        <TripDialog
          onClose={() => setNew(false)}
          onSaved={(trip) => {
            setNew(false)
            go(pagePath(`trips/${trip._id}`))
          }}
        />
      )}
    </div>
  )
}
