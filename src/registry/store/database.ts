import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { ApiError } from '../../runtime/errors.ts'
import { openSqlite, SqliteFileForeign, SqliteFileTooNew } from '../../runtime/sqlite.ts'
import type { SqliteFormat } from '../../runtime/sqlite.ts'

/** The registry's file in the data folder. */
export const REGISTRY_FILE = 'registry.sqlite'

/** How long a start waits for the previous process to release the file. */
const LOCK_WAIT_MS = 500
/** Pages in the write-ahead log at which it is copied into the file; SQLite's default. */
const FOLD_PAGES = 1000
/** The size of the page cache: the library's default, and a size that is enough while pages are read once. */
const CACHE_BYTES = 16_000 * 1024
const PASSING_CACHE_PAGES = 64

/** The statements of each version, from the first to the newest. */
const VERSIONS = [
  `
    CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    INSERT INTO meta VALUES ('revision', 0);
    CREATE TABLE projects (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      name TEXT NOT NULL,
      createdAt INTEGER NOT NULL
    );
    CREATE TABLE keys (
      project INTEGER NOT NULL REFERENCES projects (id),
      kind TEXT NOT NULL,
      digest BLOB NOT NULL UNIQUE,
      lastFour TEXT NOT NULL,
      createdAt INTEGER NOT NULL,
      PRIMARY KEY (project, kind)
    ) WITHOUT ROWID;
    CREATE TABLE geofences (
      id TEXT NOT NULL UNIQUE,
      scope INTEGER NOT NULL,
      tag TEXT NOT NULL,
      externalId TEXT NOT NULL,
      createdAt INTEGER NOT NULL,
      updatedAt INTEGER NOT NULL,
      definition TEXT NOT NULL,
      UNIQUE (scope, tag, externalId)
    );
    CREATE TABLE settings (scope INTEGER PRIMARY KEY, definition TEXT NOT NULL);
  `,
  // A beacon may lack its tag or externalId: SQLite treats such rows as different, whatever else they contain. The
  // refused rows of an import are in the last column, so that its history is listed without reading them.
  `
    CREATE TABLE beacons (
      id TEXT NOT NULL UNIQUE,
      scope INTEGER NOT NULL,
      tag TEXT,
      externalId TEXT,
      createdAt INTEGER NOT NULL,
      updatedAt INTEGER NOT NULL,
      definition TEXT NOT NULL,
      UNIQUE (scope, tag, externalId)
    );
    CREATE TABLE imports (
      id TEXT NOT NULL UNIQUE,
      scope INTEGER NOT NULL,
      kind TEXT NOT NULL,
      createdAt INTEGER NOT NULL,
      record TEXT NOT NULL,
      errors TEXT NOT NULL
    );
    CREATE INDEX importsByKind ON imports (scope, kind, createdAt);
    ALTER TABLE projects ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE projects ADD COLUMN quota INTEGER;
    CREATE TABLE usage (
      project INTEGER NOT NULL REFERENCES projects (id),
      month TEXT NOT NULL,
      requests INTEGER NOT NULL,
      PRIMARY KEY (project, month)
    ) WITHOUT ROWID;
  `,
  `
    CREATE TABLE webhooks (
      id TEXT NOT NULL UNIQUE,
      scope INTEGER NOT NULL,
      createdAt INTEGER NOT NULL,
      updatedAt INTEGER NOT NULL,
      definition TEXT NOT NULL
    );
  `,
  // For a file that follows a log of edits: which log that is, and which entries could not be read.
  `
    CREATE TABLE origin (id TEXT NOT NULL, isFollowed INTEGER NOT NULL);
    CREATE TABLE unreadable (entry TEXT PRIMARY KEY, reason TEXT NOT NULL) WITHOUT ROWID;
  `,
  // Replaced keys that stay valid for a while beside their successors.
  `
    CREATE TABLE oldKeys (
      digest BLOB PRIMARY KEY,
      project INTEGER NOT NULL REFERENCES projects (id),
      kind TEXT NOT NULL,
      lastFour TEXT NOT NULL,
      createdAt INTEGER NOT NULL,
      validUntil INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX oldKeysByKind ON oldKeys (project, kind);
  `,
]

