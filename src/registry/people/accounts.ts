import { hash, randomBytes } from 'node:crypto'
import type { Role } from '../../model/role.ts'
import { newId } from '../../runtime/newId.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ApiError } from '../../runtime/errors.ts'
import type { Change, EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import {
  accountOfRow,
  rowOfAccount,
  type Account,
  type AccountRow,
  type Invitation,
  type Session,
  type PasswordHash,
} from './rows.ts'

/** How many accounts a project may have. Each takes some hundred bytes in the memory of every process. */
const MOST_ACCOUNTS = 1000
const TOKEN_BYTES = 32
const INVITATION_MS = 72 * 3_600_000

/** A new link for an account; the token is shown once. */
export interface Invited {
  readonly account: Account
  readonly token: string
  /** In epoch milliseconds. */
  readonly expiresAt: number
}

/** What an admin may change of an account. */
export type AccountChange = Partial<Pick<Account, 'name' | 'role' | 'disabled'>>

export interface AccountParts {
  readonly replica: RegistryReplica
  readonly edits: EditLog
  readonly clock: Clock
  /** Called when the role or the address of an account was changed, or it was removed. */
  readonly changed: (account: string) => void
  /** Returns the changes that end all sessions of an account except the given one. */
  readonly ending: (account: string, except?: Session) => Change[]
}

/**
 * The people who may sign in, and the links that set their passwords.
 *
 * Owns: which accounts there may be. Does not own: sessions (sessions.ts), and the hashing of passwords (accounts/password.ts).
 *
 * Invariants
 * - ACCOUNTS-1: Of all accounts, at most one has an e-mail address.
 * - ACCOUNTS-2: A project that has an admin who can sign in always has one.
 *
 * Whatever changes accounts is called within an edit; see {@link EditLog}.
 */
export class Accounts {
  readonly #parts: AccountParts
  readonly #byId = new Map<string, Account>()
  readonly #byEmail = new Map<string, Account>()
  /** Invitations by the id of their account. */
  readonly #invitations = new Map<string, Invitation>()
  /** Ids of accounts by the digest of their invitation. */
  readonly #invited = new Map<string, string>()

  constructor(parts: AccountParts) {
    this.#parts = parts
    parts.replica.keep<AccountRow, Account>('accounts', {
      recordOf: accountOfRow,
      put: (account) => this.#put(account),
      remove: (key) => this.#remove(key.slice(key.indexOf('.') + 1)),
    })
    parts.replica.keep<Invitation, Invitation>('invitations', {
      recordOf: (row) => row,
      put: (invitation) => this.#putInvitation(invitation),
      remove: (account) => this.#removeInvitation(account),
    })
  }

  /** Fills the memory from the file, once. */
  load(): void {
    const { database } = this.#parts.replica
    const accounts = database.prepare('SELECT * FROM accounts')
    for (const row of accounts.all() as AccountRow[]) this.#put(accountOfRow(row))
    const invitations = database.prepare(
      'SELECT lower(hex(digest)) AS digest, account, createdAt FROM invitations',
    )
    for (const row of invitations.all() as Invitation[]) this.#putInvitation(row)
  }

  /** How many accounts all projects have. */
  get size(): number {
    return this.#byId.size
  }

  get(id: string): Account | undefined {
    return this.#byId.get(id)
  }

  /**
   * Finds an account by its e-mail address.
   * @param email in lower case
   */
  byEmail(email: string): Account | undefined {
    return this.#byEmail.get(email)
  }

  /** The accounts of one project, in the order of creation. */
  list(project: number): Account[] {
    const accounts = [...this.#byId.values()].filter((account) => account.project === project)
    return accounts.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  }

  /** The time until which an account's newest link can be used, in epoch milliseconds; undefined if it has none. */
  invitedUntil(account: string): number | undefined {
    const invitation = this.#invitations.get(account)
    return invitation && invitation.createdAt + INVITATION_MS
  }

  /** The account that a link is for; undefined if the link was used, is too old, or does not exist. */
  ofInvitation(token: string): Account | undefined {
    const account = this.#invited.get(digestOf(token))
    if (account === undefined || this.#parts.clock.now() >= this.invitedUntil(account)!) return undefined
    const found = this.#byId.get(account)
    return found?.disabled === false ? found : undefined
  }

  /**
   * Creates an account.
   * @throws {ApiError} 409 if the address is taken, or the project has no room
   */
  create(project: number, email: string, name: string, role: Role): Invited {
    if (this.#byEmail.has(email))
      throw new ApiError(409, 'email: Another account has this address.', { param: 'email' })
    if (this.list(project).length >= MOST_ACCOUNTS)
      throw new ApiError(409, `There are ${MOST_ACCOUNTS} accounts, which is the limit. Delete one first.`)
    const now = this.#parts.clock.now()
    const account: Account = {
      id: newId(now),
      project,
      email,
      name,
      role,
      disabled: false,
      password: undefined,
      createdAt: now,
      lastSignInAt: undefined,
    }
    return this.#invite(account, [putOf(account)])
  }

  /** Creates a link that replaces earlier ones. The account's sessions end. */
  invite(account: Account): Invited {
    return this.#invite(account, this.#parts.ending(account.id))
  }

  /**
   * Changes an account.
   * @throws {ApiError} 409 if nobody could administrate the project any more
   */
  change(account: Account, change: AccountChange): Account {
    const changed = { ...account, ...change }
    if (changed.role !== 'admin' || changed.disabled) this.#checkLastAdmin(account)
    const ended = changed.disabled ? this.#parts.ending(account.id) : []
    this.#parts.edits.commit([putOf(changed), ...ended])
    return changed
  }

  /**
   * Deletes an account.
   * @throws {ApiError} 409 if nobody could administrate the project any more
   */
  delete(account: Account): void {
    this.#checkLastAdmin(account)
    this.#parts.edits.commit([
      { kind: 'accounts', key: keyOf(account), row: undefined },
      ...this.#uninviting(account.id),
      ...this.#parts.ending(account.id),
    ])
  }

  /**
   * The changes that set the password, name and time of the last sign-in of an account, and use up its link.
   * @param except the session that does not end
   */
  settingPassword(account: Account, change: Partial<Account>, except?: Session): Change[] {
    return [
      putOf({ ...account, ...change }),
      ...this.#uninviting(account.id),
      ...this.#parts.ending(account.id, except),
    ]
  }

  /** The change of an account that has signed in. */
  signingIn(account: Account, password: PasswordHash | undefined): Change {
    return putOf({ ...account, password, lastSignInAt: this.#parts.clock.now() })
  }

  /** The changes that remove links which can no longer be used. */
  expired(): Change[] {
    const now = this.#parts.clock.now()
    const old = [...this.#invitations.values()].filter(({ createdAt }) => now >= createdAt + INVITATION_MS)
    return old.map(({ account }) => ({ kind: 'invitations', key: account, row: undefined }))
  }

  #invite(account: Account, changes: readonly Change[]): Invited {
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const createdAt = this.#parts.clock.now()
    const row: Invitation = { digest: digestOf(token), account: account.id, createdAt }
    this.#parts.edits.commit([...changes, { kind: 'invitations', key: account.id, row }])
    return { account, token, expiresAt: createdAt + INVITATION_MS }
  }

  #uninviting(account: string): Change[] {
    if (!this.#invitations.has(account)) return []
    return [{ kind: 'invitations', key: account, row: undefined }]
  }

  #checkLastAdmin(account: Account): void {
    if (!isAdmin(account)) return
    const others = this.list(account.project).filter((other) => other.id !== account.id && isAdmin(other))
    // An invited admin without a password may never sign in, so that one does not count.
    const isEnough = others.some(({ password }) => password !== undefined || account.password === undefined)
    if (!isEnough)
      throw new ApiError(
        409,
        'This is the last enabled admin of the project. Give the role to somebody else first.',
      )
  }

  #put(account: Account): void {
    const before = this.#byId.get(account.id)
    if (before !== undefined && before.email !== account.email) this.#freeEmail(before)
    this.#byId.set(account.id, account)
    this.#byEmail.set(account.email, account)
    if (before?.role !== account.role || before.email !== account.email) this.#parts.changed(account.id)
  }

  #remove(id: string): void {
    const before = this.#byId.get(id)
    if (before === undefined) return
    this.#byId.delete(id)
    this.#freeEmail(before)
    this.#parts.changed(id)
  }

  #freeEmail({ id, email }: Account): void {
    if (this.#byEmail.get(email)?.id === id) this.#byEmail.delete(email)
  }

  #putInvitation(invitation: Invitation): void {
    this.#removeInvitation(invitation.account)
    this.#invitations.set(invitation.account, invitation)
    this.#invited.set(invitation.digest, invitation.account)
  }

  #removeInvitation(account: string): void {
    const before = this.#invitations.get(account)
    if (before === undefined) return
    this.#invitations.delete(account)
    this.#invited.delete(before.digest)
  }
}

function isAdmin({ role, disabled }: Account): boolean {
  return role === 'admin' && !disabled
}

function putOf(account: Account): Change {
  return { kind: 'accounts', key: keyOf(account), row: rowOfAccount(account), record: account }
}

function keyOf({ project, id }: Account): string {
  return `${project}.${id}`
}

/** The digest of a token. A token has 256 random bits, so no slow hash is needed. */
function digestOf(token: string): string {
  return hash('sha256', token, 'hex')
}
