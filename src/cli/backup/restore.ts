import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { copyFile, flush } from './files.ts'
import { BackupDamaged, decodeManifest, MANIFEST_FILE, type Manifest } from './manifest.ts'

/** The data folder is in use: a restore never writes over data. */
export class FolderNotEmpty extends Error {
  override name = 'FolderNotEmpty'

  constructor(folder: string) {
    super(
      `${folder} is not empty. A backup is restored into a new or empty folder: move the old data away, or name ` +
        'another folder with --data.',
    )
  }
}

/** The file that is restored last. Every start refuses a folder that has a log and lacks this file. */
const LAST_FILE = 'store.json'
/** The names that a backup may contain. So a manifest cannot name files outside of the data folder. */
const NAME = /^(?:(?:log|snapshots)\/)?[A-Za-z0-9][\w.-]*$/

/**
 * Copies a backup into a data folder, and checks every byte on the way. Until the last file is there, no server starts
 * on the folder. If anything is wrong, what was copied is removed.
 * @param data the folder, which is created if it does not exist
 * @param progress called with how many bytes are copied, and of how many
 * @returns what was restored
 * @throws {BackupDamaged} {@link FolderNotEmpty}
 */
export async function restoreBackup(
  backup: string,
  data: string,
  progress: (done: number, total: number) => void,
  signal: AbortSignal,
): Promise<Manifest> {
  const manifest = readManifest(backup)
  if (existsSync(data) && readdirSync(data).length > 0) throw new FolderNotEmpty(data)
  const existed = existsSync(data)
  const total = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0)
  let done = 0
  const count = (bytes: number): void => progress((done += bytes), total)
  try {
    // The log's folder is created first: see LAST_FILE.
    mkdirSync(join(data, 'log'), { recursive: true, mode: 0o700 })
    mkdirSync(join(data, 'snapshots'), { mode: 0o700 })
    if (existed) closeToOthers(data)
    const isLast = ({ name }: { readonly name: string }): boolean => name === LAST_FILE
    for (const file of manifest.files.filter((one) => !isLast(one))) await restoreFile(file)
    for (const folder of ['log', 'snapshots', '.']) await flush(join(data, folder))
    for (const file of manifest.files.filter(isLast)) await restoreFile(file)
    await flush(data)
    await flush(dirname(data))
    return manifest
  } catch (error) {
    for (const name of readdirSync(data)) rmSync(join(data, name), { recursive: true, force: true })
    if (!existed) rmSync(data, { recursive: true })
    throw error
  }

  async function restoreFile({ name, bytes, sha256 }: Manifest['files'][number]): Promise<void> {
    const path = join(backup, name)
    if (!NAME.test(name)) throw new BackupDamaged(path, 'is not the name of a file of a data folder.')
    if (!existsSync(path)) throw new BackupDamaged(path, 'is missing.')
    const copied = await copyFile(path, join(data, name), name, { bytesPerSecond: Infinity, count, signal })
    if (copied.bytes !== bytes) throw new BackupDamaged(path, `has ${copied.bytes} bytes, not ${bytes}.`)
    if (copied.sha256 !== sha256) throw new BackupDamaged(path, 'is damaged: its SHA-256 does not match.')
  }
}

/**
 * Restricts access to what is restored. A folder of another user, such as a container's volume, keeps its mode, but
 * the files in it are closed to others.
 */
function closeToOthers(folder: string): void {
  try {
    chmodSync(folder, 0o700)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}

function readManifest(backup: string): Manifest {
  const path = join(backup, MANIFEST_FILE)
  if (!existsSync(backup)) throw new BackupDamaged(backup, 'there is no such folder.')
  if (!existsSync(path))
    throw new BackupDamaged(backup, `is not a backup: it does not contain ${MANIFEST_FILE}.`)
  return decodeManifest(readFileSync(path, 'utf8'), path)
}
