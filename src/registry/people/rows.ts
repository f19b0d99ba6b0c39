import Type from 'typebox'
import { ROLES, type Role } from '../../model/role.ts'
import type { RowKind } from '../store/rowKind.ts'

/** How much work a hash is: with the standard one, 128 MiB and some tenths of a second of one processor. */
export interface Cost {
  readonly n: number
  readonly r: number
  readonly p: number
}

/** A password as it is stored: scrypt, with its parameters. */
export interface PasswordHash extends Cost {
  /** Base64. */
  readonly salt: string
  /** Base64. */
  readonly hash: string
}

/** A person who may sign in. */
export interface Account {
  /** 24 hex. */
  readonly id: string
  readonly project: number
  /** In lower case. No two accounts have the same. */
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly disabled: boolean
  /** Undefined until the first invitation has been used. */
  readonly password: PasswordHash | undefined
  /** In epoch milliseconds. */
  readonly createdAt: number
  /** In epoch milliseconds. Undefined if the person has never signed in. */
  readonly lastSignInAt: number | undefined
}

/** A sign-in that has not ended, with an account or with a secret key. */
export interface Session {
  /** 24 hex digits. This is not the token. */
  readonly id: string
  /** SHA-256 of the token, in hex. */
  readonly digest: string
  readonly project: number
  /** The id of the account. Undefined if the session was opened with a key. */
  readonly account: string | undefined
  /** SHA-256 of that key, in hex. */
  readonly key: string | undefined
  /** In epoch milliseconds. */
  readonly createdAt: number
  /** The time of a recent request, in epoch milliseconds. */
  readonly usedAt: number
  readonly ip: string
  readonly userAgent: string
}

/** A link with which somebody sets the password of an account, once. */
export interface Invitation {
  /** SHA-256 of the token, in hex. */
  readonly digest: string
  readonly account: string
  /** In epoch milliseconds. */
  readonly createdAt: number
}

export interface AccountRow extends Omit<Account, 'disabled' | 'password' | 'lastSignInAt'> {
  readonly disabled: number
  /** The password's hash as JSON. */
  readonly password: string
  readonly lastSignInAt: number | null
}

export interface SessionRow extends Omit<Session, 'account' | 'key'> {
  readonly account: string | null
  readonly key: string | null
}

const Id = Type.String({ pattern: '^[0-9a-f]{24}$' })
const Digest = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Project = Type.Integer({ minimum: 1 })
const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])

const ACCOUNTS: RowKind = {
  name: 'accounts',
  columns: ['id', 'project', 'email', 'name', 'role', 'disabled', 'password', 'createdAt', 'lastSignInAt'],
  key: ['project', 'id'],
  unique: ['id'],
  json: ['password'],
  schema: Type.Object({
    id: Id,
    project: Project,
    email: Type.String(),
    name: Type.String(),
    role: Type.Enum([...ROLES]),
    disabled: Type.Integer(),
    password: orNull(
      Type.Object({
        n: Type.Integer(),
        r: Type.Integer(),
        p: Type.Integer(),
        salt: Type.String(),
        hash: Type.String(),
      }),
    ),
    createdAt: Type.Number(),
    lastSignInAt: orNull(Type.Number()),
  }),
  // There is no unique index on e-mail addresses. Edits keep them unique, and a copy may briefly see one twice when it
  // was released and taken again.
  createTable: `
    CREATE TABLE IF NOT EXISTS accounts (
      id TEXT NOT NULL UNIQUE,
      project INTEGER NOT NULL,
      email TEXT NOT NULL,
      name TEXT NOT NULL,
      role TEXT NOT NULL,
      disabled INTEGER NOT NULL,
      password TEXT NOT NULL,
      createdAt INTEGER NOT NULL,
      lastSignInAt INTEGER
    )`,
}

const SESSIONS: RowKind = {
  name: 'sessions',
  columns: ['id', 'digest', 'project', 'account', 'key', 'createdAt', 'usedAt', 'ip', 'userAgent'],
  key: ['id'],
  json: [],
  schema: Type.Object({
    id: Id,
    digest: Digest,
    project: Project,
    account: orNull(Id),
    key: orNull(Digest),
    createdAt: Type.Number(),
    usedAt: Type.Number(),
    ip: Type.String(),
    userAgent: Type.String(),
  }),
  createTable: `
    CREATE TABLE IF NOT EXISTS sessions (
      id TEXT NOT NULL UNIQUE,
      digest BLOB NOT NULL,
      project INTEGER NOT NULL,
      account TEXT,
      key TEXT,
      createdAt INTEGER NOT NULL,
      usedAt INTEGER NOT NULL,
      ip TEXT NOT NULL,
      userAgent TEXT NOT NULL
    )`,
}

const INVITATIONS: RowKind = {
  name: 'invitations',
  columns: ['digest', 'account', 'createdAt'],
  // An account has at most one invitation.
  key: ['account'],
  json: [],
  schema: Type.Object({ digest: Digest, account: Id, createdAt: Type.Number() }),
  createTable: `
    CREATE TABLE IF NOT EXISTS invitations (
      digest BLOB NOT NULL,
      account TEXT NOT NULL UNIQUE,
      createdAt INTEGER NOT NULL
    )`,
}

/** The rows of people, in an order in which each kind only refers to kinds before it. */
export const ACCOUNT_ROWS: readonly RowKind[] = [ACCOUNTS, SESSIONS, INVITATIONS]

export function rowOfAccount({ disabled, password, lastSignInAt, ...account }: Account): AccountRow {
  return {
    ...account,
    disabled: Number(disabled),
    password: JSON.stringify(password ?? null),
    lastSignInAt: lastSignInAt ?? null,
  }
}

export function accountOfRow({ disabled, password, lastSignInAt, ...account }: AccountRow): Account {
  return {
    ...account,
    disabled: disabled !== 0,
    password: (JSON.parse(password) as PasswordHash | null) ?? undefined,
    lastSignInAt: lastSignInAt ?? undefined,
  }
}

export function rowOfSession({ account, key, ...session }: Session): SessionRow {
  return { ...session, account: account ?? null, key: key ?? null }
}

export function sessionOfRow({ account, key, ...session }: SessionRow): Session {
  return { ...session, account: account ?? undefined, key: key ?? undefined }
}
