import { eachPiece, listPieces } from '../http/answerText.ts'
import type { Answer, Reply } from '../http/route.ts'
import type { Verdict } from '../model/fraud.ts'
import type { Update } from '../model/update.ts'
import type { Outcome } from '../actor/port.ts'
import { nearbyBeaconsJson } from '../registry/beacons/beaconRecord.ts'
import type { RegistryView } from '../rules/port.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import { userWithTrip } from '../trips/usersWithTrips.ts'
import { nearbyGeofences } from './nearby.ts'

/** The answers to updates, in pieces: their events, the user after the last of them, and what is around it. */

/** How many answers with nearby geofences are made at a time, because each is held in memory until it is sent. */
const NEARBY_AT_ONCE = 8
const nearbyLimit = new ConcurrencyLimit(NEARBY_AT_ONCE)

/**
 * Sends the result of one or several updates. Never rejects.
 * @param sent called once nothing of it is needed any more
 */
export async function answer(
  reply: Reply,
  events: readonly string[],
  user: Promise<readonly string[]>,
  surroundings: Promise<readonly string[]>,
  omitted = 0,
  barred = 0,
  sent?: () => void,
): Promise<void> {
  try {
    const [pieces, near] = await Promise.all([user, surroundings])
    reply.send({ ...answerOf(events, pieces, near, omitted, barred), ...(sent && { sent }) })
  } catch (error) {
    sent?.()
    reply.fail(error as Error)
  }
}

/** The pieces of the user's text. */
export async function userOf(outcome: Outcome, trip: string | null = null): Promise<readonly string[]> {
  const pieces = outcome.userPieces === undefined ? [outcome.user] : await outcome.userPieces()
  return trip === null ? pieces : [...pieces.slice(0, -1), userWithTrip(pieces.at(-1)!, trip)]
}

/**
 * An answer.
 * @param omitted how many events are left out
 * @param barred how many updates were refused because of their country
 */
export function answerOf(
  events: readonly string[],
  user: readonly string[],
  surroundings: readonly string[],
  omitted: number,
  barred = 0,
): Answer {
  const pieces = { [Symbol.iterator]: () => answerPieces(events, user, surroundings) }
  if (omitted === 0 && barred === 0) return { pieces }
  const meta = {
    ...(omitted > 0 && { omittedEvents: omitted }),
    ...(barred > 0 && { refusedUpdates: barred }),
  }
  return { meta, pieces }
}

/** There may be tens of thousands of events, so the pieces are made while they are written. */
function* answerPieces(
  events: readonly string[],
  user: readonly string[],
  surroundings: readonly string[],
): Generator<string, void> {
  yield* eachPiece('"events":', events, ',"user":')
  yield* user
  yield* surroundings
}

/** The members of the answer about the surroundings of an update. They must follow another member. */
export async function around(
  registry: RegistryView,
  update: Update,
  geofences: number,
  verdict?: Verdict,
): Promise<string[]> {
  const view = registry.scope(update.scope)
  const verified = verdict === undefined ? '' : `,${JSON.stringify(verdict).slice(1, -1)}`
  const beacons = `${verified},"nearbyBeacons":${nearbyBeaconsJson(view, update.latitude, update.longitude)}`
  if (geofences === 0) return [beacons]
  const texts = await nearbyLimit.run(() => nearbyGeofences(view, update, geofences))
  return listPieces(`${beacons},"nearbyGeofences":`, texts)
}
