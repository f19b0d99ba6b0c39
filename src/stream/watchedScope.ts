import type { LivePosition } from '../actor/port.ts'
import type { ScopeId } from '../model/scope.ts'
import { ApiError } from '../runtime/errors.ts'
import { LiveAreas, type LiveArea } from '../spatial/liveAreas.ts'
import type { LiveDevice, Stay, Watch } from './watch.ts'
import type { DeviceTest } from './watchFilter.ts'

/**
 * The watched areas of one scope and the devices in them.
 *
 * The position of a device is that of its latest update, whichever of its user records that belongs to. Devices
 * outside all areas are not stored here: each of their updates costs a query of the areas' cells and a map look-up.
 */

/** How many devices a watched area may have. */
const MAX_STAYS = 100_000
/** How many stays of an ended watch are forgotten in one turn. */
const FORGOTTEN_A_TURN = 4000
/** Approximate bytes for a device in an area, with its share of the text that several watches are sent. */
const STAY_BYTES = 600

export class WatchedScope {
  readonly scope: ScopeId
  readonly #areas = new LiveAreas<Watch>()
  readonly #devices = new Map<string, LiveDevice>()
  readonly #found: Watch[] = []
  #position = 0

  constructor(scope: ScopeId) {
    this.scope = scope
  }

  get watches(): number {
    return this.#areas.size
  }

  /**
   * Adds a watch, or gives it another area. {@link look} finds the devices in it.
   * @throws AreaError
   */
  put(watch: Watch, area: LiveArea): void {
    this.#areas.put(watch, area)
    const holds = this.#areas.tester(watch)
    for (const stay of watch.stays)
      if (stay.isInside && !holds(stay.device.latitude, stay.device.longitude)) watch.leave(stay)
  }

  remove(watch: Watch): void {
    watch.isEnded = true
    this.#areas.remove(watch)
    this.#forgetAll(watch)
  }

  /** Forgets the stays of a watch that has ended. If there are many, that takes several turns. */
  #forgetAll({ stays }: Watch): void {
    let left = FORGOTTEN_A_TURN
    for (const stay of stays) {
      if (left-- === 0) {
        setImmediate(() => this.#forgetAll(stay.watch))
        return
      }
      stays.delete(stay)
      this.forget(stay)
    }
  }

  /** An update has moved the device. Watches with something to send are added to `changed`. */
  moved(live: LivePosition, now: number, changed: Set<Watch>): void {
    const found = this.#found
    found.length = 0
    this.#areas.holding(live.latitude, live.longitude, found)
    if (found.length === 0 && !this.#devices.has(live.deviceId)) return
    const position = ++this.#position
    let wanting = 0
    for (const watch of found) {
      const { test } = watch
      if (test === undefined || this.#isWanted(watch, test, live)) {
        watch.foundBy = position
        found[wanting++] = watch
      }
    }
    found.length = wanting
    if (found.length === 0 && !this.#devices.has(live.deviceId)) return
    const device = this.#deviceAt(live)
    for (const [watch, stay] of device.stays) {
      if (watch.foundBy === position || !stay.isInside) continue
      watch.leave(stay)
      changed.add(watch)
    }
    for (const watch of found) {
      const stay = device.stays.get(watch)
      if (stay === undefined) this.#enter(watch, device)
      else watch.move(stay, now)
      changed.add(watch)
    }
  }

  /** A record was deleted. If it had the device's position, the device leaves. */
  removed(deviceId: string, recordId: string, changed: Set<Watch>): void {
    const device = this.#devices.get(deviceId)
    if (device?.recordId !== recordId) return
    for (const [watch, stay] of device.stays) {
      if (!stay.isInside) continue
      watch.leave(stay)
      changed.add(watch)
    }
  }

  /** A search of the watch's area has found a device. The area may have changed since. */
  found(watch: Watch, live: LivePosition, now: number): void {
    // The results of a search arrive together, and an earlier one may have ended the watch by exceeding a limit.
    if (watch.isEnded || !this.#areas.tester(watch)(live.latitude, live.longitude)) return
    if (watch.test?.matches(live) === false) return
    const device = this.#deviceAt(live)
    const stay = device.stays.get(watch)
    if (stay === undefined) this.#enter(watch, device)
    // The area was elsewhere in between, and the client has not been told yet that the device left.
    else if (!stay.isInside) watch.move(stay, now)
  }

  forget({ watch, device }: Stay): void {
    if (!device.stays.delete(watch)) return
    watch.owner.devices.release(STAY_BYTES)
    if (device.stays.size === 0) this.#devices.delete(device.deviceId)
  }

  #enter(watch: Watch, device: LiveDevice): void {
    if (watch.stays.size === MAX_STAYS) {
      const sentence = `area: More than ${MAX_STAYS} devices are in it. Watch a smaller one.`
      watch.owner.failed(watch, new ApiError(400, sentence, { param: 'area' }))
      return
    }
    try {
      watch.owner.devices.acquire(STAY_BYTES, 'area')
    } catch (error) {
      watch.owner.failed(watch, error as ApiError)
      return
    }
    this.#devices.set(device.deviceId, device)
    watch.enter(device)
  }

  /** Whether a device is wanted. If a position does not tell, a device that is inside stays inside. */
  #isWanted(watch: Watch, test: DeviceTest, live: LivePosition): boolean {
    const stay = this.#devices.get(live.deviceId)?.stays.get(watch)
    return test.matches(live) ?? stay?.isInside === true
  }

  #deviceAt(live: LivePosition): LiveDevice {
    const { deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt } = live
    const known = this.#devices.get(deviceId)
    if (known === undefined) {
      const stays = new Map<Watch, Stay>()
      return {
        deviceId,
        recordId,
        userId,
        latitude,
        longitude,
        accuracy,
        updatedAt,
        stays,
        written: undefined,
      }
    }
    known.recordId = recordId
    known.userId = userId
    known.latitude = latitude
    known.longitude = longitude
    known.accuracy = accuracy
    known.updatedAt = updatedAt
    known.written = undefined
    return known
  }
}
