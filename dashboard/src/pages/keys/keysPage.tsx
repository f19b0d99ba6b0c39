import { useState } from 'preact/hooks'
import { call, CallFailure } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { environment } from '../../api/environment.ts'
import { serverNow } from '../../clock.ts'
import { session } from '../../session/session.ts'
import { CallButton, Code } from '../../ui/code.tsx'
import { Ago, Button, Dialog, Failure, Loading } from '../../ui/parts.tsx'

/** The keys of the environment by their last characters; a new one is shown once. */
export default function KeysPage() {
  const { data, failure, reload } = useQuery('keys', (signal) => call('get', '/v1/keys', { signal }))
  const [rotating, setRotating] = useState<'publishable' | 'secret' | undefined>()
  return (
    <div class="page">
      <header>
        <h1>Keys of {environment.value}</h1>
        <CallButton call={{ method: 'GET', path: '/v1/keys' }} />
      </header>
      <p class="quiet">
        Publishable keys go into apps. Secret keys may do everything and stay on your servers. They are kept
        hashed: a lost secret key can only be replaced.
      </p>
      {failure && <Failure failure={failure} retry={reload} />}
      <section class="card" aria-label="Keys">
        {data === undefined && !failure && <Loading lines={3} />}
        {data?.keys.map((key) => (
          <div key={key.kind + key.lastFour} class="key-row">
            <strong>{key.kind}</strong>
            <code>…{key.lastFour}</code>
            {key.validUntil ? (
              <span class="quiet">
                an older one, valid until {new Date(key.validUntil).toLocaleString()} (
                <Ago at={key.validUntil} />)
              </span>
            ) : (
              session.value?.account && (
                <Button size="small" onClick={() => setRotating(key.kind as 'publishable' | 'secret')}>
                  Replace
                </Button>
              )
            )}
          </div>
        ))}
      </section>
      {!session.value?.account && (
        <p class="notice">
          You signed in with a key, which cannot replace keys. Sign in with an account to do so.
        </p>
      )}
      {rotating && (
        <RotateDialog
          kind={rotating}
          onClose={() => {
            setRotating(undefined)
            reload()
          }}
        />
      )}
    </div>
  )
}

function RotateDialog({
  kind,
  onClose,
}: {
  readonly kind: 'publishable' | 'secret'
  readonly onClose: () => void
}) {
  const [made, setMade] = useState<string | undefined>()
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const [days, setDays] = useState('0')
  const rotate = async () => {
    try {
      const validUntil = new Date(serverNow() + Number(days) * 86_400_000).toISOString()
      const answer = await call('post', '/v1/keys/{kind}/rotate', {
        params: { kind },
        body: days === '0' ? {} : { oldKeyValidUntil: validUntil },
      })
      setMade((answer as { key: { key: string } }).key.key)
    } catch (error) {
      setFailure(error as CallFailure)
    }
  }
  return (
    <Dialog title={`Replace the ${kind} key of ${environment.value}`} onClose={onClose}>
      {made === undefined ? (
        <>
          <div class="field">
            <label for="rotate-days">The old key is valid</label>
            <select
              id="rotate-days"
              class="input"
              value={days}
              onChange={(event) => setDays(event.currentTarget.value)}
            >
              <option value="0">no longer</option>
              <option value="1">for another day</option>
              <option value="7">for another week</option>
              <option value="30">for another 30 days</option>
            </select>
          </div>
          {failure && <Failure failure={failure} />}
          <div class="actions">
            <Button onClick={onClose}>Keep it</Button>
            <Button kind="danger" onClick={() => void rotate()}>
              Replace
            </Button>
          </div>
        </>
      ) : (
        <>
          <p>This is the new key. It is shown only now.</p>
          <Code text={made} label="Copy the key" />
        </>
      )}
    </Dialog>
  )
}
