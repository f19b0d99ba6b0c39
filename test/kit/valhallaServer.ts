/**
 * Valhalla's own HTTP server, in the same release as the binding. It is found on the PATH, or else taken once from
 * the Python package, which contains the executables, and kept in node_modules/.cache.
 */
import { execFile, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { valhallaConfig } from '../../src/geo/routing/valhallaConfig.ts'
import { freePort } from './freePort.ts'
import { untilReady } from './waiting.ts'
import { executableOnPath, ServerMissing, SERVER_CACHE } from './goServers.ts'

const NAME = 'valhalla_service'
const BINDING = new URL('../../node_modules/@valhallajs/valhallajs/package.json', import.meta.url)

/**
 * The names of platforms in pip's form. The executables need no Python, only the C library of a Linux from 2018 or
 * newer.
 */
const PLATFORMS: Partial<Record<string, string>> = {
  x64: 'manylinux_2_28_x86_64',
  arm64: 'manylinux_2_28_aarch64',
}

/**
 * The path of the executable.
 * @throws {ServerMissing}
 */
export async function valhallaServer(): Promise<string> {
  const onPath = executableOnPath(NAME)
  if (onPath !== undefined) return onPath
  const { version } = JSON.parse(readFileSync(BINDING, 'utf8')) as { version: string }
  const kept = join(SERVER_CACHE, `valhalla-${version}`)
  if (!existsSync(kept)) await take(version, kept)
  return join(kept, 'valhalla', 'bin', NAME)
}

async function take(version: string, into: string): Promise<void> {
  mkdirSync(SERVER_CACHE, { recursive: true })
  const folder = mkdtempSync(join(SERVER_CACHE, 'take-'))
  const platform = process.platform === 'linux' ? PLATFORMS[process.arch] : undefined
  const python = (...args: string[]) => promisify(execFile)('python3', ['-m', ...args])
  try {
    if (platform === undefined) throw new Error(`none is made for ${process.platform} ${process.arch}`)
    const wanted = ['--no-deps', '--only-binary', ':all:', '--platform', platform, '--python-version', '3.12']
    await python('pip', 'download', '-q', ...wanted, '-d', folder, `pyvalhalla==${version}`)
    const wheel = readdirSync(folder).find((name) => name.endsWith('.whl'))!
    await python('zipfile', '-e', join(folder, wheel), folder)
    rmSync(join(folder, wheel))
    chmodSync(join(folder, 'valhalla', 'bin', NAME), 0o755)
    // Another test may have been faster.
    if (!existsSync(into)) renameSync(folder, into)
  } catch (cause) {
    const { message, stderr } = cause as Error & { stderr?: string }
    throw new ServerMissing(
      `${NAME} ${version} is not on the PATH, and cannot be had: ${stderr || message}`,
      {
        cause,
      },
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Runs the server with these tiles until the test ends.
 * @returns its URL
 */
export async function startValhalla(t: Test, tiles: string): Promise<string> {
  const binary = await valhallaServer()
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-valhalla-'))
  const port = await freePort()
  const config = JSON.parse(valhallaConfig({ tiles, tileCacheBytes: 2 ** 27 }))
  const socket = (name: string) => `ipc://${join(folder, name)}`
  config.httpd = {
    service: {
      listen: `tcp://127.0.0.1:${port}`,
      loopback: socket('loopback'),
      interrupt: socket('interrupt'),
      drain_seconds: 1,
      shutdown_seconds: 1,
      timeout_seconds: 60,
    },
  }
  for (const part of ['loki', 'thor', 'odin']) config[part].service = { proxy: socket(part) }
  const child = spawn(binary, [JSON.stringify(config), '1'], { stdio: 'ignore' })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}`
  const isUp = () =>
    fetch(`${url}/status`).then(
      ({ ok }) => ok,
      () => false,
    )
  await untilReady(child, NAME, isUp, () => '')
  return url
}
