import type { LivePosition } from '../actor/port.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Clock } from '../runtime/clock.ts'
import { ownTurn } from '../runtime/slices.ts'
import { LiveAreas, type LiveArea } from '../spatial/liveAreas.ts'
import { BatchedScope, type BatchedParts } from './batchedScope.ts'
import type { BatchedWatch } from './batchedWatch.ts'
import type { LiveDevice, SingleWatch, Stay } from './singleWatch.ts'

/** How many stays of an ended watch are forgotten at once. A connection may end a hundred watches at one time. */
const FORGOTTEN_AT_ONCE = 32
/** How many are then forgotten before others have a turn. */
const FORGOTTEN_A_TURN = 1000

/** A watch of either kind. */
export type AnyWatch = SingleWatch | BatchedWatch

/**
 * The watched areas of one scope and the devices in them: here those of single watches, and in `batched` those of
 * batched ones.
 *
 * The position of a device is that of its latest update, whichever of its user records that belongs to. Devices
 * outside all areas are not stored here: each of their updates costs a query of the areas' cells and a map look-up.
 */
export class WatchedScope {
  readonly scope: ScopeId
  /** The areas of batched watches, and the devices in them. */
  readonly batched: BatchedScope
  /** The areas of single watches. */
  readonly #areas = new LiveAreas<SingleWatch>()
  readonly #devices = new Map<string, LiveDevice>()
  readonly #found: SingleWatch[] = []
  #position = 0

  constructor(scope: ScopeId, parts: BatchedParts) {
    this.scope = scope
    this.batched = new BatchedScope(parts)
  }

  /**
   * Adds a watch, or gives it another area. {@link found} is told who is in it.
   * @throws AreaError
   */
  put(watch: AnyWatch, area: LiveArea): void {
    if (watch.isBatched) return this.batched.put(watch, area)
    this.#areas.put(watch, area)
    const holds = this.#areas.tester(watch)
    // A copy, because the last stay takes the place of one that is dropped.
    for (const stay of watch.stays.slice())
      if (stay.isInside && !holds(stay.device.latitude, stay.device.longitude)) watch.leave(stay)
  }

  remove(watch: AnyWatch): void {
    if (watch.isBatched) return this.batched.remove(watch)
    watch.isEnded = true
    this.#areas.remove(watch)
    this.#forgetAll(watch, FORGOTTEN_AT_ONCE)
  }

  /** Forgets the stays of a watch that has ended. If there are more than a few, that takes several turns. */
  #forgetAll(watch: SingleWatch, most: number): void {
    const { stays } = watch
    for (let left = most; left > 0 && stays.length > 0; left--) this.forget(stays.pop()!)
    if (stays.length > 0) void ownTurn().then(() => this.#forgetAll(watch, FORGOTTEN_A_TURN))
  }

  /** An update has moved the device. Single watches that have something to send are added to `changed`. */
  moved(live: LivePosition, clock: Clock, changed: Set<SingleWatch>): void {
    if (this.batched.watches > 0) this.batched.moved(live)
    if (this.#areas.size === 0) return
    const known = this.#devices.get(live.deviceId)
    if (known === undefined) return this.#appeared(live, changed)
    update(known, live)
    this.#look(known, live, clock.now(), changed)
  }

  /** A device that is not stored has moved. */
  #appeared(live: LivePosition, changed: Set<SingleWatch>): void {
    const found = this.#found
    found.length = 0
    this.#areas.holding(live.latitude, live.longitude, found)
    let device: LiveDevice | undefined
    for (const watch of found) {
      if (watch.test !== undefined && watch.test.matches(live) !== true) continue
      device ??= deviceOf(live)
      this.#enter(watch, device)
      changed.add(watch)
    }
  }

  /** Looks at the position of a device for all single watches. */
  #look(device: LiveDevice, live: LivePosition, now: number, changed: Set<SingleWatch>): void {
    const found = this.#found
    found.length = 0
    this.#areas.holding(device.latitude, device.longitude, found)
    const position = ++this.#position
    let entering = 0
    for (const watch of found) {
      if (watch.test !== undefined && !isWanted(watch, device, live)) continue
      watch.foundBy = position
      entering++
    }
    for (const stay of device.stays.values()) {
      const { watch } = stay
      if (watch.foundBy === position) {
        watch.foundBy = 0
        entering--
        watch.move(stay, now)
      } else if (stay.isInside) watch.leave(stay)
      else continue
      changed.add(watch)
    }
    if (entering === 0) return
    for (const watch of found) {
      if (watch.foundBy !== position) continue
      this.#enter(watch, device)
      changed.add(watch)
    }
  }

  /** A record was deleted. If it had the device's position, the device leaves. */
  removed(deviceId: string, recordId: string, changed: Set<SingleWatch>): void {
    this.batched.removed(deviceId, recordId)
    const device = this.#devices.get(deviceId)
    if (device?.recordId !== recordId) return
    for (const stay of device.stays.values()) {
      if (!stay.isInside) continue
      stay.watch.leave(stay)
      changed.add(stay.watch)
    }
  }

  /** A search of the watch's area has found a device. The area may have changed since. */
  found(watch: AnyWatch, live: LivePosition, now: number): void {
    if (watch.isBatched) return this.batched.found(watch, live, now)
    // The results of a search arrive together, and an earlier one may have ended the watch by exceeding a limit.
    if (watch.isEnded || !this.#areas.tester(watch)(live.latitude, live.longitude)) return
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
    watch.giveRoom()
    if (device.stays.size === 0) this.#devices.delete(device.deviceId)
  }

  #enter(watch: SingleWatch, device: LiveDevice): void {
    if (!watch.hasRoom()) return
    this.#devices.set(device.deviceId, device)
    watch.enter(device)
  }
}

/** Whether a device is wanted. If its position does not tell, a device that is inside stays inside. */
function isWanted(watch: SingleWatch, device: LiveDevice, live: LivePosition): boolean {
  return watch.test!.matches(live) ?? device.stays.get(watch)?.isInside === true
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
    stays: new Map<SingleWatch, Stay>(),
    written: undefined,
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
