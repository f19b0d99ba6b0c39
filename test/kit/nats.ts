/**
 * A real NATS server with JetStream for tests, with a free port and its own folder. A restart keeps the port, so that
 * clients which reconnect find it.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jetstream, jetstreamManager, type JetStreamManager, type StoredMsg } from '@nats-io/jetstream'
import { connect, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node'
import type { Test } from 'tap'
import { NATS_SERVER, serverBinary } from './goServers.ts'
import { untilReady } from './waiting.ts'
import { freePort } from './freePort.ts'

/** A server that is killed when the test ends. It is running unless `stopped` is set. */
export async function natsServer(
  t: Test,
  options: {
    /** Additional lines of the configuration file, besides address and JetStream. */
    readonly config?: string
    /** Additional lines of its JetStream block, besides the folder. */
    readonly jetStream?: string
    /** Options of {@link NatsServer.client}, if the configuration requires any. */
    readonly client?: NodeConnectionOptions
    readonly stopped?: boolean
  } = {},
): Promise<NatsServer> {
  const server = new NatsServer(await serverBinary(NATS_SERVER), await freePort(), options)
  t.teardown(async () => {
    await server.dispose()
    if (!t.passing()) console.error(`output of nats-server:\n${server.output}`)
  })
  if (options.stopped !== true) await server.start()
  return server
}

/** Three running servers that form a cluster, and their names in it. */
export async function natsCluster(t: Test): Promise<{ names: string[]; servers: NatsServer[] }> {
  const names = ['a', 'b', 'c']
  const ports = await Promise.all(names.map(() => freePort()))
  const routes = ports.map((port) => `"nats://127.0.0.1:${port}"`).join(', ')
  const servers = await Promise.all(
    names.map((name, i) =>
      natsServer(t, {
        config:
          `server_name: ${name}\n` +
          `cluster { name: test, listen: "127.0.0.1:${ports[i]}", routes: [${routes}] }`,
      }),
    ),
  )
  return { names, servers }
}

export class NatsServer {
  readonly address: string
  /** What all runs of the process wrote. */
  output = ''
  readonly folder = mkdtempSync(join(tmpdir(), 'ringfence-nats-'))
  readonly #binary: string
  readonly #configFile = join(this.folder, 'nats.conf')
  readonly #client: NodeConnectionOptions
  #child: ChildProcess | undefined
  #connection: NatsConnection | undefined

  constructor(
    binary: string,
    port: number,
    {
      config = '',
      jetStream = '',
      client = {},
    }: { readonly config?: string; readonly jetStream?: string; readonly client?: NodeConnectionOptions },
  ) {
    this.#binary = binary
    this.address = `127.0.0.1:${port}`
    this.#client = client
    writeFileSync(
      this.#configFile,
      `listen: "${this.address}"\njetstream {\nstore_dir: "${join(this.folder, 'jetstream')}"\n${jetStream}\n}\n${config}\n`,
    )
  }

  /** Starts the process, with the port and data of earlier runs. Resolves once it accepts clients. */
  async start(): Promise<void> {
    const from = this.output.length
    const child = spawn(this.#binary, ['-c', this.#configFile], { stdio: ['ignore', 'ignore', 'pipe'] })
    this.#child = child
    const killWithTest = () => void child.kill('SIGKILL')
    process.once('exit', killWithTest)
    child.once('exit', () => process.off('exit', killWithTest))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    const isReady = () => this.output.includes('Server is ready', from)
    await untilReady(child, 'nats-server', isReady, () => this.output)
  }

  /** Ends the process without any chance to clean up. Resolves when it is gone. */
  async kill9(): Promise<void> {
    await this.#connection?.close()
    this.#connection = undefined
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'close')
  }

  /** A connection for the test, kept until the server is killed. */
  async client(): Promise<NatsConnection> {
    this.#connection ??= await connect({ servers: this.address, reconnect: false, ...this.#client })
    return this.#connection
  }

  async manager(): Promise<JetStreamManager> {
    return jetstreamManager(await this.client())
  }

  /** The messages of a stream, in order. */
  async messages(stream: string): Promise<Message[]> {
    const { state } = await (await this.manager()).streams.info(stream)
    if (state.messages === 0) return []
    const consumer = await jetstream(await this.client()).consumers.get(stream)
    const found: Message[] = []
    for await (const message of await consumer.fetch({ max_messages: state.messages, expires: 10_000 })) {
      found.push({
        subject: message.subject,
        id: message.headers?.get('Nats-Msg-Id') ?? '',
        data: message.data,
      })
    }
    return found
  }

  async dispose(): Promise<void> {
    await this.kill9()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** A message of a stream. */
export type Message = Pick<StoredMsg, 'subject' | 'data'> & { readonly id: string }
