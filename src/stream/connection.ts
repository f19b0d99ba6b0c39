import type { Encoded } from '../events/fanoutGroup.ts'
import { keyName } from '../http/authenticate.ts'
import type { KeyHolder } from '../http/keyWatch.ts'
import type { Socket, SocketReceiver, SocketRequest } from '../http/socket.ts'
import type { Stamp } from '../wire/trackSchema.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Credentials } from '../http/credentials.ts'
import { includes } from '../model/role.ts'
import { ApiError, badParam } from '../runtime/errors.ts'
import type { Share } from '../runtime/keyedBound.ts'
import { Acknowledgements } from './acknowledgements.ts'
import type { AdmissionClient, TurnMessages, WaitingMessage } from './admission.ts'
import { CLOSE } from './closeCodes.ts'
import type { ErrorMessage, RawMessage, ServerMessage } from './messages.ts'
import type { Codec, StreamConnection } from './port.ts'
import type { ConnectionParts } from './connectionParts.ts'
import { MAX_PINGS, PingLimit } from './pingLimit.ts'
import { FrameReceipt, type FrameOwner } from './receipt.ts'
import { frameId, readTrack, type TrackFrame } from '../wire/trackFrame.ts'
import { FramesInFlight } from './framesInFlight.ts'
import { OpenFeatures } from './openFeatures.ts'
import { StreamWriter } from './streamWriter.ts'

/**
 * One stream: takes frames of updates in, in their order, and says what became of each; hands other messages to the
 * features that handle them.
 *
 * Invariants
 * - STREAM-1: Frames are numbered 1, 2, 3 and so on. Each is accepted in its turn or not at all, so the order of frames
 *   is the order of updates. After a `busy`, nothing is accepted until the frame that it names is sent again.
 * - STREAM-2: Frames become durable in any order. An `ack` is sent in the order of frames, and only for what is durable
 *   or refused (G1).
 * - STREAM-3: What waits is bounded in both directions: frames in flight by `busy`, unread answers by closing the
 *   connection (G7).
 */

/** How many bytes of frames a connection may have that are not durable yet. */
const MAX_IN_FLIGHT_BYTES = 4 * 1024 * 1024
/**
 * The memory of a frame besides its bytes. In the same unit, it is also the work that even the smallest message takes.
 */
const FRAME_OVERHEAD_BYTES = 512
/** In seconds. */
const BUSY_RETRY_SECONDS = 1
/** What an error refers to. */
type Subject = Pick<ErrorMessage, 'id' | 'subscription' | 'watch'>

export class Connection implements StreamConnection, SocketReceiver, FrameOwner, KeyHolder, AdmissionClient {
  readonly codec: Codec
  readonly credentials: Credentials
  readonly scope: ScopeId
  readonly isSecret: boolean
  /** Whether it may send updates. A person who may only read may not. */
  readonly #mayTrack: boolean
  readonly rateLimited: boolean
  readonly keyName: string
  /** How many bytes a message may have. */
  readonly messageBytes: number
  readonly kept: Share
  readonly #parts: ConnectionParts
  /** Messages that wait for their turn. */
  readonly waiting: Share
  readonly #events: Share
  readonly #writer: StreamWriter
  readonly #request: SocketRequest
  readonly #features: OpenFeatures
  #stopped = false
  #ended = false
  /** The id of the next frame. */
  #nextId = 1
  /** Whether a frame was answered with `busy`, and {@link #nextId} has not come again. */
  #busy = false
  readonly #inFlight = new FramesInFlight()
  /** The first frame behind the waiting ones that was refused. All after it are refused until it has come again. */
  #refusedId: number | undefined
  #flushes = false
  readonly #pings = new PingLimit()
  /** How many messages came in this turn. */
  readonly #ofTurn: TurnMessages = { turn: -1, count: 0 }
  readonly #acknowledgements: Acknowledgements

