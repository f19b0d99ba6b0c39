import { hash } from 'node:crypto'
import type { Credentials } from '../http/credentials.ts'
import { projectOf } from '../model/scope.ts'
import type { Keys } from '../registry/projects/keys.ts'
import type { Change } from '../registry/store/editLog.ts'
import type { Clock } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'
import type { Logger } from '../runtime/logger.ts'
import { Attempts, type SignInAttempt } from './attempts.ts'
import { Passwords } from './password.ts'
import { checkPassword } from './passwordRules.ts'
import type { People } from '../registry/people/people.ts'
import type { Account, Cost } from '../registry/people/rows.ts'
import type { Opened, Origin } from '../registry/people/sessions.ts'

export interface SignInParts {
  readonly people: People
  readonly keys: Keys
  readonly clock: Clock
  /** Whether secret keys may be used to sign in. */
  readonly byKey: boolean
  /** The cost of hashing passwords; lower in tests. */
  readonly cost?: Cost
  /** For failures of threads. */
  readonly logger?: Logger
}

/** The message of every failed sign-in with a password. It does not tell which part was wrong. */
const WRONG = 'The e-mail address or the password is wrong.'
const WRONG_KEY = 'The key is wrong.'
/** What anybody can see in the key, whether it is valid or not. */
const PUBLISHABLE = 'This is a publishable key. Sign in with a secret key.'

/**
 * How people prove who they are: by password, secret key or invitation.
 *
 * Invariants
 * - SIGNIN-1: A failed sign-in with a password has one answer, which takes the same time whether the account is unknown,
 *   disabled, has no password yet, or the password is wrong.
 * - SIGNIN-2: No password is hashed on the event loop.
 */
export class SignIn {
  readonly #parts: SignInParts
  readonly #attempts: Attempts
  readonly #passwords: Passwords

  constructor(parts: SignInParts) {
    this.#parts = parts
    this.#attempts = new Attempts(parts.clock)
    this.#passwords = new Passwords(parts.cost, parts.logger)
  }

  /** Whether secret keys may be used to sign in. */
  get byKey(): boolean {
    return this.#parts.byKey
  }

  /**
   * Signs in with a password.
   * @param email in lower case
   * @throws {ApiError} 401; 429 after too many failures; 503
   */
  async withPassword(email: string, password: string, origin: Origin): Promise<Opened> {
    const { people } = this.#parts
    const attempt = this.#attempts.begin(email, origin.ip)
    const account = await this.#verified(people.accounts.byEmail(email), password, attempt)
    const weak = this.#passwords.isWeak(account.password!)
    const stronger = weak ? await this.#passwords.hashAgain(password, account.password!) : undefined
    return this.#open(() => {
      // The account may have changed in the meantime, including its password.
      const now = people.accounts.get(account.id)
      if (now === undefined || now.disabled || now.password?.hash !== account.password!.hash) throw wrong()
      const opened = people.sessions.opening(now.project, { account: now.id }, origin)
      const change = people.accounts.signingIn(now, stronger ?? now.password)
      return { opened, changes: [change, ...opened.changes] }
    })
  }

  /**
   * Signs in with a secret key.
   * @returns also whose key it is
   * @throws {ApiError} 401, 403 if signing in with keys is turned off, 429, 503
   */
  async withKey(key: string, origin: Origin): Promise<Opened & { readonly credentials: Credentials }> {
    const { people, keys, byKey } = this.#parts
    if (!byKey) throw new ApiError(403, 'Forbidden. Signing in with a key is turned off.')
    const attempt = this.#attempts.begin('', origin.ip)
    const credentials = keys.authenticate(key)
    if (credentials?.level !== 'secret')
      throw new ApiError(401, /^prj_(?:test|live)_pk_/.test(key) ? PUBLISHABLE : WRONG_KEY)
    attempt.succeeded()
    const opened = await this.#open(() => {
      const owner = { key: hash('sha256', key, 'hex') }
      const session = people.sessions.opening(projectOf(credentials.scope), owner, origin)
      return { opened: session, changes: session.changes }
    })
    return { ...opened, credentials }
  }

  /**
   * Sets the password of the account that was invited, and signs in.
   * @param name replaces the name of the account
   * @throws {ApiError} 400 for the password; 404 if the link was used or is too old; 429, 503
   */
  async accept(token: string, password: string, name: string | undefined, origin: Origin): Promise<Opened> {
    const { people } = this.#parts
    const attempt = this.#attempts.begin('', origin.ip)
    const invited = (): Account => {
      const account = people.accounts.ofInvitation(token)
      if (account === undefined)
        throw new ApiError(404, 'The invitation was used, is too old or does not exist. Ask for a new one.')
      return account
    }
    const { email } = invited()
    attempt.succeeded()
    const hashed = await this.#passwords.hash(checkPassword(password, email))
    return this.#open(() => {
      const account = invited()
      const opened = people.sessions.opening(account.project, { account: account.id }, origin)
      const change = {
        password: hashed,
        name: name ?? account.name,
        lastSignInAt: this.#parts.clock.now(),
      }
      return { opened, changes: [...people.accounts.settingPassword(account, change), ...opened.changes] }
    })
  }

  /**
   * Replaces the password of an account; its other sessions end.
   * @throws ApiError 400 for the new password, 401 if the current one is wrong, 429, 503
   */
  async changePassword(
    { session }: Credentials,
    current: string,
    password: string,
    ip: string,
  ): Promise<void> {
    const { people } = this.#parts
    const { edits } = people
    const { id, email } = session!.account!
    const attempt = this.#attempts.begin(email, ip)
    const account = await this.#verified(people.accounts.get(id), current, attempt)
    const hashed = await this.#passwords.hash(checkPassword(password, email))
    await edits.edit(() => {
      const now = people.accounts.get(id)
      if (now === undefined || now.password?.hash !== account.password!.hash) throw wrong()
      const except = people.sessions.get(session!.id)
      edits.commit(people.accounts.settingPassword(now, { password: hashed }, except))
    })
  }

  /** The account, if it may sign in and this is its password; otherwise undefined. */
  async #verified(account: Account | undefined, password: string, attempt: SignInAttempt): Promise<Account> {
    let isRight: boolean
    try {
      isRight = await this.#passwords.verify(
        password,
        account?.disabled === false ? account.password : undefined,
      )
    } catch (error) {
      // It is not known whether the password was right, so this is not counted as a failure.
      attempt.succeeded()
      throw error
    }
    if (!isRight) throw wrong()
    attempt.succeeded()
    return account!
  }

  #open(work: () => { readonly opened: Opened; readonly changes: readonly Change[] }): Promise<Opened> {
    const { edits } = this.#parts.people
    return edits.edit(() => {
      const { opened, changes } = work()
      edits.commit(changes)
      return opened
    })
  }
}

function wrong(): ApiError {
  return new ApiError(401, WRONG)
}
