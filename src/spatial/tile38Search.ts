import type { FoundUser, UserAnswer, UserQuestion, Users, UsersNear } from '../engine/port.ts'
import { pointDistance } from '../geometry/distance.ts'
import { matchesMetadata } from '../model/metadata.ts'
import type { ScopeId } from '../model/scope.ts'
import { ApiError } from '../runtime/errors.ts'
import { readPosition } from './tile38Position.ts'
import { numberText, Tile38Keys } from './tile38Texts.ts'
import { Tile38Unreachable, type Tile38 } from './tile38Port.ts'

/** Tile38 measures on a sphere: so far it may be off, either way. */
const SPHERE_ERROR = 0.006
/** Devices that the first query asks for, at least; each after it asks for four times as many. */
const FIRST_DEVICES = 64
/** Records that are asked for at one time. */
const RECORDS_AT_ONCE = 32

/**
 * Who is near, found by Tile38 and not by asking every partition: the devices about the point from the nearest on, then their
 * records from their owners. Distances are ours, to what Tile38 was told up to a second ago; who has moved away or is gone
 * since is left out, metadata is as it stands.
 *
 * A device is where its latest record is: the records of earlier users of it are not found here.
 */
export class Tile38Search implements Users {
  readonly #tile38: Tile38
  readonly #keys: Tile38Keys
  readonly #users: Users

  /** @param users answers all other questions, and this one's records */
  constructor(tile38: Tile38, storeId: string, users: Users) {
    this.#tile38 = tile38
    this.#keys = new Tile38Keys(storeId)
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

  remove(scope: ScopeId, recordId: string): Promise<boolean> {
    return this.#users.remove(scope, recordId)
  }

  async #near(scope: ScopeId, near: UsersNear): Promise<UserAnswer> {
    const users: FoundUser[] = []
    const asked = new Set<string>()
    for (let count = Math.max(FIRST_DEVICES, 2 * near.limit); ; count *= 4) {
      const { devices, sureMeters } = await this.#devices(scope, near, count)
      const next = devices.filter(({ deviceId, distance }) => distance <= sureMeters && !asked.has(deviceId))
      for (let from = 0; from < next.length && users.length < near.limit; from += RECORDS_AT_ONCE) {
        const part = next.slice(from, from + RECORDS_AT_ONCE)
        const found = await Promise.all(part.map((device) => this.#record(scope, near, device)))
        for (const { deviceId } of part) asked.add(deviceId)
        users.push(...found.filter((user) => user !== undefined))
      }
      if (users.length >= near.limit || sureMeters === Infinity)
        return { users: users.slice(0, near.limit), hasMore: users.length > near.limit }
    }
  }

  /** The nearest devices in order; of what lies within `sureMeters` none is missing. */
  async #devices(scope: ScopeId, near: UsersNear, count: number) {
    const { latitude, longitude, radiusMeters } = near
    const [whole, reply] = await this.#tile38.send([
      ['GET', this.#keys.devicesState, 'whole'],
      [
        'NEARBY',
        this.#keys.devices(scope),
        'LIMIT',
        `${count}`,
        'OBJECTS',
        'POINT',
        numberText(latitude),
        numberText(longitude),
        numberText(radiusMeters * (1 + SPHERE_ERROR) + 1),
      ],
    ])
    if (whole === null) throw unavailable()
    const [, objects] = reply as unknown as readonly [unknown, readonly (readonly [string, string])[]]
    const devices: NearDevice[] = []
    let farthest = 0
    for (const [deviceId, object] of objects) {
      const position = readPosition(scope, deviceId, object)
      if (position === undefined) continue
      const distance = pointDistance(latitude, longitude, position.latitude, position.longitude)
      farthest = Math.max(farthest, distance)
      if (distance <= radiusMeters) devices.push({ deviceId, recordId: position.recordId, distance })
    }
    devices.sort((a, b) => a.distance - b.distance || (a.recordId < b.recordId ? -1 : 1))
    const isAll = objects.length < count
    return { devices, sureMeters: isAll ? Infinity : farthest * (1 - 2 * SPHERE_ERROR) }
  }

  async #record(scope: ScopeId, near: UsersNear, device: NearDevice): Promise<FoundUser | undefined> {
    const { users } = await this.#users.ask({ scope, ask: 'record', id: device.recordId })
    const [user] = users
    if (user === undefined) return undefined
    if (near.metadata !== undefined && !matchesMetadata(JSON.parse(user.user).metadata, near.metadata))
      return undefined
    return { ...user, order: [device.distance, ...user.order] }
  }
}

interface NearDevice {
  readonly deviceId: string
  readonly recordId: string
  /** Metres. */
  readonly distance: number
}

function unavailable(): ApiError {
  return new ApiError(
    503,
    'Positions cannot be searched now: Tile38 is not there, or does not have all yet.',
    {
      retryAfter: 5,
    },
  )
}