  constructor(socket: Socket, request: SocketRequest, codec: Codec, parts: ConnectionParts) {
    this.#request = request
    this.codec = codec
    this.#parts = parts
    this.credentials = request.credentials
    this.scope = request.credentials.scope
    const { level, session } = request.credentials
    this.isSecret = level === 'secret'
    this.#mayTrack = session === undefined || includes(session.role, 'write')
    this.rateLimited = parts.rateLimited
    this.keyName = keyName(request.credentials)
    this.messageBytes = request.messageBytes
    this.kept = parts.kept.share(this.keyName)
    this.waiting = parts.admission.share(this.keyName)
    this.#events = parts.events.share(this.keyName)
    this.#features = new OpenFeatures(this, parts.features)
    this.#acknowledgements = new Acknowledgements(this, parts.counters, parts.log)
    const tooSlow = () => this.close(CLOSE.slowReader, 'The client does not read what is sent.')
    this.#writer = new StreamWriter(socket, codec, parts.unread.share(this.keyName), tooSlow)
  }

  get hasEnded(): boolean {
    return this.#ended
  }

  get events(): Share | undefined {
    return this.#ended ? undefined : this.#events
  }

  get bufferedBytes(): number {
    return this.#writer.bufferedBytes
  }

  /** Stops accepting frames. */
  stopReading(): void {
    this.#stopped = true
  }

  keyRefused({ code, message }: ApiError): void {
    this.close(code === 401 ? CLOSE.unauthorized : CLOSE.paymentRequired, message)
  }

