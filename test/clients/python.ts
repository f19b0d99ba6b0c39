/** Packages of Python for tests, installed once into a folder of this machine. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ServerMissing, SERVER_CACHE } from '../kit/goServers.ts'

const run = promisify(execFile)

/**
 * In the versions that are tested. The generator's releases 0.28.4 and 0.29.1 leave out the import of `Unset` where a body has two
 * content types, so what they make does not load.
 */
const PACKAGES = ['radar-python==0.0.4', 'openapi-python-client==0.26.2']

/** The folder to name in PYTHONPATH. @throws {@link ServerMissing} if they cannot be had */
export async function pythonPackages(): Promise<string> {
  const kept = join(SERVER_CACHE, `python-${PACKAGES.join(',')}`)
  if (existsSync(kept)) return kept
  mkdirSync(SERVER_CACHE, { recursive: true })
  const folder = mkdtempSync(join(SERVER_CACHE, 'take-'))
  try {
    await run('python3', ['-m', 'pip', 'install', '-q', '--target', folder, ...PACKAGES])
    // Another test may have been faster.
    if (!existsSync(kept)) renameSync(folder, kept)
  } catch (cause) {
    throw new ServerMissing(`${PACKAGES.join(' and ')} cannot be had: ${(cause as Error).message}`, { cause })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return kept
}

/** What a program of Python printed, as JSON. @throws Error with what it said if it fails */
export async function python(
  args: readonly string[],
  path: string,
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const { stdout } = await run('python3', [...args], {
    env: { ...process.env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1', ...env },
    maxBuffer: 16 * 1024 * 1024,
  })
  return stdout.trim() === '' ? undefined : JSON.parse(stdout)
}
