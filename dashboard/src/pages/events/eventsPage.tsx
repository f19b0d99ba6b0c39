import type { Event } from '../../../../sdk/src/types.ts'
import { addressOf, call } from '../../api/call.ts'
import { usePages } from '../../api/usePages.ts'
import { serverNow } from '../../clock.ts'
import { pagePath, place, setQuery } from '../../router.ts'
import type { PageProps } from '../../routes.ts'
import { CallButton } from '../../ui/code.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { RecordList } from '../../ui/list.tsx'
import { Ago, Button, Empty } from '../../ui/parts.tsx'
import type { Column } from '../../ui/table.tsx'
import { eventName, userName } from '../../ui/words.ts'
import { Confidence, EventSign, subjectName } from './eventLine.tsx'
import { EventPage } from './eventPage.tsx'
import { EVENT_TYPES } from './eventTypes.ts'
import { EventChart } from './eventChart.tsx'

const LIMIT = 100
const HOUR_MS = 3_600_000
const SPANS = [
  ['', 'Any time'],
  ['1', 'Last hour'],
  ['24', 'Last 24 hours'],
  ['168', 'Last 7 days'],
] as const

const FILTERS = ['text', 'type', 'userId', 'deviceId', 'tag', 'externalId', 'confidence', 'hours'] as const

export default function EventsPage({ parts: [id] }: PageProps) {
  return id === undefined ? <EventList /> : <EventPage id={id} />
}

const COLUMNS: readonly Column<Event>[] = [
  {
    title: 'Event',
    cell: (event) => (
      <a href={pagePath(`events/${event._id}`)} class="with-sign">
        <EventSign type={event.type} />
        {eventName(event.type)}
      </a>
    ),
  },
  { title: 'Of', kind: 'cut', cell: subjectName },
  {
    title: 'User',
    kind: 'cut',
    cell: (event) => <a href={pagePath(`users/${event.user._id}`)}>{userName(event.user)}</a>,
  },
  { title: 'Confidence', wide: true, cell: (event) => <Confidence value={event.confidence} /> },
  { title: 'When', cell: (event) => <Ago at={event.createdAt} /> },
]

function EventList() {
  const query = place.value.query
  const text = (name: string) => query.get(name) ?? ''
  const hours = Number(text('hours'))
  const subject = {
    ...(text('text') && { text: text('text') }),
    ...(text('tag') && { tag: text('tag') }),
    ...(text('externalId') && { externalId: text('externalId') }),
    ...(text('confidence') && { minimumConfidence: Number(text('confidence')) }),
  }
  const asked = {
    limit: LIMIT,
    ...(text('type') && { type: text('type') }),
    ...(text('userId') && { userId: text('userId') }),
    ...(text('deviceId') && { deviceId: text('deviceId') }),
    ...subject,
  }
  const since = () =>
    hours > 0 ? { createdAfter: new Date(serverNow() - hours * HOUR_MS).toISOString() } : {}
  const list = usePages(`events ${JSON.stringify(asked)} ${hours}`, async (before, signal) => {
    const { events, meta } = await call('get', '/v1/events', {
      query: { ...asked, ...since(), ...(before && { before }) },
      signal,
    })
    return { rows: events, hasMore: meta.hasMore }
  })
  const isFiltered = FILTERS.some((name) => text(name) !== '')
  return (
    <div class="page">
      <header>
        <h1>Events</h1>
        <CallButton
          call={{ method: 'GET', path: addressOf('/v1/events', { query: { ...asked, ...since() } }) }}
        />
        <Button onClick={() => list.reload()}>Refresh</Button>
      </header>
      <div class="filters" role="search">
        <SelectField
          label="Type"
          value={text('type')}
          options={[['', 'Every type'], ...EVENT_TYPES.map((type) => [type, eventName(type)] as const)]}
          onChange={(type) => setQuery({ type })}
        />
        <TextField
          label="Search"
          type="search"
          placeholder="id or name"
          value={text('text')}
          onInput={(wanted) => setQuery({ text: wanted })}
        />
        <TextField
          label="User id"
          type="search"
          value={text('userId')}
          onInput={(userId) => setQuery({ userId })}
        />
        <TextField
          label="Device id"
          type="search"
          value={text('deviceId')}
          onInput={(deviceId) => setQuery({ deviceId })}
        />
        <TextField
          label="Tag"
          type="search"
          placeholder="of the geofence"
          value={text('tag')}
          onInput={(tag) => setQuery({ tag })}
        />
        <TextField
          label="Its id"
          type="search"
          value={text('externalId')}
          onInput={(externalId) => setQuery({ externalId })}
        />
        <SelectField
          label="Confidence"
          value={text('confidence')}
          options={[
            ['', 'Any'],
            ['2', 'Medium or high'],
            ['3', 'High'],
          ]}
          onChange={(confidence) => setQuery({ confidence })}
        />
        <SelectField
          label="Time"
          value={text('hours')}
          options={SPANS}
          onChange={(value) => setQuery({ hours: value })}
        />
        {isFiltered && (
          <Button
            kind="plain"
            onClick={() => setQuery(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}
          >
            Clear
          </Button>
        )}
      </div>
      {text('userId') === '' && text('deviceId') === '' && (
        <EventChart
          hours={hours > 0 ? hours : 24}
          query={{ ...subject, ...(text('type') && { types: text('type') }) }}
        />
      )}
      <RecordList
        caption="Events, the newest first"
        list={list}
        columns={COLUMNS}
        empty={
          <Empty title={isFiltered ? 'No event matches' : 'Nothing has happened yet'}>
            <p>
              {isFiltered
                ? 'Take away a filter, or choose a longer time.'
                : 'An event happens when a user enters, stays in or leaves a geofence, a beacon or a region.'}
            </p>
          </Empty>
        }
      />
    </div>
  )
}
