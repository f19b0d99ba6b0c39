import type { ActorType } from '../actor/actorType.ts'
import { TRIP_TYPE } from './tripRows.ts'
import { TripTable } from './tripTable.ts'

/** The actors that are moved by the updates of devices. Their commands are listed in tripTypes.ts. */
export const TRIPS: Pick<ActorType<TripTable>, 'name' | 'number' | 'createTable'> = {
  name: 'trip',
  number: TRIP_TYPE,
  createTable: () => new TripTable(),
}
