import type { FeedRow, FeedUpdate } from '../actor/feedTable.ts'
import type { TripOptions } from '../model/trip.ts'
import type { ScopeView } from '../rules/port.ts'
import { MOST_WRONG } from './machine/move.ts'

/**
 * A row of a feed about very many geofences, with those that matter to one trip.
 *
 * The obvious way sends the row as it is, with all geofences that the device is in. In the distributed engine, a row about
 * some 38,000 of them is larger than a message may be. It would be sent again for ever, and everything else that this
 * process has to tell the same partition would wait behind it. So where there are many, the trip is asked where it
 * goes, and only those geofences are listed. If its destination changes at the same moment, the next update sees it.
 *
 * Owns: which geofences matter to a trip. Does not own: what they do to it (machine/move.ts).
 */

/** With so many geofences, a row has 27 KB or more. */
const MANY = 1000

/** A row about an update. */
type UpdateRow = FeedRow & { readonly update: FeedUpdate }

/** Where a trip may go: a pair of tag and externalId. */
interface Goal {
  readonly tag: string
  readonly externalId: string
}

/** The part of a trip's record that says where it goes. */
interface GoalMembers {
  readonly destinationGeofenceTag?: string
  readonly destinationGeofenceExternalId?: string
}

/** Whether a row lists so many geofences that it is shortened. */
export function isLong({ inside, entered }: FeedUpdate): boolean {
  return inside.length > MANY || entered.length > MANY
}

/**
 * The row with the geofences that matter to a trip: its destinations, and as many others of their tags as it may have
 * entered by mistake.
 * @param trip the trip's JSON; undefined if it is to be created
 */
export function shortRow(row: UpdateRow, trip: string | undefined, view: ScopeView): UpdateRow {
  const { inside, entered, options } = row.update
  const goals = goalsOf(trip, options)
  const tags = new Set(goals.map(({ tag }) => tag))
  const wanted = new Set(goals.map(({ tag, externalId }) => view.geofenceNamed(tag, externalId)?.id))
  let others = 0
  const matters = ({ id }: FeedUpdate['entered'][number]): boolean => {
    if (wanted.has(id)) return true
    return tags.has(view.geofence(id)?.tag ?? '') && others++ < MOST_WRONG
  }
  const update = {
    ...row.update,
    inside: inside.filter((id) => wanted.has(id)),
    entered: entered.filter(matters),
  }
  return { ...row, update }
}

/** All places to which the trip goes, or would if it were created. */
function goalsOf(trip: string | undefined, options: TripOptions | undefined): readonly Goal[] {
  const record: GoalMembers & { readonly legs?: readonly GoalMembers[] } =
    trip === undefined ? {} : JSON.parse(trip)
  const goals = [record, ...(record.legs ?? [])].flatMap(
    ({ destinationGeofenceTag: tag, destinationGeofenceExternalId: externalId }) =>
      tag === undefined || externalId === undefined ? [] : [{ tag, externalId }],
  )
  return options?.destination === undefined ? goals : [...goals, options.destination]
}
