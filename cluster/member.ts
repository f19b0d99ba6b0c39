import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** What a member is started with. */
export interface MemberOptions {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Where all that it prints goes, of all its runs. */
  readonly logFile: string
  /** Where it is reached. */
  readonly url: string
  /** Answers 200 once it can be used. */
  readonly readyUrl: string
}

/** Generous: servers that are made all at once share the machine. */
const READY_MS = 60_000
const LOOK_AGAIN_MS = 50

/** A process of a cluster, which may be ended and started again at its place. */
export class Member {
  readonly options: MemberOptions
  #child: ChildProcess | undefined

  constructor(options: MemberOptions) {
    this.options = options
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Of the last run. */
  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** All that it has printed. */
  get output(): string {
    return readFileSync(this.options.logFile, 'utf8')
  }

  /**
   * Starts the process; that it can be used, {@link ready} says.
   * @param changes of the environment, for this run
   */
  start(changes: Readonly<Record<string, string>> = {}): void {
    if (this.isRunning) throw new Error(`${this.options.name} is running`)
    const { command, args, env, logFile } = this.options
    const log = openSync(logFile, 'a')
    const child = spawn(command, args, {
      env: { ...process.env, NODE_OPTIONS: '', ...env, ...changes },
      stdio: ['ignore', log, log],
      // A Ctrl-C in the terminal is the cluster's, which ends its members in their order.
      detached: true,
    })
    closeSync(log)
    this.#child = child
    const end = () => void child.kill('SIGKILL')
    process.once('exit', end)
    child.once('exit', () => process.off('exit', end))
  }

  /** @throws Error where it ends before, or takes very long */
  async ready(): Promise<void> {
    const { name, readyUrl, logFile } = this.options
    for (const until = performance.now() + READY_MS; performance.now() < until; await sleep(LOOK_AGAIN_MS)) {
      if (!this.isRunning)
        throw new Error(`${name} has ended. The end of its log:\n${this.output.slice(-2000)}`)
      const isReady = await fetch(readyUrl).then(
        (answer) => answer.arrayBuffer().then(() => answer.ok),
        () => false,
      )
      if (isReady) return
    }
    throw new Error(`${name} is not ready; ${logFile} says more:\n${this.output.slice(-2000)}`)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** Ends it by a signal; resolves to its exit code once it is gone, null where the signal ended it. */
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
