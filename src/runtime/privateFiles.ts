import fs from 'node:fs'
import { join } from 'node:path'
import type { Logger } from './logger.ts'

/** Folders that stay open. They contain roads, which are not secret, in many files; the folder above is closed. */
const PUBLIC = ['regions']

/** From now on, only the owner may read, write or enter what this process creates. */
export function makeFilesPrivate(): void {
  process.umask(0o077)
}

/** The result of {@link closeFolder}. */
export interface Closed {
  /** How many files and folders others could open, and now cannot. */
  readonly closed: number
  /** The first file that others can still open, because it belongs to another user. */
  readonly open: string | undefined
}

const OTHERS = 0o077

/**
 * Removes the permissions of all users except the owner from a folder and everything in it, for folders that were
 * created by hand, by an older version or with a permissive umask. Symbolic links and their targets are left as they
 * are.
 * @param leave names in the folder whose content is left as it is
 */
export function closeFolder(folder: string, leave: readonly string[] = []): Closed {
  let closed = 0
  let open: string | undefined
  // Modes have no meaning there.
  if (process.platform === 'win32') return { closed, open }
  const close = (path: string): void => {
    const stat = fs.lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined || stat.isSymbolicLink()) return
    if ((stat.mode & OTHERS) !== 0) {
      try {
        fs.chmodSync(path, stat.mode & 0o700)
        closed++
      } catch {
        open ??= path
      }
    }
    if (!stat.isDirectory() || left.has(path)) return
    for (const name of fs.readdirSync(path)) close(join(path, name))
  }
  const root = fs.realpathSync(folder)
  const left = new Set(leave.map((name) => join(root, name)))
  close(root)
  return { closed, open }
}

/** Closes a data folder that this process has locked, like {@link closeFolder}, and logs what it did. */
export function closeDataFolder(folder: string, logger: Logger): void {
  const { closed, open } = closeFolder(folder, PUBLIC)
  if (closed > 0)
    logger.warn({ folder, closed }, 'others could open files of the data folder; now only its owner can')
  if (open !== undefined)
    logger.warn(
      { path: open },
      'others can open this file or folder of the data folder, and its owner is another user',
    )
}
