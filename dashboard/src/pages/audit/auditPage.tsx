import { useState } from 'preact/hooks'
import type { AnswerOf } from '../../../../sdk/src/types.ts'
import { addressOf, call } from '../../api/call.ts'
import { usePages } from '../../api/usePages.ts'
import { place, setQuery } from '../../router.ts'
import { session } from '../../session/session.ts'
import { CallButton } from '../../ui/code.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Ago, Badge, Button, Empty, Failure, Loading } from '../../ui/parts.tsx'
import { countText } from '../../ui/words.ts'
import { Changes } from './changes.tsx'
import { RestoreDialog } from './restoreDialog.tsx'
import { isRestorable, whyNotRestorable } from './restoring.ts'

export type Entry = AnswerOf<'/v1/audit', 'get'>['audit'][number]

const LIMIT = 100

/** Who changed what, with the values before and after; what was changed can be restored. */
export default function AuditPage() {
  const query = place.value.query
  const asked = {
    limit: LIMIT,
    ...Object.fromEntries(
      ['actor', 'action', 'target'].flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : [])),
    ),
  }
  const list = usePages(`audit ${JSON.stringify(asked)}`, async (before, signal) => {
    const { audit, meta } = await call('get', '/v1/audit', {
      query: { ...asked, ...(before && { before }) },
      signal,
    })
    return { rows: audit, hasMore: meta.hasMore }
  })
  const [restoring, setRestoring] = useState<Entry | undefined>()
  if (session.value?.account === undefined)
    return (
      <div class="page">
        <header>
          <h1>Audit</h1>
        </header>
        <p class="notice">
          You signed in with a key. The audit is for people with the role admin: make an account with{' '}
          <code>npm run accounts -- add ann@example.com</code> and sign in with it.
        </p>
      </div>
    )
  const filter = (name: string, label: string, placeholder: string) => (
    <TextField
      label={label}
      type="search"
      placeholder={placeholder}
      value={query.get(name) ?? ''}
      onInput={(value) => setQuery({ [name]: value })}
    />
  )
  const { data, failure, hasMore, isLoadingMore } = list
  return (
    <div class="page">
      <header>
        <h1>Audit</h1>
        <CallButton call={{ method: 'GET', path: addressOf('/v1/audit', { query: asked }) }} />
        <Button onClick={() => list.reload()}>Refresh</Button>
      </header>
      <div class="filters" role="search">
        {filter('action', 'Action', 'geofence.changed')}
        {filter('target', 'What', 'store/42')}
        {query.get('actor') && (
          <Button onClick={() => setQuery({ actor: undefined })}>By everybody again</Button>
        )}
      </div>
      {failure && <Failure failure={failure} retry={() => list.reload()} />}
      <section class="card" aria-label="Entries, the newest first">
        {data === undefined && !failure && <Loading lines={8} />}
        {data?.length === 0 && (
          <Empty title="No entry matches">
            <p>Every change of a record, a setting, a key or a person is entered here.</p>
          </Empty>
        )}
        <ul>
          {data?.map((entry) => (
            <Line key={entry._id} entry={entry} onRestore={() => setRestoring(entry)} />
          ))}
        </ul>
        {data !== undefined && data.length > 0 && (
          <footer class="list-end">
            <span class="quiet">{countText(data.length)} shown</span>
            {hasMore && (
              <Button size="small" disabled={isLoadingMore} onClick={() => list.more()}>
                Show more
              </Button>
            )}
          </footer>
        )}
      </section>
      {restoring && (
        <RestoreDialog
          entry={restoring}
          onClose={() => setRestoring(undefined)}
          onDone={() => {
            setRestoring(undefined)
            list.reload()
          }}
        />
      )}
    </div>
  )
}

function Line({ entry, onRestore }: { readonly entry: Entry; readonly onRestore: () => void }) {
  const { actor, action, target, at, live, before, after, ip } = entry
  const hasValues = before !== undefined || after !== undefined
  return (
    <li class="entry">
      <details>
        <summary>
          <span class="what">
            <strong>{actionText(action)}</strong> {target}{' '}
            {live !== undefined && <Badge>{live ? 'live' : 'test'}</Badge>}
          </span>
          <span class="quiet">
            {actorName(actor)} · <Ago at={at} />
          </span>
        </summary>
        <div class="body">
          <p class="quiet">
            {new Date(at).toLocaleString()}, by {actorName(actor)}
            {ip && `, from ${ip}`}.{' '}
            <button type="button" class="link" onClick={() => setQuery({ actor: actor.id })}>
              All by {actorName(actor)}
            </button>
          </p>
          {hasValues ? <Changes before={before} after={after} /> : <p class="quiet">It has no values.</p>}
          {whyNotRestorable(entry) && <p class="notice">{whyNotRestorable(entry)}</p>}
          {isRestorable(entry) && (
            <div class="actions">
              <Button size="small" onClick={onRestore}>
                Restore what was before
              </Button>
            </div>
          )}
        </div>
      </details>
    </li>
  )
}

/** The name of the actor. A key has none, only its last characters. */
function actorName({ kind, label }: Entry['actor']): string {
  if (kind === 'key') return `key …${label}`
  return label || kind
}

/** The action in words: `geofence.changed` becomes `geofence changed`. */
function actionText(action: string): string {
  return action.includes(' ') ? action : action.replace('.', ' ').replace('changedMany', 'changed many')
}
