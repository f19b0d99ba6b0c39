import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startNats, startRingfence, startTile38, type ServerProcess } from './servers.ts'

/** The distributed engine under load: one NATS server with one replica, one gateway, some actor hosts, perhaps Tile38. */
export interface Distributed {
  /** The processes by name: `gateway`, `host-1`, …, `delivery`, `nats`, `tile38`. */
  readonly processes: ReadonlyMap<string, ServerProcess>
  /** All processes as one server: the gateway's port, the CPU time and memory of all, and the last output of each. */
  readonly whole: ServerProcess
}

export interface DistributedOptions {
  /** Path of nats-server. */
  readonly binary: string
  /** The path of tile38-server; if absent, the engine runs without Tile38. */
  readonly tile38?: string | undefined
  /** How often NATS flushes, as {@link startNats} takes it. */
  readonly sync: string
  readonly hosts: number
  /** The data folder of an embedded engine that is not running. Its registry becomes the shared one. */
  readonly registryOf: string
  /** Whether a process delivers webhooks and hooks. */
  readonly delivery?: boolean
  /** Environment variables for the Ringfence processes. */
  readonly env?: Readonly<Record<string, string>>
  /** Further environment variables for the process with that name. */
  readonly envOf?: (name: string) => Readonly<Record<string, string>>
  /** Modules that are loaded before the Ringfence processes. */
  readonly preloads?: readonly string[]
}

/**
 * Starts it in a separate folder, on all processors, because waking other processes by messages is part of its cost.
 * The first host brings the registry, so the others start after it.
 */
export async function startDistributed(folder: string, options: DistributedOptions): Promise<Distributed> {
  const { binary, sync, hosts, registryOf, delivery = false, preloads = [] } = options
  const nats = await startNats(folder, binary, sync, true)
  const tile38 = options.tile38 && (await startTile38(folder, 'tile38', options.tile38, true))
  const env = {
    RINGFENCE_ENGINE: 'distributed',
    RINGFENCE_NATS_URL: `nats://127.0.0.1:${nats.port}`,
    RINGFENCE_NATS_REPLICAS: '1',
    ...(tile38 && { RINGFENCE_TILE38_URL: `tile38://127.0.0.1:${tile38.port}` }),
    ...options.env,
  }
  const start = (name: string, role: string) => {
    mkdirSync(join(folder, name), { recursive: true })
    const own = { ...env, ...options.envOf?.(name), RINGFENCE_ROLES: role }
    return startRingfence(join(folder, name), { unpinned: true, env: own, preloads })
  }
  const processes = new Map<string, ServerProcess>()
  cpSync(registryOf, join(folder, 'host-1', 'data'), { recursive: true })
  for (let i = 1; i <= hosts; i++) processes.set(`host-${i}`, await start(`host-${i}`, 'actors'))
  if (delivery) processes.set('delivery', await start('delivery', 'delivery'))
  const gateway = await start('gateway', 'gateway')
  processes.set('gateway', gateway).set('nats', nats)
  if (tile38) processes.set('tile38', tile38)
  const all = [...processes.values()]
  const sum = (value: (one: ServerProcess) => number) => all.reduce((total, one) => total + value(one), 0)
  const end = async (how: 'stop' | 'kill') => {
    await gateway[how]()
    for (const [name, one] of processes) if (name === 'delivery' || name.startsWith('host-')) await one[how]()
    await nats[how]()
    if (tile38) await tile38[how]()
  }
  const whole: ServerProcess = {
    port: gateway.port,
    pid: gateway.pid,
    cpuSeconds: () => sum((one) => one.cpuSeconds()),
    rssBytes: () => sum((one) => one.rssBytes()),
    output: () => [...processes].map(([name, one]) => `${name}:\n${one.output()}`).join('\n'),
    stop: () => end('stop'),
    kill: () => end('kill'),
  }
  return { processes, whole }
}
