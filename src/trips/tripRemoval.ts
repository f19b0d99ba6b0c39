import type { CommandKind } from '../actor/command.ts'
import { TRIPS } from './tripActor.ts'
import { OF_TRIP, type TripRef } from './tripRef.ts'

/** Removes a trip without an event, and returns whether it existed. */
export const TRIP_REMOVAL: CommandKind<TripRef, boolean> = {
  name: 'trip.removal',
  // It is never refused, because it frees room.
  isBounded: false,
  isBeforeUpdates: false,
  nowhere: false,

  ...OF_TRIP,

  apply(partition, { scope, id }, { writer }) {
    const table = partition.tableOf(TRIPS)
    const row = table.find(scope, id)
    if (row < 0) return false
    table.remove(writer, row)
    return true
  },

  /** The trip existed at the first request; otherwise the gateway would not repeat the request. */
  repeat: async (apply) => (await apply()) || true,
}
