import type { Position } from '../../../sdk/src/stream/messages.ts'
import { isInBox, mercatorX, mercatorY, type Box } from '../map/geometry.ts'

/** How long a device takes on the screen to reach its new position. */
const GLIDE_MS = 1000
const FIRST_SLOTS = 1024

/**
 * The devices on the map. Each has a slot in typed arrays, so that 20,000 of them cost no objects. A device is painted
 * between its previous and its present position.
 */
export class Fleet {
  /** The number of slots in use, which are 0 to size - 1. */
  size = 0
  fromX = new Float64Array(FIRST_SLOTS)
  fromY = new Float64Array(FIRST_SLOTS)
  toX = new Float64Array(FIRST_SLOTS)
  toY = new Float64Array(FIRST_SLOTS)
  /** When the glide began, in the time of `performance.now()`. */
  startedAt = new Float64Array(FIRST_SLOTS)
  /** Epoch milliseconds of the position. */
  updatedAt = new Float64Array(FIRST_SLOTS)
  accuracy = new Float32Array(FIRST_SLOTS)
  /** When the last glide ends. */
  glidesUntil = 0
  readonly positions: Position[] = []
  readonly #slots = new Map<string, number>()
  /** How long a glide takes; 0 if devices jump. */
  readonly glideMs: number

  /**
   * Makes an empty fleet.
   * @param isMotionReduced devices jump instead of gliding, for people who want no motion
   */
  constructor(isMotionReduced: boolean) {
    this.glideMs = isMotionReduced ? 0 : GLIDE_MS
  }

  apply(batch: readonly Position[], now: number): void {
    for (const position of batch) {
      if (position.change === 'leave') this.#remove(position.user.deviceId)
      else this.#put(position, now)
    }
  }

  slotOf(deviceId: string): number | undefined {
    return this.#slots.get(deviceId)
  }

  /** Removes the devices outside of a box, because the watch that reported them has ended. */
  keepOnly(box: Box): void {
    for (let slot = this.size - 1; slot >= 0; slot--) {
      const { location, user } = this.positions[slot]!
      if (!isInBox(box, location.coordinates[0], location.coordinates[1])) this.#remove(user.deviceId)
    }
  }

  clear(): void {
    this.size = 0
    this.positions.length = 0
    this.#slots.clear()
  }

  /** How much of its way a device has gone, 0 to 1. */
  progress(slot: number, now: number): number {
    if (this.glideMs === 0) return 1
    return Math.min(1, (now - this.startedAt[slot]!) / this.glideMs)
  }

  #put(position: Position, now: number): void {
    const { deviceId } = position.user
    const [longitude, latitude] = position.location.coordinates
    const [x, y] = [mercatorX(longitude), mercatorY(latitude)]
    let slot = this.#slots.get(deviceId)
    if (slot === undefined) {
      slot = this.size++
      if (slot >= this.toX.length) this.#grow()
      this.#slots.set(deviceId, slot)
      this.fromX[slot] = x
      this.fromY[slot] = y
    } else {
      const share = this.progress(slot, now)
      this.fromX[slot] = this.fromX[slot]! + (this.toX[slot]! - this.fromX[slot]!) * share
      this.fromY[slot] = this.fromY[slot]! + (this.toY[slot]! - this.fromY[slot]!) * share
      // At the antimeridian a device jumps, because it would otherwise travel around the world.
      if (Math.abs(this.fromX[slot]! - x) > 0.5) this.fromX[slot] = x
      if (this.fromX[slot] !== x || this.fromY[slot] !== y) this.glidesUntil = now + this.glideMs
    }
    this.toX[slot] = x
    this.toY[slot] = y
    this.startedAt[slot] = now
    this.updatedAt[slot] = Date.parse(position.updatedAt)
    this.accuracy[slot] = position.locationAccuracy ?? 0
    this.positions[slot] = position
  }

  /** Removes a device; the last slot takes its place. */
  #remove(deviceId: string): void {
    const slot = this.#slots.get(deviceId)
    if (slot === undefined) return
    this.#slots.delete(deviceId)
    const last = --this.size
    if (slot !== last) {
      for (const column of this.#columns()) column[slot] = column[last]!
      this.positions[slot] = this.positions[last]!
      this.#slots.set(this.positions[slot]!.user.deviceId, slot)
    }
    this.positions.length = last
  }

  #columns() {
    return [this.fromX, this.fromY, this.toX, this.toY, this.startedAt, this.updatedAt, this.accuracy]
  }

  #grow(): void {
    const length = this.toX.length * 2
    const grown = <T extends Float64Array | Float32Array>(old: T, wider: T): T => {
      wider.set(old)
      return wider
    }
    this.fromX = grown(this.fromX, new Float64Array(length))
    this.fromY = grown(this.fromY, new Float64Array(length))
    this.toX = grown(this.toX, new Float64Array(length))
    this.toY = grown(this.toY, new Float64Array(length))
    this.startedAt = grown(this.startedAt, new Float64Array(length))
    this.updatedAt = grown(this.updatedAt, new Float64Array(length))
    this.accuracy = grown(this.accuracy, new Float32Array(length))
  }
}
