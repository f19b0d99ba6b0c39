import { signal } from '@preact/signals'
import { Ringfence } from '../../../sdk/src/client.ts'
import { RingfenceError } from '../../../sdk/src/errors.ts'
import type { EventFilter, Position } from '../../../sdk/src/stream/messages.ts'
import type { RingfenceStream } from '../../../sdk/src/stream/stream.ts'
import type { Event } from '../../../sdk/src/types.ts'
import { environment } from '../api/environment.ts'
import { containsBox, widened, type Box } from '../map/geometry.ts'
import type { Fleet } from './fleet.ts'

/** The watched box is larger than the screen by this share on each side. */
const MARGIN = 0.3
/** How many events are kept; older ones can be found on the page of events. */
const KEPT_EVENTS = 500
/** The old watch ends after this time, because by then the new one has delivered its first positions. */
const OVERLAP_MS = 1200

/** The state of the connection. */
export type LiveState =
  | { readonly status: 'connecting' | 'open' }
  | { readonly status: 'lost'; readonly since: Date; readonly reason: string }
  | { readonly status: 'failed'; readonly reason: string }

export interface WatchFilterValues {
  readonly userIds?: readonly string[]
  readonly tags?: readonly string[]
}

/**
 * Positions in the viewport and events, over one connection that heals by itself. Events that were missed are delivered
 * after it has come back.
 */
export class LiveConnection {
  readonly state = signal<LiveState>({ status: 'connecting' })
  /** The events, beginning with the newest. */
  readonly events = signal<readonly Event[]>([])
  /** Why no positions arrive, in the words of the server. */
  readonly trouble = signal<string | undefined>(undefined)
  readonly #fleet: Fleet
  readonly #onPositions: () => void
  readonly #stream: RingfenceStream
  #box: Box | undefined
  #filter: WatchFilterValues = {}
  #watch: AbortController | undefined
  #eventWatch: AbortController | undefined
  #waiting: Event[] = []
  #timer = 0

  constructor(fleet: Fleet, onPositions: () => void) {
    this.#fleet = fleet
    this.#onPositions = onPositions
    const client = new Ringfence({ url: location.origin, session: environment.value })
    this.#stream = client.stream({
      onStateChange: (state) => {
        const before = this.state.peek()
        if (state.status === 'open') this.state.value = { status: 'open' }
        else if (state.status === 'waiting') {
          const since = before.status === 'lost' ? before.since : new Date()
          this.state.value = { status: 'lost', since, reason: state.error.message }
        } else if (state.error !== undefined)
          this.state.value = { status: 'failed', reason: (state.error as Error).message }
        this.#onPositions()
      },
    })
  }

  /** Watches what the screen shows. */
  show(box: Box, filter: WatchFilterValues): void {
    const isSame = JSON.stringify(filter) === JSON.stringify(this.#filter)
    if (isSame && this.#box !== undefined && containsBox(this.#box, box)) return
    this.#box = widened(box, MARGIN)
    this.#filter = filter
    const old = this.#watch
    const watch = (this.#watch = new AbortController())
    if (!isSame) {
      // Devices that no longer match must not be shown, not even for a moment.
      this.#fleet.clear()
      old?.abort()
    }
    void this.#follow(this.#box, filter, watch.signal)
    setTimeout(() => {
      old?.abort()
      if (this.#watch === watch && this.#box !== undefined) this.#fleet.keepOnly(this.#box)
      this.#onPositions()
    }, OVERLAP_MS)
  }

  /** Ends the watch, because there are too many devices to show each. */
  hide(): void {
    this.#watch?.abort()
    this.#watch = undefined
    this.#box = undefined
    this.#fleet.clear()
    this.#onPositions()
  }

  /** Follows events from now on. */
  follow(filter: EventFilter): void {
    this.#eventWatch?.abort()
    // Events that only the earlier filter let through must not be shown.
    this.#waiting = []
    this.events.value = []
    const { signal: stop } = (this.#eventWatch = new AbortController())
    void (async () => {
      try {
        for await (const event of this.#stream.events(filter, { batch: true, signal: stop })) this.#add(event)
      } catch (error) {
        if (!stop.aborted && error instanceof RingfenceError) this.trouble.value = error.message
      }
    })()
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#watch?.abort()
    this.#eventWatch?.abort()
    await this.#stream.close().catch(() => {})
  }

  async #follow(box: Box, { userIds, tags }: WatchFilterValues, stop: AbortSignal): Promise<void> {
    const filter = { ...(userIds?.length && { userIds }), ...(tags?.length && { tags }) }
    try {
      const batches = this.#stream.watchBatches(
        { type: 'box', box },
        { signal: stop, ...(Object.keys(filter).length > 0 && { filter }) },
      )
      for await (const batch of batches as AsyncIterable<readonly Position[]>) {
        if (stop.aborted) return
        this.trouble.value = undefined
        this.#fleet.apply(batch, performance.now())
        this.#onPositions()
      }
    } catch (error) {
      if (!stop.aborted && error instanceof RingfenceError) this.trouble.value = error.message
    }
  }

  /** Pages are told four times a second, however many events there are. */
  #add(event: Event): void {
    this.#waiting.push(event)
    if (this.#waiting.length > KEPT_EVENTS) this.#waiting.shift()
    this.#timer ||= window.setTimeout(() => {
      this.#timer = 0
      this.events.value = [...this.#waiting.toReversed(), ...this.events.peek()].slice(0, KEPT_EVENTS)
      this.#waiting = []
    }, 250)
  }
}
