/**
 * Devices that are not there, so that somebody who has none yet sees what a map full of them looks like.
 *
 * Owns: who drives in which environment, how long, and the names of what it makes. Does not own: what their updates
 * mean; they go the way of all others.
 *
 * Invariants
 * - SIM-1: Only test environments have simulated devices.
 * - SIM-2: All simulations of a process together have at most MAX_IN_ALL devices, and each ends by itself.
 */
import type { Intake, Outcome, Submitter } from '../actor/port.ts'
import { REMOVAL } from '../actor/removal.ts'
import { isLive, type ScopeId } from '../model/scope.ts'
import type { Update } from '../model/update.ts'
import type { Time } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'
import type { Service } from '../runtime/lifecycle.ts'
import { Driver, seededRandom } from './streets.ts'
import { SIMULATED_GRID, SIMULATED_TAG, simulatedGeofences, type SimulatedGeofence } from './simulatedCity.ts'

export const MAX_DEVICES = 500
export const MAX_MINUTES = 120
const MAX_IN_ALL = 2000

/** Each device sends this often: slightly more than the second that the limit of a device requires. */
const INTERVAL_MS = 1200
/** The devices send in this many groups, one group after the other. */
const GROUPS = 8
/** The approximate size of an update in bytes. */
const UPDATE_BYTES = 300
const IP = '127.0.0.1'

/** A simulation, as it is shown. */
export interface Simulation {
  readonly devices: number
  readonly startedAt: number
  readonly endsAt: number
  /** How many updates were accepted. */
  readonly updates: number
}

export interface SimulationParts {
  readonly intake: Intake
  readonly time: Time
  /** Creates or replaces geofences of the environment. */
  readonly putGeofences: (scope: ScopeId, geofences: readonly SimulatedGeofence[]) => Promise<void>
  /** Deletes those geofences that exist. */
  readonly deleteGeofences: (scope: ScopeId, pairs: readonly (readonly [string, string])[]) => Promise<void>
}

/** The simulations of this process. */
export class Simulations implements Service {
  readonly name = 'simulations'
  readonly #parts: SimulationParts
  readonly #running = new Map<ScopeId, Running>()
  /** The records of devices that drove, by environment. {@link remove} removes them. */
  readonly #records = new Map<ScopeId, Set<string>>()

  constructor(parts: SimulationParts) {
    this.#parts = parts
  }

  current(scope: ScopeId): Simulation | undefined {
    return this.#running.get(scope)?.shown
  }

