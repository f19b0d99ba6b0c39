import type { RoutingAction } from './port.ts'

/** A Valhalla that takes and returns JSON as text. It is below the cache and the port, and hides the technology. */
export interface Valhalla {
  /**
   * Makes a request.
   * @param request JSON
   * @returns the answer's JSON in UTF-8
   * @throws {RoutingRefusal} {@link RoutingUnavailable}
   */
  call(action: RoutingAction, request: string): Promise<Buffer>
  /** How many requests wait. */
  readonly waiting: number
  /** The memory of its process on this machine in bytes; 0 if there is none. */
  readonly residentBytes: number
  /** The state, in a few words for an operator. */
  readonly condition: string
  /** Finishes the requests that it has accepted, and closes everything. */
  stop(): Promise<void>
}
