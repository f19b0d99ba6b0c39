import type { UserParts } from './port.ts'
import type { Profile } from '../model/device.ts'
import { verdictOf } from '../model/fraud.ts'
import type { Update } from '../model/update.ts'
import type { ScopeView } from '../rules/port.ts'
import {
  AppliedForUser,
  AppliedWithManyVisits,
  MANY_VISITS,
  NO_EVENTS,
  UNEVENTFUL,
  type Applied,
} from './applied.ts'
import type { DeviceTable, UserHead } from './deviceTable.ts'
import type { ShortcutOutcome } from './feedShortcut.ts'
import { restOf } from './headRests.ts'
import {
  headRest,
  headUntil,
  keptHead,
  NO_HEAD,
  userHead,
  userHeadSteps,
  userJson,
  userParts,
  userTail,
} from './userRecord.ts'

/**
 * The result of an update: its events and, if it is wanted, the user as it is now. The first part of the user's JSON,
 * which rarely changes, is kept with the device.
 */

/**
 * A user's JSON that is longer than this is written again for each answer, because it would take more memory than the
 * profile.
 */
const MAX_HEAD_CHARACTERS = 16 * 1024

/** The result of an update that was applied, now or before. */
export function resultOf(
  table: DeviceTable,
  row: number,
  view: ScopeView,
  update: Update,
  wantsUser: boolean,
  events: readonly string[],
  repeated: boolean,
  feed: number | undefined,
  trips?: ShortcutOutcome,
): Applied {
  if (!wantsUser) {
    const isUneventful = events === NO_EVENTS && !repeated && feed === undefined
    return isUneventful ? UNEVENTFUL : { user: '', events, repeated, feed, trips }
  }
  const now = update.receivedAt
  const { fraud } = view.settings
  const verdict =
    update.claims === undefined ? undefined : verdictOf(table.profile(row).fraud, update.claims, fraud)
  let head = headOf(table, row, view, now)
  if (head === undefined) {
    const profile = table.profile(row)
    if (profile.visits.length >= MANY_VISITS) {
      const tail = userTail(userParts(table, row, NO_HEAD))
      return new AppliedWithManyVisits(
        { profile, scope: update.scope, view, now, tail },
        events,
        repeated,
        verdict,
        feed,
        trips,
      )
    }
    head = writeHead(table, row, view, now)
  }
  return new AppliedForUser(userParts(table, row, head), events, repeated, verdict, feed, trips)
}

/**
 * The public JSON of a record.
 * @param now the server's time
 */
export function userText(table: DeviceTable, row: number, view: ScopeView, now: number): string {
  return userJson(partsOf(table, row, view, now))
}

/**
 * Like {@link userText}, in pieces and in steps if the user is in so many geofences that the text may have megabytes: joining
 * the pieces would take milliseconds. A user that is updated meanwhile is written as it was before.
 * @param profile that of the row
 */
export function* userSteps(
  table: DeviceTable,
  row: number,
  profile: Profile,
  view: ScopeView,
  now: number,
): Generator<void, readonly string[]> {
  if (profile.visits.length < MANY_VISITS) return [userText(table, row, view, now)]
  const tail = userTail(userParts(table, row, NO_HEAD))
  const pieces = yield* userHeadSteps(profile, table.scope(row), view, now)
  pieces.push(tail)
  return pieces
}

function partsOf(table: DeviceTable, row: number, view: ScopeView, now: number): UserParts {
  return userParts(table, row, headOf(table, row, view, now) ?? writeHead(table, row, view, now))
}

function writeHead(table: DeviceTable, row: number, view: ScopeView, now: number): UserHead {
  const profile = table.profile(row)
  const json = userHead(profile, table.scope(row), view, now)
  // What was made from bytes is another object each time, so nothing would be found again.
  const rest = table.isUnpacked(row)
    ? table.headRests.of(row, profile, view, headRest)
    : restOf(headRest(profile, view))
  if (json.length + rest.bytes.length > MAX_HEAD_CHARACTERS) return { json, rest }
  const head = keptHead(json, rest)
  table.replyHead[row] = { ...head, revision: view.revision, until: headUntil(profile, view) }
  return head
}

/** The part of the user that was written before, if it would be the same now. */
function headOf(table: DeviceTable, row: number, view: ScopeView, now: number): UserHead | undefined {
  const head = table.replyHead[row]
  return head !== undefined && head.revision === view.revision && now < head.until ? head : undefined
}
