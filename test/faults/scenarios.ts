import { ownerKilled, ownersKilled } from './owners.ts'
import type { Scenario } from './scenario.ts'

/** All there are, in the order in which they are played. */
export const SCENARIOS: readonly Scenario[] = [ownerKilled, ownersKilled]