  /**
   * Starts a simulation, or starts it again with other numbers.
   * @throws {ApiError} 403 in a live environment, 409 if too many devices are simulated already
   */
  async begin(scope: ScopeId, devices: number, minutes: number): Promise<Simulation> {
    if (isLive(scope)) throw new ApiError(403, 'Forbidden. Only the test environment has simulated devices.')
    let others = 0
    for (const [of, { shown }] of this.#running) if (of !== scope) others += shown.devices
    if (others + devices > MAX_IN_ALL)
      throw new ApiError(
        409,
        `This server simulates at most ${MAX_IN_ALL} devices; ${others} drive for others.`,
      )
    await this.#parts.putGeofences(scope, simulatedGeofences())
    this.end(scope)
    const records = this.#records.get(scope) ?? new Set<string>()
    this.#records.set(scope, records)
    const running = new Running(this.#parts, scope, devices, minutes * 60_000, records, () => this.end(scope))
    this.#running.set(scope, running)
    running.begin()
    return running.shown
  }

  /** Ends a simulation. The devices stay where they are. */
  end(scope: ScopeId): void {
    this.#running.get(scope)?.end()
    this.#running.delete(scope)
  }

  /** Ends a simulation, and removes the geofences and users that it created. */
  async remove(scope: ScopeId): Promise<void> {
    const running = this.#running.get(scope)
    this.end(scope)
    // The answers name records that must be removed.
    await running?.answered()
    const pairs = simulatedGeofences().map(({ externalId }) => [SIMULATED_TAG, externalId] as const)
    await this.#parts.deleteGeofences(scope, pairs)
    const records = this.#records.get(scope) ?? new Set()
    this.#records.delete(scope)
    for (const recordId of records) await this.#parts.intake.execute(REMOVAL, { scope, recordId }, 0)
  }

  stop(): void {
    for (const scope of this.#running.keys()) this.end(scope)
  }
}

interface SimulatedDevice {
  readonly deviceId: string
  readonly driver: Driver
  drivenAt: number
  isKnown: boolean
}

/** A running simulation. Its devices send in groups, so that their updates do not all come at the same moment. */
class Running {
  readonly #parts: SimulationParts
  readonly #scope: ScopeId
  readonly #devices: readonly SimulatedDevice[]
  readonly #startedAt: number
  readonly #endsAt: number
  readonly #records: Set<string>
  readonly #onEnd: () => void
  readonly #told: Submitter
  readonly #asking: Submitter
  #updates = 0
  #waiting = 0
  #group = 0
  #cancel = () => {}
  #onAnswered = () => {}
  #isOver = false

  constructor(
    parts: SimulationParts,
    scope: ScopeId,
    devices: number,
    durationMs: number,
    records: Set<string>,
    onEnd: () => void,
  ) {
    this.#parts = parts
    this.#scope = scope
    this.#startedAt = parts.time.now()
    this.#endsAt = this.#startedAt + durationMs
    this.#records = records
    this.#onEnd = onEnd
    const random = seededRandom(this.#startedAt)
    this.#devices = Array.from({ length: devices }, (_, i) => ({
      deviceId: `${SIMULATED_TAG}-${i + 1}`,
      driver: new Driver(SIMULATED_GRID, random),
      drivenAt: this.#startedAt,
      isKnown: false,
    }))
    this.#told = this.#submitter(false)
    this.#asking = this.#submitter(true)
  }

  get shown(): Simulation {
    return {
      devices: this.#devices.length,
      startedAt: this.#startedAt,
      endsAt: this.#endsAt,
      updates: this.#updates,
    }
  }

  begin(): void {
    // All devices send at once, so that the map is full from the beginning.
    for (let group = 0; group < GROUPS; group++) this.#submit(group)
    this.#next()
  }

  end(): void {
    this.#isOver = true
    this.#cancel()
  }

  /** Resolves when no update waits for its answer. */
  answered(): Promise<void> {
    if (this.#waiting === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onAnswered = resolve
    })
  }

  #next(): void {
    this.#cancel = this.#parts.time.after(INTERVAL_MS / GROUPS, () => {
      if (this.#isOver) return
      if (this.#parts.time.now() >= this.#endsAt) return this.#onEnd()
      this.#group = (this.#group + 1) % GROUPS
      // Real updates have priority.
      if (this.#parts.intake.hasRoom) this.#submit(this.#group)
      this.#next()
    })
  }

  #submit(group: number): void {
    const now = this.#parts.time.now()
    for (const submitter of [this.#told, this.#asking]) {
      const devices = this.#devices.filter(
        ({ isKnown }, i) => i % GROUPS === group && isKnown === (submitter === this.#told),
      )
      if (devices.length === 0) continue
      const updates = devices.map((device) => this.#updateOf(device, now))
      try {
        this.#parts.intake.submit(updates, updates.length * UPDATE_BYTES, submitter)
        this.#waiting += updates.length
      } catch (error) {
        // Too many updates wait. These devices send again when their group is next.
        if (!(error instanceof ApiError)) throw error
      }
    }
  }

  #updateOf(device: SimulatedDevice, now: number): Update {
    const { driver, deviceId } = device
    driver.advance((now - device.drivenAt) / 1000)
    device.drivenAt = now
    return {
      scope: this.#scope,
      deviceId,
      ...driver.position(),
      accuracy: driver.accuracy,
      foreground: false,
      stopped: driver.stopped,
      replayed: false,
      deviceType: 'Android',
      receivedAt: now,
      ip: IP,
    }
  }

  /**
   * Receives the results.
   * @param asks whether the user is requested, whose record is removed later
   */
  #submitter(asks: boolean): Submitter {
    const settled = () => {
      if (--this.#waiting === 0) this.#onAnswered()
    }
    return {
      rateLimited: false,
      wantsUser: asks,
      wantsEvents: false,
      isBehind: true,
      applied: (outcome, { deviceId }) => {
        this.#updates++
        if (asks) this.#learn(outcome, deviceId)
        settled()
      },
      refused: settled,
    }
  }

  #learn({ user }: Outcome, deviceId: string): void {
    const [, recordId] = /"_id":"([0-9a-f]{24})"/.exec(user) ?? []
    const device = this.#devices[Number(deviceId.slice(SIMULATED_TAG.length + 1)) - 1]
    if (recordId === undefined || device === undefined) return
    device.isKnown = true
    this.#records.add(recordId)
  }
}
