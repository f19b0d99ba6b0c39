import type { AnswerCache } from './cache.ts'
import {
  RoutingGone,
  RoutingRefusal,
  type OsrmAnswer,
  type OsrmRouteRequest,
  type RoutingAction,
  type RoutingActions,
  type RoutingEngine,
} from './port.ts'
import type { Valhalla } from './valhalla.ts'

/** Seconds for a client to wait. */
const RETRY_SECONDS = 1
const GONE_SECONDS = 60
const NO_TILES = 'The road network of this region is missing on disk: the operator has to import it again.'

/** What an operator counts of all engines together. */
export interface RoutingObserver {
  /** A request that an engine was asked, not one that the cache answered. `outcome`: `ok` or the name of the error's class. */
  asked(action: RoutingAction, outcome: string, milliseconds: number): void
}

export interface CachedEngineParts {
  readonly valhalla: Valhalla
  readonly cache: AnswerCache
  /** Whom answers credit for the data. */
  readonly attribution: string | undefined
  /** Unlike that of each other network and of another build of this one. */
  readonly key: string
  /** How long an answer holds: a remote network changes without a word. */
  readonly maxAgeMilliseconds: number
  /** Whether the network is still there, asked where it refuses: one without roads has none anywhere. Left out: it always is. */
  readonly isThere?: () => boolean
  readonly observer: RoutingObserver
}

/** A Valhalla whose answers are kept: objects to JSON on the way in, JSON to objects on the way out. */
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
  ): Promise<RoutingActions[A]['answer']>
  async ask(action: RoutingAction, request: object): Promise<unknown> {
    const { cache, maxAgeMilliseconds } = this.#parts
    const text = JSON.stringify(request)
    const key = `${this.#parts.key} ${action} ${text}`
    // What is asked about now has another answer later.
    const ofNow = action === 'status' || (request as { date_time?: { type: number } }).date_time?.type === 0
    const json = ofNow
      ? await this.#call(action, text)
      : await cache.answer(key, maxAgeMilliseconds, () => this.#call(action, text))
    try {
      return JSON.parse(json.toString())
    } catch (cause) {
      cache.drop(key)
      throw new RoutingGone('The answer of the routing engine cannot be read.', RETRY_SECONDS, cause)
    }
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
