import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The longest name of a Unix socket that works on every system, in bytes: 103 on macOS, 107 on Linux. */
const MAX_PATH_BYTES = 100

/** The folder for the socket is open to other users, who could listen in the server's place. */
export class SocketFolderUnsafe extends Error {
  override name = 'SocketFolderUnsafe'

  constructor(folder: string) {
    super(`${folder} belongs to another user, or other users may write to it. Remove it.`)
  }
}

/**
 * Where the server of a data folder listens for its operator: at `control.sock` in the folder. If that path is too
 * long for a socket, it is a folder below the system's temporary one that nobody else can enter; on Windows it is a
 * named pipe. Server and operator derive the same path independently.
 * @throws {SocketFolderUnsafe}
 */
export function controlAddress(dataFolder: string): string {
  const folder = realpathSync(dataFolder)
  const hash = createHash('sha256').update(folder).digest('hex').slice(0, 16)
  if (process.platform === 'win32') return `\\\\.\\pipe\\ringfence-${hash}`
  const path = join(folder, 'control.sock')
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return path
  const home = join(tmpdir(), `ringfence-${hash}`)
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const { uid, mode } = lstatSync(home)
  const ours = uid === process.getuid?.() || uid === lstatSync(folder).uid
  if (!ours || (mode & 0o077) !== 0) throw new SocketFolderUnsafe(home)
  return join(home, 'control.sock')
}
