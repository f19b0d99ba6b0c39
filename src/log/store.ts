import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { systemReason } from '../runtime/errors.ts'
import { replaceFileBlocking, syncFolderBlocking, systemFiles } from './files.ts'
import { createLog, logFolder } from './segments.ts'

/** A data folder that belongs to this process. */
export interface Store {
  readonly folder: string
  /** 16 random hexadecimal digits, which were drawn when the store was created. */
  readonly storeId: string
  /**
   * 64 random hexadecimal digits, which are secret. They were drawn when the store was created, or first opened by
   * this version.
   */
  readonly secret: string
  readonly partitions: number
  /** Releases the lock. Everything in the folder must be closed before. */
  release(): void
}

/** Another process has the data folder. */
export class StoreLocked extends Error {
  constructor(folder: string, cause: unknown) {
    super(`The data folder ${folder} is in use by another process.`, { cause })
    this.name = 'StoreLocked'
  }
}

/** The data folder cannot be used as it is; nothing in it was changed. */
export class StoreRefused extends Error {
  /** The path of the file that is the reason. */
  readonly file: string

  constructor(file: string, reason: string) {
    super(`${file}: ${reason}`)
    this.name = 'StoreRefused'
    this.file = file
  }
}

const FORMAT = 1
/**
 * How long a start waits for the lock, in milliseconds: two processes that start at the same moment may each see the
 * other's attempt.
 */
const LOCK_WAIT_MS = 500

/** The contents of store.json. `creating` is there until the empty log is. */
interface Description {
  readonly format: number
  readonly storeId: string
  /** Stores that were created before it was introduced do not have it. */
  readonly secret?: string
  readonly partitions: number
  readonly creating?: true
}

/**
 * Locks the data folder for this process, and creates the store in it if there is none.
 *
 * @param options.partitions 1 to 65536; must be what the store was created with.
 * @throws {StoreLocked} while another process has it. The lock is SQLite's on the file `lock`, so the system releases
 * it however the process ends. It needs a file system with POSIX locks: local, or NFS 4.
 * @throws {StoreRefused} for a newer format, other partitions, or a damaged or missing store.json.
 */
export function openStore(folder: string, options: { partitions: number }): Store {
  const { partitions } = options
  if (!(Number.isInteger(partitions) && partitions >= 1 && partitions <= 65_536)) {
    throw new RangeError(`partitions: ${partitions} is not an integer from 1 to 65536`)
  }
  const release = takeFolder(folder)
  try {
    const found = readDescription(folder, partitions) ?? create(folder, partitions)
    const secret = found.secret ?? drawSecret()
    if (found.secret === undefined) writeDescription(folder, { ...found, secret })
    return { folder, storeId: found.storeId, secret, partitions, release }
  } catch (error) {
    release()
    throw error
  }
}

const ANOTHER_FOLDER = '. Choose another one with --data (RINGFENCE_DATA).'

/**
 * Locks the data folder for this process, and creates it if necessary, as {@link openStore} does; does not check
 * whether there is a store in it.
 * @throws {StoreLocked} {@link StoreRefused}
 */
export function takeFolder(folder: string): () => void {
  try {
    makeFolder(resolve(folder))
  } catch (error) {
    throw new StoreRefused(folder, `the data folder cannot be made: ${systemReason(error)}${ANOTHER_FOLDER}`)
  }
  return lockStore(folder)
}

/**
 * Creates the folder and those above it, durably. It does not use mkdir's own `recursive`, which never ends under
 * /proc.
 */
function makeFolder(folder: string): void {
  if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  const parent = dirname(folder)
  if (parent !== folder) makeFolder(parent)
  fs.mkdirSync(folder, { mode: 0o700 })
  syncFolderBlocking(systemFiles, parent)
}

/**
 * Locks the folder for this process until the returned function is called: an exclusive transaction that is never
 * committed. The folder must exist; whether there is a store in it is not checked.
 * @param waitMs how long this waits for it, without letting anything else happen
 * @throws {StoreLocked} {@link StoreRefused} if it cannot be read and written
 */
export function lockStore(folder: string, waitMs = LOCK_WAIT_MS): () => void {
  let database: Database.Database
  try {
    fs.accessSync(folder, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK)
    database = new Database(join(folder, 'lock'), { timeout: waitMs })
  } catch (error) {
    throw new StoreRefused(
      folder,
      `the data folder cannot be read and written: ${systemReason(error)}${ANOTHER_FOLDER}`,
    )
  }
  try {
    database.pragma('journal_mode = MEMORY')
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if ((error as { code?: string }).code === 'SQLITE_BUSY') throw new StoreLocked(folder, error)
    throw new StoreRefused(join(folder, 'lock'), `cannot be written: ${(error as Error).message}`)
  }
  return () => {
    database.close()
  }
}

/** The store's description; undefined if there is no store yet, or its creation was interrupted. */
function readDescription(folder: string, partitions: number): Description | undefined {
  const path = join(folder, 'store.json')
  if (!fs.existsSync(path)) {
    if (!fs.existsSync(logFolder(folder))) return undefined
    throw new StoreRefused(path, `is missing, but ${logFolder(folder)} is there`)
  }
  let found: Partial<Description> | null
  try {
    found = JSON.parse(fs.readFileSync(path, 'utf8')) as Partial<Description> | null
  } catch (error) {
    throw new StoreRefused(path, `is damaged: ${(error as Error).message}`)
  }
  const format = found?.format
  if (typeof format === 'number' && format > FORMAT) {
    throw new StoreRefused(path, `store format ${format} is newer than this version reads (${FORMAT})`)
  }
  if (
    format !== FORMAT ||
    typeof found?.storeId !== 'string' ||
    !/^[0-9a-f]{16}$/.test(found.storeId) ||
    !Number.isInteger(found.partitions)
  ) {
    throw new StoreRefused(
      path,
      'is damaged: it must hold format 1, a storeId of 16 hex digits and partitions',
    )
  }
  if (
    found.secret !== undefined &&
    !(typeof found.secret === 'string' && /^[0-9a-f]{64}$/.test(found.secret))
  )
    throw new StoreRefused(path, 'is damaged: its secret must be 64 hex digits')
  if (found.partitions !== partitions) {
    throw new StoreRefused(
      path,
      `the store was created with ${found.partitions} partitions and cannot be opened with ${partitions}`,
    )
  }
  return found.creating ? undefined : (found as Description)
}

/**
 * Creates a store. At first, store.json says `creating`, so that a log that is missing later is never taken for one
 * that does not exist yet.
 */
function create(folder: string, partitions: number): Description {
  const description = {
    format: FORMAT,
    storeId: randomBytes(8).toString('hex'),
    secret: drawSecret(),
    partitions,
  }
  writeDescription(folder, { ...description, creating: true })
  fs.rmSync(logFolder(folder), { recursive: true, force: true })
  createLog(systemFiles, folder, description.storeId)
  writeDescription(folder, description)
  return description
}

function drawSecret(): string {
  return randomBytes(32).toString('hex')
}

/** Writes the description durably and atomically. */
function writeDescription(folder: string, content: Description): void {
  const bytes = Buffer.from(`${JSON.stringify(content, null, 2)}\n`)
  replaceFileBlocking(systemFiles, join(folder, 'store.json'), bytes)
}
