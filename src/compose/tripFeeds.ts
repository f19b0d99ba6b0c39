/** What carries updates to trips. Part of the composition roots. */
import { TripCourier, type CourierParts } from '../trips/tripCourier.ts'
import { TripDelivery, type DeliveryPorts } from '../trips/tripDelivery.ts'

/** Of what devices saw last, in a process. */
export const SEEN_BYTES = 32 * 1024 * 1024

/** A courier for the partitions of one host. */
export function openCourier(parts: DeliveryPorts & Omit<CourierParts, 'delivery'>): TripCourier {
  return new TripCourier({ ...parts, delivery: new TripDelivery(parts) })
}
