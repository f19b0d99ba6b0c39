import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { exitBySignal } from '../cluster/exitBySignal.ts'

/**
 * A folder for a run, on the disk of the checkout. It is removed when the process ends, also by a signal. It is not
 * in the system's temporary folder, which may be in memory.
 */
export function benchFolder(name: string): string {
  const base = join(import.meta.dirname, '..', 'data')
  mkdirSync(base, { recursive: true })
  const folder = mkdtempSync(join(base, `${name}-`))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }))
  exitBySignal()
  return folder
}
