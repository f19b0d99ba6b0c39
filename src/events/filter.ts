import type { EventTraits, StoredEvent } from './port.ts'

/** Which events a reader wants: for each list that is present, one item must match. An empty filter wants all. */
export interface EventFilter {
  readonly types?: readonly string[] | undefined
  /** The tags of the event's geofence or beacon. */
  readonly tags?: readonly string[] | undefined
  readonly externalIds?: readonly string[] | undefined
  readonly userIds?: readonly string[] | undefined
  readonly deviceIds?: readonly string[] | undefined
  /** The place ids of the event's place. */
  readonly placeIds?: readonly string[] | undefined
  readonly chains?: readonly string[] | undefined
  readonly categories?: readonly string[] | undefined
  /** Codes or `_id`s of the event's region. */
  readonly regions?: readonly string[] | undefined
  /** The failure reasons of `user.failed_fraud`. */
  readonly failureReasons?: readonly string[] | undefined
}

/**
 * The lists of a filter by which readers are found, the most selective first, with the corresponding value of an event.
 */
export const LISTS = [
  ['deviceIds', 'deviceId'],
  ['userIds', 'userId'],
  ['externalIds', 'externalId'],
  ['tags', 'tag'],
  ['types', 'type'],
] as const

/** Further lists of a filter, and how to read an event's value for them, which is one text or several. */
const TRAITS = [
  ['placeIds', 'placeId'],
  ['chains', 'chain'],
  ['categories', 'categories'],
  ['regions', 'regions'],
  ['failureReasons', 'failureReasons'],
] as const satisfies readonly (readonly [list: keyof EventFilter, trait: keyof EventTraits])[]

/** The names of all lists that a filter may have. */
export const FILTER_LISTS: readonly (keyof EventFilter)[] = [...LISTS, ...TRAITS].map(([list]) => list)

/** Memory of a filter's item besides its characters: its string, and its entries in a list and in an index. */
const ITEM_BYTES = 400

/** Approximate memory of a reader's filter, in bytes. */
export function filterBytes(filter: EventFilter): number {
  let bytes = 0
  for (const list of FILTER_LISTS)
    for (const item of filter[list] ?? []) bytes += ITEM_BYTES + 2 * item.length
  return bytes
}

/** Whether two filters have the same lists, in the same order. */
export function isSameFilter(one: EventFilter, other: EventFilter): boolean {
  return FILTER_LISTS.every((list) => {
    const items = one[list]
    const others = other[list]
    if (items === undefined || others === undefined) return items === others
    return items.length === others.length && items.every((item, i) => item === others[i])
  })
}

/** Whether the filter wants the event. */
export function wants(filter: EventFilter, event: StoredEvent): boolean {
  return (
    has(filter.types, event.type) &&
    has(filter.tags, event.tag) &&
    has(filter.externalIds, event.externalId) &&
    has(filter.userIds, event.userId) &&
    has(filter.deviceIds, event.deviceId) &&
    TRAITS.every(([list, trait]) => filter[list] === undefined || hasAny(filter[list], event.traits?.[trait]))
  )
}

function hasAny(list: readonly string[], values: string | readonly string[] | undefined): boolean {
  if (values === undefined || typeof values === 'string') return has(list, values)
  return values.some((value) => list.includes(value))
}

function has(list: readonly string[] | undefined, value: string | undefined): boolean {
  return list === undefined || (value !== undefined && list.includes(value))
}
