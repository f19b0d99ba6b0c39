/**
 * Updates that wait behind those of others because their request takes long: a replay, or a frame of which one update
 * was expensive. Devices take turns, one update each; those of one device stay in order.
 *
 * Whoever accepts updates checks here first: a later update of a device that waits here waits here too (G3).
 */
export class Backlog<M extends { readonly update: { readonly deviceId: string } }> {
  /** The waiting updates by deviceId, in the order of the devices' turns. */
  readonly #devices = new Map<string, M[]>()
  /** The devices that cannot have their turn yet. */
  readonly #paused = new Set<string>()

  /** Whether nothing waits. */
  get isEmpty(): boolean {
    return this.#devices.size === 0
  }

  /** Whether any device may have a turn. */
  get isReady(): boolean {
    return this.#devices.size > this.#paused.size
  }

  has(deviceId: string): boolean {
    return this.#devices.size > 0 && this.#devices.has(deviceId)
  }

  push(mail: M): void {
    const { deviceId } = mail.update
    const mails = this.#devices.get(deviceId)
    if (mails === undefined) this.#devices.set(deviceId, [mail])
    else mails.push(mail)
  }

  /** The device's first waiting update; undefined if there is none. */
  firstOf(deviceId: string): M | undefined {
    return this.#devices.size > 0 ? this.#devices.get(deviceId)?.[0] : undefined
  }

  /** Puts updates in front of those of their devices that wait already. */
  pushFirst(mails: readonly M[]): void {
    for (const [deviceId, first] of Map.groupBy(mails, ({ update }) => update.deviceId))
      this.#devices.set(deviceId, [...first, ...(this.#devices.get(deviceId) ?? [])])
  }

  /** The next updates, at most this many, turn by turn. */
  next(most: number): M[] {
    const next: M[] = []
    for (let round = 0; next.length < most; round++) {
      const before = next.length
      for (const mails of this.#devices.values())
        if (round < mails.length && next.length < most) next.push(mails[round]!)
      if (next.length === before) break
    }
    return next
  }

  /** The update whose turn it is; undefined if there is none. */
  first(): M | undefined {
    for (const [deviceId, mails] of this.#devices) if (!this.#paused.has(deviceId)) return mails[0]
    return undefined
  }

  /** The device has had its turn: its first update is removed, and the device moves behind all others. */
  taken(deviceId: string): void {
    const mails = this.#devices.get(deviceId)!
    this.#devices.delete(deviceId)
    mails.shift()
    if (mails.length > 0) this.#devices.set(deviceId, mails)
  }

  /** Gives the device no turn until {@link resume}. */
  pause(deviceId: string): void {
    this.#paused.add(deviceId)
  }

  resume(deviceId: string): void {
    this.#paused.delete(deviceId)
  }

  /** Removes and returns everything, device by device. */
  takeAll(): M[] {
    const all = [...this.#devices.values()].flat()
    this.#devices.clear()
    this.#paused.clear()
    return all
  }
}