  message(bytes: Uint8Array, isBinary: boolean): void {
    if (this.#parts.admission.isFlooded(this.#ofTurn)) {
      // The client may not read the close frame either.
      if (this.#ended) this.#writer.cut()
      else this.close(CLOSE.tryAgainLater, 'Too many messages at once. Send several updates in a frame.')
    }
    if (this.#stopped) return
    if (bytes.length > this.messageBytes) {
      this.close(CLOSE.messageTooBig, `A message of this stream has at most ${this.messageBytes} bytes.`)
      return
    }
    if (this.codec.isBinary && !isBinary) {
      this.close(CLOSE.unsupportedData, `${this.codec.protocol} is binary`)
      return
    }
    const { admission, clock } = this.#parts
    const receivedAt = clock.now()
    // Node's buffers decode texts faster. This is another view of the same bytes.
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    const size = bytes.length + FRAME_OVERHEAD_BYTES
    const held = this.#inFlight.bytes + this.waiting.used
    const fits = held === 0 || held + size <= MAX_IN_FLIGHT_BYTES
    const isFirst = this.waiting.used === 0
    const awaited = this.#refusedId ?? (this.#busy && isFirst ? this.#nextId : undefined)
    const id = awaited === undefined ? undefined : this.codec.peekTrack(buffer)
    if (id !== undefined && id > awaited!) return this.#refuseBusy(id, BUSY_RETRY_SECONDS)
    if (fits && isFirst && admission.passes(size)) {
      this.#came(id)
      this.#read(buffer, receivedAt)
    } else if (fits && this.#maySetAside(buffer) && this.waiting.tryAcquire(size) === undefined) {
      this.#came(id)
      admission.push(this, bytes, size, receivedAt)
    } else this.#refuseUnread(buffer)
  }

  /** Only frames can be refused unread. */
  #maySetAside(bytes: Buffer): boolean {
    return this.#parts.admission.maySetAside(this) || this.codec.peekTrack(bytes) === undefined
  }

  /** The refused frame may have come again. */
  #came(id: number | undefined): void {
    if (id !== undefined && id === this.#refusedId) this.#refusedId = undefined
  }

  pinged(): void {
    if (!this.#pings.isExceeded(this.#parts.clock.now())) this.#writer.noteAnswer()
    else if (this.#ended) this.#writer.cut()
    else this.close(CLOSE.policyViolation, `At most ${MAX_PINGS} pings a second.`)
  }

  turn({ message, receivedAt }: WaitingMessage): void {
    if (this.#stopped) return
    if (message !== undefined) this.#read(message, receivedAt)
    else this.#busy = true
  }

  /** Refuses a message for which there is no room, without decoding it. */
  #refuseUnread(bytes: Buffer): void {
    const id = this.codec.peekTrack(bytes)
    if (id === undefined) {
      this.close(CLOSE.tryAgainLater, 'Too much of this stream waits. Wait for acknowledgements.')
      return
    }
    if (this.waiting.used > 0) {
      if (this.#refusedId === undefined || id < this.#refusedId) {
        this.#refusedId = id
        this.#parts.admission.push(this, undefined, 0, 0)
      }
    } else {
      try {
        if (!this.#isNext(id)) return
      } catch (error) {
        this.#tell(error, { id })
        return
      }
      this.#busy = true
    }
    this.#refuseBusy(id, BUSY_RETRY_SECONDS)
  }

  #read(bytes: Buffer, receivedAt: number): void {
    const { scope } = this
    const { ip, fromSdk } = this.#request
    const stamp = { scope, ip, fromSdk, receivedAt }
    const frame = this.codec.scanTrack(bytes, stamp, this.#parts.senders)
    let message: RawMessage | undefined
    try {
      if (frame !== undefined) this.#track(frame.id, bytes.length, stamp, frame)
      else {
        message = this.codec.decode(bytes)
        this.#receive(message, bytes.length, stamp)
      }
    } catch (error) {
      this.#tell(error, frame === undefined ? this.#subject(message) : { id: frame.id })
    }
  }

  #receive(message: RawMessage, bytes: number, stamp: Stamp): void {
    switch (message.type) {
      case 'track':
        this.#track(frameId(message), bytes, stamp, message)
        return
      case 'ping':
        this.send({ type: 'pong' })
        return
      default:
        this.#features.receive(message)
    }
  }

  /**
   * Takes a frame of updates.
   * @param frame decoded, or not checked yet
   */
  #track(id: number, bytes: number, stamp: Stamp, frame: TrackFrame | RawMessage): void {
    if (!this.#mayTrack) throw new ApiError(403, 'Forbidden. Updates need the role write.')
    if (!this.#isNext(id)) return
    const { quotas } = this.#parts
    quotas.take(this.scope, stamp.receivedAt)
    const isTaken = this.#take('type' in frame ? this.#check(id, frame, stamp) : frame, bytes)
    // The client sends it again, and it is counted then.
    if (!isTaken) quotas.giveBack(this.scope)
  }

  #check(id: number, message: RawMessage, stamp: Stamp): TrackFrame {
    try {
      return readTrack(message, stamp)
    } catch (error) {
      // The frame has used its number, so it counts as handled.
      this.#tell(error, { id })
      return { id, wantsEvents: false, updates: [] }
    }
  }

  /** Whether this frame comes next. If not, the client has been told. */
  #isNext(id: number): boolean {
    if (id === this.#nextId) return true
    if (id < this.#nextId || !this.#busy) {
      throw badParam('id', `The numbers of frames increase by one: ${this.#nextId} comes next, not ${id}.`)
    }
    this.#refuseBusy(id, BUSY_RETRY_SECONDS)
    return false
  }

  /** Takes a frame. Returns whether it was accepted; if not, the client has been told to send it again. */
  #take(frame: TrackFrame, frameBytes: number): boolean {
    const { counters, intake } = this.#parts
    const { id, updates, refusals = [] } = frame
    const bytes = frameBytes + FRAME_OVERHEAD_BYTES
    const inFlight = this.#inFlight
    if (inFlight.count > 0 && inFlight.bytes + bytes > MAX_IN_FLIGHT_BYTES) {
      this.#busy = true
      this.#refuseBusy(id, BUSY_RETRY_SECONDS)
      return false
    }
    const receipt = new FrameReceipt(this, frame, bytes)
    if (updates.length > 0) {
      try {
        intake.submit(updates, frameBytes, receipt)
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 503) throw error
        this.#busy = true
        this.#refuseBusy(id, error.retryAfter ?? BUSY_RETRY_SECONDS)
        return false
      }
    }
    // The error messages were too much for a slow reader, and the stream has ended.
    if (this.#ended) return true
    this.#nextId = id + 1
    this.#busy = false
    inFlight.add(receipt)
    counters.frames++
    counters.inFlight++
    counters.updates += updates.length
    for (const { index, error } of refusals) this.updateRefused(id, index, error)
    if (receipt.isDone) this.frameDone()
    return true
  }

  #refuseBusy(id: number, retryAfter: number): void {
    this.#parts.counters.busy++
    this.send({ type: 'busy', id, retryAfter })
  }

  updateRefused(id: number, index: number, error: ApiError): void {
    this.#parts.counters.refused++
    this.send({ type: 'error', id, index, ...detailOf(error) })
  }

  /**
   * Ends the stream. As after any disconnect, the client must send everything again, in order, from the first frame
   * without an acknowledgement.
   */
  updateUnanswered(): void {
    this.close(CLOSE.tryAgainLater, 'It is not known whether updates were applied. Send them again.')
  }

  frameDone(): void {
    if (this.#flushes || this.#ended) return
    this.#flushes = true
    this.#parts.flushSoon(this)
  }

  /** Acknowledges the finished frames up to the first unfinished one. */
  flush(): void {
    this.#flushes = false
    // Writing may itself change the counter.
    const acknowledged = this.#inFlight.flush(this.#acknowledgements)
    this.#parts.counters.inFlight -= acknowledged
  }

  /** Sends the client an error. Internal errors are reported without details. */
  #tell(error: unknown, subject: Subject): void {
    if (!(error instanceof ApiError)) {
      this.#parts.log.error({ err: error, ...subject }, 'stream message failed')
      error = new ApiError(500, 'Internal server error.')
    }
    this.#parts.counters.refused++
    this.send({ type: 'error', ...subject, ...detailOf(error as ApiError) })
    if ((error as ApiError).code === 402) this.close(CLOSE.paymentRequired, (error as ApiError).message)
  }

  /** What an error refers to, as far as the message tells. */
  #subject(message: RawMessage | undefined): Subject {
    if (message === undefined) return {}
    if (message.type === 'track') return Number.isSafeInteger(message.id) ? { id: message.id as number } : {}
    return this.#features.subject(message)
  }

