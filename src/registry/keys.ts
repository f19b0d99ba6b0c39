import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../runtime/clock.ts'
import { scopeId } from '../model/scope.ts'
import type { RegistryDatabase } from './database.ts'
import type { Change, EditLog } from './editLog.ts'
import type { RegistryImage } from './image.ts'
import type { Credentials } from './port.ts'

/** The four keys of a project, in the order of `RINGFENCE_KEYS`. */
export const KEY_KINDS = ['testPublishable', 'livePublishable', 'testSecret', 'liveSecret'] as const
export type KeyKind = (typeof KEY_KINDS)[number]

/** The four keys in full: seen once, when they are made. */
export type KeySet = Readonly<Record<KeyKind, string>>

/** What is kept of a key: never the key. */
export interface KeyRecord {
  readonly project: number
  readonly kind: KeyKind
  readonly lastFour: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

export interface Project {
  readonly id: number
  readonly name: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

/** Keys to be installed that cannot be; the message says which and why. */
class InvalidKeys extends Error {
  override name = 'InvalidKeys'
}

const PREFIXES: KeySet = {
  testPublishable: 'prj_test_pk_',
  livePublishable: 'prj_live_pk_',
  testSecret: 'prj_test_sk_',
  liveSecret: 'prj_live_sk_',
}
const RANDOM_BYTES = 20
const MAX_KEY_LENGTH = 128

interface Entry {
  readonly digest: Buffer
  readonly credentials: Credentials
}

/** A row of the table `keys`. */
interface KeyRow extends KeyRecord {
  /** In hex. */
  readonly digest: string
}

/**
 * Projects and their keys. A key is kept as its SHA-256 only: 160 random bits need no slow hash, and the look-up by
 * digest tells an attacker's clock nothing about the key.
 */
export class Keys {
  readonly #database: RegistryDatabase
  readonly #edits: EditLog
  readonly #clock: Clock
  readonly #byDigest = new Map<string, Entry>()
  /** By the key that rows have in the edit log: the digest that is good. */
  readonly #digests = new Map<string, string>()
  readonly #current = new Set<Credentials>()

  constructor(image: RegistryImage, edits: EditLog, clock: Clock) {
    this.#database = image.database
    this.#edits = edits
    this.#clock = clock
    const all = this.#database.prepare(
      'SELECT project, kind, lower(hex(digest)) AS digest, lastFour, createdAt FROM keys',
    )
    for (const row of this.#database.read(() => all.all()) as KeyRow[]) this.#remember(row)
    image.keep<KeyRow, KeyRow>('keys', {
      recordOf: (row) => row,
      put: (row) => {
        this.#forget(rowKey(row))
        this.#remember(row)
      },
      remove: (key) => this.#forget(key),
    })
  }

  /** Whose key it is; undefined for an unknown one. About a microsecond. */
  authenticate(key: string): Credentials | undefined {
    if (key.length > MAX_KEY_LENGTH) return undefined
    const digest = hash('sha256', key, 'hex')
    const entry = this.#byDigest.get(digest)
    if (entry === undefined || !timingSafeEqual(entry.digest, Buffer.from(digest, 'hex'))) return undefined
    return entry.credentials
  }

  /** Whether the key that {@link authenticate} gave these credentials for, this very object, is still good. */
  isCurrent(credentials: Credentials): boolean {
    return this.#current.has(credentials)
  }

  projects(): Project[] {
    return this.#database.prepare('SELECT id, name, createdAt FROM projects ORDER BY id').all() as Project[]
  }

  /** The keys of one project in the order of {@link KEY_KINDS}; empty when there is no such project. */
  list(project: number): KeyRecord[] {
    const rows = this.#database
      .prepare('SELECT project, kind, lastFour, createdAt FROM keys WHERE project = ?')
      .all(project) as KeyRecord[]
    return rows.toSorted((a, b) => KEY_KINDS.indexOf(a.kind) - KEY_KINDS.indexOf(b.kind))
  }

  /** A new project with the given keys, or with generated ones. */
  createProject(name: string, keys: KeySet = generateKeys()): { project: Project; keys: KeySet } {
    const createdAt = this.#clock.now()
    const last = this.#database.prepare('SELECT max(id) FROM projects').pluck().get() as number | null
    const project = { id: (last ?? 0) + 1, name, createdAt }
    const rows = KEY_KINDS.map((kind) => keyRow(project.id, kind, keys[kind], createdAt))
    const taken = rows.find(({ digest }) => this.#byDigest.has(digest))
    if (taken !== undefined)
      throw new InvalidKeys(`The ${taken.kind} key already belongs to another project.`)
    this.#edits.commit([
      { kind: 'projects', key: `${project.id}`, row: { ...project, disabled: 0, quota: null } },
      ...rows.map(putOf),
    ])
    return { project, keys }
  }

