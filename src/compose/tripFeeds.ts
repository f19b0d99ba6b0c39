/** What carries updates to trips. This file is part of the composition roots. */
import { TripDispatcher, type DispatcherParts } from '../trips/tripDispatcher.ts'
import { TripDelivery, type DeliveryPorts } from '../trips/tripDelivery.ts'

/** How many bytes a process keeps of the last outcomes that devices saw. */
export const SEEN_BYTES = 32 * 1024 * 1024

/** Opens a dispatcher for the partitions of one host. */
export function openDispatcher(parts: DeliveryPorts & Omit<DispatcherParts, 'delivery'>): TripDispatcher {
  return new TripDispatcher({ ...parts, delivery: new TripDelivery(parts) })
}