  send(message: ServerMessage): void {
    this.#writer.send(message)
  }

  sendEncoded(messages: readonly Encoded[]): void {
    this.#writer.sendEncoded(messages)
  }

  close(code: number, reason: string): void {
    if (this.#ended) return
    this.#end(code)
    this.#writer.end(code, reason)
  }

  drained(): void {
    if (!this.#writer.drained()) return
    // It is deferred, because a message of more than 16 KB that is sent from within uWebSockets.js's drain call, and
    // does not fit again, is never drained (us_socket_write2 of uSockets does not note that it failed, so polling is
    // stopped).
    setImmediate(() => this.#features.drained())
  }

  closed(code: number): void {
    this.#end(code)
    this.#writer.closed()
    this.#parts.closed(this)
  }

  /** Stops reading and sending. */
  #end(code: number): void {
    if (this.#ended) return
    this.#ended = this.#stopped = true
    this.#writer.stop()
    // Frames in flight still complete, but there is nobody to tell.
    this.#parts.counters.inFlight -= this.#inFlight.clear()
    this.#events.release(this.#events.used)
    this.#features.closed()
    this.#parts.admission.leave(this)
    this.#parts.ended(code)
  }
}

function detailOf({ code, param, message, retryAfter }: ApiError): Omit<ErrorMessage, 'type'> {
  return { code, param, message, retryAfter }
}
