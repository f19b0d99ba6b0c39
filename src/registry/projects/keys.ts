import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../runtime/clock.ts'
import { scopeId } from '../../model/scope.ts'
import type { RegistryDatabase } from '../store/database.ts'
import type { Change, EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import type { Credentials } from '../../http/credentials.ts'

/** The four keys of a project, in the order of `RINGFENCE_KEYS`. */
export const KEY_KINDS = ['testPublishable', 'livePublishable', 'testSecret', 'liveSecret'] as const
export type KeyKind = (typeof KEY_KINDS)[number]

/** The four keys in full. They are shown once, when they are created. */
export type KeySet = Readonly<Record<KeyKind, string>>

/** The stored record of a key, which never contains a secret one. */
export interface KeyRecord {
  readonly project: number
  readonly kind: KeyKind
  readonly lastFour: string
  /** In epoch milliseconds. */
  readonly createdAt: number
  /** The time from which a replaced key is invalid, in epoch milliseconds; null if it was not replaced. */
  readonly validUntil: number | null
  /** The whole key, if it is publishable and was made by a version that stores whole ones. */
  readonly text?: string | null
}

export interface Project {
  readonly id: number
  readonly name: string
  /** In epoch milliseconds. */
  readonly createdAt: number
}

/** The given keys cannot be installed; the message says which and why. */
class InvalidKeys extends Error {
  override name = 'InvalidKeys'
}

/** An old key cannot stay valid for that long, or no further one can; the message says why. */
export class OverlapRefused extends Error {
  override name = 'OverlapRefused'
}

const PREFIXES: KeySet = {
  testPublishable: 'prj_test_pk_',
  livePublishable: 'prj_live_pk_',
  testSecret: 'prj_test_sk_',
  liveSecret: 'prj_live_sk_',
}
const RANDOM_BYTES = 20
const MAX_KEY_LENGTH = 128
/** How long a replaced key may stay valid. */
const MAX_OVERLAP_DAYS = 90
const DAY_MS = 86_400_000
/** How many replaced keys of one kind may still be valid. */
const MAX_OLD_KEYS = 10

interface Entry {
  readonly digest: Buffer
  readonly credentials: Credentials
  /** In epoch milliseconds; Infinity for a key that was not replaced. */
  validUntil: number
  /** The key under which its row is in the edit log. */
  named: string
}

/** A row of the table `keys`. */
interface KeyRow extends Omit<KeyRecord, 'validUntil' | 'text'> {
  /** The SHA-256 in hex. */
  readonly digest: string
}

/** A row of the table `oldKeys`. */
interface OldKeyRow extends KeyRow {
  readonly validUntil: number
}

/** The full text of a publishable key `k`. */
const TEXT = `(SELECT text FROM publishableKeys p WHERE p.project = k.project AND p.digestOfKey = lower(hex(k.digest)))`
const KEY_COLUMNS = 'project, kind, lower(hex(digest)) AS digest, lastFour, createdAt'

/**
 * Projects and their keys. Only the SHA-256 of a secret key is stored: 160 random bits need no slow hash, and the
 * duration of a look-up by digest reveals nothing about the key.
 *
 * A replaced key may stay valid until a date: it is then an old key with the same credentials, so that connections
 * that were opened with it stay open until then.
 */
export class Keys {
  readonly #database: RegistryDatabase
  readonly #edits: EditLog
  readonly #clock: Clock
  readonly #byDigest = new Map<string, Entry>()
  /** The digests, by the keys of their rows in the edit log. */
  readonly #digests = new Map<string, string>()
  readonly #byCredentials = new Map<Credentials, Entry>()

  constructor(replica: RegistryReplica, edits: EditLog, clock: Clock) {
    this.#database = replica.database
    this.#edits = edits
    this.#clock = clock
    const all = this.#database.prepare(`SELECT ${KEY_COLUMNS} FROM keys`)
    const old = this.#database.prepare(`SELECT ${KEY_COLUMNS}, validUntil FROM oldKeys`)
    for (const row of this.#database.read(() => all.all()) as KeyRow[]) this.#remember(rowKey(row), row)
    for (const row of this.#database.read(() => old.all()) as OldKeyRow[])
      this.#remember(oldRowKey(row), row, row.validUntil)
    replica.keep<KeyRow, KeyRow>('keys', {
      recordOf: (row) => row,
      put: (row) => this.#remember(rowKey(row), row),
      remove: (key) => this.#forget(key),
    })
    replica.keep<OldKeyRow, OldKeyRow>('oldKeys', {
      recordOf: (row) => row,
      put: (row) => this.#remember(oldRowKey(row), row, row.validUntil),
      remove: (key) => this.#forget(key),
    })
  }

  /** The owner of a key; undefined for an unknown or invalid one. Takes about a microsecond. */
  authenticate(key: string): Credentials | undefined {
    if (key.length > MAX_KEY_LENGTH) return undefined
    return this.ofDigest(hash('sha256', key, 'hex'))
  }

  /** Does the same as {@link authenticate} for a key of which the SHA-256 is known, in hex. */
  ofDigest(digest: string): Credentials | undefined {
    const entry = this.#byDigest.get(digest)
    if (entry === undefined || !timingSafeEqual(entry.digest, Buffer.from(digest, 'hex'))) return undefined
    return this.#isValid(entry) ? entry.credentials : undefined
  }

  /** Whether the key for which {@link authenticate} returned exactly this object is still valid. */
  isCurrent(credentials: Credentials): boolean {
    const entry = this.#byCredentials.get(credentials)
    return entry !== undefined && this.#isValid(entry)
  }

  projects(): Project[] {
    return this.#database.prepare('SELECT id, name, createdAt FROM projects ORDER BY id').all() as Project[]
  }

  /**
   * The valid keys of one project in the order of {@link KEY_KINDS}, the newest of a kind first; empty if there is no
   * such project.
   */
  list(project: number): KeyRecord[] {
    const rows = this.#database
      .prepare(
        `SELECT project, kind, lastFour, createdAt, NULL AS validUntil, ${TEXT} AS text
           FROM keys k WHERE project = @project
         UNION ALL
         SELECT project, kind, lastFour, createdAt, validUntil, ${TEXT} AS text
           FROM oldKeys k WHERE project = @project AND validUntil > @now`,
      )
      .all({ project, now: this.#clock.now() }) as KeyRecord[]
    const order = ({ kind }: KeyRecord) => KEY_KINDS.indexOf(kind)
    const until = ({ validUntil }: KeyRecord) => validUntil ?? Number.MAX_VALUE
    return rows.toSorted((a, b) => order(a) - order(b) || b.createdAt - a.createdAt || until(b) - until(a))
  }

  /** Creates a project with the given keys, or with generated ones. */
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
      ...rows.flatMap((row) => textOf(row, keys[row.kind])),
    ])
    return { project, keys }
  }

  /**
   * Replaces one key by a generated one. Returns undefined if there is no such project.
   * @param oldKeyValidUntil the time in epoch milliseconds until which the old key stays valid beside the new one, and
   * keys that were replaced before it until their own dates. If absent, all earlier keys of this kind are invalid from
   * now on
   * @returns the new key, and what is stored of both; `old` if it stays valid
   * @throws {OverlapRefused}
   */
  rotate(project: number, kind: KeyKind, oldKeyValidUntil?: number): Rotation | undefined {
    const replaced = this.#database
      .prepare(`SELECT ${KEY_COLUMNS} FROM keys WHERE project = ? AND kind = ?`)
      .get(project, kind) as KeyRow | undefined
    if (replaced === undefined) return undefined
    const now = this.#clock.now()
    const before = this.#database
      .prepare(`SELECT ${KEY_COLUMNS}, validUntil FROM oldKeys WHERE project = ? AND kind = ?`)
      .all(project, kind) as OldKeyRow[]
    const ended = oldKeyValidUntil === undefined ? before : before.filter((row) => row.validUntil <= now)
    if (oldKeyValidUntil !== undefined) checkOverlap(oldKeyValidUntil, now, before.length - ended.length)
    const key = generateKey(kind)
    const row = keyRow(project, kind, key, now)
    const old = oldKeyValidUntil === undefined ? undefined : { ...replaced, validUntil: oldKeyValidUntil }
    // The old key is stored first, so that it is never unknown in between.
    this.#edits.commit([
      ...ended.map((gone): Change => ({ kind: 'oldKeys', key: oldRowKey(gone), row: undefined })),
      ...(old === undefined ? [] : [putOfOld(old)]),
      putOf(row),
      ...[...ended, ...(old === undefined ? [replaced] : [])].flatMap(withoutText),
      ...textOf(row, key),
    ])
    return { key, record: recordOf(row, null), old: old && recordOf(old, old.validUntil) }
  }

  #isValid({ validUntil }: Entry): boolean {
    return validUntil === Infinity || this.#clock.now() < validUntil
  }

  #forget(named: string): void {
    const digest = this.#digests.get(named)
    if (digest === undefined) return
    this.#digests.delete(named)
    const entry = this.#byDigest.get(digest)
    // The key may have become an old one, which has another name.
    if (entry === undefined || entry.named !== named) return
    this.#byDigest.delete(digest)
    this.#byCredentials.delete(entry.credentials)
  }

  /**
   * Stores a key in memory.
   * @param named the key of the row in the edit log; its previous entry is forgotten
   */
  #remember(named: string, row: KeyRow, validUntil = Infinity): void {
    if (this.#digests.get(named) !== row.digest) this.#forget(named)
    this.#digests.set(named, row.digest)
    const known = this.#byDigest.get(row.digest)
    if (known !== undefined) {
      known.named = named
      known.validUntil = validUntil
      return
    }
    const live = row.kind.startsWith('live')
    const level = row.kind.endsWith('Secret') ? 'secret' : 'publishable'
    const keyId = `${row.project}:${live ? 'live' : 'test'}:${level}:${row.lastFour}`
    const credentials: Credentials = { scope: scopeId(row.project, live), level, keyId }
    const entry = { digest: Buffer.from(row.digest, 'hex'), credentials, validUntil, named }
    this.#byDigest.set(row.digest, entry)
    this.#byCredentials.set(credentials, entry)
  }
}

