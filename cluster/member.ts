import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { forget, keep } from './keeper.ts'
import { killAtExit } from './killAtExit.ts'

/** Options of a member. */
export interface MemberOptions {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The path of the file that receives the output of all runs. */
  readonly logFile: string
  /** The address of the process. */
  readonly url: string
  /** An address that answers with 200 once the process is ready. */
  readonly readyUrl: string
  /** What the process prints once it listens. Without it, the answer might come from another program. */
  readonly listens?: RegExp
}

/**
 * How long a process may take to become ready. It is generous, because servers that start together share the machine.
 * A NATS server that was killed first fetches what it missed from the others, while they serve all clients.
 */
const READY_MS = 300_000
const LOOK_AGAIN_MS = 50
/** When somebody who waits is told why for the first time, and then how often. */
const TOLD_AFTER_MS = 5000
const TOLD_EVERY_MS = 15_000

/** A process of a cluster, which can be ended and started again with the same address and data. */
export class Member {
  readonly options: MemberOptions
  #child: ChildProcess | undefined
  /** Where the output of the present run begins. */
  #outputFrom = 0

  constructor(options: MemberOptions) {
    this.options = options
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Process id of the last run. */
  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Everything that it has printed. */
  get output(): string {
    return readFileSync(this.options.logFile, 'utf8')
  }

  /**
   * Starts the process. Use {@link ready} to wait until it can be used.
   * @param changes of the environment, for this run
   */
  start(changes: Readonly<Record<string, string>> = {}): void {
    if (this.isRunning) throw new Error(`${this.options.name} is running`)
    const { command, args, env, logFile } = this.options
    const log = openSync(logFile, 'a')
    this.#outputFrom = this.output.length
    const child = spawn(command, args, {
      env: { ...process.env, NODE_OPTIONS: '', ...env, ...changes },
      stdio: ['ignore', log, log],
      // A Ctrl-C in the terminal goes to the cluster, which ends its members in order.
      detached: true,
    })
    closeSync(log)
    this.#child = child
    killAtExit(child)
    const { pid } = child
    if (pid === undefined) return
    keep(pid)
    child.once('exit', () => forget(pid))
  }

  /**
   * Resolves when the process can be used.
   * @param waits called with a sentence about what is missing, after five seconds and then every 15
   * @throws Error if the process ends first, or takes very long
   */
  async ready(waits: (sentence: string) => void = () => {}): Promise<void> {
    const { name, readyUrl, logFile, listens = /^/ } = this.options
    const began = performance.now()
    let tellAt = began + TOLD_AFTER_MS
    for (; performance.now() < began + READY_MS; await sleep(LOOK_AGAIN_MS)) {
      if (!this.isRunning)
        throw new Error(`${name} has ended. The end of its log:\n${this.output.slice(-2000)}`)
      const missing = await whatIsMissing(readyUrl)
      if (missing === undefined && listens.test(this.output.slice(this.#outputFrom))) return
      if (performance.now() < tellAt) continue
      tellAt += TOLD_EVERY_MS
      const seconds = Math.round((performance.now() - began) / 1000)
      waits(`${name} is not ready after ${seconds} s: ${missing ?? 'it does not listen yet'}`)
    }
    throw new Error(`${name} is not ready; ${logFile} says more:\n${this.output.slice(-2000)}`)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** Ends the process with a signal. Resolves to its exit code once it is gone, or to null if the signal ended it. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child
    if (child === undefined) return null
    if (this.isRunning) {
      const gone = once(child, 'exit')
      child.kill(signal)
      await gone
    }
    return child.exitCode
  }
}

/** Why a process says that it is not ready: undefined if it is, a text of one line otherwise. */
async function whatIsMissing(readyUrl: string): Promise<string | undefined> {
  let text: string
  try {
    const answer = await fetch(readyUrl)
    text = await answer.text()
    if (answer.ok) return undefined
  } catch {
    return 'it does not answer yet'
  }
  try {
    // The former is what Ringfence answers, the latter what NATS servers do.
    const { meta, error } = JSON.parse(text) as { meta?: { message?: string }; error?: string }
    return meta?.message ?? error ?? text
  } catch {
    return text
  }
}
