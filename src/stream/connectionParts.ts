import type { Intake } from '../actor/port.ts'
import type { RequestQuotas } from '../http/authenticate.ts'
import type { Clock } from '../runtime/clock.ts'
import type { KeyedBound } from '../runtime/keyedBound.ts'
import type { ErrorLog } from '../runtime/logger.ts'
import type { Senders } from '../wire/senders.ts'
import type { Admission } from './admission.ts'
import type { Connection } from './connection.ts'
import type { FeatureEntry, StreamCounters } from './port.ts'

/** What all connections of a server share. */
export interface ConnectionParts {
  readonly intake: Pick<Intake, 'submit'>
  readonly quotas: RequestQuotas
  readonly clock: Clock
  /** The senders of the host. */
  readonly senders: Senders
  readonly log: ErrorLog
  /** Whether the limit of updates per device applies. */
  readonly rateLimited: boolean
  /** The features by the type of their messages. */
  readonly features: ReadonlyMap<string, FeatureEntry>
  readonly counters: StreamCounters
  readonly admission: Admission
  /** The memory of subscriptions and watches. */
  readonly kept: KeyedBound
  /** The events of frames that are not acknowledged yet. */
  readonly events: KeyedBound
  /** How many bytes clients have not read. */
  readonly unread: KeyedBound
  /** Calls {@link Connection.flush} when all frames of the same commit have been reported. */
  flushSoon(connection: Connection): void
  /**
   * Called when the connection stops reading and sending. Its socket may stay open until the client has read the
   * reason, and `closed` follows.
   */
  ended(code: number): void
  closed(connection: Connection): void
}
