import type { RoutingAction } from './port.ts'

/** A Valhalla that takes and gives JSON as text: below cache and port, above the technology. */
export interface Valhalla {
  /**
   * @param request JSON
   * @returns the answer's JSON in UTF-8
   * @throws {RoutingRefusal} {@link RoutingUnavailable}
   */
  call(action: RoutingAction, request: string): Promise<Buffer>
  /** Requests that wait. */
  readonly waiting: number
  /** Memory of its process on this machine; 0 where there is none. */
  readonly residentBytes: number
  /** How it is, in a few words for an operator. */
  readonly condition: string
  /** Finishes what it has taken, and lets go of everything. */
  stop(): Promise<void>
}
