import type { UserAnswer, UserQuestion, Users } from '../actor/port.ts'
import type { TripNames } from '../registry/trips/port.ts'
import type { UserTrips } from './userTrips.ts'

/** Users whose records contain the trip that they are on. It costs nothing while nobody is on a trip. */
export class UsersWithTrips implements Users {
  readonly #users: Users
  readonly #trips: Pick<UserTrips, 'ofRecords'>
  readonly #directory: Pick<TripNames, 'of'>

  constructor(users: Users, trips: Pick<UserTrips, 'ofRecords'>, directory: Pick<TripNames, 'of'>) {
    this.#users = users
    this.#trips = trips
    this.#directory = directory
  }

  async ask(question: UserQuestion): Promise<UserAnswer> {
    const answer = await this.#users.ask(question)
    const { users } = answer
    if (users.length === 0 || this.#directory.of(question.scope).isEmpty) return answer
    const ids = users.map(({ id }) => id)
    const trips = await this.#trips.ofRecords(question.scope, ids)
    return {
      ...answer,
      users: users.map((found) => ({
        ...found,
        user: piecesWithTrip(found.user, trips.get(found.id) ?? null),
      })),
    }
  }
}

function piecesWithTrip(user: readonly string[], trip: string | null): readonly string[] {
  return trip === null ? user : [...user.slice(0, -1), userWithTrip(user.at(-1)!, trip)]
}

/**
 * Adds a trip to a user.
 * @param user finished JSON, or its last piece
 * @param trip finished JSON
 */
export function userWithTrip(user: string, trip: string | null): string {
  return trip === null ? user : `${user.slice(0, -1)},"trip":${trip}}`
}
