// oxlint-disable-next-line import/no-unassigned-import
import './signIn.css'
import { useState } from 'preact/hooks'
import { call, CallFailure } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import icon from '../../theme/icon.svg'
import { go } from '../../router.ts'
import { accept, signIn } from '../../session/session.ts'
import { TextField } from '../../ui/fields.tsx'
import { Button, Failure, Segments } from '../../ui/parts.tsx'

interface FormProps {
  /** Called when the server is asked, so that what follows can be loaded meanwhile. */
  readonly onSubmit: () => void
}

/** Signing in with a key or a password, and accepting an invitation. */
export function SignInPage({ onSubmit }: FormProps) {
  const invitation = /^#invitation=(.+)$/.exec(location.hash)?.[1]
  return (
    <main class="sign-in">
      {invitation === undefined ? (
        <SignInForm onSubmit={onSubmit} />
      ) : (
        <InvitationForm token={invitation} onSubmit={onSubmit} />
      )}
    </main>
  )
}

function SignInForm({ onSubmit }: FormProps) {
  const ways = useQuery('ways to sign in', (signal) => call('get', '/v1/sign-in', { signal }))
  const [chosen, setChosen] = useState<'password' | 'key' | undefined>()
  const [key, setKey] = useState('')
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const { failure, isBusy, submit } = useSubmit(
    () => (way === 'key' ? signIn({ key: key.trim() }) : signIn({ email, password })),
    onSubmit,
  )
  const hasPassword = ways.data?.password ?? false
  const hasKey = ways.data?.key ?? true
  const way = chosen ?? (hasPassword ? 'password' : 'key')
  return (
    <form onSubmit={submit} aria-labelledby="sign-in-title">
      <Logo title="Sign in to Ringfence" />
      {hasPassword && hasKey && (
        <Segments
          label="Way to sign in"
          value={way}
          options={[
            ['password', 'E-mail'],
            ['key', 'Secret key'],
          ]}
          onChange={setChosen}
        />
      )}
      {way === 'key' ? (
        <TextField
          label="Secret key"
          type="password"
          autocomplete="off"
          placeholder="prj_test_sk_…"
          help="The first start of the server showed it. It is not stored in the browser."
          value={key}
          onInput={setKey}
          required
          autofocus={key === ''}
        />
      ) : (
        <>
          <TextField
            label="E-mail"
            type="email"
            autocomplete="username"
            value={email}
            onInput={setEmail}
            required
          />
          <TextField
            label="Password"
            type="password"
            autocomplete="current-password"
            value={password}
            onInput={setPassword}
            required
          />
        </>
      )}
      {failure && <Failure failure={failure} />}
      <Button kind="primary" type="submit" disabled={isBusy}>
        {isBusy ? 'Signing in …' : 'Sign in'}
      </Button>
      <p class="quiet">
        {way === 'key'
          ? 'Lost the key? npm run keys -- rotate testSecret'
          : 'Forgot the password? An admin makes a new link for you.'}{' '}
        <a href="/docs">API reference and guides</a>
      </p>
    </form>
  )
}

function InvitationForm({ token, onSubmit }: FormProps & { readonly token: string }) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const { failure, isBusy, submit } = useSubmit(async () => {
    await accept(token, password, name)
    // The token has been used, and does not belong in the history.
    go('/', { replace: true })
  }, onSubmit)
  return (
    <form onSubmit={submit} aria-labelledby="sign-in-title">
      <Logo title="Welcome to Ringfence" />
      <p>Choose a password, and you are in.</p>
      <TextField label="Your name" autocomplete="name" value={name} onInput={setName} />
      <TextField
        label="Password"
        type="password"
        autocomplete="new-password"
        help="At least 12 characters, and none of the commonest passwords."
        wrong={failure?.param === 'password' ? failure.message : undefined}
        value={password}
        onInput={setPassword}
        required
      />
      {failure && failure.param !== 'password' && <Failure failure={failure} />}
      <Button kind="primary" type="submit" disabled={isBusy}>
        Set the password and sign in
      </Button>
    </form>
  )
}

function Logo({ title }: { readonly title: string }) {
  return (
    <div class="logo">
      <img src={icon} alt="" />
      <h1 id="sign-in-title">{title}</h1>
    </div>
  )
}

function useSubmit(work: () => Promise<void>, onSubmit: () => void) {
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const [isBusy, setBusy] = useState(false)
  const submit = (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setFailure(undefined)
    const isDone = work()
    onSubmit()
    isDone
      .catch((error: unknown) =>
        setFailure(error instanceof CallFailure ? error : new CallFailure(String(error), 0)),
      )
      .finally(() => setBusy(false))
  }
  return { failure, isBusy, submit }
}
