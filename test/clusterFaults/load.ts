import { setTimeout as sleep } from 'node:timers/promises'
import { Ringfence, type StreamEncoding } from '../../sdk/src/index.ts'
import { KEYS } from '../kit/server.ts'
import { sdkEncoding } from '../kit/stream.ts'
import type { EventRecord, Move, Mover } from './movers.ts'

/** Gateways answer after 10 s at the latest (G7); the rest is for a machine that others use, too. */
const LONGEST_ANSWER_MS = 20_000
const PAUSE_MS = 150
const RETRY_MS = 100
const STREAM_PAUSE_MS = 50
const AT_ONCE = 3
/** Longer than anything that is survived may take. */
const RECOVERED_WITHIN_MS = 90_000
const LOOK_AGAIN_MS = 10

/** How long it took, ms. */
interface Recovery {
  readonly httpMs: number
  readonly streamMs: number
}

/**
 * Movers that send, each after the answer to the update before: some by HTTP, where what is refused goes to the next gateway at
 * once, some over streams of the client, one stream per gateway, which has many updates on their way.
 */
export class Load {
  readonly counts = {
    /** Acknowledged. */
    updates: 0,
    /** Answered 503. */
    refused: 0,
    /** The connection was refused, or broke. */
    unanswered: 0,
    /** Updates by HTTP that all gateways in turn failed. */
    failedEverywhere: 0,
  }
  /** Of one request by HTTP, until it was answered; ms. Whoever reads it may begin anew. */
  longestAnswerMs = 0
  /** Ids of events that answers carried. */
  readonly answered = new Set<string>()
  readonly #gateways: readonly string[]
  readonly #byHttp: readonly Mover[]
  readonly #byStream: readonly Mover[]
  readonly #fault: (sentence: string) => void
  readonly #stopped = new AbortController()
  readonly #abandoned = new AbortController()
  /** By deviceId: when the newest acknowledged update was sent. */
  readonly #sentAt = new Map<string, number>()
  readonly #surges: (() => Promise<void>)[] = []
  #running: Promise<unknown> = Promise.resolve()

  /** @param gateways their URLs */
  constructor(
    gateways: readonly string[],
    { byHttp, byStream }: { readonly byHttp: readonly Mover[]; readonly byStream: readonly Mover[] },
    fault: (sentence: string) => void,
  ) {
    this.#gateways = gateways
    this.#byHttp = byHttp
    this.#byStream = byStream
    this.#fault = fault
  }

