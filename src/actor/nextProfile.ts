import type { Profile } from '../model/device.ts'
import type { PlaceStays } from '../model/place.ts'
import type { Update } from '../model/update.ts'
import type { DeviceState } from '../rules/deviceState.ts'
import { placesWith } from '../rules/placeStep.ts'
import type { DeviceTable } from './deviceTable.ts'
import { isInNewestStream, profileAfter } from './profile.ts'

/**
 * The profile of a record after an update. The record may be ahead of its profile, by the first candidate of its places and the number of
 * its newest mark. Writing these into the profile first, only to replace it, would copy its thirty fields twice.
 * @param state the state after the update
 */
export function nextProfile(
  table: DeviceTable,
  row: number,
  before: Profile,
  update: Update,
  state: DeviceState,
): Profile {
  const placesBefore = table.placesOf(row)
  // The number of the update replaces that of the newest mark.
  const isNumbered = update.stream !== undefined && isInNewestStream(before, update)
  const isAhead = table.sequence(row) >= 0 && !isNumbered
  return profileAfter(isAhead ? table.profile(row) : before, update, state, before.id, placesBefore)
}

/**
 * The state after an update for which the evaluator of places was not run.
 * @param isPassed whether another place comes first among the candidates
 * @param first that place
 */
export function withOwnPlaces(
  table: DeviceTable,
  row: number,
  after: DeviceState,
  isPassed: boolean,
  first: PlaceStays['first'],
): DeviceState {
  const places = table.placesOf(row)
  return { ...after, places: isPassed ? placesWith({ ...places, first }) : places }
}
