/**
 * What the clients of a server have seen, and its comparison with the server's state while nothing is in flight.
 *
 * Faults are collected in {@link Ledger.faults} as sentences that begin with the number of the broken guarantee
 * (docs/spec.md).
 */
import { storeSalt, type StoreSalt } from '../../src/events/ids.ts'
import type { Server } from '../kit/server.ts'
import { Device, eventText, type Circle, type Sent } from './fleet.ts'
import type { Seeded } from './seeded.ts'

/** More sentences than this would add no information. */
const MAX_FAULTS = 20
const PAGE = 1000

export class Ledger {
  readonly faults: string[] = []
  /** What the run covered. */
  readonly counts = {
    updates: 0,
    lost: 0,
    lostButApplied: 0,
    resends: 0,
    events: 0,
    edits: 0,
    rotated: 0,
    trimmed: 0,
  }
  readonly devices: readonly Device[]
  /** Names of devices whose events somebody else compares. */
  others: ReadonlySet<string> = new Set()
  /** The acknowledged state of the circles, by `_id`. */
  circles = new Map<string, Circle>()
  /** Names of circles whose edit was not answered. */
  readonly unsure = new Set<string>()
  /** All centres that were ever sent for circles, by the text of their coordinates; metres. */
  readonly places = new Map<string, [number, number]>()
  /** Of each distant geofence, the last version that was acknowledged. */
  readonly farVersions = new Map<string, number>()
  /** Ids of events in answers to updates, and of events that a list showed. */
  readonly answered = new Set<string>()
  readonly listed = new Set<string>()
  readonly #server: Server
  readonly #random: Seeded
  readonly #salt: StoreSalt
  /** All events before this server time have been checked. */
  #checkedUntil = 0

  constructor(server: Server, storeId: string, deviceCount: number, random: Seeded) {
    this.#server = server
    this.#random = random
    this.#salt = storeSalt(storeId)
    this.devices = Array.from({ length: deviceCount }, (_, i) => new Device(`device-${i}`, random))
  }

  /** The next check starts from the first event again. */
  forgetChecks(): void {
    this.#checkedUntil = 0
    for (const device of this.devices) device.checked = 0
  }

  async check(): Promise<void> {
    const now = Date.now()
    await this.#checkGeofences()
    await this.#checkUsers()
    await this.#checkEvents()
    this.#checkedUntil = now
    for (const device of this.devices) {
      const old = this.#random.chance(0.3) ? device.oldUpdate(this.#random) : undefined
      if (old !== undefined) device.resends.push(old)
    }
  }

