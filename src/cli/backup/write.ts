import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import Database from 'better-sqlite3'
import { copyFile, flush, FLUSH_BYTES, folderBytes, hashFile, writeText, type ReadOptions } from './files.ts'
import { encodeManifest, MANIFEST_FILE, type BackedUpFile, type Manifest } from './manifest.ts'
import type { BackupSource, BackupContents } from './port.ts'

const EVENTS_FILE = 'events.sqlite'
const DATABASES = [EVENTS_FILE, 'registry.sqlite']

/** The backup was not made, and its files have been removed. */
export class BackupRefused extends Error {
  override name = 'BackupRefused'
}

export interface BackupOptions {
  /** The data folder, which exists. */
  readonly data: string
  /** The folder to create, as an absolute path. */
  readonly target: string
  readonly source: BackupSource
  /** The version of this Ringfence. */
  readonly version: string
  /** The time of the backup, in epoch milliseconds. */
  readonly now: number
  /** Reads and checks the log in a folder. Returns the offset of its last frame, or throws. */
  readonly checkLog: (folder: string, storeId: string) => number
  /** How fast files are read, as {@link ReadOptions} describes. */
  readonly bytesPerSecond: number
  readonly progress: (done: number, total: number) => void
  readonly signal: AbortSignal
}

/**
 * Makes a backup: a folder that gets its name only once it is complete, flushed and found to be readable. This process
 * reads, hashes and writes the files, at a limited rate. source.ts says what the server does for it.
 * @throws {BackupRefused} and the errors of the disk or the source; nothing is left behind then
 */
export async function writeBackup(options: BackupOptions): Promise<Manifest> {
  const { data, target, source, bytesPerSecond, signal } = options
  const partial = `${target}.partial`
  const total = folderBytes(data)
  checkTarget(data, target, partial, total)
  mkdirSync(partial, { mode: 0o700 })
  giveToOwner(data, partial)
  try {
    let done = 0
    const count = (bytes: number): void => options.progress((done += bytes), total)
    const held = await source.hold(
      partial,
      flusher(partial, (copied) => options.progress(copied, total)),
      signal,
    )
    done += statSync(join(partial, EVENTS_FILE)).size
    const files = await copyContents(held, data, partial, { bytesPerSecond, count, signal }).catch(
      async (error) => {
        await held.release().catch(() => {})
        throw error
      },
    )
    await held.release()
    checkCopy(held, partial, options)
    const uncounted = { bytesPerSecond, count: () => {}, signal }
    files.push(await hashFile(join(partial, EVENTS_FILE), EVENTS_FILE, uncounted))
    const { storeId, partitions, logPosition, eventsPosition, registryRevision } = held
    const text = encodeManifest({
      version: options.version,
      madeAt: new Date(options.now).toISOString(),
      storeId,
      partitions,
      logPosition,
      eventsPosition,
      registryRevision,
      files,
    })
    await writeText(join(partial, MANIFEST_FILE), text)
    for (const folder of ['log', 'snapshots', '.']) await flush(join(partial, folder))
    renameSync(partial, target)
    await flush(dirname(target))
    return JSON.parse(text) as Manifest
  } catch (error) {
    rmSync(partial, { recursive: true, force: true })
    // The signal's reason explains more than the error that followed from it.
    throw signal.aborted ? signal.reason : error
  }
}

function checkTarget(data: string, target: string, partial: string, bytes: number): void {
  const parent = dirname(target)
  if (existsSync(target)) throw new BackupRefused(`${target} already exists: a backup needs a new folder.`)
  if (!existsSync(parent)) throw new BackupRefused(`There is no folder ${parent}.`)
  if (existsSync(partial)) {
    throw new BackupRefused(
      `${partial} belongs to a backup that is still running, or that was killed. In the second case, remove it.`,
    )
  }
  if (!relative(realpathSync(data), realpathSync(parent)).startsWith('..')) {
    throw new BackupRefused(
      `${target} is inside the data folder. Choose another place for the backup, best on another disk.`,
    )
  }
  const { bavail, bsize } = statfsSync(parent)
  if (bavail * bsize < bytes) {
    throw new BackupRefused(
      `${parent} has ${megabytes(bavail * bsize)} free; the backup takes ${megabytes(bytes)}.`,
    )
  }
}

/**
 * Gives the folder to the owner of the data folder. Root makes backups for a server that does not run as root and
 * writes its event index into them.
 */
function giveToOwner(data: string, folder: string): void {
  const { uid, gid } = statSync(data)
  if (process.getuid?.() === 0 && uid !== 0) chownSync(folder, uid, gid)
}

/**
 * Passes on the progress of the event index, and flushes the copy as it grows, because the server flushes it only at
 * the end.
 */
function flusher(folder: string, progress: (copied: number) => void) {
  let flushed = 0
  let flushing = false
  return (copied: number): void => {
    progress(copied)
    if (flushing || copied - flushed < FLUSH_BYTES) return
    flushed = copied
    flushing = true
    // If it fails, the process that writes the file gets the error too.
    void flush(join(folder, EVENTS_FILE))
      .catch(() => {})
      .finally(() => (flushing = false))
  }
}

async function copyContents(
  contents: BackupContents,
  data: string,
  to: string,
  options: ReadOptions,
): Promise<BackedUpFile[]> {
  for (const folder of ['log', 'snapshots']) mkdirSync(join(to, folder), { mode: 0o700 })
  const files: BackedUpFile[] = []
  for (const { name, bytes } of contents.files) {
    const file = await copyFile(join(data, name), join(to, name), name, { ...options, bytes })
    if (bytes !== undefined && file.bytes < bytes) {
      throw new BackupRefused(
        `${name} has ${file.bytes} bytes, not ${bytes}: the data folder changed during the backup.`,
      )
    }
    files.push(file)
  }
  for (const { name, text } of contents.texts) {
    await writeText(join(to, name), text)
    files.push(await hashFile(join(to, name), name, options))
  }
  return files
}

/** Reads the whole copy. Otherwise, a backup of damaged files would be noticed only when it is needed. */
function checkCopy(contents: BackupContents, folder: string, options: BackupOptions): void {
  const logOffset = options.checkLog(folder, contents.storeId)
  if (logOffset !== contents.logPosition) {
    throw new BackupRefused(`The copy of the log ends at frame ${logOffset}, not at ${contents.logPosition}.`)
  }
  for (const name of DATABASES) {
    const file = join(folder, name)
    const database = new Database(file, { fileMustExist: true })
    try {
      const found = database.pragma('quick_check(1)', { simple: true })
      if (found !== 'ok') throw new BackupRefused(`${name} of the data folder is damaged: ${String(found)}`)
    } finally {
      database.close()
    }
  }
  const extra = readdirSync(folder).filter((name) => /-(?:wal|shm|journal)$/.test(name))
  if (extra.length > 0) throw new BackupRefused(`${extra.join()} should not be in a backup.`)
}

/** Bytes as text: `12.3 MB`. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
