import type { FoundUser, UserAnswer, UserQuestion, Users, UsersNear } from '../actor/port.ts'
import { pointDistance } from '../geometry/distance.ts'
import { metadataMatcher } from '../model/metadata.ts'
import type { ScopeId } from '../model/scope.ts'
import { readPoint, wantedWords } from './tile38Position.ts'
import { deviceOf, numberText, Tile38Keys } from './tile38Texts.ts'
import { unavailable, type Tile38Wholeness } from './tile38Wholeness.ts'
import { Tile38Unreachable, type Tile38, type Tile38Reply } from './tile38Port.ts'

/** The relative error of Tile38's distances, which it measures on a sphere. */
const SPHERE_ERROR = 0.006
/** How many devices the first query requests at least. Each further query requests four times as many. */
const FIRST_DEVICES = 64
/** How many records are requested at a time, which is about 64 KB. */
const RECORDS_AT_ONCE = 128

/**
 * Finds the nearest users in Tile38 instead of asking every partition: first the devices around the point, from the
 * nearest on, and then their records from their owners, all at once. Tile38's positions are up to a second old. The
 * distance is computed from the record's present position, and users who have moved away or are gone are left out.
 *
 * A device is where its latest record is; the records of earlier users of the device are not found here.
 */
export class Tile38Search implements Users {
  readonly #tile38: Tile38
  readonly #keys: Tile38Keys
  readonly #wholeness: Tile38Wholeness
  readonly #users: Users

  /**
   * Searches for users.
   * @param users answers all other questions, and returns the records for this one
   */
  constructor(tile38: Tile38, storeId: string, wholeness: Tile38Wholeness, users: Users) {
    this.#tile38 = tile38
    this.#keys = new Tile38Keys(storeId)
    this.#wholeness = wholeness
    this.#users = users
  }

  async ask(question: UserQuestion): Promise<UserAnswer> {
    if (question.ask !== 'near') return this.#users.ask(question)
    try {
      return await this.#near(question.scope, question.near)
    } catch (error) {
      if (!(error instanceof Tile38Unreachable)) throw error
      throw unavailable()
    }
  }

  async #near(scope: ScopeId, near: UsersNear): Promise<UserAnswer> {
    await this.#wholeness.reached()
    const isWanted = metadataMatcher(near.metadata ?? {})
    const users: FoundUser[] = []
    const asked = new Set<string>()
    for (let count = Math.max(FIRST_DEVICES, 2 * near.limit); ; count *= 4) {
      const { devices, sureMeters } = await this.#devices(scope, near, count)
      const next = devices.filter(({ recordId, distance }) => distance <= sureMeters && !asked.has(recordId))
      const atOnce = Math.min(RECORDS_AT_ONCE, 2 * near.limit)
      for (let from = 0; from < next.length && users.length < near.limit; from += atOnce) {
        const ids = next.slice(from, from + atOnce).map(({ recordId }) => recordId)
        for (const id of ids) asked.add(id)
        users.push(...(await this.#records(scope, near, isWanted, ids)))
      }
      if (users.length >= near.limit || sureMeters === Infinity) {
        users.sort((a, b) => a.order[0]! - b.order[0]! || (a.id < b.id ? -1 : 1))
        const isAll = sureMeters === Infinity && devices.every(({ recordId }) => asked.has(recordId))
        return { users: users.slice(0, near.limit), hasMore: users.length > near.limit || !isAll }
      }
    }
  }

  /** The nearest devices in order. No device within `sureMeters` is missing. */
  async #devices(scope: ScopeId, near: UsersNear, count: number) {
    const { latitude, longitude, radiusMeters } = near
    const [reply, marks] = await this.#tile38.send([
      [
        'NEARBY',
        this.#keys.devices(scope),
        'LIMIT',
        `${count}`,
        ...wantedWords(near),
        'POINTS',
        'POINT',
        numberText(latitude),
        numberText(longitude),
        numberText(radiusMeters * (1 + SPHERE_ERROR) + 1),
      ],
      this.#wholeness.question,
    ])
    if (!this.#wholeness.isWhole(marks)) throw unavailable()
    const entries = entriesOf(reply)
    const devices: NearDevice[] = []
    let farthest = 0
    for (const entry of entries) {
      const position = readPoint(scope, deviceOf(entry[0]), entry)
      if (position === undefined) continue
      const distance = pointDistance(latitude, longitude, position.latitude, position.longitude)
      farthest = Math.max(farthest, distance)
      if (distance <= radiusMeters) devices.push({ recordId: position.recordId, distance })
    }
    devices.sort((a, b) => a.distance - b.distance || (a.recordId < b.recordId ? -1 : 1))
    const isAll = entries.length < count
    return { devices, sureMeters: isAll ? Infinity : farthest * (1 - 2 * SPHERE_ERROR) }
  }

  /**
   * The devices that exist, are within the radius and match. An answer may end early, when it has its largest size.
   */
  async #records(
    scope: ScopeId,
    near: UsersNear,
    isWanted: ReturnType<typeof metadataMatcher>,
    ids: readonly string[],
  ): Promise<FoundUser[]> {
    const found: FoundUser[] = []
    const missing = new Set(ids)
    for (let more = true; more && missing.size > 0;) {
      const { users, hasMore } = await this.#users.ask({ scope, ask: 'records', ids: [...missing] })
      for (const user of users) {
        missing.delete(user.id)
        const distance = distanceOf(near, isWanted, user)
        if (distance !== undefined) found.push({ ...user, order: [distance] })
      }
      more = hasMore
    }
    return found
  }
}

interface NearDevice {
  readonly recordId: string
  /** In metres. */
  readonly distance: number
}

/** The distance in metres; undefined if the record is not among those that are searched. */
function distanceOf(
  near: UsersNear,
  isWanted: ReturnType<typeof metadataMatcher>,
  { user }: FoundUser,
): number | undefined {
  const { location, locationAccuracy = 0, metadata, updatedAt } = JSON.parse(user.join(''))
  if (near.updatedAfter !== undefined && !(Date.parse(updatedAt) > near.updatedAfter)) return undefined
  if (near.maxAccuracy !== undefined && locationAccuracy > near.maxAccuracy) return undefined
  const [longitude, latitude] = location.coordinates
  const distance = pointDistance(near.latitude, near.longitude, latitude, longitude)
  return distance <= near.radiusMeters && isWanted(metadata) ? distance : undefined
}

/** An entry of a search: the id, and what was asked for. */
type Entry = readonly [string, ...Tile38Reply[]]

/** The entries of a reply `[cursor, [[id, …], …]]`. */
export function entriesOf(reply: Tile38Reply | undefined): readonly Entry[] {
  const [, entries] = reply as unknown as readonly [unknown, readonly Entry[]]
  return entries
}