const FORMAT: SqliteFormat = {
  // These bytes are "RFNC".
  applicationId: 0x52464e43,
  schema: VERSIONS.join(''),
  upgrades: VERSIONS.slice(1),
  settings: ['synchronous = FULL', 'foreign_keys = ON'],
}

/** Another process (usually a running server) has the data folder. */
export class RegistryLocked extends Error {
  override name = 'RegistryLocked'

  constructor(file: string, cause: unknown) {
    super(`${file} is in use by another process: stop the server that runs on this data folder first.`, {
      cause,
    })
  }
}

/** The file is not a registry, or a part of it cannot be read. */
export class RegistryDamaged extends Error {
  override name = 'RegistryDamaged'

  constructor(file: string, sentence: string, cause?: unknown) {
    super(`${file}: ${sentence}`, { cause })
  }
}

/** The file is a copy of a registry that several processes share, so it cannot be changed alone. */
export class RegistryElsewhere extends Error {
  override name = 'RegistryElsewhere'

  constructor(file: string) {
    super(
      `${file} follows the registry of a distributed engine: it can only be changed through a server of that engine.`,
    )
  }
}

/** The file was written by a newer Ringfence. */
export class RegistryTooNew extends Error {
  override name = 'RegistryTooNew'

  constructor(file: string, { version, known }: SqliteFileTooNew) {
    super(
      `${file} has data format ${version}, written by a newer Ringfence; this one reads formats up to ${known}.`,
    )
  }
}

/**
 * The registry's SQLite file, locked by this process while it is open; the lock is the operating system's, so `kill
 * -9` releases it. WAL with synchronous=FULL: changes survive a power failure once {@link write} has returned.
 */
export class RegistryDatabase {
  readonly file: string
  readonly #db: Database.Database
  readonly #setRevision: Database.Statement
  #revision: number
  #promised: string | undefined
  #origin: string | undefined

