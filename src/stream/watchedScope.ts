import type { LivePosition } from '../actor/port.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Clock } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'
import { LiveAreas, type LiveArea } from '../spatial/liveAreas.ts'
import type { LiveDevice, Stay, Watch } from './watch.ts'
import type { DeviceTest, TestedPosition } from './watchFilter.ts'

/** How many devices a watched area may have. */
const MAX_STAYS = 100_000
/** How many stays of an ended watch are forgotten in one turn. */
const FORGOTTEN_A_TURN = 4000
/** Approximate bytes for a device in an area, with its share of the text that several watches are sent. */
const STAY_BYTES = 600

/**
 * The watched areas of one scope and the devices in them.
 *
 * The position of a device is that of its latest update, whichever of its user records that belongs to. Devices
 * outside all areas are not stored here: each of their updates costs a query of the areas' cells and a map look-up.
 *
 * For watches that look at ticks, an update of a device that is stored here only stores its position.
 *
 * Invariants
 * - WATCHED-SCOPE-1: A device is stored while it has stays, or has moved since the last tick.
 */
export class WatchedScope {
  readonly scope: ScopeId
  /** The areas of watches that look at each position at once. */
  readonly #prompt = new LiveAreas<Watch>()
  /** The areas of watches that look at ticks. */
  readonly #ticking = new LiveAreas<Watch>()
  readonly #devices = new Map<string, LiveDevice>()
  /** The devices that have moved since the last tick. Those that are not marked as such no longer count. */
  #stirred: LiveDevice[] = []
  readonly #found: Watch[] = []
  #position = 0

  constructor(scope: ScopeId) {
    this.scope = scope
  }

  get watches(): number {
    return this.#prompt.size + this.#ticking.size
  }

  /**
   * Adds a watch, or gives it another area. {@link look} finds the devices in it.
   * @throws AreaError
   */
  put(watch: Watch, area: LiveArea): void {
    const areas = this.#areasOf(watch)
    areas.put(watch, area)
    const holds = areas.tester(watch)
    for (const stay of watch.stays)
      if (stay.isInside && !holds(stay.device.latitude, stay.device.longitude)) watch.leave(stay)
  }

