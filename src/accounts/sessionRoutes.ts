import Type from 'typebox'
import { atLeastOne } from '../http/needs.ts'
import type { Credentials } from '../http/credentials.ts'
import { route, type Answer, type Call, type Route } from '../http/route.ts'
import { DateTime, Name, Text } from '../http/schemas.ts'
import { sessionCookie } from '../http/site.ts'
import { isoDate } from '../model/isoDate.ts'
import { isLive, projectOf } from '../model/scope.ts'
import { badParam, notFound } from '../runtime/errors.ts'
import type { People } from '../registry/people/people.ts'
import type { Session } from '../registry/people/rows.ts'
import {
  AccountSchema,
  accountAnswer,
  Email,
  emailOf,
  NewPassword,
  Password,
  PersonName,
  RoleSchema,
  PEOPLE_TAG,
} from './schemas.ts'
import { SESSION_MS, type Opened, type Origin } from '../registry/people/sessions.ts'
import type { SignIn } from './signIn.ts'
import type { Tickets } from './tickets.ts'

const MAX_KEY_LENGTH = 128
const MAX_TOKEN_LENGTH = 128

const SessionSchema = Type.Object(
  {
    _id: Type.String(),
    account: Type.Optional(
      Type.Object(
        { _id: Type.String(), email: Type.String(), name: Type.String() },
        { description: 'Absent for a session that was opened with a key.' },
      ),
    ),
    ip: Type.String({ description: 'The IP address from which the person signed in.' }),
    userAgent: Type.String({ description: 'The browser with which the person signed in.' }),
    createdAt: DateTime,
    usedAt: Type.String({
      format: 'date-time',
      description: 'The approximate time of its last use. The session ends 12 hours later.',
    }),
    expiresAt: Type.String({
      format: 'date-time',
      description: 'When the session ends at the latest, even if it is used.',
    }),
    current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
  },
  { title: 'Session' },
)

const SignedInAnswer = Type.Object(
  {
    account: Type.Optional(AccountSchema),
    key: Type.Optional(
      Type.String({ description: 'Instead of an account: the last four characters of the secret key.' }),
    ),
    role: RoleSchema,
    environments: Type.Array(Type.Enum(['test', 'live']), {
      description: 'For the header X-Ringfence-Environment.',
    }),
    session: SessionSchema,
  },
  { title: 'SignedIn' },
)

/** The answers to a request in which somebody fails to prove who they are. */
const REFUSALS = {
  401: Type.Object({}, { description: 'The credentials are wrong; the answer does not say which part.' }),
  429: Type.Object({}, { description: 'Too many failed attempts.' }),
}

/** The dependencies of these routes. */
export interface SessionRouteParts {
  readonly people: People
  readonly signIn: SignIn
  readonly tickets: Tickets
}

