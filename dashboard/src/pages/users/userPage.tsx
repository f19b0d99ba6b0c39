import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import type { User } from '../../../../sdk/src/types.ts'
import { addressOf, call, CallFailure } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { go, pagePath } from '../../router.ts'
import { may } from '../../session/session.ts'
import { usePageKey } from '../../shell/keys.tsx'
import { CallButton } from '../../ui/code.tsx'
import { FactRows, type Fact } from '../../ui/facts.tsx'
import { Later } from '../../ui/later.tsx'
import { Ago, Badge, Button, Dialog, Empty, Failure, LinkButton, Loading } from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import { metersText, recordName, userName } from '../../ui/words.ts'
import { EventLine } from '../events/eventLine.tsx'
import { newGeofencePath } from '../geofences/newPath.ts'

const EVERY_MS = 5000
const EVENTS_SHOWN = 50

/** One user: state, where it is, and what happened. */
export function UserPage({ id }: { readonly id: string }) {
  const params = { id }
  const { data, failure, reload } = useQuery(
    `user ${id}`,
    (signal) => call('get', '/v1/users/{id}', { params, signal }),
    { everyMs: EVERY_MS },
  )
  const user = data?.user
  const [isDeleting, setDeleting] = useState(false)
  usePageKey('e', () => go(pagePath(`users/${id}/explain`)))
  usePageKey('Escape', () => go(pagePath('users')))
  if (failure && user === undefined)
    return (
      <div class="page">
        <Failure failure={failure} retry={reload} />
      </div>
    )
  if (user === undefined) return <Loading />
  return (
    <div class="page">
      <header>
        <LinkButton href={pagePath('users')} kind="plain" icon="back">
          Users
        </LinkButton>
        <h1>{userName(user)}</h1>
        <CallButton call={{ method: 'GET', path: addressOf('/v1/users/{id}', { params }) }} />
        <LinkButton href={pagePath(`users/${id}/explain`)}>Explain</LinkButton>
        {may('DELETE /v1/users/{id}') && (
          <Button kind="danger" icon="trash" onClick={() => setDeleting(true)}>
            Delete
          </Button>
        )}
      </header>
      <div class="split">
        <div class="stack">
          <StateCard user={user} />
          <Later load={async () => (await import('./userMap.tsx')).UserMap} props={{ user }} />
          <MetadataCard metadata={user.metadata} />
        </div>
        <Timeline user={user} />
      </div>
      {isDeleting && <DeleteDialog user={user} onClose={() => setDeleting(false)} />}
    </div>
  )
}

function StateCard({ user }: { readonly user: User }) {
  const [longitude, latitude] = user.location.coordinates as [number, number]
  return (
    <section class="card" aria-label="State">
      <header>
        <h2>State</h2>
        <Badge tone={user.stopped ? undefined : 'ok'}>{user.stopped ? 'stopped' : 'moving'}</Badge>
        {user.foreground && <Badge>app in the foreground</Badge>}
      </header>
      <div class="body">
        <dl class="facts">
          <dt>Updated</dt>
          <dd>
            <Ago at={user.updatedAt} />
          </dd>
          <dt>Location</dt>
          <dd>
            <span class="mono">
              {latitude.toFixed(6)}, {longitude.toFixed(6)}
            </span>
            {may('POST /v1/geofences') && (
              <>
                {' '}
                <a href={newGeofencePath([longitude, latitude])}>Geofence here</a>
              </>
            )}
          </dd>
          {user.locationAccuracy !== undefined && (
            <>
              <dt>Accuracy</dt>
              <dd>{metersText(user.locationAccuracy)}</dd>
            </>
          )}
          <dt>In</dt>
          <dd>
            {user.geofences.length + user.beacons.length === 0 ? (
              <span class="quiet">no geofence or beacon</span>
            ) : (
              <span class="chips">
                {user.geofences.map((fence) => (
                  <a key={fence._id} class="badge accent" href={pagePath(`geofences/${fence._id}`)}>
                    {recordName(fence)}
                  </a>
                ))}
                {user.beacons.map((beacon) => (
                  <a key={beacon._id} class="badge" href={pagePath(`beacons/${beacon._id}`)}>
                    {recordName(beacon)}
                  </a>
                ))}
              </span>
            )}
          </dd>
          {user.country && (
            <>
              <dt>Region</dt>
              <dd>
                {[user.state?.name, user.country.name].filter(Boolean).join(', ')}{' '}
                <span class="quiet">(borders © OpenStreetMap contributors)</span>
              </dd>
            </>
          )}
          <Surroundings user={user} />
          {user.userId && (
            <>
              <dt>User id</dt>
              <dd class="mono">{user.userId}</dd>
            </>
          )}
          <dt>Device id</dt>
          <dd class="mono">{user.deviceId}</dd>
          {user.deviceType && (
            <>
              <dt>Device</dt>
              <dd>
                {[user.deviceMake, user.deviceModel, user.deviceType, user.deviceOS]
                  .filter(Boolean)
                  .join(' ')}
              </dd>
            </>
          )}
          <dt>First seen</dt>
          <dd>
            <Ago at={user.createdAt} />
          </dd>
          <dt>IP address</dt>
          <dd class="mono">{user.ip}</dd>
        </dl>
      </div>
    </section>
  )
}

