import { useState } from 'preact/hooks'
import { call, CallFailure } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { may, session } from '../../session/session.ts'
import { CallButton, Code } from '../../ui/code.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { Ago, Badge, Button, Dialog, Failure, Loading } from '../../ui/parts.tsx'
import { Table } from '../../ui/table.tsx'
import { say } from '../../ui/toast.tsx'

const ROLES = [
  ['read', 'read: looks at everything'],
  ['write', 'write: changes geofences, beacons, users'],
  ['admin', 'admin: changes settings, keys, people'],
] as const
type Role = (typeof ROLES)[number][0]

/** The people of the project. */
export default function MembersPage() {
  const { data, failure, reload } = useQuery('members', (signal) => call('get', '/v1/accounts', { signal }))
  const [isInviting, setInviting] = useState(false)
  const [link, setLink] = useState<string | undefined>()
  const change = async (work: Promise<unknown>, said: string) => {
    try {
      await work
      say(said)
    } catch (error) {
      say((error as Error).message, 'bad')
    }
    reload()
  }
  if (session.value?.account === undefined)
    return (
      <div class="page">
        <header>
          <h1>Members</h1>
        </header>
        <p class="notice">
          You signed in with a key. People are managed by people: make the first account with{' '}
          <code>npm run accounts -- add ann@example.com</code> and sign in with it.
        </p>
      </div>
    )
  return (
    <div class="page">
      <header>
        <h1>Members</h1>
        <CallButton call={{ method: 'GET', path: '/v1/accounts' }} />
        {may('POST /v1/accounts') && (
          <Button kind="primary" icon="plus" onClick={() => setInviting(true)}>
            Invite
          </Button>
        )}
      </header>
      {failure && <Failure failure={failure} retry={reload} />}
      <section class="card" aria-label="Members">
        {data === undefined && !failure && <Loading />}
        {data && (
          <Table
            caption="Members of the project"
            rows={data.accounts}
            keyOf={({ _id }) => _id}
            columns={[
              { title: 'Name', kind: 'long', cell: ({ name, email }) => <strong>{name || email}</strong> },
              { title: 'E-mail', kind: 'cut', wide: true, cell: ({ email }) => email },
              {
                title: 'Role',
                cell: ({ _id, name, role }) => (
                  <select
                    class="input"
                    aria-label={`Role of ${name}`}
                    value={role}
                    onChange={(event) =>
                      void change(
                        call('patch', '/v1/accounts/{id}', {
                          params: { id: _id },
                          body: { role: event.currentTarget.value as Role },
                        }),
                        `${name} has the role ${event.currentTarget.value}.`,
                      )
                    }
                  >
                    {ROLES.map(([value]) => (
                      <option key={value}>{value}</option>
                    ))}
                  </select>
                ),
              },
              {
                title: 'Signed in',
                roomy: true,
                cell: ({ disabled, invitedUntil, lastSignInAt }) => {
                  if (disabled) return <Badge tone="bad">disabled</Badge>
                  return invitedUntil && !lastSignInAt ? (
                    <Badge tone="warn">invited</Badge>
                  ) : (
                    <Ago at={lastSignInAt} />
                  )
                },
              },
              {
                title: 'Actions',
                cell: ({ _id, name, disabled }) => (
                  <span class="chips">
                    <Button
                      size="small"
                      onClick={() =>
                        void call('post', '/v1/accounts/{id}/invitation', { params: { id: _id } }).then(
                          ({ invitation }) => setLink(invitation.url),
                          (error: Error) => say(error.message, 'bad'),
                        )
                      }
                    >
                      New link
                    </Button>
                    <Button
                      size="small"
                      onClick={() =>
                        void change(
                          call('patch', '/v1/accounts/{id}', {
                            params: { id: _id },
                            body: { disabled: !disabled },
                          }),
                          `${name} is ${disabled ? 'enabled' : 'disabled'}.`,
                        )
                      }
                    >
                      {disabled ? 'Enable' : 'Disable'}
                    </Button>
                  </span>
                ),
              },
            ]}
          />
        )}
      </section>
      {isInviting && (
        <InviteDialog
          onClose={() => setInviting(false)}
          onLink={(url) => {
            setInviting(false)
            setLink(url)
            reload()
          }}
        />
      )}
      {link && (
        <Dialog title="The link" onClose={() => setLink(undefined)}>
          <p>Hand it over yourself. It works once, within 72 hours, and is shown only now.</p>
          <Code text={link} label="Copy the link" />
        </Dialog>
      )}
    </div>
  )
}

function InviteDialog({
  onClose,
  onLink,
}: {
  readonly onClose: () => void
  readonly onLink: (url: string) => void
}) {
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('read')
  const [failure, setFailure] = useState<CallFailure | undefined>()
  const wrong = (field: string) => (failure?.param === field ? failure.message : undefined)
  const invite = (event: Event) => {
    event.preventDefault()
    setFailure(undefined)
    call('post', '/v1/accounts', { body: { email, name, role } }).then(
      ({ invitation }) => onLink(invitation.url),
      (error: unknown) => setFailure(error as CallFailure),
    )
  }
  return (
    <Dialog title="Invite somebody" onClose={onClose}>
      <form class="form" onSubmit={invite}>
        <TextField
          label="E-mail"
          type="email"
          value={email}
          wrong={wrong('email')}
          onInput={setEmail}
          required
        />
        <TextField label="Name" value={name} wrong={wrong('name')} onInput={setName} required />
        <SelectField label="Role" value={role} options={ROLES} onChange={(value) => setRole(value as Role)} />
        {failure && !wrong('email') && !wrong('name') && <Failure failure={failure} />}
        <div class="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit">
            Make the link
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