/** The result of a rotation. */
export interface Rotation {
  /** The key in full. It is shown once. */
  readonly key: string
  readonly record: KeyRecord
  /** The replaced key, if it stays valid for a while. */
  readonly old: KeyRecord | undefined
}

/**
 * Checks an overlap.
 * @throws {OverlapRefused}
 */
function checkOverlap(validUntil: number, now: number, oldKeys: number): void {
  if (!(validUntil > now)) throw new OverlapRefused('The date must be in the future.')
  if (validUntil > now + MAX_OVERLAP_DAYS * DAY_MS)
    throw new OverlapRefused(`The date must be at most ${MAX_OVERLAP_DAYS} days from now.`)
  if (oldKeys >= MAX_OLD_KEYS)
    throw new OverlapRefused(
      `${MAX_OLD_KEYS} old keys of this kind are still valid, which is the most. A rotation without a date ends them all.`,
    )
}

function recordOf({ project, kind, lastFour, createdAt }: KeyRow, validUntil: number | null): KeyRecord {
  return { project, kind, lastFour, createdAt, validUntil }
}

function rowKey({ project, kind }: Pick<KeyRow, 'project' | 'kind'>): string {
  return `${project}.${kind}`
}

function oldRowKey(row: KeyRow): string {
  return `${rowKey(row)}.${row.digest}`
}

