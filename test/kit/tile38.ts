/**
 * A Tile38 server for tests: the real one if it is on the PATH or can be built, otherwise the stand-in of this
 * folder. A test that passes with the stand-in says something about this program, not about Tile38, so titles name
 * which one it was. A restart keeps the port.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient } from '@redis/client'
import { pino } from 'pino'
import type { Test } from 'tap'
import { Tile38Connection } from '../../src/tile38/tile38Connection.ts'
import { serverBinary, ServerMissing, TILE38_SERVER } from './goServers.ts'
import { NODE_OPTIONS } from './nodeOptions.ts'
import { untilReady } from './waiting.ts'
import { freePort } from './freePort.ts'

const STAND_IN = fileURLToPath(new URL('tile38StandInChild.ts', import.meta.url))

/** Undefined if there is no real server and the stand-in is used. This is printed once. */
const binary = await serverBinary(TILE38_SERVER).catch((error: unknown) => {
  if (!(error instanceof ServerMissing) || process.env.RINGFENCE_REQUIRE_TILE38 === '1') throw error
  console.error(`STAND-IN instead of tile38-server: ${error.message.split('\n')[0]}`)
  return undefined
})

/** The name of what the tests run against. */
export const TILE38_NAME = binary === undefined ? 'a stand-in of Tile38' : 'tile38-server'

/** Why tests of several servers that follow each other are skipped; false if they are not. */
export const WITHOUT_FOLLOWERS = binary === undefined && 'the stand-in follows no other server'

/** The command that starts what the tests run against. */
export function tile38Command(port: number, data: string, password = '') {
  return binary === undefined
    ? { command: process.execPath, args: [STAND_IN, `${port}`, data, password] }
    : { command: binary, args: ['-h', '127.0.0.1', '-p', `${port}`, '-d', data] }
}

/** A server that is killed when the test ends. */
export async function tile38Server(t: Test, password = ''): Promise<Tile38Server> {
  const server = new Tile38Server(await freePort(), password)
  t.teardown(async () => {
    await server.kill9()
    rmSync(server.folder, { recursive: true, force: true })
    if (!t.passing()) console.error(`output of ${TILE38_NAME}:\n${server.output}`)
  })
  await server.start()
  return server
}

export class Tile38Server {
  readonly url: string
  readonly folder = mkdtempSync(join(tmpdir(), 'ringfence-tile38-'))
  output = ''
  readonly port: number
  readonly #password: string
  #child: ChildProcess | undefined

  constructor(port: number, password: string) {
    this.port = port
    this.#password = password
    this.url = `tile38://127.0.0.1:${port}`
  }

  /** Starts the process, with the port and data of earlier runs. Resolves once it accepts clients. */
  async start(): Promise<void> {
    const data = join(this.folder, 'data')
    mkdirSync(data, { recursive: true })
    if (binary !== undefined && this.#password !== '')
      writeFileSync(join(data, 'config'), JSON.stringify({ requirepass: this.#password }))
    const { command, args } = tile38Command(this.port, data, this.#password)
    const from = this.output.length
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS },
    })
    this.#child = child
    const killWithTest = () => void child.kill('SIGKILL')
    process.once('exit', killWithTest)
    child.once('exit', () => process.off('exit', killWithTest))
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    }
    const isReady = () => /[Rr]eady/.test(this.output.slice(from))
    await untilReady(child, TILE38_NAME, isReady, () => this.output)
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child!.kill(signal)
  }

  async kill9(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'close')
  }

  /** The reply to a command, over a connection of its own. */
  async ask(...words: string[]): Promise<unknown> {
    const client = createClient({
      RESP: 2,
      url: this.url.replace('tile38:', 'redis:'),
      disableClientInfo: true,
    })
    await client.connect()
    try {
      return await client.sendCommand(words)
    } finally {
      client.destroy()
    }
  }

  /** Removes the data of a server that is not running. */
  wipe(): void {
    rmSync(join(this.folder, 'data'), { recursive: true, force: true })
  }

  /** A connection that is closed when the test ends. */
  connect(t: Test, password = this.#password, logger = pino({ level: 'silent' })): Tile38Connection {
    const connection = new Tile38Connection({ urls: [this.url], password, tlsCa: '' }, logger)
    connection.start()
    t.teardown(() => connection.stop())
    return connection
  }
}
