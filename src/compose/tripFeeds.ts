/** What carries updates to trips. Part of the composition roots. */
import { TripDispatcher, type DispatcherParts } from '../trips/tripDispatcher.ts'
import { TripDelivery, type DeliveryPorts } from '../trips/tripDelivery.ts'

/** Bytes of the last outcomes that devices saw, for one process. */
export const SEEN_BYTES = 32 * 1024 * 1024

/** A dispatcher for the partitions of one host. */
export function openDispatcher(parts: DeliveryPorts & Omit<DispatcherParts, 'delivery'>): TripDispatcher {
  return new TripDispatcher({ ...parts, delivery: new TripDelivery(parts) })
}
