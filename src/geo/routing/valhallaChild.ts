/** A child process with Valhalla: how it is started, and what its parent knows about it. */
import { fork, type ChildProcess } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { ROUTING_CHILD } from '../../../workers/urls.ts'
import type { OpenEngine } from './engineChild.ts'
import type { RoutingAction } from './port.ts'
import { valhallaConfig } from './valhallaConfig.ts'

/**
 * The share of a child's memory that tiles may take: those for usual requests, and those for matrices of places that
 * are far apart.
 */
const TILES_SHARE = 0.4
const FAR_TILES_SHARE = 0.2

export interface ChildOptions {
  /** The absolute path of the folder with the tiles. */
  readonly tiles: string
  /** How many searches run at a time, more than 0. */
  readonly threads: number
  /** The resident memory of the child in bytes after which it is replaced. */
  readonly memoryBytes: number
  /** What the child runs. Tests provide their own. */
  readonly child?: URL
}

/** Why a child ended: by itself, or because its parent ended it. */
export type ChildEnd = 'crashed' | 'hung' | 'silent' | 'memory' | 'idle' | 'missing' | 'stopped'

export interface ChildCall {
  readonly action: RoutingAction
  readonly request: string
  readonly resolve: (json: Buffer) => void
  readonly reject: (error: Error) => void
  timer: NodeJS.Timeout | undefined
  /** Whether it was in a child that was ended because of another request. */
  retried: boolean
}

export interface Child {
  readonly process: ChildProcess
  readonly startedAt: number
  /** The calls by their id. */
  readonly calls: Map<number, ChildCall>
  ready: boolean
  /** How many ticks have passed since its last sign of life. */
  silentTicks: number
  residentBytes: number
  /** Why the child gets no more requests, and ends after the last one that it has; undefined if it may get more. */
  retiring: 'memory' | 'idle' | 'stopped' | undefined
  /** Why its parent has ended it; undefined if it has not. */
  end: ChildEnd | undefined
}

/** Starts a child, which does nothing before {@link openChild}. If it has no process id, it could not be started. */
export function startChild({ threads, child: entry = ROUTING_CHILD }: ChildOptions): Child {
  // The child gets nothing of our environment, which contains keys and passwords.
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

/**
 * Tells a started child what to open.
 * @param printed called with each line that it prints
 */
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

/**
 * Lowers the priority of the child, because a late route is better than late updates. It must be done before the child
 * has threads, which inherit it.
 */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The child has ended already, which is reported in another way.
  }
}
