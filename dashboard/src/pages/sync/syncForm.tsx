import { useState } from 'preact/hooks'
import { call, CallFailure } from '../../api/call.ts'
import { may } from '../../session/session.ts'
import { CheckField, SelectField, TextArea, TextField } from '../../ui/fields.tsx'
import { Badge, Button, Failure, Segments } from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import { EMPTY_SECRET, settingsOf, syncDraftOf, type SyncDraft } from './syncDraft.ts'
import type { Sync } from './runWords.ts'

interface Tested {
  readonly name: string
  readonly ok: boolean
  readonly message: string
}

/** Where the files are, when they are fetched, and who is told. */
export function SyncForm({
  sync,
  onSaved,
}: {
  readonly sync: Sync
  readonly onSaved: (run: string | undefined) => void
}) {
  const [draft, setDraft] = useState<SyncDraft>(() => syncDraftOf(sync))
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const [tested, setTested] = useState<readonly Tested[] | undefined>()
  const [isBusy, setBusy] = useState(false)
  const canChange = may('PUT /v1/geofence-sync')
  const change = (changes: Partial<SyncDraft>) => setDraft((before) => ({ ...before, ...changes }))
  const act = async (work: () => Promise<void>) => {
    setBusy(true)
    setFailure(undefined)
    try {
      await work()
    } catch (error) {
      setFailure(error as CallFailure)
    } finally {
      setBusy(false)
    }
  }
  const save = (run: boolean) =>
    act(async () => {
      const body = { ...settingsOf(draft), ...(run && { run }) } as never
      const answer = await call('put', '/v1/geofence-sync', { body })
      say('The settings of the sync were saved.')
      setDraft(syncDraftOf(answer.sync))
      onSaved(answer.run?._id)
    })
  const test = () =>
    act(async () => {
      setTested(undefined)
      const body = settingsOf(draft) as never
      setTested((await call('post', '/v1/geofence-sync/test', { body })).sources)
    })
  const parts = failure?.param?.split(/[.[]/) ?? []
  const fields = [
    'urls',
    'username',
    'password',
    'headers',
    'region',
    'bucket',
    'keys',
    'accessKeyId',
  ].concat(['secretAccessKey', 'endpoint', 'time', 'timeZone', 'maxDeleteShare', 'emails'])
  const field = fields.find((name) => parts.includes(name))
  const text = (name: keyof SyncDraft, label: string, help?: string, type: 'text' | 'password' = 'text') => (
    <TextField
      label={label}
      help={help}
      type={type}
      autocomplete={type === 'password' ? 'new-password' : 'off'}
      disabled={!canChange}
      value={String(draft[name])}
      wrong={field === name ? failure!.message : undefined}
      onInput={(value) => change({ [name]: value })}
    />
  )
  const lines = (name: 'urls' | 'keys' | 'headers', label: string, help: string) => (
    <TextArea
      label={label}
      help={help}
      rows={3}
      value={draft[name]}
      wrong={field === name ? failure!.message : undefined}
      onInput={(value) => change({ [name]: value })}
    />
  )
  return (
    <section class="card" aria-label="Settings of the sync">
      <header>
        <h2>Settings</h2>
        <CheckField
          label="Every night"
          checked={draft.enabled}
          disabled={!canChange}
          onChange={(enabled) => change({ enabled })}
        />
      </header>
      <form class="body form" onSubmit={(event) => event.preventDefault()}>
        {!canChange && <p class="notice">Your role may look at this. An admin can change it.</p>}
        {failure && field === undefined && <Failure failure={failure} />}
        <Segments
          label="Where the files are"
          value={draft.protocol}
          options={[
            ['http', 'Web server'],
            ['s3', 'Object storage'],
          ]}
          onChange={(protocol) => change({ protocol })}
        />
        {draft.protocol === 'http' ? (
          <>
            {lines('urls', 'Addresses', '1 to 20 CSV files, one address a line.')}
            <div class="pair">
              {text('username', 'User name', 'Of basic authentication; empty: none.')}
              {text('password', 'Password', secretHelp(sync.http?.passwordSet), 'password')}
            </div>
            {lines(
              'headers',
              'Headers',
              `Lines of name: value, which are secret. ${sync.http?.headers.length ? `Set: ${sync.http.headers.join(', ')}.` : ''}`,
            )}
          </>
        ) : (
          <>
            <div class="pair">
              {text('region', 'Region')}
              {text('bucket', 'Bucket')}
            </div>
            {lines('keys', 'Objects', '1 to 20 CSV files, one key a line.')}
            <div class="pair">
              {text('accessKeyId', 'Access key id')}
              {text(
                'secretAccessKey',
                'Secret access key',
                secretHelp(sync.s3?.secretAccessKeySet),
                'password',
              )}
            </div>
            {text('endpoint', 'Endpoint', 'Of other makers: https://HOST:PORT; empty: Amazon.')}
          </>
        )}
        <div class="pair">
          {text('time', 'Time', 'HH:mm')}
          {text('timeZone', 'Time zone', 'Such as Europe/Berlin.')}
        </div>
        <CheckField
          label="Delete geofences that came from a file and are in none any more"
          checked={draft.deleteMissing}
          disabled={!canChange}
          onChange={(deleteMissing) => change({ deleteMissing })}
        />
        {draft.deleteMissing &&
          text(
            'maxDeleteShare',
            'But not more than this share at once',
            '0.1 is a tenth. Beyond it nothing is deleted until a run with force.',
          )}
        <div class="pair">
          {text('emails', 'E-mail to', 'At most 10, divided by commas.')}
          <SelectField
            label="When"
            value={draft.notify}
            options={[
              ['always', 'after every run'],
              ['failures', 'only if something went wrong'],
            ]}
            onChange={(notify) => change({ notify: notify as SyncDraft['notify'] })}
          />
        </div>
        {tested && <TestedSources tested={tested} />}
        {canChange && (
          <div class="actions">
            <Button disabled={isBusy} onClick={() => void test()}>
              {isBusy ? 'Working …' : 'Test each source'}
            </Button>
            <Button disabled={isBusy} onClick={() => void save(true)}>
              Save and run
            </Button>
            <Button kind="primary" disabled={isBusy} onClick={() => void save(false)}>
              Save
            </Button>
          </div>
        )}
      </form>
    </section>
  )
}

function TestedSources({ tested }: { readonly tested: readonly Tested[] }) {
  return (
    <ul class="tested" role="status">
      {tested.map(({ name, ok, message }) => (
        <li key={name} class={`notice ${ok ? 'ok' : 'bad'}`}>
          <Badge tone={ok ? 'ok' : 'bad'}>{ok ? 'works' : 'does not work'}</Badge>
          <span>
            <span class="mono">{name}</span>
            <br />
            {message}
          </span>
        </li>
      ))}
    </ul>
  )
}

function secretHelp(isSet: boolean | undefined): string {
  return isSet
    ? `Set. Empty: it stays. “${EMPTY_SECRET}”: it is removed.`
    : 'It is kept encrypted and never shown.'
}
