import {
  natsCut,
  natsDiskFull,
  natsKilled,
  natsMajorityKilled,
  natsOnlyDiskFull,
  natsQuota,
  natsSurvivorKilled,
} from './natsServers.ts'
import {
  clockOff,
  ownerFrozen,
  ownerKilled,
  ownersFrozenInTurn,
  ownersGone,
  ownersKilled,
  twoOwners,
} from './owners.ts'
import { deliveryKilled, gatewayKilled, rollingRestart } from './processes.ts'
import type { Scenario } from './scenario.ts'
import { takeOver } from './takeOver.ts'
import { tripCallLost, tripOwnerEnds } from './tripPoints.ts'
import { tile38Killed, tile38Slow, tile38Wiped } from './tile38.ts'

/** All scenarios, in the order in which they run. */
export const SCENARIOS: readonly Scenario[] = [
  ownerKilled,
  ownersKilled,
  ownersGone,
  ownersFrozenInTurn,
  ownerFrozen,
  twoOwners,
  clockOff,
  gatewayKilled,
  deliveryKilled,
  rollingRestart,
  natsKilled,
  natsMajorityKilled,
  natsSurvivorKilled,
  natsDiskFull,
  natsOnlyDiskFull,
  natsQuota,
  natsCut,
  takeOver,
  tripOwnerEnds,
  tripCallLost,
  tile38Killed,
  tile38Wiped,
  tile38Slow,
]
