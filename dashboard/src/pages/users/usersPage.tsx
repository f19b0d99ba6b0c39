import type { User } from '../../../../sdk/src/types.ts'
import { addressOf, call } from '../../api/call.ts'
import { usePages } from '../../api/usePages.ts'
import { pagePath, place, setQuery } from '../../router.ts'
import type { PageProps } from '../../routes.ts'
import { CallButton } from '../../ui/code.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { Later } from '../../ui/later.tsx'
import { RecordList } from '../../ui/list.tsx'
import { Ago, Badge, Button, Empty, LinkButton } from '../../ui/parts.tsx'
import type { Column } from '../../ui/table.tsx'
import { metersText, recordName, userName } from '../../ui/words.ts'
import { UserPage } from './userPage.tsx'

const LIMIT = 100

export default function UsersPage({ parts }: PageProps) {
  const [id, part] = parts
  if (id === undefined) return <UserList />
  if (part !== 'explain') return <UserPage id={id} />
  return <Later load={async () => (await import('./explainPage.tsx')).ExplainPage} props={{ id }} />
}

const COLUMNS: readonly Column<User>[] = [
  {
    title: 'User',
    kind: 'cut',
    cell: (user) => <a href={pagePath(`users/${user._id}`)}>{userName(user)}</a>,
  },
  { title: 'Device', kind: 'cut', wide: true, cell: (user) => <span class="quiet">{user.deviceId}</span> },
  {
    title: 'Is',
    roomy: true,
    cell: (user) => (
      <Badge tone={user.stopped ? undefined : 'ok'}>{user.stopped ? 'stopped' : 'moving'}</Badge>
    ),
  },
  {
    title: 'In',
    cell: (user) =>
      user.geofences.length === 0 ? (
        <span class="quiet">no geofence</span>
      ) : (
        <span class="chips">
          {user.geofences.slice(0, 2).map((fence) => (
            <Badge key={fence._id} tone="accent">
              {recordName(fence)}
            </Badge>
          ))}
          {user.geofences.length > 2 && <Badge>{`+${user.geofences.length - 2}`}</Badge>}
        </span>
      ),
  },
  {
    title: 'Accuracy',
    kind: 'number',
    wide: true,
    cell: (user) => (user.locationAccuracy === undefined ? '' : metersText(user.locationAccuracy)),
  },
  { title: 'Updated', cell: (user) => <Ago at={user.updatedAt} /> },
]

function UserList() {
  const query = place.value.query
  const filter = {
    text: query.get('text') ?? '',
    userId: query.get('userId') ?? '',
    deviceId: query.get('deviceId') ?? '',
  }
  const isByUpdate = query.get('sort') === 'updated'
  const asked = {
    limit: LIMIT,
    ...(isByUpdate && { sortBy: 'updatedAt' as const }),
    ...(filter.text && { text: filter.text }),
    ...(filter.userId && { userId: filter.userId }),
    ...(filter.deviceId && { deviceId: filter.deviceId }),
  }
  const isFiltered = Object.values(filter).some((value) => value !== '')
  const list = usePages(`users ${JSON.stringify(asked)}`, async (before, signal) => {
    const { users, meta } = await call('get', '/v1/users', {
      query: { ...asked, ...(before && { before }) },
      signal,
    })
    return { rows: users, hasMore: meta.hasMore }
  })
  return (
    <div class="page">
      <header>
        <h1>Users</h1>
        <CallButton call={{ method: 'GET', path: addressOf('/v1/users', { query: asked }) }} />
        <Button onClick={() => list.reload()}>Refresh</Button>
      </header>
      <div class="filters" role="search">
        <TextField
          label="Search"
          type="search"
          placeholder="id or description"
          value={filter.text}
          onInput={(text) => setQuery({ text })}
        />
        <TextField
          label="User id"
          type="search"
          value={filter.userId}
          onInput={(userId) => setQuery({ userId })}
        />
        <TextField
          label="Device id"
          type="search"
          value={filter.deviceId}
          onInput={(deviceId) => setQuery({ deviceId })}
        />
        <SelectField
          label="Order"
          value={isByUpdate ? 'updated' : ''}
          options={[
            ['', 'Newest first'],
            ['updated', 'Last updated first'],
          ]}
          onChange={(sort) => setQuery({ sort })}
        />
        {isFiltered && (
          <Button
            kind="plain"
            onClick={() => setQuery({ text: undefined, userId: undefined, deviceId: undefined })}
          >
            Clear
          </Button>
        )}
      </div>
      <RecordList
        caption={isByUpdate ? 'Users, the last updated first' : 'Users, the newest first'}
        list={list}
        columns={COLUMNS}
        empty={
          isFiltered ? (
            <Empty title="No user is like this">
              <p>
                Ids are compared as a whole, with upper and lower case; the search is for any part, in either.
              </p>
            </Empty>
          ) : (
            <Empty title="No user has sent a location yet">
              <p>A user appears with its first location, from an app or by a call to POST /v1/track.</p>
              <LinkButton href={pagePath('map', { welcome: '1' })} kind="primary">
                Send the first one
              </LinkButton>
            </Empty>
          )
        }
      />
    </div>
  )
}
