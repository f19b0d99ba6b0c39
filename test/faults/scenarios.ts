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

/** All there are, in the order in which they are played. */
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
  takeOver,
]
