import type { FoundUser, Users, UsersNear } from '../actor/port.ts'
import type { Position, TravelMode } from '../model/geofence.ts'
import type { ScopeId } from '../model/scope.ts'
import { ApiError } from '../runtime/errors.ts'

/** Durations of travel. */
export interface TravelTimes {
  /**
   * @param param the request parameter with the destination
   * @param origins at most 625, the nearest first
   * @returns minutes from each origin to the destination, Infinity if there is no way or it cannot be measured
   * @throws {ApiError} 404 naming the parameter if no road network contains the destination; 503
   */
  minutesTo(
    param: string,
    place: Position,
    origins: readonly Position[],
    mode: TravelMode,
  ): Promise<readonly number[]>
}

/**
 * A speed in kilometres per hour that nobody exceeds for the whole way: the highest speed of road networks, with a
 * margin.
 */
const FASTEST: Readonly<Record<TravelMode, number>> = {
  car: 150,
  motorbike: 150,
  truck: 120,
  bike: 60,
  foot: 20,
}
/**
 * How many of the users that are nearest in a straight line are examined first. Then it is four times as many, and so
 * on.
 */
const FIRST_LOOK = 100
const MOST_LOOKED_AT = 2500
/** How many ways are measured at once. */
const MOST_AT_ONCE = 625

export interface TravelQuestion extends Omit<UsersNear, 'radiusMeters'> {
  readonly scope: ScopeId
  readonly minutes: number
  readonly mode: TravelMode
}

/**
 * Users who reach a location within this many minutes, the quickest first. Those nearest in a straight line are
 * measured first, until no user farther away could be quicker.
 * @throws {ApiError} 404 naming `near`, 503, and 400 naming `radius` if too many would have to be measured
 */
export async function usersWithin(
  users: Users,
  times: TravelTimes,
  question: TravelQuestion,
): Promise<FoundUser[]> {
  const { scope, minutes, mode, limit, ...near } = question
  const place: Position = [near.longitude, near.latitude]
  const metersPerMinute = (FASTEST[mode] * 1000) / 60
  // This reports a location without a road even if nobody is near it.
  await times.minutesTo('near', place, [], mode)
  const minutesOf = new Map<string, number>()
  for (let look = FIRST_LOOK; ; look = Math.min(4 * look, MOST_LOOKED_AT)) {
    const asked = { ...near, radiusMeters: minutes * metersPerMinute, limit: look }
    const { users: answer, hasMore } = await users.ask({ scope, ask: 'near', near: asked })
    const more = answer.filter(({ id }) => !minutesOf.has(id))
    for (let i = 0; i < more.length; i += MOST_AT_ONCE) {
      const some = more.slice(i, i + MOST_AT_ONCE)
      const took = await times.minutesTo('near', place, some.map(placeOf), mode)
      for (const [k, { id }] of some.entries()) minutesOf.set(id, took[k]!)
    }
    const quickest = answer
      .filter(({ id }) => minutesOf.get(id)! <= minutes)
      .toSorted((a, b) => minutesOf.get(a.id)! - minutesOf.get(b.id)!)
      .slice(0, limit)
    if (answer.length < look && !hasMore) return quickest
    const slowest = quickest.length < limit ? minutes : minutesOf.get(quickest.at(-1)!.id)!
    if (answer.at(-1)!.order[0]! / metersPerMinute > slowest) return quickest
    if (look < MOST_LOOKED_AT) continue
    const sentence = `radius: More than ${MOST_LOOKED_AT} users may be that near. Use fewer minutes, or filter by metadata.`
    throw new ApiError(400, sentence, { param: 'radius' })
  }
}

function placeOf({ user }: FoundUser): Position {
  return JSON.parse(user.join('')).location.coordinates
}