const SUSPICIONS = ['blocked', 'mocked', 'jumped', 'compromised', 'inaccurate', 'proxy', 'sharing'] as const

/** What the settings can ask for: the trip, the place, chains that are near, segments, and suspicions. */
function Surroundings({ user }: { readonly user: User }) {
  const { trip, place, nearbyPlaceChains = [], segments, fraud } = user
  const raised = fraud === undefined ? [] : SUSPICIONS.filter((name) => fraud[name])
  const facts: readonly Fact[] = [
    ['Trip', trip && <a href={pagePath(`trips/${trip._id}`)}>{trip.externalId}</a>],
    [
      'Place',
      place && (
        <>
          {place.name} <span class="quiet">{place.categories.at(-1)?.replaceAll('-', ' ')}</span>
        </>
      ),
    ],
    ['Near', nearbyPlaceChains.map(({ name }) => name).join(', ')],
    ['Segments', segments.map(({ description, externalId }) => description || externalId).join(', ')],
    [
      'Fraud',
      fraud && (
        <span class="chips">
          {raised.map((name) => (
            <Badge key={name} tone={fraud.passed ? undefined : 'bad'}>
              {name}
            </Badge>
          ))}
          {raised.length === 0 && <span class="quiet">nothing suspicious</span>}
          {fraud.bypassed && <Badge>always passes</Badge>}
        </span>
      ),
    ],
  ]
  return <FactRows facts={facts} />
}

function MetadataCard({ metadata }: { readonly metadata: User['metadata'] }) {
  const entries = Object.entries(metadata ?? {})
  if (entries.length === 0) return null
  return (
    <section class="card" aria-label="Metadata">
      <header>
        <h2>Metadata</h2>
      </header>
      <div class="body">
        <dl class="facts">
          {entries.map(([name, value]) => (
            <Fragment key={name}>
              <dt class="mono">{name}</dt>
              <dd>{String(value)}</dd>
            </Fragment>
          ))}
        </dl>
      </div>
    </section>
  )
}

function Timeline({ user }: { readonly user: User }) {
  const query = { deviceId: user.deviceId, limit: EVENTS_SHOWN }
  const { data, failure, reload } = useQuery(
    `events of ${user.deviceId}`,
    (signal) => call('get', '/v1/events', { query, signal }),
    { everyMs: EVERY_MS },
  )
  return (
    <section class="card" aria-label="Events">
      <header>
        <h2>Events</h2>
        <a href={pagePath('events', { deviceId: user.deviceId })}>All of this device</a>
      </header>
      {failure && (
        <div class="body">
          <Failure failure={failure} retry={reload} />
        </div>
      )}
      {data === undefined && !failure && <Loading />}
      {data?.events.length === 0 && (
        <Empty title="Nothing has happened yet">
          <p>Entries, exits and dwells appear here as they happen.</p>
        </Empty>
      )}
      <ul>
        {data?.events.map((event) => (
          <EventLine key={event._id} event={event} />
        ))}
      </ul>
    </section>
  )
}

function DeleteDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const remove = async () => {
    try {
      await call('delete', '/v1/users/{id}', { params: { id: user._id } })
      say(`${userName(user)} was deleted.`)
      go(pagePath('users'))
    } catch (error) {
      setFailure(error as CallFailure)
    }
  }
  return (
    <Dialog title={`Delete ${userName(user)}?`} onClose={onClose}>
      <p>The user, its state and its position are deleted. Its events stay. This cannot be undone.</p>
      {failure && <Failure failure={failure} />}
      <div class="actions">
        <Button onClick={onClose}>Keep it</Button>
        <Button kind="danger" onClick={() => void remove()}>
          Delete
        </Button>
      </div>
    </Dialog>
  )
}
