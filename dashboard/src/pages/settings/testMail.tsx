import { useState } from 'preact/hooks'
import { call, CallFailure } from '../../api/call.ts'
import { CallButton } from '../../ui/code.tsx'
import { TextField } from '../../ui/fields.tsx'
import { Button } from '../../ui/parts.tsx'

const PATH = '/v1/notifications/test'

/** Sends an e-mail at once, and shows what the mail server answered. */
export function TestMail({
  first,
}: {
  /** Who gets it unless another address is typed. */ readonly first: string
}) {
  const [typed, setTyped] = useState<string | undefined>()
  const [isBusy, setBusy] = useState(false)
  const [outcome, setOutcome] = useState<{ readonly ok: boolean; readonly text: string } | undefined>()
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const email = typed ?? first
  const send = async () => {
    setBusy(true)
    setOutcome(undefined)
    setFailure(undefined)
    try {
      const { status, error } = (await call('post', PATH, { body: { email } })).notification
      const ok = status === 'sent'
      setOutcome({
        ok,
        text: ok ? `The mail server took the e-mail to ${email}.` : `Not sent. ${error ?? ''}`,
      })
    } catch (error) {
      setFailure(error as CallFailure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form
      class="form"
      aria-label="Test e-mail"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <TextField
        label="Test e-mail to"
        help="To see whether e-mails arrive. At most five an hour."
        type="email"
        value={email}
        wrong={failure?.message}
        onInput={setTyped}
      />
      {outcome && (
        <p class={`notice ${outcome.ok ? 'ok' : 'bad'}`} role="status">
          {outcome.text}
        </p>
      )}
      <div class="actions">
        <CallButton call={{ method: 'POST', path: PATH, body: { email } }} />
        <Button disabled={isBusy || email.trim() === ''} onClick={() => void send()}>
          {isBusy ? 'Sending …' : 'Send a test e-mail'}
        </Button>
      </div>
    </form>
  )
}
