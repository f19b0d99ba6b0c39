/**
 * Real servers, written in Go, that tests run. They are found on the PATH, or else built once with the Go toolchain
 * and kept in node_modules/.cache. `npm run servers` builds them all beforehand; the first build of a server takes a
 * minute.
 */
import { execFile } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export interface GoServer {
  /** The name of the binary. */
  readonly name: string
  /** The argument of `go install`. */
  readonly package: string
  /** The source, if this machine has it: a folder with a `go.mod`, or an archive of one. It is then built instead. */
  readonly source?: string | undefined
}

export const NATS_SERVER: GoServer = {
  name: 'nats-server',
  package: 'github.com/nats-io/nats-server/v2@latest',
}

/**
 * The module proxies of some networks do not offer it. There, it is built from RINGFENCE_TILE38_SOURCE; without that, its
 * tests run against a stand-in and say so.
 */
export const TILE38_SERVER: GoServer = {
  name: 'tile38-server',
  package: 'github.com/tidwall/tile38/cmd/tile38-server@latest',
  source: tile38Source(),
}

/** The servers that `npm run servers` builds. */
export const GO_SERVERS: readonly GoServer[] =
  TILE38_SERVER.source === undefined ? [NATS_SERVER] : [NATS_SERVER, TILE38_SERVER]

/** The path in RINGFENCE_TILE38_SOURCE, or the source that lies beside the repository. */
function tile38Source(): string | undefined {
  const given = process.env.RINGFENCE_TILE38_SOURCE
  if (given !== undefined && given !== '') return resolve(given)
  const beside = fileURLToPath(new URL('../../../shared/tile38/source.tgz', import.meta.url))
  return existsSync(beside) ? beside : undefined
}

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

/** Does the same as {@link skipWithout} for a server that is found in another way. */
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
 * The path of the server's binary.
 * @throws {ServerMissing}
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
  if (server.source !== undefined && !existsSync(server.source))
    throw new ServerMissing(
      `${server.name} is not on the PATH, and its source ${server.source} does not exist`,
    )
  mkdirSync(SERVER_CACHE, { recursive: true })
  console.error(`Building ${server.name} with Go, once: a minute or two, or five on a slow machine.`)
  // Two tests may build at the same time. Each builds in its own folder, and the last to finish wins.
  const folder = mkdtempSync(join(SERVER_CACHE, 'build-'))
  try {
    if (server.source === undefined) await go(['install', server.package], { GOBIN: folder })
    else await buildSource(server.name, server.source, folder)
    renameSync(join(folder, server.name), into)
  } catch (cause) {
    const { code, stderr } = cause as { code?: unknown; stderr?: string }
    const why =
      code === 'ENOENT'
        ? 'there is no Go toolchain to build it: install either, then npm run servers'
        : `building it failed: ${stderr ?? (cause as Error).message}`
    throw new ServerMissing(`${server.name} is not on the PATH, and ${why}`, { cause })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Builds `cmd/NAME` of the source into the folder. */
async function buildSource(name: string, source: string, folder: string): Promise<void> {
  let root = source
  if (statSync(source).isFile()) {
    root = join(folder, 'source')
    mkdirSync(root)
    await promisify(execFile)('tar', ['-xzf', source, '-C', root])
    // Archives of a release have one folder, with everything in it.
    const [only, another] = readdirSync(root)
    if (another === undefined) root = join(root, only!)
  }
  await go(['build', '-trimpath', '-o', join(folder, name), `./cmd/${name}`], { CGO_ENABLED: '0' }, root)
}

function go(args: readonly string[], env: Readonly<Record<string, string>>, cwd?: string): Promise<unknown> {
  // NODE_OPTIONS contains tap's hooks for child processes, which mean nothing to Go.
  return promisify(execFile)('go', args, { cwd, env: { ...process.env, NODE_OPTIONS: '', ...env } })
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
