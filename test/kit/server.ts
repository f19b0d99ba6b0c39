/**
 * A real Ringfence process for tests, with a free port, its own data folder and known keys.
 *
 * Several may run at once, in one test or in parallel test files. A restart keeps the port, so that clients which
 * reconnect find it. The port is chosen below the range that the system uses for outgoing connections.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { ApiContract } from './apiContract.ts'
import { freePort } from './freePort.ts'
import { NODE_OPTIONS } from './nodeOptions.ts'
import { untilReady } from './waiting.ts'
import { makeWorld, shareWorld } from './world.ts'

/** Environment variables that control tests and are not settings of a server. */
const TEST_SETTINGS = [
  'RINGFENCE_TEST_RUNS',
  'RINGFENCE_CRASH_ROUNDS',
  'RINGFENCE_SEED',
  'RINGFENCE_STREAM_UPDATES',
  'RINGFENCE_REQUIRE_SERVERS',
  'RINGFENCE_REQUIRE_PROXIES',
  'RINGFENCE_REQUIRE_TILE38',
  'RINGFENCE_TILE38_SOURCE',
]

/**
 * Closes the connection after the answer. A server closes one that nobody uses for ten seconds. On a busy machine, a
 * test may take as long to load the documents that answers are compared with, and would then lose its first request.
 */
const NOT_KEPT = { headers: { connection: 'close' } }

/** The keys of the server's first project. */
export const KEYS = {
  testPublishable: `prj_test_pk_${'1'.repeat(40)}`,
  livePublishable: `prj_live_pk_${'2'.repeat(40)}`,
  testSecret: `prj_test_sk_${'3'.repeat(40)}`,
  liveSecret: `prj_live_sk_${'4'.repeat(40)}`,
} as const

export interface ServerOptions {
  /**
   * Environment variables added to the kit's, e.g. `{ RINGFENCE_RATE_LIMITS: 'on' }`. The kit switches rate limits
   * and the sample region off.
   */
  readonly env?: Readonly<Record<string, string>>
  /** Flags for src/main.ts. */
  readonly args?: readonly string[]
  /**
   * A data folder that already exists and is kept after the server ends. Otherwise one is made, and removed at the
   * end.
   */
  readonly data?: string
  /** Puts the sample region into the data folder before the start. */
  readonly sample?: boolean
}

export interface HttpAnswer {
  readonly status: number
  /** The parsed answer if it is JSON, otherwise its text; empty after HEAD. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  readonly body: any
  readonly headers: Headers
}

/** Starts a server that is stopped when the test ends. If the test failed, the server's output is printed. */
export async function startServer(t: Test, options: ServerOptions = {}): Promise<Server> {
  const server = await Server.start(options)
  t.teardown(async () => {
    await server.dispose()
    // To stderr, because the terse reporter hides comments.
    if (!t.passing()) console.error(`output of the server:\n${server.output}`)
  })
  return server
}

export class Server {
  readonly port: number
  /** The URL, without a slash at the end. */
  readonly url: string
  readonly data: string
  /** What all runs of the process wrote to stdout and stderr. */
  output = ''
  /** The document with which answers are compared; undefined if the server has no API. */
  contract: ApiContract | undefined
  /**
   * Sends a request that must succeed, as {@link Server.api} does. Can be taken from the server: `const { good } = server`.
   * @returns the body of the answer
   * @throws Error if the status is not 200
   */
  readonly good = async (...request: Parameters<Server['api']>): Promise<HttpAnswer['body']> => {
    const { status, body } = await this.api(...request)
    if (status !== 200) throw new Error(`${request[0]} ${request[1]}: ${status} ${JSON.stringify(body)}`)
    return body
  }

  readonly #options: ServerOptions
  #child: ChildProcess | undefined

  private constructor(port: number, options: ServerOptions) {
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.data = options.data ?? mkdtempSync(join(tmpdir(), 'ringfence-'))
    if (options.data === undefined) shareWorld(this.data)
    this.#options = options
  }

  /** Starts a process and resolves once /readyz answers 200. */
  static async start(options: ServerOptions = {}): Promise<Server> {
    if (options.data === undefined) await makeWorld()
    const server = new Server(await freePort(), options)
    try {
      // Imported only if needed, because it loads the code that makes regions.
      if (options.sample) await (await import('./sampleRegion.ts')).addSample(server.data)
      await server.restart()
      // Loaded here, because the demo and the cluster start servers without the packages for development.
      const { ApiContract } = await import('./apiContract.ts')
      const { env, args } = options
      server.contract = await ApiContract.of(server.url, NOT_KEPT, { env, args })
    } catch (error) {
      await server.dispose()
      throw error
    }
    return server
  }

