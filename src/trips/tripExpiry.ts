import type { CommandKind } from '../actor/command.ts'
import { isEnded } from '../model/trip.ts'
import { tripAtCommit } from './step.ts'
import { TRIPS } from './tripActor.ts'
import { OF_TRIP, type TripRef } from './tripRef.ts'

/** Lets a trip expire if its time is up; returns whether it has ended. */
export const TRIP_EXPIRY: CommandKind<TripRef, boolean> = {
  name: 'trip.expiry',
  isBounded: false,
  isBeforeUpdates: false,
  nowhere: true,

  ...OF_TRIP,

  apply(partition, { scope, id }, commit) {
    const table = partition.tableOf(TRIPS)
    const row = table.find(scope, id)
    return row < 0 || isEnded(tripAtCommit(partition, commit, table.get(row)).status)
  },

  repeat: (apply) => apply(),
}
