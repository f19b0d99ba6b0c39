import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NATS_SERVER, serverBinary } from '../test/kit/goServers.ts'
import { aborted } from '../src/runtime/aborted.ts'
import { freePort } from '../test/kit/freePort.ts'
import { Member } from './member.ts'

export interface ClusterOptions {
  /** An existing folder. Everything that the cluster stores is below it. */
  readonly folder: string
  /** NATS servers: 1, or 3 that store everything three times. */
  readonly nats: number
  readonly gateways: number
  readonly actors: number
  /** Processes that deliver webhooks; one at a time is active. */
  readonly deliveries: number
  /** How to start a Tile38 server on a port with a data folder. If absent, the cluster runs without Tile38. */
  readonly tile38?: (port: number, data: string) => Tile38Command | Promise<Tile38Command>
  /** Port of the first gateway; the others use free ones. */
  readonly port?: number
  /** Environment variables for all Ringfence processes. */
  readonly env?: Readonly<Record<string, string>>
  /** Called with a sentence when a process takes long to become ready. */
  readonly waits?: (sentence: string) => void
  /** Ends a start that is under way. */
  readonly signal?: AbortSignal
}

/** A program and its arguments. */
export interface Tile38Command {
  readonly command: string
  readonly args: readonly string[]
}

const MAIN = join(import.meta.dirname, '..', 'src', 'main.ts')

/** The processes of a distributed engine on this machine. */
export class Cluster {
  readonly nats: readonly Member[]
  readonly gateways: readonly Member[]
  readonly actors: readonly Member[]
  readonly deliveries: readonly Member[]
  /** The Tile38 server, if there is one. Its data is in the folder `tile38`. */
  readonly tile38: readonly Member[]

  private constructor(members: Pick<Cluster, 'nats' | 'gateways' | 'actors' | 'deliveries' | 'tile38'>) {
    this.nats = members.nats
    this.tile38 = members.tile38
    this.gateways = members.gateways
    this.actors = members.actors
    this.deliveries = members.deliveries
  }

  /**
   * Starts the cluster. Resolves when every process is ready. If one fails, all are ended.
   * @throws the reason of the signal, or why a process is not ready
   */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const { folder, nats: servers, gateways, actors, deliveries, port } = options
    mkdirSync(folder, { recursive: true })
    const nats = await natsMembers(folder, servers)
    const tile38 = options.tile38 === undefined ? [] : [await tile38Member(folder, options.tile38)]
    const env = {
      RINGFENCE_ENGINE: 'distributed',
      RINGFENCE_NATS_URL: nats.map((member) => member.options.url).join(','),
      RINGFENCE_NATS_REPLICAS: String(servers),
      ...(tile38[0] !== undefined && { RINGFENCE_TILE38_URL: tile38[0].options.url }),
      // Otherwise each gateway would make its own sample region.
      RINGFENCE_SAMPLE_REGION: 'off',
      ...options.env,
    }
    const ofRole = (role: string, count: number, first?: number) =>
      Promise.all(
        Array.from({ length: count }, async (_, i) => {
          const at = i === 0 && first !== undefined ? first : await freePort()
          return ringfence(folder, role, i + 1, at, env)
        }),
      )
    const cluster = new Cluster({
      nats,
      tile38,
      actors: await ofRole('actors', actors),
      deliveries: await ofRole('delivery', deliveries),
      gateways: await ofRole('gateway', gateways, port),
    })
    try {
      await up([...cluster.nats, ...cluster.tile38], options)
      await up([...cluster.actors, ...cluster.deliveries], options)
      await up(cluster.gateways, options)
    } catch (error) {
      await cluster.kill()
      throw error
    }
    return cluster
  }

  /** The processes that users connect to come first, because that is the order in which they are ended. */
  get members(): readonly Member[] {
    return [...this.gateways, ...this.deliveries, ...this.actors, ...this.tile38, ...this.nats]
  }

  /**
   * Shuts all processes down, those on the users' side first. Resolves to the names of those that failed to end
   * cleanly.
   */
  async stop(): Promise<string[]> {
    const failed: string[] = []
    for (const stage of [this.gateways, this.deliveries, this.actors, this.tile38, this.nats]) {
      await Promise.all(
        stage.map(async (member) => {
          if (!member.isRunning) return
          // nats-server ends cleanly on SIGINT.
          const code = await member.end(stage === this.nats ? 'SIGINT' : 'SIGTERM')
          // tile38-server has no exit code for a requested end.
          if (code !== 0 && stage !== this.tile38) failed.push(member.options.name)
        }),
      )
    }
    return failed
  }

  async kill(): Promise<void> {
    await Promise.all(this.members.map((member) => member.end('SIGKILL')))
  }
}