  get movers(): readonly Mover[] {
    return [...this.#byHttp, ...this.#byStream]
  }

  start(): void {
    const count = this.#gateways.length
    this.#running = Promise.all([
      ...this.#byHttp.map((mover, i) => this.#drive(mover, i % count)),
      ...this.#gateways.map((url, g) =>
        this.#stream(
          url,
          sdkEncoding(g % 2 === 0 ? 'json' : 'msgpack'),
          this.#byStream.filter((_, i) => i % count === g),
        ),
      ),
    ])
  }

  /** Ends it once all that is under way is acknowledged. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  /** Ends it as it is, where nobody will answer any more. */
  abandon(): void {
    this.#stopped.abort()
    this.#abandoned.abort()
    this.#running.catch(() => {})
  }

  /**
   * Resolves once each mover was acknowledged something that it had sent after a moment, to the ms from then on of those by HTTP
   * and of those over streams.
   * @param since of `performance.now()`; looked at again and again
   * @throws Error where that takes for ever
   */
  async recovered(since: () => number): Promise<Recovery> {
    const [httpMs, streamMs] = await Promise.all([
      this.#recovered(this.#byHttp, since),
      this.#recovered(this.#byStream, since),
    ])
    return { httpMs, streamMs }
  }

  /** All that send by stream send some at once. */
  surge(): void {
    for (const surge of this.#surges) void surge()
  }

  async #recovered(movers: readonly Mover[], since: () => number): Promise<number> {
    const behind = () => movers.filter(({ deviceId }) => (this.#sentAt.get(deviceId) ?? -Infinity) < since())
    while (behind().length > 0) {
      if (performance.now() - since() > RECOVERED_WITHIN_MS) {
        const names = behind().map(({ deviceId }) => deviceId)
        throw new Error(`G1 ${names.length} devices are acknowledged nothing any more, as ${names[0]}`)
      }
      await sleep(LOOK_AGAIN_MS)
    }
    return performance.now() - since()
  }

  /** Each update goes to the mover's own gateway first, as of a balancer that remembers nothing. */
  async #drive(mover: Mover, home: number): Promise<void> {
    const count = this.#gateways.length
    for (; !this.#stopped.signal.aborted; await sleep(PAUSE_MS)) {
      const move = mover.next()
      for (let failures = 0; !this.#abandoned.signal.aborted;) {
        if (await this.#isTaken(mover, move, this.#gateways[(home + failures) % count]!)) break
        failures++
        if (failures === count) this.counts.failedEverywhere++
        if (failures >= count) await sleep(RETRY_MS)
      }
    }
  }

  async #isTaken(mover: Mover, move: Move, url: string): Promise<boolean> {
    const sentAt = performance.now()
    let status: number
    let retryAfter: string | null
    let body: { readonly events: readonly EventRecord[] }
    try {
      const answer = await fetch(`${url}/v1/track`, {
        method: 'POST',
        headers: { Authorization: KEYS.testPublishable, 'Content-Type': 'application/json' },
        body: JSON.stringify(move.body),
        signal: AbortSignal.timeout(LONGEST_ANSWER_MS),
      })
      status = answer.status
      retryAfter = answer.headers.get('Retry-After')
      body = (await answer.json()) as typeof body
    } catch (error) {
      if ((error as Error).name === 'TimeoutError')
        this.#fault(`G7 ${mover.deviceId} was not answered for ${LONGEST_ANSWER_MS / 1000} s`)
      this.counts.unanswered++
      return false
    } finally {
      this.longestAnswerMs = Math.max(this.longestAnswerMs, performance.now() - sentAt)
    }
    if (status !== 200) {
      if (status === 503 && retryAfter !== null) this.counts.refused++
      else this.#fault(`G7 ${mover.deviceId} was answered ${status} ${JSON.stringify(body)}`)
      return false
    }
    this.#acknowledged(mover, sentAt)
    mover.applied()
    this.#compare(mover, move, body.events)
    return true
  }

  #acknowledged({ deviceId }: Mover, sentAt: number): void {
    this.counts.updates++
    this.#sentAt.set(deviceId, sentAt)
  }

  /** The answer of something that was applied before has no events (ADR 30). */
  #compare({ deviceId, textOf }: Mover, { events }: Move, answered: readonly EventRecord[]): void {
    for (const { _id } of answered) {
      if (this.answered.has(_id)) this.#fault(`G2 event ${_id} was answered twice`)
      this.answered.add(_id)
    }
    const texts = answered.map(textOf)
    if (texts.length > 0 && texts.join('\n') !== events.join('\n'))
      this.#fault(`G3 ${deviceId} was answered ${texts.join()}, expected ${events.join()}`)
  }

  /**
   * Each sends some updates at once and the next ones soon after they are acknowledged, so that some are always on their way. What
   * goes out over a stream counts as applied at once: the client sends it until it is.
   */
  async #stream(url: string, encoding: StreamEncoding, movers: readonly Mover[]): Promise<void> {
    const { signal } = this.#abandoned
    const stream = new Ringfence({ url, key: KEYS.testPublishable }).stream({ encoding, signal })
    const send = async (mover: Mover) => {
      // The client has a stream of its own.
      const { stream: _stream, sequence: _sequence, ...update } = mover.next().body
      mover.applied()
      const sentAt = performance.now()
      await stream.track(update).then(
        () => this.#acknowledged(mover, sentAt),
        (error: Error) => this.#fault(`a stream refused an update of ${mover.deviceId}: ${error.message}`),
      )
    }
    const sendSome = (mover: Mover) => Promise.all(Array.from({ length: AT_ONCE }, () => send(mover)))
    const drive = async (mover: Mover) => {
      for (; !this.#stopped.signal.aborted; await sleep(STREAM_PAUSE_MS)) await sendSome(mover)
    }
    const surge = async () => void (await Promise.all(movers.map(sendSome)))
    this.#surges.push(surge)
    await Promise.all(movers.map(drive))
    await stream.close()
  }
}
