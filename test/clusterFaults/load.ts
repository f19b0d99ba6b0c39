import { setTimeout as sleep } from 'node:timers/promises'
import { Ringfence, type StreamEncoding } from '../../sdk/src/index.ts'
import { KEYS } from '../kit/server.ts'
import { sdkEncoding } from '../kit/stream.ts'
import { isOnTrip } from './couriers.ts'
import type { EventRecord, Move, Mover } from './movers.ts'

/** Gateways answer after 10 s at the latest (G7). The rest is for a machine that is also used by others. */
const LONGEST_ANSWER_MS = 20_000
const PAUSE_MS = 150
const RETRY_MS = 100
const STREAM_PAUSE_MS = 50
const AT_ONCE = 3
/** Longer than any recovery may take. */
const RECOVERED_WITHIN_MS = 90_000
const LOOK_AGAIN_MS = 10

/**
 * What became of an update: it is acknowledged; it is stored, but its trip did not answer in time (T2), so the same
 * gateway is asked again; or the gateway did not take it, and another one is asked.
 */
type Taken = 'taken' | 'stored' | { readonly refusal: string }

interface TrackAnswer {
  readonly meta: { readonly message?: string }
  readonly events: readonly EventRecord[]
  readonly user: { readonly trip?: object }
}

/** How long it took, ms. */
interface Recovery {
  readonly httpMs: number
  readonly streamMs: number
}

/**
 * Sends the updates of the movers, each after the answer to the previous one. Some use HTTP and send a refused update
 * to the next gateway at once. The others use streams of the client, one stream per gateway, with many updates in
 * flight.
 */
export class Load {
  readonly counts = {
    /** Acknowledged. */
    updates: 0,
    /** Answered 503. */
    refused: 0,
    /** Those of the refused whose update is stored, because only its trip did not answer (T2). */
    stored: 0,
    /** Updates that got such an answer more than once in a row. */
    storedAgain: 0,
    /** The connection was refused or broke. */
    unanswered: 0,
  }
  /** The updates by HTTP that failed at every gateway in turn: the device, and what the last gateway answered. */
  readonly failedEverywhere: string[] = []
  /** Longest time until a request by HTTP was answered, in ms. A reader may reset it. */
  longestAnswerMs = 0
  /** When the newest acknowledged update was sent for the first time, by `performance.now()`. */
  newestFirstSent = -Infinity
  /** Ids of events in answers. */
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

  /** Stops once everything in flight is acknowledged. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  /** Stops immediately, for when no answer can come any more. */
  abandon(): void {
    this.#stopped.abort()
    this.#abandoned.abort()
    this.#running.catch(() => {})
  }

  /**
   * Resolves once each mover has an acknowledgement for something that it sent after a given moment. Returns the
   * milliseconds from that moment, for movers by HTTP and for those over streams.
   * @param since the moment, by `performance.now()`; read again and again
   * @throws Error if it takes too long
   */
  async recovered(since: () => number): Promise<Recovery> {
    const [httpMs, streamMs] = await Promise.all([
      this.#recovered(this.#byHttp, since),
      this.#recovered(this.#byStream, since),
    ])
    return { httpMs, streamMs }
  }

  /** Every mover that uses a stream sends some updates at once. */
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

  /** Each update goes to the mover's own gateway first, like with a balancer that keeps no state. */
  async #drive(mover: Mover, home: number): Promise<void> {
    const count = this.#gateways.length
    for (; !this.#stopped.signal.aborted; await sleep(PAUSE_MS)) {
      const move = mover.next()
      const firstSent = performance.now()
      let stored = 0
      for (let failures = 0; !this.#abandoned.signal.aborted;) {
        const url = this.#gateways[(home + failures) % count]!
        const answer = await this.#send(mover, move, url, firstSent)
        if (answer === 'taken') break
        if (answer === 'stored') {
          this.counts.stored++
          if (++stored === 2) this.counts.storedAgain++
          continue
        }
        failures++
        if (failures === count) this.failedEverywhere.push(`${mover.deviceId}: ${answer.refusal}`)
        if (failures >= count) await sleep(RETRY_MS)
      }
    }
  }

  /** Sends an update to a gateway, which may have taken it before. */
  async #send(mover: Mover, move: Move, url: string, firstSent: number): Promise<Taken> {
    const sentAt = performance.now()
    let status: number
    let retryAfter: string | null
    let body: TrackAnswer
    try {
      const answer = await fetch(`${url}/v1/track`, {
        method: 'POST',
        headers: { Authorization: KEYS.testPublishable, 'Content-Type': 'application/json' },
        body: JSON.stringify(move.body),
        signal: AbortSignal.timeout(LONGEST_ANSWER_MS),
      })
      status = answer.status
      retryAfter = answer.headers.get('Retry-After')
      body = (await answer.json()) as TrackAnswer
    } catch (error) {
      if ((error as Error).name === 'TimeoutError')
        this.#fault(`G7 ${mover.deviceId} was not answered for ${LONGEST_ANSWER_MS / 1000} s`)
      this.counts.unanswered++
      return { refusal: (error as Error).message }
    } finally {
      this.longestAnswerMs = Math.max(this.longestAnswerMs, performance.now() - sentAt)
    }
    if (status !== 200) {
      if (status === 503 && retryAfter !== null) this.counts.refused++
      else this.#fault(`G7 ${mover.deviceId} was answered ${status} ${JSON.stringify(body)}`)
      return isStored(status, body) ? 'stored' : { refusal: JSON.stringify(body.meta) }
    }
    this.#acknowledged(mover, sentAt, firstSent)
    mover.applied()
    this.#compare(mover, move, body.events)
    if (isOnTrip(mover) && body.user.trip === undefined)
      this.#fault(`T2 ${mover.deviceId} was answered without user.trip, for which an app would end its trip`)
    return 'taken'
  }

  #acknowledged({ deviceId }: Mover, sentAt: number, firstSent = sentAt): void {
    this.counts.updates++
    this.newestFirstSent = Math.max(this.newestFirstSent, firstSent)
    this.#sentAt.set(deviceId, sentAt)
  }

  /** The answer to an update that was already applied contains no events (ADR 30). */
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
   * Each mover sends some updates at once, and the next ones soon after these are acknowledged, so that some are
   * always in flight. An update that is given to a stream counts as applied at once, because the client repeats it
   * until it is.
   */
  async #stream(url: string, encoding: StreamEncoding, movers: readonly Mover[]): Promise<void> {
    const { signal } = this.#abandoned
    const stream = new Ringfence({ url, key: KEYS.testPublishable }).stream({ encoding, signal })
    const send = async (mover: Mover) => {
      // The client adds its own stream.
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

/** Whether an update is stored although the answer is 503: its trip did not answer within 2 s, and was never seen (T2). */
function isStored(status: number, { meta }: TrackAnswer): boolean {
  return status === 503 && meta.message?.startsWith('The update is stored') === true
}
