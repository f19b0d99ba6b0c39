import type { Encoded } from '../events/fanoutGroup.ts'
import type { ErrorLog } from '../runtime/logger.ts'
import { inSlices, ownTurn } from '../runtime/slices.ts'
import { CLOSE } from './closeCodes.ts'
import type { ServerMessage } from './messages.ts'
import type { Codec, StreamCounters } from './port.ts'
import type { FrameReceipt } from './receipt.ts'

/** An acknowledgement with more characters of events is written in turns. */
const LONG_ACK_CHARACTERS = 64 * 1024

/** The stream whose frames are acknowledged. */
export interface Acknowledger {
  readonly codec: Codec
  readonly hasEnded: boolean
  send(message: ServerMessage): void
  sendEncoded(messages: readonly Encoded[]): void
  close(code: number, reason: string): void
}

/** Writes the acknowledgements of one stream, in the order in which they are asked for. */
export class Acknowledgements {
  readonly #stream: Acknowledger
  readonly #counters: StreamCounters
  readonly #log: ErrorLog
  /** Frames whose acknowledgements are written in turns, or wait behind such a one. */
  #waiting: FrameReceipt[] = []
  #isWriting = false

  constructor(stream: Acknowledger, counters: StreamCounters, log: ErrorLog) {
    this.#stream = stream
    this.#counters = counters
    this.#log = log
  }

  /** Acknowledges a frame that is done. */
  write(frame: FrameReceipt): void {
    if (this.#isWriting) this.#waiting.push(frame)
    else if (frame.eventCharacters <= LONG_ACK_CHARACTERS) this.#stream.send(ackOf(frame))
    else {
      this.#waiting.push(frame)
      void this.#writeInTurns()
    }
  }

  /** Writes megabytes of events in turns with everything else (G7). Never rejects. */
  async #writeInTurns(): Promise<void> {
    const stream = this.#stream
    this.#isWriting = true
    // A shutdown waits for them, too.
    this.#counters.inFlight++
    try {
      for (let frame; (frame = this.#waiting.shift()) !== undefined;) {
        if (frame.eventCharacters <= LONG_ACK_CHARACTERS) {
          stream.send(ackOf(frame))
          continue
        }
        await ownTurn()
        if (stream.hasEnded) break
        const message = await inSlices(stream.codec.ackSteps(frame.toAck()))
        stream.sendEncoded([message])
      }
    } catch (error) {
      this.#log.error({ err: error }, 'acknowledgement failed')
      stream.close(CLOSE.tryAgainLater, 'An acknowledgement could not be written. Send the frames again.')
    }
    this.#waiting = []
    this.#isWriting = false
    this.#counters.inFlight--
  }
}

function ackOf(frame: FrameReceipt): ServerMessage {
  return frame.wantsEvents ? frame.toAck() : { type: 'ack', id: frame.id }
}