  remove(watch: Watch): void {
    watch.isEnded = true
    this.#areasOf(watch).remove(watch)
    if (this.#ticking.size === 0) this.#settle()
    this.#forgetAll(watch)
  }

  #areasOf(watch: Watch): LiveAreas<Watch> {
    return watch.looksAtTicks ? this.#ticking : this.#prompt
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

  /** An update has moved the device. Watches that have something to send at once are added to `changed`. */
  moved(live: LivePosition, clock: Clock, changed: Set<Watch>): void {
    const known = this.#devices.get(live.deviceId)
    if (known === undefined) return this.#appeared(live, changed)
    update(known, live)
    if (this.#ticking.size > 0 && !known.isStirred) {
      known.isStirred = true
      this.#stirred.push(known)
    }
    if (this.#prompt.size > 0) this.#look(this.#prompt, known, live, clock.now(), changed)
  }

  /** A device that is not stored has moved. */
  #appeared(live: LivePosition, changed: Set<Watch>): void {
    const found = this.#found
    found.length = 0
    const { latitude, longitude } = live
    if (this.#prompt.size > 0) this.#prompt.holding(latitude, longitude, found)
    if (this.#ticking.size > 0) this.#ticking.holding(latitude, longitude, found)
    let device: LiveDevice | undefined
    for (const watch of found) {
      if (watch.test !== undefined && watch.test.matches(live) !== true) continue
      device ??= deviceOf(live)
      this.#enter(watch, device)
      changed.add(watch)
    }
  }

  /** For watches that look at ticks: looks at the devices that have moved since the last one. */
  tick(now: number): void {
    const stirred = this.#stirred
    if (stirred.length === 0) return
    this.#stirred = []
    for (const device of stirred) {
      if (!device.isStirred) continue
      device.isStirred = false
      this.#look(this.#ticking, device, device, now, undefined)
      if (device.stays.size === 0) this.#devices.delete(device.deviceId)
    }
  }

  /** Forgets that devices have moved, because nobody looks at ticks any more. */
  #settle(): void {
    for (const device of this.#stirred) {
      if (!device.isStirred) continue
      device.isStirred = false
      if (device.stays.size === 0) this.#devices.delete(device.deviceId)
    }
    this.#stirred = []
  }

  /**
   * Looks at the position of a device for some watches.
   * @param areas of those watches
   * @param live the position of the device
   */
  #look(
    areas: LiveAreas<Watch>,
    device: LiveDevice,
    live: TestedPosition,
    now: number,
    changed: Set<Watch> | undefined,
  ): void {
    const found = this.#found
    found.length = 0
    areas.holding(device.latitude, device.longitude, found)
    const position = ++this.#position
    let entering = 0
    for (const watch of found) {
      if (watch.test !== undefined && !isWanted(watch, watch.test, device, live)) continue
      watch.foundBy = position
      entering++
    }
    const looksAtTicks = areas === this.#ticking
    for (const stay of device.stays.values()) {
      const { watch } = stay
      if (watch.looksAtTicks !== looksAtTicks) continue
      if (watch.foundBy === position) {
        watch.foundBy = 0
        entering--
        watch.move(stay, now)
      } else if (stay.isInside) watch.leave(stay)
      else continue
      changed?.add(watch)
    }
    if (entering === 0) return
    for (const watch of found) {
      if (watch.foundBy !== position) continue
      this.#enter(watch, device)
      changed?.add(watch)
    }
  }

  /** A record was deleted. If it had the device's position, the device leaves. */
  removed(deviceId: string, recordId: string, changed: Set<Watch>): void {
    const device = this.#devices.get(deviceId)
    if (device?.recordId !== recordId) return
    for (const stay of device.stays.values()) {
      if (!stay.isInside) continue
      stay.watch.leave(stay)
      changed.add(stay.watch)
    }
    // It is nowhere, so its last movement leads nowhere.
    device.isStirred = false
    if (device.stays.size === 0) this.#devices.delete(deviceId)
  }

  /** A search of the watch's area has found a device. The area may have changed since. */
  found(watch: Watch, live: LivePosition, now: number): void {
    // The results of a search arrive together, and an earlier one may have ended the watch by exceeding a limit.
    if (watch.isEnded || !this.#areasOf(watch).tester(watch)(live.latitude, live.longitude)) return
    if (watch.test?.matches(live) === false) return
    const known = this.#devices.get(live.deviceId)
    if (known !== undefined) update(known, live)
    const device = known ?? deviceOf(live)
    const stay = device.stays.get(watch)
    if (stay === undefined) this.#enter(watch, device)
    // The area was elsewhere in between, and the client has not been told yet that the device left.
    else if (!stay.isInside) watch.move(stay, now)
  }

  forget({ watch, device }: Stay): void {
    if (!device.stays.delete(watch)) return
    watch.owner.devices.release(STAY_BYTES)
    if (device.stays.size === 0 && !device.isStirred) this.#devices.delete(device.deviceId)
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
}

/** Whether a device is wanted. If a position does not tell, a device that is inside stays inside. */
function isWanted(watch: Watch, test: DeviceTest, device: LiveDevice, live: TestedPosition): boolean {
  return test.matches(live) ?? device.stays.get(watch)?.isInside === true
}

function deviceOf(live: LivePosition): LiveDevice {
  const { deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt } = live
  return {
    deviceId,
    recordId,
    userId,
    latitude,
    longitude,
    accuracy,
    updatedAt,
    head: undefined,
    stays: new Map<Watch, Stay>(),
    written: undefined,
    isStirred: false,
  }
}

/** Moves a device to a position. */
function update(device: LiveDevice, live: LivePosition): void {
  const { recordId, userId } = live
  if (device.recordId !== recordId || device.userId !== userId) {
    device.recordId = recordId
    device.userId = userId
    device.head = undefined
  }
  device.latitude = live.latitude
  device.longitude = live.longitude
  device.accuracy = live.accuracy
  device.updatedAt = live.updatedAt
  device.written = undefined
}
