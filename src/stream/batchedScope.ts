import type { CommittedPositions, LivePosition } from '../actor/port.ts'
import { ownTurn } from '../runtime/slices.ts'
import { LiveAreas, type LiveArea } from '../spatial/liveAreas.ts'
import { INSIDE, NO_STAY, type BatchedStays } from './batchedStays.ts'
import type { BatchedWatch } from './batchedWatch.ts'
import { NO_DEVICE, type WatchedDevices } from './watchedDevices.ts'
import type { TestedPosition } from './watchFilter.ts'

/** How many stays of an ended watch are forgotten at once. A connection may end a hundred watches at one time. */
const FORGOTTEN_AT_ONCE = 32
/** How many are then forgotten before others have a turn. */
const FORGOTTEN_A_TURN = 1000

/** The devices in the areas of all batched watches, and how their positions are read. */
export interface BatchedParts {
  readonly devices: WatchedDevices
  readonly stays: BatchedStays
  readonly committed: CommittedPositions | undefined
}

/**
 * The areas of the batched watches of one scope, and the devices in them.
 *
 * An update of a device that is stored here only marks it. At a tick its position is read from its record, if that is in
 * this process; otherwise the update has brought it. Then it is looked at once for all watches. Only the latest
 * position of a device counts, so what happened between two ticks is not told.
 *
 * Invariants
 * - BATCHED-SCOPE-1: A device is stored while it has stays, or has moved since the last tick.
 */
export class BatchedScope {
  readonly devices: WatchedDevices
  readonly stays: BatchedStays
  readonly #committed: CommittedPositions | undefined
  readonly #areas = new LiveAreas<BatchedWatch>()
  /** The numbers of devices by deviceId. */
  readonly #byId = new Map<string, number>()
  /** The devices that have moved since the last tick. */
  #stirred: number[] = []
  readonly #found: BatchedWatch[] = []
  #position = 0
  /** How many watches have filters that read the records of positions. */
  #readers = 0

  constructor({ devices, stays, committed }: BatchedParts) {
    this.devices = devices
    this.stays = stays
    this.#committed = committed
  }

  get watches(): number {
    return this.#areas.size
  }

  /**
   * Adds a watch, or gives it another area. {@link found} is told who is in it.
   * @throws AreaError
   */
  put(watch: BatchedWatch, area: LiveArea): void {
    const before = this.#areas.size
    this.#areas.put(watch, area)
    if (this.#areas.size > before && watch.test?.readsRecords === true) this.#readers++
    const holds = this.#areas.tester(watch)
    for (const [device, stay] of watch.stays) {
      const { latitude, longitude } = this.devices.shown(device)
      if (this.stays.has(stay, INSIDE) && !holds(latitude, longitude)) watch.leave(stay)
    }
  }

  remove(watch: BatchedWatch): void {
    watch.isEnded = true
    const before = this.#areas.size
    this.#areas.remove(watch)
    if (this.#areas.size < before && watch.test?.readsRecords === true) this.#readers--
    if (this.#areas.size === 0) this.#settle()
    this.#forgetAll(watch.stays.entries(), watch, FORGOTTEN_AT_ONCE)
  }

  /**
   * Forgets the stays of a watch that has ended. If there are more than a few, that takes several turns.
   * @param left the stays that are left. A new iterator would pass all that were deleted.
   */
  #forgetAll(left: MapIterator<[number, number]>, watch: BatchedWatch, most: number): void {
    for (let i = 0; i < most; i++) {
      const { value, done } = left.next()
      if (done === true) return
      const [device, stay] = value
      watch.stays.delete(device)
      this.forget(stay)
      this.stays.free(stay)
    }
    void ownTurn().then(() => this.#forgetAll(left, watch, FORGOTTEN_A_TURN))
  }

  /** An update has moved the device. */
  moved(live: LivePosition): void {
    const { handle } = live
    const device = handle === undefined ? NO_DEVICE : this.devices.ofHandle(handle)
    if (device !== NO_DEVICE) return this.stir(device)
    const known = this.#byId.get(live.deviceId)
    if (known === undefined) return this.#appeared(live)
    this.devices.move(known, live, this.#readers > 0)
    this.stir(known)
  }

  /** A device that is stored has moved. */
  stir(device: number): void {
    if (this.devices.stir(device)) this.#stirred.push(device)
  }

  /** A device that is not stored has moved. */
  #appeared(live: LivePosition): void {
    const found = this.#found
    found.length = 0
    this.#areas.holding(live.latitude, live.longitude, found)
    let device = NO_DEVICE
    for (const watch of found) {
      if (watch.test !== undefined && watch.test.matches(live) !== true) continue
      if (!watch.hasRoom()) continue
      if (device === NO_DEVICE) device = this.#add(live)
      watch.enter(device)
    }
  }

  #add(live: LivePosition): number {
    const device = this.devices.add(live)
    this.#byId.set(live.deviceId, device)
    return device
  }

  /** Looks at the devices that have moved since the last tick. Positions can be read now. */
  tick(now: number): void {
    const stirred = this.#stirred
    if (stirred.length === 0) return
    this.#stirred = []
    for (let i = 0; i < stirred.length; i++) {
      const device = stirred[i]!
      // The last watch may have ended in this loop.
      if (!this.devices.isStirred(device)) continue
      this.#follow(device, now)
      this.devices.settle(device)
      this.#forgetUnlessNeeded(device)
    }
  }

  #follow(device: number, now: number): void {
    const { devices } = this
    if (devices.isGone(device)) return
    const handle = devices.handle(device)
    if (handle === undefined) return this.#look(device, devices.tested(device), now)
    const committed = this.#committed!
    if (!committed.has(handle)) return
    const live = committed.at(handle)
    if (devices.follow(device, live)) this.#look(device, live, now)
  }

  /**
   * Looks at the position of a device for all watches.
   * @param tested what filters read of it
   */
  #look(device: number, tested: TestedPosition, now: number): void {
    const { stays } = this
    const found = this.#found
    found.length = 0
    this.#areas.holding(this.devices.latitude(device), this.devices.longitude(device), found)
    const position = ++this.#position
    let entering = 0
    for (const watch of found) {
      if (watch.test !== undefined && !this.#isWanted(watch, device, tested)) continue
      watch.foundBy = position
      entering++
    }
    for (let stay = this.devices.firstStay(device), next; stay !== NO_STAY; stay = next) {
      // A stay that the watch drops is no longer in the chain.
      next = stays.next(stay)
      const watch = stays.watch(stay)
      if (watch.foundBy === position) {
        watch.foundBy = 0
        entering--
        watch.move(stay, now)
      } else if (!watch.isEnded && stays.has(stay, INSIDE)) watch.leave(stay)
    }
    if (entering === 0) return
    for (const watch of found) if (watch.foundBy === position && watch.hasRoom()) watch.enter(device)
  }

  /** Whether a device is wanted. If its position does not tell, a device that is inside stays inside. */
  #isWanted(watch: BatchedWatch, device: number, tested: TestedPosition): boolean {
    const isMatch = watch.test!.matches(tested)
    if (isMatch !== undefined) return isMatch
    const stay = watch.stays.get(device)
    return stay !== undefined && this.stays.has(stay, INSIDE)
  }

