import type { Heard, Trip } from '../../model/trip.ts'

/**
 * The updates that a trip has received, so that an update that is sent again moves it only once.
 *
 * The obvious way keeps the last number of every device, which takes memory in proportion to a user's devices. Instead
 * the latest {@link MOST_HEARD} are kept, and those of the present moment; of the others, which are all earlier, only
 * the latest time. An earlier update leaves a trip as it is anyway, so this costs nobody anything.
 *
 * Invariants
 * - TRIP-HEARD-1: An update that has moved a trip does not move it again, however many devices and runs came between.
 * - TRIP-HEARD-2: A trip keeps no more than {@link MOST_HEARD} and {@link MOST_AT_ONCE} devices.
 */
const MOST_HEARD = 16
/**
 * How many devices of one moment are kept. The update of another device with the same time leaves the trip as it is.
 */
const MOST_AT_ONCE = 256

/** Whether an update may move the trip, unless it is earlier than the last one. */
export function hears({ heard, forgottenAt = -Infinity }: Trip, { deviceId, number, time }: Heard): boolean {
  const known = heard.find((one) => one.deviceId === deviceId)
  if (known !== undefined) return number > known.number
  return time > forgottenAt && heard.filter((one) => one.time >= time).length < MOST_AT_ONCE
}

/** The trip after an update that it {@link hears}. */
export function withHeard(trip: Trip, { deviceId, number, time }: Heard): Trip {
  const heard = [{ deviceId, number, time }]
  let { forgottenAt } = trip
  for (const one of trip.heard) {
    if (one.deviceId === deviceId) continue
    if (heard.length < MOST_HEARD || one.time >= time) heard.push(one)
    else forgottenAt = Math.max(forgottenAt ?? -Infinity, one.time)
  }
  return { ...trip, heard, forgottenAt }
}

/** The trip without the names of devices. Updates that were told before still cannot move it. */
export function forgotten(trip: Trip): Trip {
  const times = trip.heard.map(({ time }) => time)
  if (times.length === 0) return trip
  return { ...trip, heard: [], forgottenAt: Math.max(trip.forgottenAt ?? -Infinity, ...times) }
}
