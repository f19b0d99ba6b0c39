/**
 * What the endpoints ask of a road network: Valhalla's actions in Valhalla's own JSON, and one class of error for each
 * cause of failure. A child process with Valhalla (valhallaProcess.ts) and a Valhalla server by URL
 * (remoteValhalla.ts) implement it. Both use the same JSON, so Ringfence's answers are made from it in one place,
 * above this port.
 */
import type { PlacedPoint } from '../extract/port.ts'
import { ApiError } from '../../runtime/errors.ts'
import type {
  RouteRequest,
  OsrmRouteRequest,
  MatrixRequest,
  TraceRequest,
  IsochroneRequest,
  LocateRequest,
  RouteAnswer,
  OsrmAnswer,
  MatrixAnswer,
  TraceAnswer,
  IsochroneAnswer,
  LocatedPoint,
  StatusAnswer,
} from './valhallaJson.ts'

/** A network that answers requests. */
export interface RoutingEngine {
  /** The makers of the data, who are named in answers. */
  readonly attribution: string | undefined
  /**
   * Asks one of Valhalla's actions. The answer belongs to the caller: identical questions get equal answers, not the
   * same object.
   * @param isKept whether the answer is kept for the same question; false for questions that nobody asks twice
   * @throws {RoutingRefusal} one of its classes, if the request is at fault or the network has no answer
   * @throws {RoutingUnavailable} one of its classes, 503, if the engine is at fault
   */
  ask(action: 'route', request: OsrmRouteRequest): Promise<OsrmAnswer>
  ask<A extends RoutingAction>(
    action: A,
    request: RoutingActions[A]['request'],
    isKept?: boolean,
  ): Promise<RoutingActions[A]['answer']>
}

/** The networks of this server. */
export interface RoutingEngines {
  /**
   * The engine whose network contains all the points: the engine of the first map region that contains them, or the
   * remote one.
   * @throws {ApiError} 503 if there is no map region; 404 naming the parameter of the first point outside
   */
  containing(points: readonly PlacedPoint[]): RoutingEngine
}

/** What each action takes and returns. Only the used parts have types. */
export interface RoutingActions {
  route: { request: RouteRequest; answer: RouteAnswer }
  trace_route: { request: TraceRequest; answer: RouteAnswer }
  trace_attributes: { request: TraceRequest; answer: TraceAnswer }
  sources_to_targets: { request: MatrixRequest; answer: MatrixAnswer }
  isochrone: { request: IsochroneRequest; answer: IsochroneAnswer }
  locate: { request: LocateRequest; answer: readonly LocatedPoint[] }
  status: { request: { readonly verbose?: boolean }; answer: StatusAnswer }
}

export type RoutingAction = keyof RoutingActions

// Errors of engines.

/** The request is at fault, or the network has no answer to it. `code` is Valhalla's error number. */
export abstract class RoutingRefusal extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** There are roads at all locations, but no way between them, for instance because of what must be avoided. */
export class NoRoute extends RoutingRefusal {
  override readonly name = 'NoRoute'
}

/** The locations are in parts of the network that are not connected. */
export class Unconnected extends RoutingRefusal {
  override readonly name = 'Unconnected'
}

/** There is no road near one of the locations. */
export class NoRoadNear extends RoutingRefusal {
  override readonly name = 'NoRoadNear'
}

/** The locations are farther apart than the engine searches. */
export class TooFar extends RoutingRefusal {
  override readonly name = 'TooFar'
}

/** The request has more locations, contours, minutes or points than the engine accepts. */
export class TooMuch extends RoutingRefusal {
  override readonly name = 'TooMuch'
}

/** The path cannot be matched to roads. */
export class NoMatch extends RoutingRefusal {
  override readonly name = 'NoMatch'
}

/**
 * The engine does not understand the request, or fails at it: a programming error, because the endpoints check what
 * users send.
 */
export class BadRoutingRequest extends RoutingRefusal {
  override readonly name = 'BadRoutingRequest'
}

/** The engine cannot answer now. The client gets this 503 unchanged. */
export abstract class RoutingUnavailable extends ApiError {
  constructor(message: string, retrySeconds: number, cause?: unknown) {
    super(503, message, { retryAfter: retrySeconds, cause })
  }
}

/** The largest number of requests is waiting already. */
export class RoutingOverloaded extends RoutingUnavailable {
  override readonly name = 'RoutingOverloaded'
}

/** The engine ended with the request, or could not be reached. */
export class RoutingGone extends RoutingUnavailable {
  override readonly name = 'RoutingGone'
}

/** There was no answer in time. */
export class RoutingTimedOut extends RoutingUnavailable {
  override readonly name = 'RoutingTimedOut'
}

/** The engine is not installed, or not available for this platform. The message names the package. */
export class RoutingMissing extends RoutingUnavailable {
  override readonly name = 'RoutingMissing'
}
