import type { Outcome, Submitter } from '../actor/port.ts'
import type { Update } from '../model/update.ts'
import type { ApiError } from '../runtime/errors.ts'
import type { TrackFrame } from '../wire/trackFrame.ts'
import type { Share } from '../runtime/keyedBound.ts'
import { FrameEvents } from './frameEvents.ts'
import type { AckMessage } from './messages.ts'

/** Waits for the end of frames. */
export interface FrameOwner {
  readonly rateLimited: boolean
  /** The memory for the events of its frames; undefined once nobody receives them. */
  readonly events: Share | undefined
  /**
   * Called when all updates of a frame are durable or refused. Frames may end in a different order than they came in.
   */
  frameDone(): void
  updateRefused(id: number, index: number, error: ApiError): void
  /** Called when it could not be determined in time whether an update was applied, so that its frame never ends. */
  updateUnanswered(): void
}

/** A frame in flight: the only object that is kept for all of its updates. */
export class FrameReceipt implements Submitter {
  readonly id: number
  /** The bytes that count towards the connection's limit. */
  readonly bytes: number
  readonly rateLimited: boolean
  readonly wantsUser = false
  isBehind = false
  readonly #owner: FrameOwner
  readonly #updates: readonly Update[]
  readonly #indexes: readonly number[] | undefined
  #left: number
  /** The events; undefined if the client does not want events. */
  readonly #events: FrameEvents | undefined

  constructor(owner: FrameOwner, frame: TrackFrame, bytes: number) {
    this.id = frame.id
    this.bytes = bytes
    this.rateLimited = owner.rateLimited
    this.#owner = owner
    this.#updates = frame.updates
    this.#indexes = frame.indexes
    this.#left = frame.updates.length
    if (frame.wantsEvents && owner.events !== undefined) this.#events = new FrameEvents(owner.events)
  }

  /** Whether all updates are durable or refused. */
  get isDone(): boolean {
    return this.#left === 0
  }

  get wantsEvents(): boolean {
    return this.#events !== undefined
  }

  /** How many characters of events its acknowledgement has. */
  get eventCharacters(): number {
    return this.#events?.characters ?? 0
  }

  applied({ events }: Outcome, update: Update): void {
    if (this.#events !== undefined && events.length > 0 && this.#owner.events !== undefined)
      this.#events.add(this.#updates.indexOf(update), events)
    if (--this.#left === 0) this.#owner.frameDone()
  }

  refused(error: ApiError, update: Update): void {
    if (error.code === 503) {
      this.#owner.updateUnanswered()
      return
    }
    const at = this.#updates.indexOf(update)
    this.#owner.updateRefused(this.id, this.#indexes?.[at] ?? at, error)
    if (--this.#left === 0) this.#owner.frameDone()
  }

  /**
   * The acknowledgement of a frame whose client wants events: the events of its updates in order, as far as they fit.
   */
  toAck(): AckMessage {
    const events = this.#events?.take() ?? []
    const omitted = this.#events?.omitted ?? 0
    return { type: 'ack', id: this.id, events, omittedEvents: omitted === 0 ? undefined : omitted }
  }
}