/** Signing in and out, one's own sessions, password and tickets. */
export function sessionRoutes({ people, signIn, tickets }: SessionRouteParts): Route[] {
  const { accounts, sessions } = people

  /** The answer after a successful sign-in. */
  function signedIn(session: Session, credentials: Pick<Credentials, 'keyId' | 'scope'>) {
    const account = session.account === undefined ? undefined : accounts.get(session.account)
    return {
      ...(account === undefined
        ? { key: credentials.keyId.slice(credentials.keyId.lastIndexOf(':') + 1) }
        : { account: accountAnswer(account) }),
      role: account?.role ?? 'admin',
      environments: account === undefined ? [isLive(credentials.scope) ? 'live' : 'test'] : ['test', 'live'],
      session: sessionAnswer(session, session.id),
    }
  }

  function sessionAnswer(session: Session, current: string) {
    const account = session.account === undefined ? undefined : accounts.get(session.account)
    return {
      _id: session.id,
      ...(account !== undefined && {
        account: { _id: account.id, email: account.email, name: account.name },
      }),
      ip: session.ip,
      userAgent: session.userAgent,
      createdAt: isoDate(session.createdAt),
      usedAt: isoDate(session.usedAt),
      expiresAt: isoDate(session.createdAt + SESSION_MS),
      current: session.id === current,
    }
  }

  function opened(call: AnyCall, { session, token }: Opened, credentials = ofAccount(session)): Answer {
    return {
      body: signedIn(session, credentials),
      headers: { 'Set-Cookie': sessionCookie(token, call.site!, SESSION_MS / 1000) },
    }
  }

  return [
    route({
      method: 'GET',
      path: '/v1/sign-in',
      auth: 'none',
      tag: PEOPLE_TAG,
      summary: 'Get the ways to sign in',
      answers: {
        200: Type.Object({
          password: Type.Boolean({ description: 'Whether there are accounts.' }),
          key: Type.Boolean({ description: 'Whether people can sign in with a secret key.' }),
        }),
      },
      handler: () => ({ body: { password: accounts.size > 0, key: signIn.byKey } }),
    }),
    route({
      method: 'POST',
      path: '/v1/sessions',
      auth: 'none',
      forPages: true,
      tag: PEOPLE_TAG,
      summary: 'Sign in',
      description:
        'With an e-mail address and a password, or with a secret key. The response sets a cookie, which counts only beside the ' +
        'header `X-Ringfence-Environment: test` or `live`, and for other methods than GET only beside an `Origin` of this server. ' +
        'After 5 failures of an address or 20 from an IP address, all attempts are refused for up to 15 minutes.',
      headers: ['user-agent'],
      body: Type.Object(
        {
          email: Type.Optional(Email),
          password: Type.Optional(Password),
          key: Type.Optional(Text(MAX_KEY_LENGTH, 'A secret key.')),
        },
        {
          allOf: [{ ...atLeastOne('email', 'key'), dependentRequired: { email: ['password'] } }],
        },
      ),
      answers: { 200: SignedInAnswer, ...REFUSALS },
      handler: async (call) => {
        const { email, password, key } = call.body
        if (key !== undefined && email !== undefined)
          throw badParam('key', 'Send either a key, or an e-mail address and a password.')
        if (key !== undefined) {
          const { credentials, ...session } = await signIn.withKey(key, originOf(call))
          return opened(call, session, credentials)
        }
        return opened(call, await signIn.withPassword(emailOf(email!), password!, originOf(call)))
      },
    }),
    route({
      method: 'GET',
      path: '/v1/sessions',
      auth: 'session',
      role: 'read',
      tag: PEOPLE_TAG,
      summary: 'List sessions, the latest used first',
      description:
        'Lists the sessions of the account, or of the key that was used to sign in; for admins, those of the whole project.',
      answers: { 200: Type.Object({ sessions: Type.Array(SessionSchema) }) },
      handler: (call) => {
        const { isVisible, current } = viewOf(call)
        const list = sessions.list(isVisible)
        return { body: { sessions: list.map((session) => sessionAnswer(session, current.id)) } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/sessions/current',
      auth: 'session',
      role: 'read',
      tag: PEOPLE_TAG,
      summary: 'Who has signed in',
      answers: { 200: SignedInAnswer },
      handler: (call) => ({ body: signedIn(viewOf(call).current, call.credentials!) }),
    }),
    route({
      method: 'DELETE',
      path: '/v1/sessions/current',
      auth: 'session',
      role: 'read',
      forPages: true,
      tag: PEOPLE_TAG,
      summary: 'Sign out',
      answers: { 200: Type.Object({}) },
      handler: async (call) => {
        await people.edits.edit(() => sessions.end(call.credentials!.session!.id))
        return { headers: { 'Set-Cookie': sessionCookie('', call.site!, 0) } }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/sessions/:id',
      auth: 'session',
      role: 'read',
      tag: PEOPLE_TAG,
      summary: 'End a session',
      description: 'The session must be one that the list shows. Its streams end within five seconds.',
      params: Type.Object({ id: Name(64) }),
      answers: { 200: Type.Object({}) },
      handler: async (call) => {
        const { isVisible } = viewOf(call)
        await people.edits.edit(() => {
          const session = sessions.get(call.params.id)
          if (session === undefined || !isVisible(session)) throw notFound('Session')
          sessions.end(session.id)
        })
        return {}
      },
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/current/ticket',
      auth: 'session',
      role: 'read',
      tag: PEOPLE_TAG,
      summary: 'Get a ticket for a stream',
      description:
        'The ticket is valid for one WebSocket to /v1/stream in this environment, for 30 seconds. Send it as the subprotocol ' +
        '`ringfence.ticket.{ticket}`, in addition to that of the encoding. The stream ends with the session.',
      answers: { 200: Type.Object({ ticket: Type.String(), expiresAt: DateTime }) },
      handler: (call) => {
        const { ticket, expiresAt } = tickets.issue(call.credentials!)
        return { body: { ticket, expiresAt: isoDate(expiresAt) } }
      },
    }),
    route({
      method: 'PUT',
      path: '/v1/account/password',
      auth: 'account',
      role: 'read',
      tag: PEOPLE_TAG,
      summary: 'Change your password',
      description: 'The other sessions of the account end.',
      body: Type.Object({ current: Password, password: NewPassword }),
      answers: { 200: Type.Object({}), ...REFUSALS },
      handler: async (call) => {
        const { current, password } = call.body
        await signIn.changePassword(call.credentials!, current, password, call.ip)
        return {}
      },
    }),
    route({
      method: 'POST',
      path: '/v1/invitations/:token',
      auth: 'none',
      forPages: true,
      tag: PEOPLE_TAG,
      summary: 'Accept an invitation',
      description:
        'Sets the password of the account, and signs in. A link can be used once, within 72 hours.',
      headers: ['user-agent'],
      params: Type.Object({ token: Name(MAX_TOKEN_LENGTH) }),
      body: Type.Object({ password: NewPassword, name: Type.Optional(PersonName) }),
      answers: { 200: SignedInAnswer, ...REFUSALS },
      handler: async (call) => {
        const { password, name } = call.body
        return opened(call, await signIn.accept(call.params.token, password, name, originOf(call)))
      },
    }),
  ]

  /** The session of a call, and the sessions that it may see. */
  function viewOf({ credentials }: AnyCall) {
    const { session, scope } = credentials!
    const current = sessions.get(session!.id)!
    const project = projectOf(scope)
    const isAdmin = session!.account !== undefined && session!.role === 'admin'
    return {
      current,
      isVisible: (other: Session) =>
        other.project === project &&
        (isAdmin || (other.account === current.account && other.key === current.key)),
    }
  }
}

type AnyCall = Pick<Call<undefined, undefined, undefined>, 'credentials' | 'headers' | 'ip' | 'site'>

function originOf({ ip, headers }: AnyCall): Origin {
  return { ip, userAgent: headers['user-agent'] ?? '' }
}

/** The credentials that an answer about an account needs: only its project. */
function ofAccount({ project }: Session): Pick<Credentials, 'keyId' | 'scope'> {
  return { keyId: '', scope: project * 2 }
}
