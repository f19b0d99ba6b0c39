import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'

const PACKAGE = '@valhallajs/valhallajs'
/** How many of a tool's last lines are kept, because they say what went wrong. */
const LAST_LINES = 20
/** The exit code of a program that the system cannot load. */
const NOT_LOADED = 127

/** The package is not installed, does not support this machine, or needs libraries that are missing. */
export class ValhallaMissing extends Error {
  override name = 'ValhallaMissing'
}

/** An executable of Valhalla has failed. */
export class ToolFailed extends Error {
  override name = 'ToolFailed'
}

/** The system ended the executable, most likely because of too little memory. Its input is not at fault. */
export class ToolKilled extends ToolFailed {
  override name = 'ToolKilled'
}

/**
 * Runs an executable of Valhalla to its end.
 * @param options.folder its working folder, where it may leave files
 * @param options.onLine called with each line that it writes; lines of its log begin with `[INFO]` or another level
 * @param options.signal ends it
 * @throws {ValhallaMissing} {@link ToolFailed} and the signal's reason
 */
export async function runTool(
  tool: 'valhalla_build_admins' | 'valhalla_build_tiles',
  args: readonly string[],
  options: {
    readonly folder: string
    readonly signal: AbortSignal
    readonly onLine: (line: string) => void
  },
): Promise<void> {
  const { folder, signal, onLine } = options
  signal.throwIfAborted()
  const child = spawn(join(toolsFolder(), tool), args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    // It gets nothing of our environment, which contains keys and passwords. Without MALLOC_ARENA_MAX, each of its
    // threads would have a separate heap.
    env: { PATH: process.env.PATH, MALLOC_ARENA_MAX: '2' },
  })
  const kill = (): void => void child.kill('SIGKILL')
  signal.addEventListener('abort', kill)
  process.once('exit', kill)
  const last: string[] = []
  const hear = (line: string): void => {
    const text = line.replace(/^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d\.\d+ /, '')
    last.push(text)
    if (last.length > LAST_LINES) last.shift()
    onLine(text)
  }
  createInterface(child.stdout).on('line', hear)
  createInterface(child.stderr).on('line', hear)
  try {
    const [code, by] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    signal.throwIfAborted()
    if (code === NOT_LOADED) {
      throw new ValhallaMissing(
        `The routing engine needs a library that this system does not have: ${last.join(' ')}. ` +
          `On Debian and Ubuntu, run apt-get install libbsd0 libselinux1 libcrypt1.`,
      )
    }
    if (by === 'SIGKILL') {
      throw new ToolKilled(
        `${tool} was killed (SIGKILL), most likely because memory ran out. It needs less with --threads 1.`,
      )
    }
    if (code !== 0) throw new ToolFailed(`${tool} ended by ${by ?? `exit code ${code}`}: ${causeIn(last)}`)
  } finally {
    signal.removeEventListener('abort', kill)
    process.off('exit', kill)
  }
}

/** The cause in a tool's last lines, as a sentence: its last error, or the exception that ended it. */
function causeIn(lines: readonly string[]): string {
  const error = lines.findLast((line) => /^\[(ERROR|FATAL)\]/.test(line))
  const exception = lines.findLast((line) => /^\s*what\(\): /.test(line))
  const cause = error ?? exception
  if (cause !== undefined) return `${cause.replace(/^\s*(\[\w+\]|what\(\):) */, '').replace(/\.$/, '')}.`
  const last = lines.findLast((line) => line.trim() !== '')
  return `it did not say why.${last === undefined ? '' : ` Its last line: ${last}`}`
}

/** Why there is no routing engine here, as a sentence; undefined if there is one. */
export function whyMissing(): string | undefined {
  try {
    toolsFolder()
    return undefined
  } catch (error) {
    if (error instanceof ValhallaMissing) return error.message
    throw error
  }
}

/**
 * The version of the package, e.g. `3.6.1`.
 * @throws {ValhallaMissing}
 */
export function valhallaVersion(): string {
  const require = createRequire(import.meta.url)
  return (require(join(packageFolder(), 'package.json')) as { version: string }).version
}

/**
 * The folder of the executables.
 * @throws {ValhallaMissing}
 */
function toolsFolder(): string {
  const folder = join(packageFolder(), process.platform, process.arch)
  if (existsSync(folder)) return folder
  throw new ValhallaMissing(
    `The package ${PACKAGE} has no routing engine for ${process.platform} on ${process.arch}: it is for Linux on x64 and ` +
      `arm64, and macOS on arm64.`,
  )
}

function packageFolder(): string {
  try {
    return dirname(createRequire(import.meta.url).resolve(PACKAGE))
  } catch (cause) {
    throw new ValhallaMissing(
      `The package ${PACKAGE}, the routing engine, is not installed. \`npm install\` without --omit=optional adds it.`,
      { cause },
    )
  }
}
