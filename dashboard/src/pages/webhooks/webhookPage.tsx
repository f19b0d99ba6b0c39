import { useState } from 'preact/hooks'
import { addressOf, call } from '../../api/call.ts'
import { usePages } from '../../api/usePages.ts'
import { useQuery } from '../../api/useQuery.ts'
import { go, pagePath } from '../../router.ts'
import { may } from '../../session/session.ts'
import { CallButton } from '../../ui/code.tsx'
import { RecordList } from '../../ui/list.tsx'
import {
  Ago,
  Badge,
  Button,
  Dialog,
  Empty,
  Failure,
  LinkButton,
  Loading,
  type Tone,
} from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import { countText, eventName } from '../../ui/words.ts'
import { WEBHOOK_TONES } from './webhooksPage.tsx'

const EVERY_MS = 4000
const DELIVERY_TONES: Readonly<Record<string, Tone>> = {
  delivered: 'ok',
  pending: 'warn',
  failed: 'bad',
  dropped: 'bad',
}

/** One webhook with the log of what it sent, and what the receiver said. */
export function WebhookPage({ id }: { readonly id: string }) {
  const params = { id }
  const { data, failure, reload } = useQuery(
    `webhook ${id}`,
    (signal) => call('get', '/v1/webhooks/{id}', { params, signal }),
    { everyMs: EVERY_MS },
  )
  const log = usePages(
    `deliveries ${id}`,
    async (before, signal) => {
      const { deliveries, meta } = await call('get', '/v1/webhooks/{id}/deliveries', {
        params,
        query: { limit: 50, ...(before && { before }) },
        signal,
      })
      return { rows: deliveries, hasMore: meta.hasMore }
    },
    { everyMs: EVERY_MS },
  )
  const [isDeleting, setDeleting] = useState(false)
  /** Resolves with whether the server has done it. */
  const act = async (work: Promise<unknown>, said: (answer: unknown) => string): Promise<boolean> => {
    let isDone = true
    try {
      say(said(await work))
    } catch (error) {
      isDone = false
      say((error as Error).message, 'bad')
    }
    reload()
    log.reload()
    return isDone
  }
  const sendAgain = ({ _id: deliveryId, status }: { readonly _id: string; readonly status: string }) => (
    <Button
      size="small"
      disabled={status === 'pending'}
      onClick={() =>
        void act(
          call('post', '/v1/webhooks/{id}/redeliver', { params, body: { deliveryId } }),
          () => 'It is sent again.',
        )
      }
    >
      Send again
    </Button>
  )
  const webhook = data?.webhook
  if (failure && webhook === undefined)
    return (
      <div class="page">
        <Failure failure={failure} retry={reload} />
      </div>
    )
  if (webhook === undefined) return <Loading />
  return (
    <div class="page">
      <header>
        <LinkButton href={pagePath('webhooks')} kind="plain" icon="back">
          Webhooks
        </LinkButton>
        <h1>{webhook.url}</h1>
        <Badge tone={WEBHOOK_TONES[webhook.status]}>{webhook.status}</Badge>
        <CallButton call={{ method: 'GET', path: addressOf('/v1/webhooks/{id}', { params }) }} />
        {may('POST /v1/webhooks/{id}/test') && (
          <Button
            onClick={() =>
              void act(call('post', '/v1/webhooks/{id}/test', { params }), (answer) => {
                const { status, error } =
                  (answer as { test?: { status?: number; error?: string } }).test ?? {}
                return error ?? `The receiver answered ${status ?? 'the test'}.`
              })
            }
          >
            Send a test
          </Button>
        )}
        {webhook.status !== 'active' && may('POST /v1/webhooks/{id}/enable') && (
          <Button
            kind="primary"
            onClick={() =>
              void act(call('post', '/v1/webhooks/{id}/enable', { params }), () => 'It sends again.')
            }
          >
            Enable
          </Button>
        )}
        {may('DELETE /v1/webhooks/{id}') && (
          <Button kind="danger" icon="trash" onClick={() => setDeleting(true)}>
            Delete
          </Button>
        )}
      </header>
      {webhook.reason && (
        <p class="notice warn">
          {webhook.status} since {webhook.since && new Date(webhook.since).toLocaleString()}: {webhook.reason}
        </p>
      )}
      <p class="quiet">
        {countText(webhook.pending)} waiting · secret …{webhook.secretLastFour} · types{' '}
        {webhook.types?.join(', ') ?? 'all'} · tags {webhook.tags?.join(', ') ?? 'all'}
      </p>
      <RecordList
        caption="Deliveries, the newest first"
        list={log}
        columns={[
          {
            title: 'Events',
            kind: 'cut',
            cell: ({ events }) => (
              <a href={pagePath(`events/${events[0]?._id}`)}>
                {events.map(({ type }) => eventName(type)).join(', ')}
              </a>
            ),
          },
          { title: 'Is', cell: ({ status }) => <Badge tone={DELIVERY_TONES[status]}>{status}</Badge> },
          { title: 'Attempts', kind: 'number', roomy: true, cell: ({ attemptCount }) => attemptCount },
          {
            title: 'Last answer',
            kind: 'cut',
            roomy: true,
            cell: ({ attempts }) => attempts.at(-1)?.error ?? attempts.at(-1)?.status ?? '',
          },
          { title: 'Body', kind: 'cut', wide: true, cell: ({ lastResponseBody }) => lastResponseBody ?? '' },
          { title: 'When', cell: ({ createdAt }) => <Ago at={createdAt} /> },
          ...(may('POST /v1/webhooks/{id}/redeliver') ? [{ title: 'Again', cell: sendAgain }] : []),
        ]}
        empty={
          <Empty title="Nothing was sent yet">
            <p>Deliveries appear with the next event, with every attempt and what the receiver said.</p>
          </Empty>
        }
      />
      {isDeleting && (
        <Dialog title="Delete this webhook?" onClose={() => setDeleting(false)}>
          <p>
            Its {countText(webhook.pending)} waiting deliveries and its log are deleted. This cannot be
            undone.
          </p>
          <div class="actions">
            <Button onClick={() => setDeleting(false)}>Keep it</Button>
            <Button
              kind="danger"
              onClick={() =>
                void act(
                  call('delete', '/v1/webhooks/{id}', { params }),
                  () => 'The webhook was deleted.',
                ).then((isDone) => isDone && go(pagePath('webhooks')))
              }
            >
              Delete
            </Button>
          </div>
        </Dialog>
      )}
    </div>
  )
}
