/**
 * Real servers, written in Go, that tests run. They are found on the PATH, or else built once with the Go toolchain
 * and kept in node_modules/.cache. `npm run servers` builds them all beforehand; the first build of a server takes a
 * minute.
 */
import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export interface GoServer {
  /** The name of its binary. */
  readonly name: string
  /** The argument of `go install`. */
  readonly package: string
}

export const NATS_SERVER: GoServer = {
  name: 'nats-server',
  package: 'github.com/nats-io/nats-server/v2@latest',
}

/**
 * Not built beforehand, because some module proxies do not offer it. Where it is missing, its tests run against a
 * stand-in and say so.
 */
export const TILE38_SERVER: GoServer = {
  name: 'tile38-server',
  package: 'github.com/tidwall/tile38/cmd/tile38-server@latest',
}

/** All servers that `npm run servers` builds. */
export const GO_SERVERS: readonly GoServer[] = [NATS_SERVER]

/** The server is not on the PATH and cannot be built here. */
export class ServerMissing extends Error {
  override readonly name = 'ServerMissing'
}

/**
 * False if the server is available. Otherwise the reason why tests that need it are skipped; it is printed.
 * @throws {@link ServerMissing} instead, if RINGFENCE_REQUIRE_SERVERS is 1
 */
export function skipWithout(server: GoServer): Promise<string | false> {
  return skipUnless(() => serverBinary(server))
}

/** Like {@link skipWithout}, for a server that is found in another way. */
export async function skipUnless(find: () => Promise<string>): Promise<string | false> {
  try {
    await find()
    return false
  } catch (error) {
    if (!(error instanceof ServerMissing) || process.env.RINGFENCE_REQUIRE_SERVERS === '1') throw error
    console.error(`SKIPPED: ${error.message}`)
    return error.message
  }
}

/**
 * Path of the server's binary.
 * @throws {@link ServerMissing}
 */
export async function serverBinary(server: GoServer): Promise<string> {
  const onPath = executableOnPath(server.name)
  if (onPath !== undefined) return onPath
  const built = join(SERVER_CACHE, server.name)
  if (!existsSync(built)) await build(server, built)
  return built
}

export function executableOnPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

/** The folder for servers that nobody has installed. */
export const SERVER_CACHE = fileURLToPath(
  new URL('../../node_modules/.cache/ringfence-servers/', import.meta.url),
)

async function build(server: GoServer, into: string): Promise<void> {
  mkdirSync(SERVER_CACHE, { recursive: true })
  console.error(`Building ${server.name} with Go, once: a minute or two.`)
  // Two tests may build at the same time. Each builds in its own folder, and the last to finish wins.
  const folder = mkdtempSync(join(SERVER_CACHE, 'build-'))
  try {
    await promisify(execFile)('go', ['install', server.package], {
      // NODE_OPTIONS contains tap's hooks for child processes, which mean nothing to Go.
      env: { ...process.env, GOBIN: folder, NODE_OPTIONS: '' },
    })
    renameSync(join(folder, server.name), into)
  } catch (cause) {
    const { code, stderr } = cause as { code?: unknown; stderr?: string }
    const why =
      code === 'ENOENT'
        ? 'there is no Go toolchain to build it: install either, then npm run servers'
        : `go install failed: ${stderr}`
    throw new ServerMissing(`${server.name} is not on the PATH, and ${why}`, { cause })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
