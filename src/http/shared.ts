import type { Clock } from '../runtime/clock.ts'
import type { ErrorLog } from '../runtime/logger.ts'
import type { KeyLookup, RequestQuotas, SessionLookup } from './authenticate.ts'
import type { BodyRoom } from './bodyRoom.ts'
import type { ClientAddress, Peers } from './clientAddress.ts'
import type { LaterWrites } from './laterWrites.ts'
import type { RequestHeaders } from './requestHeaders.ts'
import type { Sites } from './site.ts'
import type { Turn } from './turn.ts'
import type { UnreadAnswers } from './unreadAnswers.ts'

/** The state that all requests of a server share. */
export interface Shared {
  readonly keys: KeyLookup
  /** The sessions of people. Undefined if nobody can sign in. */
  readonly sessions: SessionLookup | undefined
  readonly sites: Sites
  readonly quotas: RequestQuotas | undefined
  readonly addresses: ClientAddress
  readonly peers: Peers
  /** The headers of the request whose first callback is running. */
  readonly headers: RequestHeaders
  readonly turn: Turn
  readonly later: LaterWrites
  readonly clock: Clock
  readonly log: ErrorLog | undefined
  readonly maxBodyBytes: number
  /** The memory for bodies that are arriving or being handled. */
  readonly bodies: BodyRoom
  /** The answers that their clients have not read completely. */
  readonly unread: UnreadAnswers
  /** How many requests are neither answered nor given up by their client. */
  inFlight: number
  /**
   * How many requests have a handler that was called and no answer yet, or a handler that still runs after the client
   * has disconnected. A drain waits for these.
   */
  handling: number
  draining: boolean
  /** Called when nothing is being handled any more. It is set while the server drains. */
  onIdle: (() => void) | undefined
}