  /** An acknowledged edit is there. Any other is there completely or not at all, and is known from now on. */
  async #checkGeofences(): Promise<void> {
    const { body } = await this.#server.api('GET', '/v1/geofences?limit=1000')
    const found = new Map<string, Circle>()
    for (const geofence of body.geofences) {
      const {
        _id: id,
        tag,
        externalId,
        description,
        geometryRadius: radius,
        enabled,
        dwellThreshold,
      } = geofence
      if (tag === 'far') {
        const known = this.farVersions.get(externalId)
        if (known !== undefined && Number(description) < known) {
          this.fault(`${externalId} is at edit ${description}, but edit ${known} was acknowledged`)
        }
      } else if (tag === 'near') {
        const [x, y] = this.#placeOf(externalId, geofence.geometryCenter.coordinates)
        found.set(id, { externalId, id, x, y, radius, dwellThreshold: dwellThreshold ?? undefined, enabled })
      }
    }
    const sure = (circles: ReadonlyMap<string, Circle>) =>
      [...circles.values()]
        .filter(({ externalId }) => !this.unsure.has(externalId))
        .map((circle) => JSON.stringify(circle, Object.keys(circle).toSorted()))
        .toSorted()
    this.compare('geofences', sure(found), sure(this.circles))
    this.circles = found
    this.unsure.clear()
  }

  /** Metres, from the degrees that were sent. */
  #placeOf(externalId: string, coordinates: readonly number[]): [number, number] {
    const place = this.places.get(coordinates.join())
    if (place !== undefined) return place
    this.fault(`${externalId} is at ${coordinates.join()}, where no circle was`)
    return [0, 0]
  }

  /** G1, and G9 for updates in flight: the state is that of the last acknowledged update or of the one after it. */
  async #checkUsers(): Promise<void> {
    const { body } = await this.#server.api('GET', `/v1/users?limit=${PAGE}`)
    const users = new Map<string, unknown>()
    for (const user of body.users) {
      if (users.has(user.deviceId)) this.fault(`${user.deviceId} has two records`)
      users.set(user.deviceId, user)
    }
    for (const device of this.devices) {
      // oxlint-disable-next-line typescript/no-explicit-any -- an answer
      const user = users.get(device.deviceId) as any
      const { last, inFlight } = device
      if (inFlight !== undefined && user?.updatedAt === inFlight.body.updatedAt) {
        this.counts.lostButApplied++
        device.applied()
        device.resends.push(inFlight)
      }
      const expected = device.last
      if (expected === undefined) {
        if (user !== undefined) this.fault(`${device.deviceId} is there, but was never sent`)
      } else if (user === undefined) {
        this.fault(`G1 ${device.deviceId} is gone; acknowledged was ${last && label(last)}`)
      } else this.compareUser('G1', user, expected)
    }
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- an answer
  compareUser(what: string, user: any, { body, visits }: Sent): void {
    // A geofence that has been disabled or deleted since is hidden at once.
    const shown = visits.map(({ id }) => id).filter((id) => this.circles.get(id)?.enabled)
    this.compare(
      `${what}: user ${body.deviceId}`,
      // oxlint-disable-next-line typescript/no-explicit-any -- an answer
      [user.updatedAt, ...user.location.coordinates, ...user.geofences.map((g: any) => g._id)].map(String),
      [body.updatedAt, body.longitude, body.latitude, ...shown].map(String),
    )
  }

  /** G2, G3, G5: the log has the events of all applied updates in their order, and no others. */
  async #checkEvents(): Promise<void> {
    const isWhole = this.#checkedUntil === 0
    // oxlint-disable-next-line typescript/no-explicit-any -- records of the API
    const byDevice = new Map<string, any[]>()
    const ids = new Set<string>()
    for await (const event of this.#eventsSince(this.#checkedUntil)) {
      if (ids.has(event._id)) continue
      ids.add(event._id)
      if (this.others.has(event.user.deviceId)) continue
      const list = byDevice.get(event.user.deviceId)
      if (list === undefined) byDevice.set(event.user.deviceId, [event])
      else list.push(event)
    }
    if (isWhole) {
      this.counts.events = ids.size
      for (const id of this.answered) if (!ids.has(id)) this.fault(`G2 event ${id} was answered, but is gone`)
      for (const id of this.listed) if (!ids.has(id)) this.fault(`G5 event ${id} was listed, but is gone`)
    }
    for (const device of this.devices) {
      const events = byDevice.get(device.deviceId) ?? []
      byDevice.delete(device.deviceId)
      events.sort((a, b) => this.#placeInLog(a._id) - this.#placeInLog(b._id))
      this.compare(
        `G2, G3 events of ${device.deviceId} from its number ${device.checked} on`,
        events.map(eventText),
        device.events.slice(device.checked),
      )
      device.checked = device.events.length
    }
    for (const name of byDevice.keys()) this.fault(`events of ${name}, which nobody sent`)
  }

  /** Reads pages backwards from the newest event. */
  // oxlint-disable-next-line typescript/no-explicit-any -- records of the API
  async *#eventsSince(time: number): AsyncGenerator<any> {
    let before = ''
    for (;;) {
      const since = time === 0 ? '' : `&updatedAfter=${new Date(time).toISOString()}`
      const { body } = await this.#server.api('GET', `/v1/events?limit=${PAGE}${since}${before}`)
      // oxlint-disable-next-line typescript/no-explicit-any -- records of the API
      const ids = new Set(body.events.map(({ _id }: any) => _id))
      if (ids.size < body.events.length) this.fault('G2 an event is twice on one page')
      yield* body.events
      if (!body.meta.hasMore) return
      before = `&before=${body.events.at(-1)._id}`
    }
  }

  /**
   * The position in the log, read from the id: the commit's sequence and the index in it. It increases within a
   * partition.
   */
  #placeInLog(id: string): number {
    const high = (Number.parseInt(id.slice(8, 16), 16) ^ this.#salt.high) >>> 0
    const low = (Number.parseInt(id.slice(16), 16) ^ this.#salt.low) >>> 0
    const sequence = (high & 0x3fffff) * 16 + (low >>> 28)
    return sequence * 2 ** 20 + (low & 0xfffff)
  }

  compare(what: string, found: readonly string[], expected: readonly string[]): void {
    const length = Math.max(found.length, expected.length)
    for (let i = 0; i < length; i++) {
      if (found[i] === expected[i]) continue
      this.fault(
        `${what}: item ${i} of ${found.length} is ${found[i]}, expected ${expected[i]} of ${expected.length}`,
      )
      return
    }
  }

  fault(sentence: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(sentence)
  }
}

/** The name of an update in messages. */
export function label({ body }: Sent): string {
  return `${body.deviceId} at ${body.updatedAt}`
}
