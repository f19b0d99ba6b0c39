import type { CommandKind } from '../actor/command.ts'
import { locateTrip } from '../events/ids.ts'
import type { ScopeId } from '../model/scope.ts'

/** The trip that a command concerns. */
export interface TripRef {
  readonly scope: ScopeId
  readonly id: string
}

type OfTrip = Pick<CommandKind<TripRef>, 'partitionOf' | 'encode' | 'decode'>

/** What commands have in common that only contain the trip. */
export const OF_TRIP: OfTrip = {
  partitionOf: ({ id }, { partitions, salt }) => {
    const partition = locateTrip(salt, id)
    return partition !== undefined && partition < partitions ? partition : undefined
  },
  encode: ({ scope, id }) => [scope, id],
  decode(packed) {
    const [scope, id] = packed as [ScopeId, string]
    return { scope, id }
  },
}
