import { badParam } from '../runtime/errors.ts'
import { COMMON_PASSWORDS } from './commonPasswords.ts'

const MIN_CHARACTERS = 12
const MAX_CHARACTERS = 256
/** The most UTF-16 units that a password may have when it is sent. NFKC may make it shorter or longer. */
export const MAX_PASSWORD_LENGTH = 1024

/**
 * The form of a password that is hashed, because keyboards and systems write the same characters in different ways.
 */
export function normalized(password: string): string {
  return password.normalize('NFKC')
}

/**
 * Checks a new password. There are no rules about kinds of characters, because they make passwords predictable.
 * @param email the address of the account
 * @returns the normalized password
 * @throws {ApiError} 400
 */
export function checkPassword(password: string, email: string): string {
  const text = normalized(password)
  const { length } = [...text]
  if (length < MIN_CHARACTERS) throw badParam('password', `Must be at least ${MIN_CHARACTERS} characters.`)
  if (length > MAX_CHARACTERS) throw badParam('password', `Must be at most ${MAX_CHARACTERS} characters.`)
  const lower = text.toLowerCase()
  if (lower === email) throw badParam('password', 'Must not be the e-mail address.')
  if (COMMON_PASSWORDS.has(lower)) throw badParam('password', 'Is one of the commonest passwords.')
  return text
}