  /** A record was deleted. If it had the device's position, the device leaves. */
  removed(deviceId: string, recordId: string): void {
    const { devices, stays } = this
    const device = this.#byId.get(deviceId)
    if (device === undefined || devices.recordId(device) !== recordId) return
    const handle = devices.handle(device)
    const isUnread = handle !== undefined && devices.isStirred(device)
    // It is nowhere, so its last movement leads nowhere.
    devices.leaveRecord(device, isUnread ? this.#committed!.at(handle) : undefined)
    if (devices.firstStay(device) === NO_STAY) return this.#forgetUnlessNeeded(device)
    // With the last stay that is dropped, the device is forgotten.
    for (let stay = devices.firstStay(device), next; stay !== NO_STAY; stay = next) {
      next = stays.next(stay)
      const watch = stays.watch(stay)
      if (!watch.isEnded && stays.has(stay, INSIDE)) watch.leave(stay)
    }
  }

  /** A search of the watch's area has found a device. The area may have changed since. */
  found(watch: BatchedWatch, live: LivePosition, now: number): void {
    // The results of a search arrive together, and an earlier one may have ended the watch by exceeding a limit.
    if (watch.isEnded || !this.#areas.tester(watch)(live.latitude, live.longitude)) return
    if (watch.test?.matches(live) === false) return
    const known = this.#byId.get(live.deviceId)
    if (known !== undefined) this.devices.move(known, live, this.#readers > 0)
    const stay = known === undefined ? undefined : watch.stays.get(known)
    if (stay === undefined) {
      if (watch.hasRoom()) watch.enter(known ?? this.#add(live))
    }
    // The area was elsewhere in between, and the client has not been told yet that the device left.
    else if (!this.stays.has(stay, INSIDE)) watch.move(stay, now)
  }

  /** A stay is over, and its watch has forgotten it. */
  forget(stay: number): void {
    const device = this.stays.device(stay)
    this.stays.watch(stay).giveRoom()
    this.stays.unlink(stay)
    this.#forgetUnlessNeeded(device)
  }

  #forgetUnlessNeeded(device: number): void {
    const { devices } = this
    if (devices.isStirred(device) || devices.firstStay(device) !== NO_STAY) return
    this.#byId.delete(devices.deviceId(device))
    devices.remove(device)
  }

  /** Forgets that devices have moved, because nobody looks any more. */
  #settle(): void {
    const stirred = this.#stirred
    this.#stirred = []
    for (const device of stirred) {
      this.devices.settle(device)
      this.#forgetUnlessNeeded(device)
    }
  }
}
