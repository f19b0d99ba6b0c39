import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { failureFields } from '../runtime/errors.ts'
import type { Service } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import { packageFolder } from '../runtime/packageFolder.ts'
import type { Dashboard, DashboardFile, DashboardState } from './port.ts'
import { sourceStamp, STAMP_FILE } from './sourceStamp.ts'

const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
  ['identity', ''],
] as const

/** The program that makes the files, and the package without which it cannot. */
const BUILD_PROGRAM = 'build.ts'
const BUILD_PACKAGE = 'vite'
/** How many characters of a failed build's output the log shows. */
const MAX_OUTPUT_LENGTH = 4000

/**
 * The files of `dashboard/dist`. If they are missing or older than their sources, a child process of low priority
 * builds them, while the server answers everything else.
 *
 * Each file is read at its first request and then kept in memory. The whole build has a megabyte or two.
 */
export class BuiltDashboard implements Dashboard, Service {
  readonly name = 'dashboard'
  readonly #folder: string
  readonly #logger: Logger
  readonly #files = new Map<string, DashboardFile | undefined>()
  #state: DashboardState = 'absent'
  #child: ChildProcess | undefined

  /**
   * Serves the build of a folder.
   * @param folder contains the sources, and the build in `dist`
   */
  constructor(folder: string, logger: Logger) {
    this.#folder = folder
    this.#logger = logger
    if (existsSync(join(folder, 'dist', 'index.html'))) this.#state = 'ready'
  }

  get state(): DashboardState {
    return this.#state
  }

  page(): DashboardFile | undefined {
    return this.#file('index.html')
  }

  asset(name: string): DashboardFile | undefined {
    // A build has no file whose name begins with a point or contains a slash.
    return /^\w[\w.-]*\.(?:js|css|svg|png|woff2)$/.test(name) ? this.#file(join('assets', name)) : undefined
  }

  /** Builds what is missing, without waiting for it. */
  start(): void {
    const program = join(this.#folder, BUILD_PROGRAM)
    // `npm run slim` and the image keep only what was built.
    if (packageFolder(BUILD_PACKAGE) === undefined || !existsSync(program)) return
    const stamp = sourceStamp(this.#folder)
    if (stamp === this.#builtStamp()) return
    this.#state = 'building'
    this.#logger.info('building the dashboard, which / shows in some seconds')
    const startedAt = performance.now()
    const child = spawn(process.execPath, [program, stamp], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // The child gets nothing of our environment, which contains keys and passwords.
      env: { PATH: process.env.PATH },
    })
    this.#child = child
    if (child.pid !== undefined) lowerPriority(child.pid)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-MAX_OUTPUT_LENGTH)
      })
    child.once('error', (error) => this.#fail(failureFields(error)))
    child.once('close', (code, signal) => {
      this.#child = undefined
      if (code !== 0) return this.#fail({ reason: signal ?? `exit code ${code}`, output })
      this.#files.clear()
      this.#state = 'ready'
      this.#logger.info(
        { seconds: Math.round(performance.now() - startedAt) / 1000 },
        'the dashboard is ready',
      )
    })
  }

  /** Ends a running build; the next start begins again. */
  async stop(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    child.removeAllListeners()
    child.kill('SIGKILL')
    await once(child, 'close')
  }

  #fail(fields: object): void {
    this.#state = 'failed'
    this.#logger.warn(
      fields,
      'the dashboard cannot be built; the API is not affected, and the next start retries',
    )
  }

  #builtStamp(): string | undefined {
    const path = join(this.#folder, 'dist', STAMP_FILE)
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined
  }

  #file(path: string): DashboardFile | undefined {
    if (this.#state !== 'ready') return undefined
    const known = this.#files.get(path)
    if (known !== undefined) return known
    const full = join(this.#folder, 'dist', path)
    if (!existsSync(full)) return undefined
    const encodings = new Map<string, Uint8Array>()
    for (const [encoding, ending] of ENCODINGS)
      if (existsSync(full + ending)) encodings.set(encoding, readFileSync(full + ending))
    const file = { encodings }
    this.#files.set(path, file)
    return file
  }
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW)
  } catch {
    // The child has ended already, or this system has no priorities.
  }
}
