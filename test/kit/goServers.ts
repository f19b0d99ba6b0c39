/**
 * Servers written in Go that tests run for real: found on the PATH, else built once with the Go toolchain and kept in
 * node_modules/.cache. `npm run servers` builds them all beforehand: the first build of one takes a minute.
 */
import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** A server that tests may ask for. */
export interface GoServer {
  /** Of its binary. */
  readonly name: string
  /** What `go install` is given. */
  readonly package: string
}

export const NATS_SERVER: GoServer = {
  name: 'nats-server',
  package: 'github.com/nats-io/nats-server/v2@latest',
}

/**
 * Not among those that are built beforehand: the module proxy of some places does not hand it out. Its tests run against a
 * stand-in there, and say so.
 */
export const TILE38_SERVER: GoServer = {
  name: 'tile38-server',
  package: 'github.com/tidwall/tile38/cmd/tile38-server@latest',
}

/** All that `npm run servers` builds. */
export const GO_SERVERS: readonly GoServer[] = [NATS_SERVER]

/** Neither on the PATH, nor to be built here. */
export class ServerMissing extends Error {
  override readonly name = 'ServerMissing'
}

/**
 * False where the server is there; else the reason why tests that need it are skipped, which is printed.
 * @throws {@link ServerMissing} instead, where RINGFENCE_REQUIRE_SERVERS is 1
 */
export function skipWithout(server: GoServer): Promise<string | false> {
  return skipUnless(() => serverBinary(server))
}

/** As {@link skipWithout}, for a server that is looked for in another way. */
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

/** Where servers are kept that no one has installed. */
export const SERVER_CACHE = fileURLToPath(
  new URL('../../node_modules/.cache/ringfence-servers/', import.meta.url),
)

async function build(server: GoServer, into: string): Promise<void> {
  mkdirSync(SERVER_CACHE, { recursive: true })
  console.error(`Building ${server.name} with Go, once: a minute or two.`)
  // Two tests may build at once: each in a folder of its own, and the last to be done wins.
  const folder = mkdtempSync(join(SERVER_CACHE, 'build-'))
  try {
    await promisify(execFile)('go', ['install', server.package], {
      // tap's hooks for child processes mean nothing to Go.
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
