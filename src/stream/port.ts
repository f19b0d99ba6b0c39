import type { Senders } from '../wire/senders.ts'
import type { TObject } from 'typebox'
import type { Encoded } from '../events/fanoutGroup.ts'
import type { Stamp } from '../wire/trackSchema.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Share } from '../runtime/keyedBound.ts'
import type { RawMessage, ServerMessage } from './messages.ts'
import type { TrackFrame } from '../wire/trackFrame.ts'

/** One of the encodings, chosen by the subprotocol of a connection. */
export interface Codec {
  /** The name of the subprotocol. */
  readonly protocol: string
  /** Whether its messages are binary frames; else text. */
  readonly isBinary: boolean
  /**
   * Reads one message.
   * @param bytes valid during the call only
   * @throws ApiError 400 whatever the bytes are
   */
  decode(bytes: Uint8Array): RawMessage
  /**
   * A fast way for the usual frame: the frame that {@link decode} and the schemas would make of the bytes, or undefined
   * to leave them to those. It does not throw.
   */
  scanTrack(bytes: Buffer, stamp: Stamp, senders: Senders): TrackFrame | undefined
  /**
   * The id of a frame of updates by the first bytes of its message, as usual clients write it; undefined for all else.
   * It costs nothing: for messages that are refused unread.
   */
  peekTrack(bytes: Buffer): number | undefined
  encode(message: ServerMessage): Encoded
}

/** One open connection, as what handles its messages sees it. After its end, sending and closing do nothing. */
export interface StreamConnection {
  readonly scope: ScopeId
  /** Authenticated by a secret key. */
  readonly isSecret: boolean
  readonly codec: Codec
  /** What its key is counted by. */
  readonly keyName: string
  /** What its filters and areas take in memory, counted until they are given up. */
  readonly kept: Share
  /** Bytes that were sent and that the client has not read yet. */
  readonly bufferedBytes: number
  send(message: ServerMessage): void
  /** Sends what {@link codec} has encoded, in one go. */
  sendEncoded(messages: readonly Encoded[]): void
  /** @param code of `closeCodes.ts` */
  close(code: number, reason: string): void
}

/** Handles some types of messages of one connection; made when the first of them comes. */
export interface StreamFeature {
  /**
   * A message that fits its schema.
   * @throws ApiError what the client is told, as `error`; anything else is our fault and told as 500
   */
  receive(message: RawMessage): void
  /** The client has read all that was sent. */
  drained(): void
  /** The connection is gone. */
  closed(): void
}

/** A kind of feature: what it handles, and how it is made. */
export interface StreamFeatureKind {
  /** By type of message: its schema. */
  readonly messages: Readonly<Record<string, TObject>>
  /** What the `id` of its messages is called in an `error`. */
  readonly names: 'subscription' | 'watch'
  open(connection: StreamConnection): StreamFeature
}