async function up(members: readonly Member[], { waits, signal }: ClusterOptions): Promise<void> {
  for (const member of members) member.start()
  const ready = Promise.all(members.map((member) => member.ready(waits)))
  await (signal === undefined ? ready : Promise.race([ready, aborted(signal)]))
  // Members that were ended meanwhile are not ready, which is no news.
  ready.catch(() => {})
  signal?.throwIfAborted()
}

function ringfence(
  folder: string,
  role: string,
  number: number,
  port: number,
  env: Readonly<Record<string, string>>,
): Member {
  const name = `${role}-${number}`
  const url = `http://127.0.0.1:${port}`
  return new Member({
    name,
    command: process.execPath,
    args: [
      '--no-flush-bytecode',
      '--max-semi-space-size=32',
      '--no-allocation-site-pretenuring',
      '--max-inlined-bytecode-size=920',
      '--max-inlined-bytecode-size-cumulative=3680',
      MAIN,
    ],
    env: {
      ...env,
      MALLOC_ARENA_MAX: '2',
      GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1',
      RINGFENCE_ROLES: role,
      RINGFENCE_HOST: '127.0.0.1',
      RINGFENCE_PORT: String(port),
      RINGFENCE_DATA: join(folder, name),
    },
    logFile: join(folder, `${name}.log`),
    url,
    readyUrl: `${url}/readyz`,
    listens: /"msg":"listening"/,
  })
}

async function tile38Member(
  folder: string,
  commandOf: NonNullable<ClusterOptions['tile38']>,
): Promise<Member> {
  const name = 'tile38'
  const port = await freePort()
  const data = join(folder, name)
  mkdirSync(data, { recursive: true })
  return new Member({
    name,
    ...(await commandOf(port, data)),
    env: {},
    logFile: join(folder, `${name}.log`),
    url: `tile38://127.0.0.1:${port}`,
    readyUrl: `http://127.0.0.1:${port}/healthz`,
    listens: /ready/i,
  })
}

async function natsMembers(folder: string, count: number): Promise<Member[]> {
  const binary = await serverBinary(NATS_SERVER)
  const ports = await Promise.all(
    Array.from({ length: count }, async () => {
      return { client: await freePort(), monitor: await freePort(), route: await freePort() }
    }),
  )
  const routes = ports.map(({ route }) => `"nats://127.0.0.1:${route}"`).join(', ')
  return ports.map(({ client, monitor, route }, i) => {
    const name = `nats-${i + 1}`
    const configFile = join(folder, `${name}.conf`)
    const cluster = `cluster { name: ringfence, listen: "127.0.0.1:${route}", routes: [${routes}] }`
    const lines = [
      `server_name: ${name}`,
      `listen: "127.0.0.1:${client}"`,
      `http: "127.0.0.1:${monitor}"`,
      // Makes sure that whatever is acknowledged is on the disk.
      `jetstream { store_dir: ${JSON.stringify(join(folder, name))}, sync_interval: always }`,
      ...(count > 1 ? [cluster] : []),
    ]
    writeFileSync(configFile, `${lines.join('\n')}\n`)
    return new Member({
      name,
      command: binary,
      args: ['-c', configFile],
      env: {},
      logFile: join(folder, `${name}.log`),
      url: `nats://127.0.0.1:${client}`,
      readyUrl: `http://127.0.0.1:${monitor}/healthz`,
      listens: /Server is ready/,
    })
  })
}
