import type { Agent } from 'undici'
import type { Logger } from '../../runtime/logger.ts'
import { ByteBound } from '../../runtime/byteBound.ts'
import { httpClient } from '../../runtime/httpClient.ts'
import {
  RoutingGone,
  RoutingOverloaded,
  RoutingTimedOut,
  type RoutingAction,
  type RoutingUnavailable,
} from './port.ts'
import { engineRefusal } from './refusals.ts'
import type { Valhalla } from './valhalla.ts'

const MIB = 1024 * 1024
/** The most bytes of all running requests together. */
const MAX_REQUEST_BYTES = 32 * MIB
/** The largest answer. A match of 16,000 points with all attributes has 20 MB. */
const MAX_ANSWER_BYTES = 64 * MIB
/** The number of connections. The server decides how many requests it computes at a time; the others wait there. */
const CONNECTIONS = 64
const KEEP_ALIVE_MS = 10_000
/** After how many seconds a client should try again if the server does not say. */
const RETRY_SECONDS = 1
const MAX_RETRY_SECONDS = 60

export interface RemoteValhallaOptions {
  /** `http://HOST:PORT`, with a path if the server is not at its root. */
  readonly url: string
  /** The time from the request to the answer's last byte, in milliseconds. */
  readonly timeoutMs: number
  /** How many requests may run at a time. */
  readonly maxWaiting: number
  readonly logger: Logger
}

/**
 * A Valhalla server at a URL, with the same JSON over HTTP. After a connection fails, the next request opens a new
 * one.
 */
export class RemoteValhalla implements Valhalla {
  readonly residentBytes = 0
  readonly #options: RemoteValhallaOptions
  readonly #base: string
  #agent: Promise<Agent> | undefined
  readonly #bytes = new ByteBound(MAX_REQUEST_BYTES)
  #waiting = 0
  /** The failure of the last request; undefined if it succeeded. */
  #trouble: string | undefined

  constructor(options: RemoteValhallaOptions) {
    this.#options = options
    this.#base = options.url.replace(/(?<!\/)\/+$/, '')
  }

  /** It is loaded with the first request; see Outgoing. */
  async #open(): Promise<Agent> {
    const { Agent } = await httpClient()
    return new Agent({
      connections: CONNECTIONS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: { timeout: this.#options.timeoutMs },
      maxResponseSize: MAX_ANSWER_BYTES,
      // The whole request has a limit. These limits would only hide which side was slow.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** Requests that have no answer yet. */
  get waiting(): number {
    return this.#waiting
  }

  get condition(): string {
    return this.#trouble ?? 'no trouble'
  }

  async call(action: RoutingAction, request: string): Promise<Buffer> {
    if (this.#waiting >= this.#options.maxWaiting || !this.#bytes.tryAcquire(request.length)) {
      throw new RoutingOverloaded('Too many routing requests are waiting.', RETRY_SECONDS)
    }
    this.#waiting++
    try {
      const answer = await this.#ask(action, request)
      this.#trouble = undefined
      if (answer.status === 200) return answer.body
      throw failureOf(answer)
    } finally {
      this.#waiting--
      this.#bytes.release(request.length)
    }
  }

  /** Closes all connections once their requests have been answered. */
  async stop(): Promise<void> {
    await (await this.#agent)?.close()
  }

  /**
   * Makes a request.
   * @throws {RoutingTimedOut} {@link RoutingGone}
   */
  async #ask(action: RoutingAction, request: string): Promise<RemoteAnswer> {
    const { timeoutMs } = this.#options
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      const { origin, pathname } = new URL(`${this.#base}/${action}`)
      const { statusCode, headers, body } = await (
        await (this.#agent ??= this.#open())
      ).request({
        origin,
        path: pathname,
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: request,
        signal,
      })
      const retryAfter = Number(headers['retry-after'])
      return { status: statusCode, retryAfter, body: Buffer.from(await body.arrayBuffer()) }
    } catch (cause) {
      const seconds = timeoutMs / 1000
      const failure = signal.aborted
        ? new RoutingTimedOut(`The routing server did not respond within ${seconds} s.`, RETRY_SECONDS)
        : new RoutingGone('The routing server cannot be reached.', RETRY_SECONDS, cause)
      // Clients only get the sentence. The network's reason is for the operator, and is logged once for successive
      // failures.
      if (this.#trouble !== failure.message) this.#options.logger.warn({ err: cause }, failure.message)
      this.#trouble = failure.message
      throw failure
    }
  }
}

interface RemoteAnswer {
  readonly status: number
  /** In seconds. NaN if the server names none, or names a date. */
  readonly retryAfter: number
  readonly body: Buffer
}

/**
 * The error for an answer other than 200: Valhalla's own, in its form or OSRM's, or that of a proxy in front of it.
 */
function failureOf({ status, retryAfter, body }: RemoteAnswer): Error {
  if (status === 503 || status === 429) return busy(retryAfter)
  let said: { error_code?: unknown; error?: unknown; code?: unknown; message?: unknown } | null
  try {
    said = JSON.parse(body.toString())
  } catch {
    said = null
  }
  const code = said?.error_code ?? said?.code
  if (typeof code === 'number' || typeof code === 'string') {
    return engineRefusal(String(said?.error ?? said?.message ?? `error ${code}`), code)
  }
  return new RoutingGone(`The routing server answered with status ${status}.`, RETRY_SECONDS)
}

function busy(retryAfter: number): RoutingUnavailable {
  const seconds = retryAfter > 0 ? Math.min(retryAfter, MAX_RETRY_SECONDS) : RETRY_SECONDS
  return new RoutingOverloaded('The routing server is busy.', seconds)
}
