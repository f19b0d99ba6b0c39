import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { killAtExit } from '../../cluster/killAtExit.ts'

/** What the generator prints. */
export interface LoadResult {
  readonly sent: number
  /** Answers with a 2xx status. */
  readonly ok: number
  readonly statuses: Readonly<Record<string, number>>
  readonly connectionErrors: number
  /** Requests that were sent, but not answered within 5 s after the last one was sent. */
  readonly unanswered: number
  /** Requests that were not sent because the run was given up. */
  readonly unsent: number
  /**
   * The run was given up, because the schedule was more than `maxLagMs` ahead of the server, or because no answer came
   * for `patienceMs`.
   */
  readonly saturated: boolean
  readonly seconds: number
  /** Answers per second. */
  readonly perSecond: number
  readonly bytesReceived: number
  /** CPU time of the generator itself. */
  readonly cpuSeconds: number
  /** The time from when a request was due to its answer. */
  readonly latencyMs: {
    readonly p50: number
    readonly p90: number
    readonly p99: number
    readonly p999: number
    readonly max: number
  }
  /** How late requests left the generator, including the wait for a free connection. */
  readonly sendDelayMs: { readonly p50: number; readonly p99: number }
}

export interface LoadOptions {
  readonly port: number
  readonly connections: number
  readonly requests: string
  readonly head: string
  /** Records per round. */
  readonly group: number
  /** Number of the first request. */
  readonly offset: number
  readonly count: number
  /** Requests per second; 0: as fast as the connections answer. */
  readonly rate: number
  readonly maxLagMs?: number
  /**
   * Without a rate, the run goes on for as long as answers come, however slowly, and is given up if none comes for this
   * long. By default it is never given up, but the last answers have 5 s.
   */
  readonly patienceMs?: number
  /**
   * Whether the generator goes before everything else on its processor, where the system allows it. It stands for
   * devices elsewhere; if a server may use all processors, its threads of low priority would delay the generator too,
   * which counts as latency.
   */
  readonly isFirst?: boolean
}

export interface Generator {
  readonly kind: 'native' | 'node'
  /** Why the native generator is not used. */
  readonly reason?: string
  /** The command, and its first arguments. */
  readonly program: readonly string[]
  run(options: LoadOptions, onProgress?: (done: number, total: number) => void): Promise<LoadResult>
}

const SOURCE = join(import.meta.dirname, 'generator.c')
const NODE_GENERATOR = join(import.meta.dirname, 'generator.ts')
const execFileAsync = promisify(execFile)

/** The native generator, compiled if its source is new on this machine. If that is impossible, the one in Node. */
export async function loadGenerator(): Promise<Generator> {
  try {
    return generator('native', [await compile()])
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0]! : String(error)
    return { ...generator('node', [process.execPath, NODE_GENERATOR]), reason }
  }
}

function generator(kind: Generator['kind'], program: readonly string[]): Generator {
  return { kind, program, run: (options, onProgress) => run(program, options, onProgress) }
}

async function compile(): Promise<string> {
  const hash = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16)
  const folder = join(tmpdir(), 'ringfence-bench')
  const program = join(folder, `generator-${hash}`)
  if (existsSync(program)) return program
  mkdirSync(folder, { recursive: true })
  const fresh = `${program}.${process.pid}`
  await execFileAsync('cc', ['-O2', '-o', fresh, SOURCE])
  renameSync(fresh, program)
  return program
}

/**
 * The processor of the generator and those of the server, if `taskset` is present and there are two. If the server
 * shares its processor with the generator, the bench measures the scheduler.
 */
export async function processorPins(): Promise<{ generator: string[]; server: string[] }> {
  const processors = availableParallelism()
  try {
    if (processors < 2) return { generator: [], server: [] }
    await execFileAsync('taskset', ['-c', `0-${processors - 1}`, 'true'])
  } catch {
    return { generator: [], server: [] }
  }
  const last = processors - 1
  return { generator: ['taskset', '-c', `${last}`], server: ['taskset', '-c', `0-${last - 1}`] }
}

/** The command that runs another one before all threads of the usual kind; [] if the system has none or forbids it. */
export async function realTimeCommand(): Promise<string[]> {
  const command = ['chrt', '--fifo', '1']
  try {
    await execFileAsync(command[0]!, [...command.slice(1), 'true'])
    return command
  } catch {
    return []
  }
}

async function run(
  program: readonly string[],
  options: LoadOptions,
  onProgress: ((done: number, total: number) => void) | undefined,
): Promise<LoadResult> {
  const pins = await processorPins()
  const first = options.isFirst === true ? await realTimeCommand() : []
  const [command, ...args] = [...first, ...pins.generator, ...program]
  const child = spawn(
    command!,
    [...args, '--port', options.port, '--connections', options.connections, '--requests', options.requests]
      .concat(['--head', options.head])
      .concat(['--group', options.group, '--offset', options.offset, '--count', options.count])
      .concat(['--rate', options.rate, '--max-lag-ms', options.maxLagMs ?? 1000])
      .concat(['--patience-ms', options.patienceMs ?? 0])
      .map(String),
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  killAtExit(child)
  let output = ''
  let complaints = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.split('\n')) {
      const [word, done, total] = line.split(' ')
      if (word === 'progress') onProgress?.(Number(done), Number(total))
      else if (line !== '') complaints += `${line}\n`
    }
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  if (code !== 0) throw new Error(`The load generator ended with ${code}: ${complaints.trim()}`)
  return JSON.parse(output) as LoadResult
}
