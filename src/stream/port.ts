import type { Senders } from '../wire/senders.ts'
import type { TObject } from 'typebox'
import type { Encoded } from '../events/fanoutGroup.ts'
import type { Stamp } from '../wire/trackSchema.ts'
import type { Validator } from '../http/validate.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Share } from '../runtime/keyedBound.ts'
import type { AckMessage, RawMessage, ServerMessage, ShownDevice, WatchedPosition } from './messages.ts'
import type { TrackFrame } from '../wire/trackFrame.ts'

/** An encoding, chosen by the subprotocol of a connection. */
export interface Codec {
  /** The name of the subprotocol. */
  readonly protocol: string
  /** Whether its messages are binary frames; otherwise they are text frames. */
  readonly isBinary: boolean
  /**
   * Decodes one message.
   * @param bytes only valid during the call
   * @throws {ApiError} 400 for any invalid bytes
   */
  decode(bytes: Uint8Array): RawMessage
  /**
   * A fast path for usual frames: the same frame that {@link decode} and the schemas would give, or undefined to
   * leave the bytes to them. It does not throw.
   */
  scanTrack(bytes: Buffer, stamp: Stamp, senders: Senders): TrackFrame | undefined
  /**
   * The id of a frame of updates, from the first bytes of its message, as usual clients write it; undefined
   * otherwise. It costs almost nothing, so it is used for messages that are refused without decoding.
   */
  peekTrack(bytes: Buffer): number | undefined
  encode(message: ServerMessage): Encoded
  /** Encodes an acknowledgement step by step, because megabytes of events take tens of milliseconds. */
  ackSteps(message: AckMessage): Generator<void, Encoded>
  /** Writes batches of positions. All connections share it. */
  readonly batch: BatchWriter
}

/** Writes a PositionsMessage from devices, because a message may have thousands of them, several times a second. */
export interface BatchWriter {
  /** Begins a message, instead of one that was begun before. */
  begin(watch: string): void
  add(change: WatchedPosition['change'], device: ShownDevice): void
  /** Returns the message. It is valid until the next one begins. */
  end(): Encoded
}

/** An open connection, as message handlers see it. After its end, sending and closing have no effect. */
export interface StreamConnection {
  readonly scope: ScopeId
  /** Whether a secret key authenticates it. */
  readonly isSecret: boolean
  readonly codec: Codec
  /** The name under which its key is counted. */
  readonly keyName: string
  /** The memory of its filters and areas, which is counted until they are released. */
  readonly kept: Share
  /** How many bytes were sent that the client has not read yet. */
  readonly bufferedBytes: number
  send(message: ServerMessage): void
  /** Sends several messages, encoded by {@link codec}, at once. */
  sendEncoded(messages: readonly Encoded[]): void
  /**
   * Closes the connection.
   * @param code one of `closeCodes.ts`
   */
  close(code: number, reason: string): void
}

/** Handles some message types of one connection. It is created when the first such message comes. */
export interface StreamFeature {
  /**
   * Receives a message that fits its schema.
   * @throws ApiError sent to the client as `error`; anything else is an internal error and is reported as 500
   */
  receive(message: RawMessage): void
  /** Called when the client has read everything that was sent. */
  drained(): void
  /** Called when the connection has ended. */
  closed(): void
}

/** A kind of feature: which messages it handles, and how to create it. */
export interface StreamFeatureKind {
  /** The schemas by type of message. */
  readonly messages: Readonly<Record<string, TObject>>
  /** The name of its messages' `id` in an `error`. */
  readonly names: 'subscription' | 'watch'
  open(connection: StreamConnection): StreamFeature
}

/** A feature, by one type of its messages, and the validator of these messages. */
export interface FeatureEntry {
  readonly kind: StreamFeatureKind
  readonly validator: Validator
}

/** Counters for metrics, of all connections together. All except `inFlight` only increase. */
export interface StreamCounters {
  frames: number
  updates: number
  refused: number
  busy: number
  /** How many frames are not acknowledged yet. */
  inFlight: number
}
