import fs from 'node:fs'
import { join } from 'node:path'
import type { Logger } from './logger.ts'

/** Below it lie roads, which are no secret, in many files; the folder above them is closed. */
const PUBLIC = ['regions']

/** Nobody but its owner may read, write or enter what this process makes from now on. */
export function makeFilesPrivate(): void {
  process.umask(0o077)
}

/** What {@link closeFolder} found. */
export interface Closed {
  /** Files and folders that others could open, and now cannot. */
  readonly closed: number
  /** The first that they still can, because it belongs to somebody else. */
  readonly open: string | undefined
}

const OTHERS = 0o077

/**
 * Takes from everybody but the owner what they may do with a folder and all that is in it: of folders made by hand, or by a
 * version or with an umask that did not care. Symbolic links are left as they are, and so is what they lead to.
 * @param leave names in the folder whose content is left as it is
 */
export function closeFolder(folder: string, leave: readonly string[] = []): Closed {
  let closed = 0
  let open: string | undefined
  // Modes mean nothing there.
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

/** {@link closeFolder} on a data folder that this process has taken; says what it did. */
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
