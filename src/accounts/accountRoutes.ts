import Type from 'typebox'
import { route, type Call, type Route } from '../http/route.ts'
import { DateTime, Name } from '../http/schemas.ts'
import { isoDate } from '../model/isoDate.ts'
import { projectOf } from '../model/scope.ts'
import { notFound } from '../runtime/errors.ts'
import type { Invited } from '../registry/people/accounts.ts'
import { invitationUrl } from './invitationUrl.ts'
import type { People } from '../registry/people/people.ts'
import type { Account } from '../registry/people/rows.ts'
import {
  AccountSchema,
  accountAnswer,
  Email,
  emailOf,
  PersonName,
  RoleSchema,
  PEOPLE_TAG,
} from './schemas.ts'

const Id = Type.Object({ id: Name(64) })
const OneAccount = Type.Object({ account: AccountSchema })
const InvitationAnswer = Type.Object({
  account: AccountSchema,
  invitation: Type.Object({
    url: Type.String({ description: 'The link, for you to hand over. Only this response contains it.' }),
    expiresAt: DateTime,
  }),
})

/** Management of the project's accounts, by its admins. */
export function accountRoutes({ accounts, edits }: People): Route[] {
  const shared = { auth: 'account', role: 'admin', tag: PEOPLE_TAG } as const

  function answerOf(account: Account) {
    return accountAnswer(account, accounts.invitedUntil(account.id))
  }

  function invitedAnswer(call: AnyCall, { account, token, expiresAt }: Invited) {
    return {
      body: {
        account: answerOf(account),
        invitation: { url: invitationUrl(call.site!.url, token), expiresAt: isoDate(expiresAt) },
      },
    }
  }

  /** Finds an account within an edit, or throws 404. */
  function found(call: AnyCall, id: string): Account {
    const account = accounts.get(id)
    if (account?.project !== projectOf(call.credentials!.scope)) throw notFound('Account')
    return account
  }

  return [
    route({
      ...shared,
      method: 'GET',
      path: '/v1/accounts',
      summary: 'List the project’s accounts',
      answers: { 200: Type.Object({ accounts: Type.Array(AccountSchema) }) },
      handler: (call) => ({
        body: { accounts: accounts.list(projectOf(call.credentials!.scope)).map(answerOf) },
      }),
    }),
    route({
      ...shared,
      method: 'POST',
      path: '/v1/accounts',
      forPages: true,
      summary: 'Create an account',
      description: 'The person sets the password by a link, which can be used once, within 72 hours.',
      body: Type.Object({ email: Email, name: PersonName, role: RoleSchema }),
      answers: {
        200: InvitationAnswer,
        409: Type.Object({}, { description: 'Another account has this address.' }),
      },
      handler: async (call) => {
        const { email, name, role } = call.body
        const address = emailOf(email)
        const project = projectOf(call.credentials!.scope)
        return invitedAnswer(call, await edits.edit(() => accounts.create(project, address, name, role)))
      },
    }),
    route({
      ...shared,
      method: 'PATCH',
      path: '/v1/accounts/:id',
      summary: 'Change an account',
      description: 'A changed role applies from the next request on. The sessions of a disabled account end.',
      params: Id,
      body: Type.Object(
        {
          name: Type.Optional(PersonName),
          role: Type.Optional(RoleSchema),
          disabled: Type.Optional(Type.Boolean()),
        },
        { additionalProperties: false },
      ),
      answers: { 200: OneAccount, 409: Type.Object({}, { description: 'The account is the last admin.' }) },
      handler: async (call) => {
        const { id } = call.params
        const account = await edits.edit(() => accounts.change(found(call, id), call.body))
        return { body: { account: answerOf(account) } }
      },
    }),
    route({
      ...shared,
      method: 'DELETE',
      path: '/v1/accounts/:id',
      summary: 'Delete an account',
      description: 'Its sessions end.',
      params: Id,
      answers: {
        200: Type.Object({}),
        409: Type.Object({}, { description: 'The account is the last admin.' }),
      },
      handler: async (call) => {
        await edits.edit(() => accounts.delete(found(call, call.params.id)))
        return {}
      },
    }),
    route({
      ...shared,
      method: 'POST',
      path: '/v1/accounts/:id/invitation',
      forPages: true,
      summary: 'Make a new link for an account',
      description:
        'To be used when a password was forgotten. Older links and all sessions of the account end.',
      params: Id,
      answers: { 200: InvitationAnswer },
      handler: async (call) =>
        invitedAnswer(call, await edits.edit(() => accounts.invite(found(call, call.params.id)))),
    }),
  ]
}

type AnyCall = Pick<Call<undefined, undefined, undefined>, 'credentials' | 'site'>
