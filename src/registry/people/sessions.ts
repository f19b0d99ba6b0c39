import { hash, randomBytes } from 'node:crypto'
import type { Credentials } from '../../http/credentials.ts'
import { scopeId } from '../../model/scope.ts'
import { newId } from '../../runtime/newId.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ApiError } from '../../runtime/errors.ts'
import type { Change, EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import type { Keys } from '../projects/keys.ts'
import { rowOfSession, sessionOfRow, type Account, type Session, type SessionRow } from './rows.ts'

const TOKEN_BYTES = 32
const MINUTE_MS = 60_000
const IDLE_MS = 12 * 60 * MINUTE_MS
/** The longest time that a session may last, however much it is used. */
export const SESSION_MS = 7 * 24 * 60 * MINUTE_MS
/** How old the stored time of a session's last use may be. */
const NOTE_MS = 5 * MINUTE_MS
/** How many sessions an account or a key may have. If there are more, the one that was used least recently ends. */
const MOST_SESSIONS = 100
const MAX_AGENT_LENGTH = 200

/** Where a sign-in came from. */
export interface Origin {
  readonly ip: string
  readonly userAgent: string
}

/** A new session; the token is shown once. */
export interface Opened {
  readonly session: Session
  readonly token: string
}

export interface SessionParts {
  readonly replica: RegistryReplica
  readonly edits: EditLog
  readonly clock: Clock
  readonly keys: Pick<Keys, 'ofDigest'>
  readonly account: (id: string) => Account | undefined
  /** Called when the time of a session's last use could not be stored. */
  readonly troubled: (error: unknown) => void
}

/** A session in memory. */
interface Entry {
  session: Session
  /** In epoch milliseconds. It may be later than the session's `usedAt`, which is only stored now and then. */
  usedAt: number
  /** The credentials for the test and the live environment, as they were last handed out. */
  readonly credentials: [Credentials | undefined, Credentials | undefined]
}

/**
 * Who is signed in. Only the SHA-256 of a token is stored.
 *
 * Owns: how long a session lasts, and what it may do. Does not own: who may open one (signIn.ts).
 *
 * Invariants
 * - SESSIONS-1: A session does nothing that its account, or its key, could not do now: a disabled account or an invalid
 *   key ends it at once, and a role counts from the next request on.
 * - SESSIONS-2: The same credentials are handed out as long as what they say is true, and no longer are current then.
 */
export class Sessions {
  readonly #parts: SessionParts
  readonly #byDigest = new Map<string, Entry>()
  readonly #byId = new Map<string, Entry>()
  /** Sessions by {@link ownerOf}. */
  readonly #byOwner = new Map<string, Set<Entry>>()

  constructor(parts: SessionParts) {
    this.#parts = parts
    parts.replica.keep<SessionRow, Session>('sessions', {
      recordOf: sessionOfRow,
      put: (session) => this.#put(session),
      remove: (id) => this.#remove(id),
    })
  }

  /** Fills the memory from the file, once. */
  load(): void {
    const { database } = this.#parts.replica
    const all = database.prepare(
      `SELECT id, lower(hex(digest)) AS digest, project, account, key, createdAt, usedAt, ip, userAgent
       FROM sessions`,
    )
    for (const row of all.all() as SessionRow[]) this.#put(sessionOfRow(row))
  }

  /**
   * The caller with a token, in one environment. Remembers that the session is in use.
   * @throws {ApiError} 403 if the session belongs to a key of the other environment
   */
  find(token: string, live: boolean): Credentials | undefined {
    return this.#caller(this.#byDigest.get(hash('sha256', token, 'hex')), live)
  }

  /** The same as {@link find}, by the session's `_id`. */
  ofId(id: string, live: boolean): Credentials | undefined {
    return this.#caller(this.#byId.get(id), live)
  }

  /** Whether what {@link find} returned is still true. */
  isCurrent(credentials: Credentials): boolean {
    const entry = this.#byId.get(credentials.session?.id ?? '')
    return entry !== undefined && this.#isOpen(entry) && entry.credentials.includes(credentials)
  }

  /** A session that has not ended. */
  get(id: string): Session | undefined {
    const entry = this.#byId.get(id)
    return entry !== undefined && this.#isOpen(entry) ? shown(entry) : undefined
  }

  /** The sessions that have not ended, the most recently used first. */
  list(isWanted: (session: Session) => boolean): Session[] {
    const open = [...this.#byId.values()].filter((entry) => isWanted(entry.session) && this.#isOpen(entry))
    return open.map(shown).toSorted((a, b) => b.usedAt - a.usedAt)
  }

  /**
   * A new session, and the changes that open it, within an edit.
   * @param owner an account, or the SHA-256 of a secret key in hex
   */
  opening(
    project: number,
    owner: { readonly account: string } | { readonly key: string },
    { ip, userAgent }: Origin,
  ): Opened & { readonly changes: readonly Change[] } {
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const now = this.#parts.clock.now()
    const session: Session = {
      id: newId(now),
      digest: hash('sha256', token, 'hex'),
      project,
      account: 'account' in owner ? owner.account : undefined,
      key: 'key' in owner ? owner.key : undefined,
      createdAt: now,
      usedAt: now,
      ip,
      userAgent: userAgent.slice(0, MAX_AGENT_LENGTH).toWellFormed(),
    }
    const others = [...(this.#byOwner.get(ownerOf(session)) ?? [])].toSorted((a, b) => b.usedAt - a.usedAt)
    const ended = others.filter((entry, i) => i >= MOST_SESSIONS - 1 || !this.#isOpen(entry))
    return { session, token, changes: [putOf(session), ...ended.map(removalOf)] }
  }

  /** Ends a session, within an edit. */
  end(id: string): void {
    const entry = this.#byId.get(id)
    if (entry !== undefined) this.#parts.edits.commit([removalOf(entry)])
  }

  /** The changes that end the sessions of an account. */
  ending(account: string, except?: Session): Change[] {
    const entries = [...(this.#byOwner.get(account) ?? [])]
    return entries.filter(({ session }) => session.id !== except?.id).map(removalOf)
  }

  /** The changes that remove sessions that have ended by themselves. */
  expired(): Change[] {
    return [...this.#byId.values()].filter((entry) => !this.#isOpen(entry)).map(removalOf)
  }

  /** Forgets the credentials that were handed out for an account, because its role may have changed. */
  accountChanged(account: string): void {
    for (const { credentials } of this.#byOwner.get(account) ?? []) credentials.fill(undefined)
  }

  #isOpen({ session, usedAt }: Entry): boolean {
    const { clock, keys, account } = this.#parts
    const now = clock.now()
    if (now >= usedAt + IDLE_MS || now >= session.createdAt + SESSION_MS) return false
    if (session.key !== undefined) return keys.ofDigest(session.key) !== undefined
    return account(session.account!)?.disabled === false
  }

  #caller(entry: Entry | undefined, live: boolean): Credentials | undefined {
    if (entry === undefined || !this.#isOpen(entry)) return undefined
    const credentials = this.#credentials(entry, live)
    this.#use(entry)
    return credentials
  }

  #credentials(entry: Entry, live: boolean): Credentials {
    const known = entry.credentials[Number(live)]
    if (known !== undefined) return known
    const { id, project, key, account } = entry.session
    const scope = scopeId(project, live)
    let credentials: Credentials
    if (key === undefined) {
      const { role, email } = this.#parts.account(account!)!
      const session = { id, role, account: { id: account!, email } }
      credentials = { scope, level: 'secret', keyId: `account:${account}`, session }
    } else {
      const ofKey = this.#parts.keys.ofDigest(key)!
      if (ofKey.scope !== scope) {
        const other = live ? 'test' : 'live'
        throw new ApiError(403, `Forbidden. You signed in with a key of the ${other} environment.`)
      }
      credentials = { ...ofKey, session: { id, role: 'admin' } }
    }
    entry.credentials[Number(live)] = credentials
    return credentials
  }

  #use(entry: Entry): void {
    const now = this.#parts.clock.now()
    entry.usedAt = now
    if (now - entry.session.usedAt < NOTE_MS) return
    const { id } = entry.session
    // This is set at once, so that requests that come before it is stored do not store it, too.
    entry.session = { ...entry.session, usedAt: now }
    const note = (): void => {
      const { session } = this.#byId.get(id) ?? {}
      if (session !== undefined) this.#parts.edits.commit([putOf({ ...session, usedAt: now })])
    }
    this.#parts.edits.edit(note).catch(this.#parts.troubled)
  }

  #put(session: Session): void {
    const known = this.#byId.get(session.id)
    if (known !== undefined) {
      known.session = session
      known.usedAt = Math.max(known.usedAt, session.usedAt)
      return
    }
    const entry: Entry = { session, usedAt: session.usedAt, credentials: [undefined, undefined] }
    this.#byId.set(session.id, entry)
    this.#byDigest.set(session.digest, entry)
    const owner = ownerOf(session)
    const entries = this.#byOwner.get(owner)
    if (entries === undefined) this.#byOwner.set(owner, new Set([entry]))
    else entries.add(entry)
  }

  #remove(id: string): void {
    const entry = this.#byId.get(id)
    if (entry === undefined) return
    this.#byId.delete(id)
    this.#byDigest.delete(entry.session.digest)
    const owner = ownerOf(entry.session)
    const entries = this.#byOwner.get(owner)
    entries?.delete(entry)
    if (entries?.size === 0) this.#byOwner.delete(owner)
  }
}

function shown({ session, usedAt }: Entry): Session {
  return { ...session, usedAt }
}

function ownerOf({ account, key }: Session): string {
  return account ?? key!
}

function putOf(session: Session): Change {
  return { kind: 'sessions', key: session.id, row: rowOfSession(session), record: session }
}

function removalOf({ session }: Entry): Change {
  return { kind: 'sessions', key: session.id, row: undefined }
}
