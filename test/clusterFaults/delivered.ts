import type { Received } from '../delivery/webhookKit.ts'
import type { EventRecord } from './movers.ts'

/**
 * What the webhook has delivered. Only the ids of the events are kept, because an hour of whole requests does not fit
 * into memory.
 */
export class Delivered {
  readonly ids = new Set<string>()
  /** Events that were delivered again. */
  repeats = 0
  requests = 0

  take({ json }: Received): void {
    this.requests++
    for (const { _id } of json.events as readonly EventRecord[]) {
      if (this.ids.has(_id)) this.repeats++
      this.ids.add(_id)
    }
  }
}