  /** Process id of the current run. */
  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error('the server is not running')
    return pid
  }

  /**
   * Sends one request and compares the answer with the server's OpenAPI document.
   * @param body is sent as JSON; a string or bytes are sent unchanged
   * @param key null sends no Authorization header
   * @param headers in addition to Authorization and Content-Type: application/json
   * @throws Error if the answer does not fit the document
   */
  async api(
    method: string,
    path: string,
    body?: unknown,
    key: string | null = KEYS.testSecret,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpAnswer> {
    const raw = typeof body === 'string' || body instanceof Uint8Array
    const init: RequestInit = {
      method,
      headers: {
        ...(key === null ? {} : { authorization: key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    }
    if (body !== undefined) init.body = raw ? (body as string) : JSON.stringify(body)
    const answer = await fetch(this.url + path, init)
    const text = await answer.text()
    const json = answer.headers.get('content-type')?.startsWith('application/json') ?? false
    const { status, headers: answered } = answer
    const result = { status, body: json && text !== '' ? JSON.parse(text) : text, headers: answered }
    this.contract?.check(method, path, result)
    return result
  }

  /** Shuts the process down with SIGTERM and rejects unless it exits with 0. */
  async stop(): Promise<void> {
    const { code, signal } = await this.#end('SIGTERM')
    if (code !== 0) {
      throw new Error(`the server exited with ${code ?? signal} after SIGTERM, not 0\n${this.output}`)
    }
  }

  /** Kills the process without any chance to clean up; resolves when it is gone. */
  async kill9(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Waits until the process ends by itself. Resolves to its exit code, or to null if a signal ended it. */
  async ended(): Promise<number | null> {
    const child = this.#child
    if (child === undefined) throw new Error('the server was never started')
    if (!hasEnded(child)) await once(child, 'close')
    return child.exitCode
  }

  /**
   * Starts the process again, with the same data and port, after {@link stop}, {@link kill9} or after it ended by
   * itself.
   * @param preload a module that is loaded first (`--import`), and variables for it, for this run
   */
  async restart(preload?: {
    readonly module: string
    readonly env: Readonly<Record<string, string>>
  }): Promise<void> {
    if (this.#child !== undefined && !hasEnded(this.#child)) throw new Error('the server is still running')
    // Removes the settings of the tests, which a server would warn about.
    const without = TEST_SETTINGS.flatMap((name) => ['-u', name])
    const first = preload === undefined ? [] : ['--import', preload.module]
    const options = `NODE_OPTIONS=${NODE_OPTIONS} ${this.#options.env?.['NODE_OPTIONS'] ?? ''}`
    const command = [...without, options, process.execPath, ...first, MAIN, ...(this.#options.args ?? [])]
    const child = spawn('env', command, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        // This is the value that `npm start` sets.
        MALLOC_ARENA_MAX: '2',
        RINGFENCE_PORT: String(this.port),
        RINGFENCE_HOST: '127.0.0.1',
        RINGFENCE_DATA: this.data,
        RINGFENCE_KEYS: Object.values(KEYS).join(','),
        RINGFENCE_RATE_LIMITS: 'off',
        RINGFENCE_SAMPLE_REGION: 'off',
        RINGFENCE_DASHBOARD: 'off',
        ...this.#options.env,
        ...preload?.env,
      },
    })
    this.#child = child
    const killWithTest = () => void child.kill('SIGKILL')
    process.once('exit', killWithTest)
    child.once('exit', () => process.off('exit', killWithTest))
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    }
    await this.#ready(child)
  }

  /** Ends the process in whatever state it is, and removes the data folder that the kit has made. */
  async dispose(): Promise<void> {
    if (this.#child !== undefined && !hasEnded(this.#child)) await this.kill9()
    if (this.#options.data === undefined) rmSync(this.data, { recursive: true, force: true })
  }

  async #ready(child: ChildProcess): Promise<void> {
    const begin = this.output.length
    // It says so once it listens. Asking it before that takes longer than the rest of this.
    const isReady = async () =>
      this.output.includes('listening', begin) &&
      fetch(`${this.url}/readyz`, NOT_KEPT).then(
        (answer) => answer.arrayBuffer().then(() => answer.ok),
        () => false,
      )
    await untilReady(child, 'the server', isReady, () => this.output)
  }

  async #end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    const child = this.#child
    if (child === undefined || hasEnded(child)) throw new Error(`the server is not running\n${this.output}`)
    child.kill(signal)
    // 'close' comes after the streams have ended, so the output is complete.
    await once(child, 'close')
    return { code: child.exitCode, signal: child.signalCode }
  }
}

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
