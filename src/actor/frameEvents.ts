import type { StoredEvent } from '../events/port.ts'
import { readEvent } from '../events/record.ts'
import { readFrame } from './commitCodec.ts'

/** The events of a frame of the log, in order. */
export function eventsOfFrame(payload: Uint8Array): StoredEvent[] {
  const events: StoredEvent[] = []
  readFrame(payload, {
    // The rows are skipped, because only the events are wanted.
    commit: () => false,
    tableOf: () => undefined,
    wantsEvents: true,
    event: ({ scope, json }) => void events.push(readEvent(scope, json)),
  })
  return events
}
