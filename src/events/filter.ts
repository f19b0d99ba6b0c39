import type { StoredEvent } from './port.ts'

/** Which events a reader wants: of each list that is there, one must fit. An empty filter wants all. */
export interface EventFilter {
  readonly types?: readonly string[] | undefined
  /** Of the event's geofence or beacon. */
  readonly tags?: readonly string[] | undefined
  readonly externalIds?: readonly string[] | undefined
  readonly userIds?: readonly string[] | undefined
  readonly deviceIds?: readonly string[] | undefined
}

/** Whether the filter wants the event. */
export function wants(filter: EventFilter, event: StoredEvent): boolean {
  return (
    has(filter.types, event.type) &&
    has(filter.tags, event.tag) &&
    has(filter.externalIds, event.externalId) &&
    has(filter.userIds, event.userId) &&
    has(filter.deviceIds, event.deviceId)
  )
}

function has(list: readonly string[] | undefined, value: string | undefined): boolean {
  return list === undefined || (value !== undefined && list.includes(value))
}