  /**
   * Opens or creates the file in `folder`.
   * @throws {RegistryLocked} {@link RegistryDamaged} {@link RegistryTooNew}
   */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true })
    this.file = join(folder, REGISTRY_FILE)
    this.#db = openFile(this.file)
    this.#setRevision = this.#db.prepare(`UPDATE meta SET value = ? WHERE name = 'revision'`)
    this.#revision = this.#db
      .prepare(`SELECT value FROM meta WHERE name = 'revision'`)
      .pluck()
      .get() as number
    const origin = this.#db.prepare('SELECT id, isFollowed FROM origin').get() as OriginRow | undefined
    if (origin === undefined) return
    this.#promised = origin.id
    if (origin.isFollowed !== 0) this.#follow()
  }

  /** Increases with every {@link write}. */
  get revision(): number {
    return this.#revision
  }

  /** The log of edits that the file follows; undefined if the file is the registry itself. */
  get origin(): string | undefined {
    return this.#origin
  }

  /** The SQL order of creation. In a file that is the registry itself, rows are stored in that order. */
  get orderOfCreation(): string {
    return this.#origin === undefined ? 'rowid' : 'createdAt, id'
  }

  /** The log of edits that the file has begun to become. Perhaps nobody knows of it yet. */
  get promised(): string | undefined {
    return this.#promised
  }

  /** Whether nothing was ever written to the file. */
  get isEmpty(): boolean {
    return this.#revision === 0
  }

  /** Notes that the file is about to become a log of edits. */
  promise(origin: string): void {
    this.#setOrigin(origin, 0)
  }

  /** From now on the file follows a log, of which it has this revision. */
  follow(origin: string, revision: number): void {
    this.write(() => this.#setOrigin(origin, 1), revision)
    this.#follow()
  }

  #setOrigin(origin: string, isFollowed: number): void {
    this.#db.prepare('DELETE FROM origin').run()
    this.#db.prepare('INSERT INTO origin VALUES (?, ?)').run(origin, isFollowed)
    this.#promised = origin
  }

  /**
   * Prepares the file for following a log. The log has everything that the file may lose, so a write need not wait for
   * the disk. Its rows come in the order of their last change, so a row may come before the one that it refers to.
   */
  #follow(): void {
    this.#origin = this.#promised
    this.#db.pragma('synchronous = NORMAL')
    this.#db.pragma('foreign_keys = OFF')
  }

  prepare(sql: string): Database.Statement {
    return this.#db.prepare(sql)
  }

  /** Runs statements in one transaction: the disk is waited for once, and if one fails, none counts. */
  atOnce<T>(work: () => T): T {
    return this.#db.transaction(work)()
  }

  /** Runs `read`, and reports a failing page or row as damage of this file. */
  read<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw isDamage(error)
        ? new RegistryDamaged(this.file, 'cannot be read; restore a backup.', error)
        : error
    }
  }

  /**
   * Runs `change` in one transaction that also sets the revision; durable when it returns, undone if it throws.
   * @throws {ApiError} 503 if the disk does not accept it
   */
  write<T>(change: () => T, revision: number): T {
    let result: T
    try {
      this.#db.exec('BEGIN IMMEDIATE')
      result = change()
      this.#setRevision.run(revision)
      this.#db.exec('COMMIT')
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK')
      if (isFullDisk(error)) {
        const message = 'The registry cannot be written: the disk is full or failing. Nothing was changed.'
        throw new ApiError(503, message, { retryAfter: 10, cause: error })
      }
      throw error
    }
    this.#revision = revision
    return result
  }

  /**
   * Reads like {@link read}, for reading everything once. It leaves no pages in the cache, which would take 16 MB that
   * nobody needs again.
   */
  readAll<T>(read: () => T): T {
    this.#db.pragma(`cache_size = ${PASSING_CACHE_PAGES}`)
    try {
      return this.read(read)
    } finally {
      this.#db.pragma(`cache_size = -${CACHE_BYTES / 1024}`)
    }
  }

  /**
   * Copies the write-ahead log into the file, which then stays unchanged until the returned function is called, so
   * that it can be copied from outside. Changes are collected in the write-ahead log.
   */
  freeze(): () => void {
    const [folded] = this.#db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]
    if (folded?.busy !== 0) throw new Error(`${this.file}: the write-ahead log cannot be folded in.`)
    this.#db.pragma('wal_autocheckpoint = 0')
    return () => {
      if (this.#db.open) this.#db.pragma(`wal_autocheckpoint = ${FOLD_PAGES}`)
    }
  }

  /** Copies the write-ahead log into the file, and closes it. */
  close(): void {
    this.#db.close()
  }
}

interface OriginRow {
  readonly id: string
  readonly isFollowed: number
}

/** Removes the file of a folder. Nobody may have it open. */
export function removeDatabase(folder: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(folder, REGISTRY_FILE + suffix), { force: true })
}

function openFile(file: string): Database.Database {
  try {
    return openSqlite(file, FORMAT, LOCK_WAIT_MS)
  } catch (error) {
    if (error instanceof SqliteFileForeign) throw new RegistryDamaged(file, 'is not a Ringfence registry.')
    if (error instanceof SqliteFileTooNew) throw new RegistryTooNew(file, error)
    if (codeOf(error).startsWith('SQLITE_BUSY')) throw new RegistryLocked(file, error)
    if (isDamage(error)) throw new RegistryDamaged(file, 'is not a readable SQLite database.', error)
    if (codeOf(error) === '') throw error
    throw new Error(`${file} cannot be opened: ${(error as Error).message}. May it be written?`, {
      cause: error,
    })
  }
}

function codeOf(error: unknown): string {
  return error instanceof Database.SqliteError ? error.code : ''
}

function isDamage(error: unknown): boolean {
  const code = codeOf(error)
  return code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB'
}

function isFullDisk(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'SQLITE_FULL' || code.startsWith('SQLITE_IOERR') || code === 'SQLITE_READONLY'
}
