import type { ScopeId } from '../../model/scope.ts'
import type { Calls, Served } from '../nats/calls.ts'
import { sendInPieces } from '../protocol/answerPieces.ts'
import {
  decodeJson,
  encodeJson,
  INTEREST_MS,
  LOOK_FORMAT,
  sentPosition,
  type Interest,
  type LookQuestion,
} from '../protocol/positionProtocol.ts'
import type { RemovedRecord } from '../../actor/command.ts'
import type { LivePosition, PositionObserver, Positions } from '../../actor/port.ts'
import { lookSubject, positionsSubject } from '../nats/subjects.ts'

/**
 * Tells gateways the positions of devices in this process's partitions: those in an area when they ask, and movements
 * while they want them.
 *
 * The obvious way sends each position as it comes. Here, the newest position of each device is gathered for
 * {@link NEWS_MS}, so the number of devices bounds what is sent. Nothing is kept for a gateway that misses it,
 * because the next position replaces it.
 */
export interface PositionServerParts {
  readonly calls: Calls
  /** The partitions that are owned now. */
  readonly partitions: () => readonly { readonly number: number; readonly positions: Positions }[]
  /** Whether the other hosts know this one; see `Ownership.isLive`. */
  readonly isLive: () => boolean
  readonly troubled: (error: Error) => void
}

const NEWS_MS = 50

interface Reader {
  readonly answer: (news: Uint8Array) => void
  readonly records: boolean
  /** A time of `performance.now()`. */
  readonly until: number
}

export class PositionServer implements PositionObserver {
  readonly #parts: PositionServerParts
  /** The readers by the name of their gateway. */
  readonly #readers = new Map<string, Reader>()
  #moved = new Map<string, LivePosition>()
  #removed: RemovedRecord[] = []
  #beat: NodeJS.Timeout | undefined
  #served: Served[] = []

  constructor(parts: PositionServerParts) {
    this.#parts = parts
  }

  start(): void {
    const { calls, troubled } = this.#parts
    const looks = calls.serve(lookSubject, (question, answer) => {
      this.#look(decodeJson(question), answer).catch(troubled)
    })
    const readers = calls.serve(positionsSubject, (question, answer) => {
      const { gateway, records } = decodeJson<Interest>(question)
      this.#readers.set(gateway, { answer, records, until: performance.now() + INTEREST_MS })
      this.#beat ??= setInterval(() => this.#tell(), NEWS_MS)
      this.#observe(this)
    })
    this.#served = [looks, readers]
  }

  async stop(): Promise<void> {
    this.#readers.clear()
    this.#tell()
    await Promise.all(this.#served.map((served) => served.stop()))
  }

  /**
   * Must be called when a partition is added, before it takes updates, because gateways that want movements want them
   * from it, too.
   */
  came(): void {
    if (this.#beat !== undefined) this.#observe(this)
  }

  get wantsRecords(): boolean {
    for (const { records } of this.#readers.values()) if (records) return true
    return false
  }

  moved(position: LivePosition): void {
    const { scope, deviceId } = position
    this.#moved.set(`${scope} ${deviceId}`, sentPosition(position, this.wantsRecords))
  }

  removed(scope: ScopeId, deviceId: string, recordId: string): void {
    const key = `${scope} ${deviceId}`
    if (this.#moved.get(key)?.recordId === recordId) this.#moved.delete(key)
    this.#removed.push({ scope, deviceId, recordId })
  }

  #tell(): void {
    const now = performance.now()
    for (const [gateway, { until }] of this.#readers) if (now > until) this.#readers.delete(gateway)
    if (this.#readers.size === 0) {
      clearInterval(this.#beat)
      this.#beat = undefined
      this.#observe(undefined)
    } else if (this.#moved.size + this.#removed.length > 0) {
      const news = encodeJson({ moved: [...this.#moved.values()], removed: this.#removed })
      for (const { answer } of this.#readers.values()) answer(news)
    }
    this.#moved = new Map()
    this.#removed = []
  }

  #observe(observer: PositionObserver | undefined): void {
    for (const { positions } of this.#parts.partitions()) positions.observer = observer
  }

  async #look(
    { scope, area, partitions, records, inPieces }: LookQuestion,
    answer: (answer: Uint8Array) => void,
  ): Promise<void> {
    const { isLive } = this.#parts
    const asked = this.#parts.partitions().filter(({ number }) => partitions.includes(number))
    if (asked.length === 0 || !isLive()) return
    const found: LivePosition[] = []
    const viewer = {
      isEnded: false,
      wantsRecords: records,
      found: (position: LivePosition) => {
        found.push(sentPosition(position, records))
      },
      pause() {},
    }
    for (const { positions } of asked) await positions.look(scope, area, viewer)
    const numbers = asked.map(({ number }) => number)
    if (inPieces !== true) return answer(encodeJson({ partitions: numbers, found }))
    await sendInPieces({ partitions: numbers, head: null, items: found }, LOOK_FORMAT, answer)
  }
}
