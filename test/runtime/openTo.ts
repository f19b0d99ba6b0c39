import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Everything in a folder, and the folder itself, that others have permissions for, with these permissions. */
export function openTo(folder: string): string[] {
  const found: string[] = []
  const look = (path: string): void => {
    const stat = lstatSync(path)
    const isFolder = stat.isDirectory()
    if ((stat.mode & 0o777) !== (isFolder ? 0o700 : 0o600))
      found.push(`${path} ${(stat.mode & 0o777).toString(8)}`)
    if (isFolder) for (const name of readdirSync(path)) look(join(path, name))
  }
  look(folder)
  return found
}
