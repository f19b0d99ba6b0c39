/**
 * The order in which the parts of the process come up and go down.
 *
 * Owns: the order, the bound on the time that draining may take, the exit code. Does not own: what draining means to
 * a service; each finishes what it has accepted.
 *
 * Invariants
 * - LIFECYCLE-1: Services start in the order in which they were added and stop in the reverse order: what users face
 *   starts last and drains first.
 * - LIFECYCLE-2: Stopping happens once, however often it is requested.
 * - LIFECYCLE-3: A service that fails to stop does not prevent the others from stopping.
 */
import type { Logger } from './logger.ts'

/** A part of the process. */
export interface Service {
  readonly name: string
  start?(): void | Promise<void>
  /** Finishes what was accepted, then releases files, sockets and threads. */
  stop(): void | Promise<void>
}

/**
 * The time limit of draining, which is longer than any batch takes. After it, a part that hangs is named and the
 * process ends.
 */
export const DRAIN_MS = 15_000

/** A signal that follows the first one within this time is a duplicate of it. */
const ECHO_MS = 500

export class Lifecycle {
  readonly #logger: Logger
  readonly #drainMs: number
  readonly #services: Service[] = []
  #started = 0
  #stopping: Promise<number> | undefined

  /**
   * A process without parts.
   * @param drainMs the limit for stopping all services in milliseconds, more than 0
   */
  constructor(logger: Logger, drainMs: number) {
    this.#logger = logger
    this.#drainMs = drainMs
  }

  add(service: Service): void {
    this.#services.push(service)
  }

  /** Starts all services. If one fails, those that had started are stopped, and its error is thrown. */
  async start(): Promise<void> {
    for (const service of this.#services) {
      // There was a signal during the start. What has started is stopped again, and nothing more starts.
      if (this.#stopping !== undefined) return
      try {
        await service.start?.()
      } catch (error) {
        await this.stop()
        throw error
      }
      this.#started++
    }
  }

  /**
   * Stops the started services, the last one first. It never rejects.
   * @returns the exit code: 0 if all stopped in time, otherwise 1
   */
  stop(): Promise<number> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<number> {
    let current = ''
    let failed = false
    const drain = async () => {
      while (this.#started > 0) {
        const service = this.#services[--this.#started] as Service
        current = service.name
        try {
          await service.stop()
        } catch (error) {
          failed = true
          this.#logger.error({ err: error, service: service.name }, 'service failed to stop')
        }
      }
      return true
    }
    let timer: NodeJS.Timeout | undefined
    const bound = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), this.#drainMs)
    })
    const drained = await Promise.race([drain(), bound])
    clearTimeout(timer)
    if (!drained) {
      const seconds = this.#drainMs / 1000
      this.#logger.error({ service: current }, `${current} did not drain within ${seconds} s; giving up`)
    }
    return drained && !failed ? 0 : 1
  }

  /**
   * SIGTERM and SIGINT drain the process and end it. A second signal, half a second later or more, ends it at once.
   * @param host the process; tests pass their own
   */
  handleSignals(host: SignalHost = process): void {
    let askedAt: number | undefined
    const onSignal = (signal: NodeJS.Signals) => {
      if (askedAt !== undefined) {
        // Ctrl-C reaches npm and the server, and npm passes it on, so the same signal arrives twice.
        if (performance.now() - askedAt < ECHO_MS) return
        this.#logger.warn({ signal }, 'second signal, exiting without draining')
        host.exit(1)
        return
      }
      askedAt = performance.now()
      this.#logger.info({ signal }, 'draining')
      void this.stop().then((code) => {
        this.#logger.info({ code }, 'stopped')
        host.exit(code)
      })
    }
    host.on('SIGTERM', onSignal)
    host.on('SIGINT', onSignal)
  }
}

/** The part of `process` that signal handling needs. */
export interface SignalHost {
  on(signal: 'SIGTERM' | 'SIGINT', listener: (signal: NodeJS.Signals) => void): unknown
  exit(code: number): void
}
