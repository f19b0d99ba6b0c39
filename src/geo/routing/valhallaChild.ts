/** A child process with Valhalla in it: how it is started, and what its parent knows of it. */
import { fork, type ChildProcess } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { ROUTING_CHILD } from '../../../workers/urls.ts'
import type { OpenEngine } from './engineChild.ts'
import type { RoutingAction } from './port.ts'
import { valhallaConfig } from './valhallaConfig.ts'

/** Of the bound on a child's memory: for tiles, and for those of matrices of places that are far apart. */
const TILES_SHARE = 0.4
const FAR_TILES_SHARE = 0.2

export interface ChildOptions {
  /** Absolute path of the folder of tiles. */
  readonly tiles: string
  /** Searches at one time, > 0. */
  readonly threads: number
  /** Resident memory of the child after which it is replaced. */
  readonly memoryBytes: number
  /** What the child runs; a test brings its own. */
  readonly child?: URL
}

/** Why a child ended: by itself, or ended by us. */
export type ChildEnd = 'crashed' | 'hung' | 'silent' | 'memory' | 'idle' | 'missing' | 'stopped'

export interface ChildCall {
  readonly action: RoutingAction
  readonly request: string
  readonly resolve: (json: Buffer) => void
  readonly reject: (error: Error) => void
  timer: NodeJS.Timeout | undefined
  /** It was in a child that was ended because of another request. */
  retried: boolean
}

export interface Child {
  readonly process: ChildProcess
  readonly startedAt: number
  /** By id. */
  readonly calls: Map<number, ChildCall>
  ready: boolean
  /** Ticks since its last sign of life. */
  silentTicks: number
  residentBytes: number
  /** It gets no more requests, and ends with the last that it has. */
  retiring: 'memory' | 'idle' | 'stopped' | undefined
  /** We have ended it, and why. */
  end: ChildEnd | undefined
}

/** Starts a child. It does nothing before {@link openChild}; without a process id it could not be started. */
export function startChild({ threads, child: entry = ROUTING_CHILD }: ChildOptions): Child {
  // Nothing of our environment: it holds keys and passwords.
  const env = { PATH: process.env.PATH, UV_THREADPOOL_SIZE: String(threads) }
  const forked = fork(entry, {
    serialization: 'advanced',
    execArgv: [],
    env,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  return {
    process: forked,
    startedAt: performance.now(),
    calls: new Map(),
    ready: false,
    silentTicks: 0,
    residentBytes: 0,
    retiring: undefined,
    end: undefined,
  }
}

/** Tells a child that has started what to open. @param printed gets each line that it prints */
export function openChild(
  { process: forked }: Child,
  { tiles, threads, memoryBytes }: ChildOptions,
  printed: (line: string) => void,
): void {
  lowerPriority(forked.pid!)
  createInterface({ input: forked.stderr! }).on('line', printed)
  const tileCache = (share: number): number => Math.floor((memoryBytes * share) / threads)
  const config = valhallaConfig({ tiles, tileCacheBytes: tileCache(TILES_SHARE) })
  const farConfig = valhallaConfig({ tiles, tileCacheBytes: tileCache(FAR_TILES_SHARE), isFar: true })
  forked.send({ config, farConfig } satisfies OpenEngine, () => {})
}

/** A late route is better than late updates. From here, before the child has threads: they take over its priority. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It has ended already, which is reported in another way.
  }
}
