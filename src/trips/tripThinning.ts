import type { CommandKind } from '../actor/command.ts'
import { TRIPS } from './tripActor.ts'
import { OF_TRIP, type TripRef } from './tripRef.ts'

/** Removes the locations of a trip. */
export const TRIP_THINNING: CommandKind<TripRef, boolean> = {
  name: 'trip.thinning',
  isBounded: false,
  isBeforeUpdates: false,
  nowhere: false,

  ...OF_TRIP,

  apply(partition, { scope, id }, { writer }) {
    const table = partition.tableOf(TRIPS)
    const row = table.find(scope, id)
    if (row < 0 || !table.hasTrail(row)) return false
    table.put(writer, table.get(row), { isCleared: true })
    return true
  },

  repeat: (apply) => apply(),
}
