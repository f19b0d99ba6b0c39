import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node'
import { retry, type RetryPauses } from '../../runtime/retry.ts'
import { limitReading } from './limitReading.ts'
import { natsTrouble } from './natsTrouble.ts'

const PAUSES: RetryPauses = { firstMs: 250, lastMs: 5000, isSpread: true }
const RECONNECT_MS = 250
const FLUSH_MS = 1000

/** The connection of a process of the distributed engine, which reconnects by itself. */
export class NatsLink {
  readonly connection: NatsConnection
  #isUp = true

  private constructor(connection: NatsConnection) {
    this.connection = connection
  }

  /**
   * Waits for the servers, however long it takes.
   * @param unreachable called for each failed attempt with the reason in one line, until there is a connection
   * @param changed called when the connection is lost, and when there is one again
   * @param refused called when a server no longer accepts our credentials, or refuses a subject
   */
  static async open(
    options: NodeConnectionOptions,
    unreachable: (reason: string) => void,
    changed: (isUp: boolean) => void,
    refused: (error: Error) => void,
  ): Promise<NatsLink> {
    const lasting = {
      ...options,
      reconnect: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_MS,
      reconnectJitter: RECONNECT_MS,
      // Credentials may be corrected while the process runs.
      ignoreAuthErrorAbort: true,
      // Recording a stack for each request, in case it fails, costs a tenth of a host's time.
      noAsyncTraces: true,
    }
    const link = new NatsLink(
      await persistently(
        () => connect(lasting),
        (error) => unreachable(natsTrouble(error, options)),
      ),
    )
    try {
      limitReading(link.connection)
    } catch (error) {
      await link.connection.close()
      throw error
    }
    void link.#watch(changed, refused)
    return link
  }

  get status(): { readonly ok: boolean; readonly detail: string } {
    return { ok: this.#isUp, detail: this.#isUp ? 'connected' : 'not connected' }
  }

  /** Sends what is in flight, if there is a connection, and closes. */
  async close(): Promise<void> {
    const late = new AbortController()
    if (this.#isUp)
      await Promise.race([
        this.connection.flush().catch(() => {}),
        sleep(FLUSH_MS, undefined, { signal: late.signal }).catch(() => {}),
      ])
    late.abort()
    await this.connection.close()
  }

  async #watch(changed: (isUp: boolean) => void, refused: (error: Error) => void): Promise<void> {
    for await (const status of this.connection.status()) {
      const { type } = status
      if (type === 'error') refused(status.error)
      if (type !== 'disconnect' && type !== 'reconnect') continue
      const isUp = type === 'reconnect'
      if (isUp === this.#isUp) continue
      this.#isUp = isUp
      changed(isUp)
    }
  }
}

/**
 * Repeats the work until it succeeds.
 * @param failed called for each failed attempt; an error that it throws ends the attempts
 */
export function persistently<T>(work: () => Promise<T>, failed: (error: Error) => void): Promise<T> {
  return retry(work, { pauses: PAUSES, failed })
}