function keyRow(project: number, kind: KeyKind, key: string, createdAt: number): KeyRow {
  return { project, kind, digest: hash('sha256', key, 'hex'), lastFour: key.slice(-4), createdAt }
}

function putOf(row: KeyRow): Change {
  return { kind: 'keys', key: rowKey(row), row, record: row }
}

function putOfOld(row: OldKeyRow): Change {
  return { kind: 'oldKeys', key: oldRowKey(row), row, record: row }
}

/** The full text of a publishable key. That of a secret one is not stored. */
function textOf({ project, kind, digest }: KeyRow, text: string): Change[] {
  if (!kind.endsWith('Publishable')) return []
  return [
    { kind: 'publishableKeys', key: `${project}.${digest}`, row: { project, digestOfKey: digest, text } },
  ]
}

/** The change that removes the text of a key that is no longer valid. */
function withoutText({ project, kind, digest }: KeyRow): Change[] {
  if (!kind.endsWith('Publishable')) return []
  return [{ kind: 'publishableKeys', key: `${project}.${digest}`, row: undefined }]
}

/** The kind of a key in one environment. */
export function keyKind(live: boolean, level: Credentials['level']): KeyKind {
  if (level === 'secret') return live ? 'liveSecret' : 'testSecret'
  return live ? 'livePublishable' : 'testPublishable'
}

/** Four new keys: prefix and 40 hex characters each. */
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
