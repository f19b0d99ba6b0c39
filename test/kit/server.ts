/**
 * A real Ringfence process for tests: a free port, a data folder of its own, known keys.
 *
 * Several may run at once, in one test or in parallel test files. The port is kept over a restart, so that clients
 * which reconnect find it; it is drawn below the range that the system hands out to outgoing connections.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { untilReady } from './waiting.ts'

/** Environment variables that decide what tests do, and are no settings of a server. */
const TEST_SETTINGS = [
  'RINGFENCE_TEST_RUNS',
  'RINGFENCE_CRASH_ROUNDS',
  'RINGFENCE_SEED',
  'RINGFENCE_STREAM_UPDATES',
  'RINGFENCE_REQUIRE_SERVERS',
  'RINGFENCE_REQUIRE_PROXIES',
]

/** The keys of the server's first project. */
export const KEYS = {
  testPublishable: `prj_test_pk_${'1'.repeat(40)}`,
  livePublishable: `prj_live_pk_${'2'.repeat(40)}`,
  testSecret: `prj_test_sk_${'3'.repeat(40)}`,
  liveSecret: `prj_live_sk_${'4'.repeat(40)}`,
} as const

export interface ServerOptions {
  /** Environment variables on top of the kit's, e.g. `{ RINGFENCE_RATE_LIMITS: 'on' }`; the kit sets `off`, and no sample region. */
  readonly env?: Readonly<Record<string, string>>
  /** Flags for src/main.ts. */
  readonly args?: readonly string[]
  /** A data folder that already exists and outlives the server; else one is made and removed at the end. */
  readonly data?: string
  /** Its data folder gets the sample region before it starts. */
  readonly sample?: boolean
}

export interface HttpAnswer {
  readonly status: number
  /** Parsed where the answer is JSON, else its text; the empty text after HEAD. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  readonly body: any
  readonly headers: Headers
}

/** Starts a server that the test's end stops; if the test failed, what the server wrote is printed. */
export async function startServer(t: Test, options: ServerOptions = {}): Promise<Server> {
  const server = await Server.start(options)
  t.teardown(async () => {
    await server.dispose()
    // To stderr: the terse reporter hides comments.
    if (!t.passing()) console.error(`output of the server:\n${server.output}`)
  })
  return server
}

export class Server {
  readonly port: number
  /** Without a slash at its end. */
  readonly url: string
  readonly data: string
  /** What all runs of the process wrote to stdout and stderr. */
  output = ''
  readonly #options: ServerOptions
  #child: ChildProcess | undefined

  private constructor(port: number, options: ServerOptions) {
    this.port = port
    this.url = `http://127.0.0.1:${port}`
    this.data = options.data ?? mkdtempSync(join(tmpdir(), 'ringfence-'))
    this.#options = options
  }

  /** Starts a process and resolves once /readyz answers 200. */
  static async start(options: ServerOptions = {}): Promise<Server> {
    const server = new Server(await freePort(), options)
    try {
      // Loaded where it is asked for alone: it brings what makes regions.
      if (options.sample) await (await import('./sampleRegion.ts')).addSample(server.data)
      await server.restart()
    } catch (error) {
      await server.dispose()
      throw error
    }
    return server
  }

  /** Process id of the run under way. */
  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error('the server is not running')
    return pid
  }

  /**
   * One request.
   * @param body sent as JSON; a string or bytes go out as they are
   * @param key null sends no Authorization header
   * @param headers on top of Authorization and Content-Type: application/json
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
    return {
      status: answer.status,
      body: json && text !== '' ? JSON.parse(text) : text,
      headers: answer.headers,
    }
  }

  /** Drains the process by SIGTERM and rejects unless it exits with 0. */
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

  /** The exit code of a process that ends by itself, once it has; null where a signal ended it. */
  async ended(): Promise<number | null> {
    const child = this.#child
    if (child === undefined) throw new Error('the server was never started')
    if (!hasEnded(child)) await once(child, 'close')
    return child.exitCode
  }

  /** Starts the process again, on the same data and port, after {@link stop}, {@link kill9} or its own end. */
  async restart(): Promise<void> {
    if (this.#child !== undefined && !hasEnded(this.#child)) throw new Error('the server is still running')
    // Without the test runner's hooks, which it adds to every child: they turn SIGXFSZ, a full file, into its death.
    // Without the settings of the tests, which a server would warn of.
    const without = ['NODE_OPTIONS', ...TEST_SETTINGS].flatMap((name) => ['-u', name])
    const command = [...without, process.execPath, MAIN, ...(this.#options.args ?? [])]
    const child = spawn('env', command, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        RINGFENCE_PORT: String(this.port),
        RINGFENCE_HOST: '127.0.0.1',
        RINGFENCE_DATA: this.data,
        RINGFENCE_KEYS: Object.values(KEYS).join(','),
        RINGFENCE_RATE_LIMITS: 'off',
        RINGFENCE_SAMPLE_REGION: 'off',
        ...this.#options.env,
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

  /** Ends the process however it is and removes the data folder that the kit made. */
  async dispose(): Promise<void> {
    if (this.#child !== undefined && !hasEnded(this.#child)) await this.kill9()
    if (this.#options.data === undefined) rmSync(this.data, { recursive: true, force: true })
  }

  async #ready(child: ChildProcess): Promise<void> {
    const isReady = () =>
      fetch(`${this.url}/readyz`).then(
        (answer) => answer.arrayBuffer().then(() => answer.ok),
        () => false,
      )
    await untilReady(child, 'the server', isReady, () => this.output)
  }

  async #end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    const child = this.#child
    if (child === undefined || hasEnded(child)) throw new Error(`the server is not running\n${this.output}`)
    child.kill(signal)
    // 'close' comes after the streams have ended: the output is complete.
    await once(child, 'close')
    return { code: child.exitCode, signal: child.signalCode }
  }
}

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

/** Ports that {@link freePort} has answered, or looked at. */
const given = new Set<number>()

/** A free port below the range that the system hands out to outgoing connections. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    // Who has got it may not listen yet.
    if (given.has(port)) continue
    given.add(port)
    const probe = createServer()
    const free = await new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!free) continue
    probe.close()
    await once(probe, 'close')
    return port
  }
}
