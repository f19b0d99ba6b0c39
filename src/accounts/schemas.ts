import Type from 'typebox'
import { DateTime, Text } from '../http/schemas.ts'
import { isoDate } from '../model/isoDate.ts'
import { ROLES } from '../model/role.ts'
import { badParam } from '../runtime/errors.ts'
import { MAX_PASSWORD_LENGTH } from './passwordRules.ts'
import type { Account } from '../registry/people/rows.ts'

const MAX_EMAIL_LENGTH = 254
const MAX_NAME_LENGTH = 256

export const PEOPLE_TAG = 'People'

export const RoleSchema = Type.Enum([...ROLES], {
  description: '`admin` includes `write`, and `write` includes `read`.',
})
export const Email = Text(MAX_EMAIL_LENGTH, 'In upper or lower case; it is stored in lower case.')
export const Password = Text(MAX_PASSWORD_LENGTH)
export const NewPassword = Text(
  MAX_PASSWORD_LENGTH,
  '12 to 256 characters, none of the commonest passwords, and not the e-mail address.',
)
export const PersonName = Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH })

export const AccountSchema = Type.Object(
  {
    _id: Type.String(),
    email: Type.String(),
    name: Type.String(),
    role: RoleSchema,
    disabled: Type.Boolean({ description: 'Whether the person cannot sign in.' }),
    createdAt: DateTime,
    lastSignInAt: Type.Optional(DateTime),
    invitedUntil: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Until when the link can be used; absent if there is none that has not been used.',
      }),
    ),
  },
  { title: 'Account' },
)

/**
 * The public record of an account.
 * @param invitedUntil in epoch milliseconds
 */
export function accountAnswer(account: Account, invitedUntil?: number) {
  const { id, email, name, role, disabled, createdAt, lastSignInAt } = account
  return {
    _id: id,
    email,
    name,
    role,
    disabled,
    createdAt: isoDate(createdAt),
    ...(lastSignInAt !== undefined && { lastSignInAt: isoDate(lastSignInAt) }),
    ...(invitedUntil !== undefined && { invitedUntil: isoDate(invitedUntil) }),
  }
}

/**
 * An e-mail address in the form in which it is stored. It only refuses what cannot be an address, because the
 * invitation shows whether it is right.
 */
export function emailOf(text: string): string {
  const email = text.trim().toLowerCase()
  const at = email.lastIndexOf('@')
  if (at < 1 || at === email.length - 1 || /[\s\p{C}]/u.test(email))
    throw badParam('email', 'Must be an e-mail address.')
  return email
}
