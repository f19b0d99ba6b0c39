import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SERVER_CACHE, ServerMissing } from './goServers.ts'

/**
 * Programs from npm that only one test runs, installed once into a folder of this machine: as dependencies they would be
 * installed by everybody.
 * @param packages with their versions
 * @returns the folder of the packages, `node_modules`
 * @throws {@link ServerMissing} if they cannot be had
 */
export async function npmPackages(name: string, packages: readonly string[]): Promise<string> {
  const kept = join(SERVER_CACHE, `npm-${name}-${packages.join(',').replaceAll('/', '+')}`)
  const modules = join(kept, 'node_modules')
  if (existsSync(modules)) return modules
  mkdirSync(SERVER_CACHE, { recursive: true })
  const folder = mkdtempSync(join(SERVER_CACHE, 'take-'))
  try {
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--omit', 'dev']
    await promisify(execFile)('npm', ['install', ...quiet, '--prefix', folder, ...packages])
    // Another test may have been faster.
    if (!existsSync(kept)) renameSync(folder, kept)
  } catch (cause) {
    throw new ServerMissing(`${packages.join(' and ')} cannot be had: ${(cause as Error).message}`, { cause })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return modules
}
