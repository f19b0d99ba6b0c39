import type { ActorType } from '../actor/actorType.ts'
import { ACTOR_TYPES } from '../actor/actorTypes.ts'
import { TRIP_CALL } from './tripCall.ts'
import { TRIP_ERASURE } from './tripErasure.ts'
import { TRIP_EXPIRY } from './tripExpiry.ts'
import { TRIP_MOVE } from './tripMove.ts'
import { TRIP_REMOVAL } from './tripRemoval.ts'
import { TRIP_RETENTION } from './tripRetention.ts'
import { TRIPS } from './tripActor.ts'

/** All types of actors of a server. */
export const ALL_ACTOR_TYPES: readonly ActorType[] = [
  ...ACTOR_TYPES,
  { ...TRIPS, commands: [TRIP_CALL, TRIP_MOVE, TRIP_ERASURE, TRIP_REMOVAL, TRIP_EXPIRY, TRIP_RETENTION] },
]