  /**
   * Replaces one key by a generated one; the old one is invalid from now on.
   * Undefined when there is no such project.
   */
  rotate(project: number, kind: KeyKind): { key: string; record: KeyRecord } | undefined {
    if (!this.#digests.has(rowKey({ project, kind }))) return undefined
    const key = generateKey(kind)
    const row = keyRow(project, kind, key, this.#clock.now())
    this.#edits.commit([putOf(row)])
    const { digest: _, ...record } = row
    return { key, record }
  }

  #forget(named: string): void {
    const digest = this.#digests.get(named)
    if (digest === undefined) return
    this.#digests.delete(named)
    const replaced = this.#byDigest.get(digest)
    this.#byDigest.delete(digest)
    if (replaced !== undefined) this.#current.delete(replaced.credentials)
  }

  #remember(row: KeyRow): void {
    const live = row.kind.startsWith('live')
    const level = row.kind.endsWith('Secret') ? 'secret' : 'publishable'
    const keyId = `${row.project}:${live ? 'live' : 'test'}:${level}:${row.lastFour}`
    const credentials: Credentials = { scope: scopeId(row.project, live), level, keyId }
    this.#digests.set(rowKey(row), row.digest)
    this.#byDigest.set(row.digest, { digest: Buffer.from(row.digest, 'hex'), credentials })
    this.#current.add(credentials)
  }
}

function rowKey({ project, kind }: Pick<KeyRow, 'project' | 'kind'>): string {
  return `${project}.${kind}`
}

function keyRow(project: number, kind: KeyKind, key: string, createdAt: number): KeyRow {
  return { project, kind, digest: hash('sha256', key, 'hex'), lastFour: key.slice(-4), createdAt }
}

function putOf(row: KeyRow): Change {
  return { kind: 'keys', key: rowKey(row), row, record: row }
}

/** The kind of a key in one environment. */
export function keyKind(live: boolean, level: Credentials['level']): KeyKind {
  if (level === 'secret') return live ? 'liveSecret' : 'testSecret'
  return live ? 'livePublishable' : 'testPublishable'
}

/** Four fresh keys: prefix and 40 hex characters each. */
export function generateKeys(): KeySet {
  return {
    testPublishable: generateKey('testPublishable'),
    livePublishable: generateKey('livePublishable'),
    testSecret: generateKey('testSecret'),
    liveSecret: generateKey('liveSecret'),
  }
}

/**
 * Reads `RINGFENCE_KEYS`: four comma-separated keys in the order of {@link KEY_KINDS}, each 8 to 128 visible
 * characters with its kind's prefix.
 * @throws {InvalidKeys}
 */
export function parseKeys(text: string): KeySet {
  const keys = text.split(',').map((key) => key.trim())
  if (keys.length !== KEY_KINDS.length) {
    const order = 'test publishable, live publishable, test secret, live secret'
    throw new InvalidKeys(`Four comma-separated keys are needed (${order}); there are ${keys.length}.`)
  }
  if (new Set(keys).size !== keys.length) throw new InvalidKeys('The four keys must all be different.')
  const set = {} as Record<KeyKind, string>
  for (const [index, kind] of KEY_KINDS.entries()) set[kind] = checkKey(kind, keys[index] ?? '')
  return set
}

function checkKey(kind: KeyKind, key: string): string {
  const prefix = PREFIXES[kind]
  if (!key.startsWith(prefix)) throw new InvalidKeys(`The ${kind} key must start with ${prefix}.`)
  if (key.length === prefix.length) throw new InvalidKeys(`The ${kind} key ends after ${prefix}.`)
  if (key.length > MAX_KEY_LENGTH || !/^[\x21-\x7e]+$/.test(key)) {
    throw new InvalidKeys(`The ${kind} key must be 8 to ${MAX_KEY_LENGTH} visible ASCII characters.`)
  }
  return key
}

function generateKey(kind: KeyKind): string {
  return PREFIXES[kind] + randomBytes(RANDOM_BYTES).toString('hex')
}
