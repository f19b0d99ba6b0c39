import type { AnswerCache } from './cache.ts'
import {
  RoutingGone,
  RoutingRefusal,
  type RoutingAction,
  type RoutingActions,
  type RoutingEngine,
} from './port.ts'
import type { OsrmAnswer, OsrmRouteRequest } from './valhallaJson.ts'
import type { Valhalla } from './valhalla.ts'

/** After how many seconds a client should try again. */
const RETRY_SECONDS = 1
const GONE_SECONDS = 60
const NO_TILES = 'The road network of this region is missing on disk: the operator has to import it again.'

/** Counts for operators over all engines together. */
export interface RoutingObserver {
  /**
   * Counts a request to an engine, not one that the cache answered. `outcome` is `ok` or the name of the error's
   * class.
   */
  asked(action: RoutingAction, outcome: string, milliseconds: number): void
}

export interface CachedEngineParts {
  readonly valhalla: Valhalla
  readonly cache: AnswerCache
  /** The makers of the data, who are named in answers. */
  readonly attribution: string | undefined
  /** A text that is different for each network, and for each build of a map region. */
  readonly key: string
  /** How long an answer may be used, because a remote network may change without notice. */
  readonly maxAgeMs: number
  /**
   * Whether the network still exists. It is called after a refusal, because a network whose files are gone has no
   * roads anywhere. If absent, the network always exists.
   */
  readonly isThere?: () => boolean
  readonly observer: RoutingObserver
}

/** A Valhalla with cached answers. It converts questions to JSON, and answers from JSON. */
export class CachedEngine implements RoutingEngine {
  readonly attribution: string | undefined
  readonly #parts: CachedEngineParts

  constructor(parts: CachedEngineParts) {
    this.attribution = parts.attribution
    this.#parts = parts
  }

  async ask(action: 'route', request: OsrmRouteRequest): Promise<OsrmAnswer>
  async ask<A extends RoutingAction>(
    action: A,
    request: RoutingActions[A]['request'],
    isKept?: boolean,
  ): Promise<RoutingActions[A]['answer']>
  async ask(action: RoutingAction, request: object, isKept = true): Promise<unknown> {
    const { cache, maxAgeMs } = this.#parts
    const text = JSON.stringify(request)
    // A question about the present time gets another answer later, so it is not cached.
    const ofNow = action === 'status' || (request as { date_time?: { type: number } }).date_time?.type === 0
    if (ofNow || !isKept) return read(await this.#call(action, text))
    const key = `${this.#parts.key} ${action} ${text}`
    return read(await cache.answer(key, maxAgeMs, () => this.#call(action, text)), () => cache.drop(key))
  }

  async #call(action: RoutingAction, request: string): Promise<Buffer> {
    const { valhalla, observer, isThere = () => true } = this.#parts
    const start = performance.now()
    let outcome = 'ok'
    try {
      return await valhalla.call(action, request)
    } catch (refused) {
      const error =
        refused instanceof RoutingRefusal && !isThere()
          ? new RoutingGone(NO_TILES, GONE_SECONDS, refused)
          : refused
      outcome = (error as Error).name
      throw error
    } finally {
      observer.asked(action, outcome, performance.now() - start)
    }
  }
}

/**
 * Reads an answer.
 * @param failed called if that cannot be done
 */
function read(json: Buffer, failed?: () => void): unknown {
  try {
    return JSON.parse(json.toString())
  } catch (cause) {
    failed?.()
    throw new RoutingGone('The answer of the routing engine cannot be read.', RETRY_SECONDS, cause)
  }
}
