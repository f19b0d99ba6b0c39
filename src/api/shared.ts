import type { Clock } from '../runtime/clock.ts'
import type { ErrorLog } from '../runtime/logger.ts'
import type { KeyLookup, RequestQuotas } from './authenticate.ts'
import type { ClientAddress, Peers } from './clientAddress.ts'
import type { Exchange } from './exchange.ts'

/** What all requests of a server share. */
export interface Shared {
  readonly keys: KeyLookup
  readonly quotas: RequestQuotas | undefined
  readonly addresses: ClientAddress
  readonly peers: Peers
  readonly clock: Clock
  readonly log: ErrorLog | undefined
  readonly maxBodyBytes: number
  readonly maxHeldBytes: number
  readonly maxUnreadBytes: number
  /** Bytes of buffers in which bodies are being collected, or that uploads may fill. */
  heldBytes: number
  /** Bytes of answers that their clients have not read whole. */
  unreadBytes: number
  /** The requests of those answers, the longest waiting first. */
  readonly readers: Set<Exchange>
  /** Requests neither answered nor given up by their client. */
  inFlight: number
  /**
   * Requests whose handler has been called and that still have no answer, or whose handler still runs though the client
   * has gone: a drain waits for these.
   */
  handling: number
  /** Requests whose body came in more than one piece, or goes to a handler as it comes, and is not yet whole. */
  readonly uploads: Set<Exchange>
  draining: boolean
  /** Called when nothing is being handled any more; set while the server drains. */
  onIdle: (() => void) | undefined
}
