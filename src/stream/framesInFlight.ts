import type { Acknowledgements } from './acknowledgements.ts'
import type { FrameReceipt } from './receipt.ts'

/** The frames of one stream that are not acknowledged yet, in the order in which they came. */
export class FramesInFlight {
  /** Those before `#first` are acknowledged. */
  #frames: FrameReceipt[] = []
  #first = 0
  #bytes = 0

  get count(): number {
    return this.#frames.length - this.#first
  }

  /** What they count towards the limit of the stream. */
  get bytes(): number {
    return this.#bytes
  }

  add(frame: FrameReceipt): void {
    this.#frames.push(frame)
    this.#bytes += frame.bytes
  }

  /**
   * Acknowledges the finished frames up to the first unfinished one. One acknowledgement stands for all frames before it, so only
   * the last of them and those whose client wants events get their own.
   * @returns how many frames are acknowledged
   */
  flush(acknowledgements: Acknowledgements): number {
    const frames = this.#frames
    const first = this.#first
    let at = first
    while (at < frames.length && frames[at]!.isDone) this.#bytes -= frames[at++]!.bytes
    if (at === first) return 0
    this.#first = at
    if (at * 2 > frames.length) {
      this.#frames = frames.slice(at)
      this.#first = 0
    }
    for (let i = first; i < at; i++) {
      const frame = frames[i]!
      if (frame.wantsEvents || i === at - 1) acknowledgements.write(frame)
    }
    return at - first
  }

  /** Forgets all of them. Returns how many there were. */
  clear(): number {
    const { count } = this
    this.#frames = []
    this.#first = this.#bytes = 0
    return count
  }
}
