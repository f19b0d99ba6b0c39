import { useState } from 'preact/hooks'
import type { AnswerOf } from '../../../../sdk/src/types.ts'
import { call, CallFailure } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { pagePath } from '../../router.ts'
import type { PageProps } from '../../routes.ts'
import { may } from '../../session/session.ts'
import { CallButton, Code } from '../../ui/code.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Badge, Button, Dialog, Empty, Failure, Loading, type Tone } from '../../ui/parts.tsx'
import { Table } from '../../ui/table.tsx'
import { countText } from '../../ui/words.ts'
import { WebhookPage } from './webhookPage.tsx'

export type Webhook = AnswerOf<'/v1/webhooks/{id}', 'get'>['webhook']

const EVERY_MS = 5000
export const WEBHOOK_TONES: Readonly<Record<string, Tone>> = {
  active: 'ok',
  failing: 'warn',
  paused: 'bad',
  disabled: undefined,
}

export default function WebhooksPage({ parts: [id] }: PageProps) {
  return id === undefined ? <WebhookList /> : <WebhookPage id={id} />
}

function WebhookList() {
  const { data, failure, reload } = useQuery(
    'webhooks',
    (signal) => call('get', '/v1/webhooks', { signal }),
    {
      everyMs: EVERY_MS,
    },
  )
  const [isNew, setNew] = useState(false)
  const canChange = may('POST /v1/webhooks')
  return (
    <div class="page">
      <header>
        <h1>Webhooks</h1>
        <CallButton call={{ method: 'GET', path: '/v1/webhooks' }} />
        {canChange && (
          <Button kind="primary" icon="plus" onClick={() => setNew(true)}>
            New webhook
          </Button>
        )}
      </header>
      {failure && <Failure failure={failure} retry={reload} />}
      <section class="card" aria-label="Webhooks">
        {data === undefined && !failure && <Loading />}
        {data?.webhooks.length === 0 && (
          <Empty title="No webhook yet">
            <p>A webhook sends each event to a server of yours, signed, with retries for days.</p>
          </Empty>
        )}
        {data !== undefined && data.webhooks.length > 0 && (
          <Table
            caption="Webhooks"
            rows={data.webhooks}
            keyOf={({ _id }) => _id}
            columns={[
              {
                title: 'URL',
                kind: 'long',
                cell: ({ _id, url }) => <a href={pagePath(`webhooks/${_id}`)}>{url}</a>,
              },
              { title: 'Is', cell: ({ status }) => <Badge tone={WEBHOOK_TONES[status]}>{status}</Badge> },
              { title: 'Waiting', kind: 'number', cell: ({ pending }) => countText(pending) },
              {
                title: 'Why',
                kind: 'cut',
                wide: true,
                cell: ({ reason, description }) => reason ?? description ?? '',
              },
            ]}
          />
        )}
      </section>
      {isNew && (
        <NewDialog
          onClose={() => {
            setNew(false)
            reload()
          }}
        />
      )}
    </div>
  )
}

function NewDialog({ onClose }: { readonly onClose: () => void }) {
  const [url, setUrl] = useState('')
  const [types, setTypes] = useState('')
  const [tags, setTags] = useState('')
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const [secret, setSecret] = useState<string | undefined>()
  const wrong = (name: string) => (failure?.param?.startsWith(name) ? failure.message : undefined)
  const isElsewhere = failure !== undefined && !['url', 'types', 'tags'].some((name) => wrong(name))
  const make = (event: Event) => {
    event.preventDefault()
    setFailure(undefined)
    call('post', '/v1/webhooks', { body: { url, ...(types && { types }), ...(tags && { tags }) } }).then(
      ({ webhook }) => setSecret(webhook.secret),
      (error: unknown) => setFailure(error as CallFailure),
    )
  }
  if (secret !== undefined)
    return (
      <Dialog title="The secret" onClose={onClose}>
        <p>Your server checks the signature of each request with it. It is shown only now.</p>
        <Code text={secret} label="Copy the secret" />
      </Dialog>
    )
  return (
    <Dialog title="New webhook" onClose={onClose}>
      <form class="form" onSubmit={make}>
        <TextField
          label="URL"
          type="url"
          placeholder="https://example.com/ringfence"
          value={url}
          wrong={wrong('url')}
          onInput={setUrl}
          required
        />
        <TextField
          label="Only these types"
          help="user.entered_geofence, user.exited_geofence; empty: all."
          value={types}
          wrong={wrong('types')}
          onInput={setTypes}
        />
        <TextField
          label="Only these tags"
          help="Of geofences and beacons; empty: all."
          value={tags}
          wrong={wrong('tags')}
          onInput={setTags}
        />
        {isElsewhere && <Failure failure={failure} />}
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit">
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
