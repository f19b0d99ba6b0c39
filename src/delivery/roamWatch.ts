import type { LivePosition, MetDevice } from '../actor/port.ts'
import { pointDistance } from '../geometry/distance.ts'
import type { Hook } from '../model/hook.ts'
import type { HookEntry, HookMessage, KnownStays } from './hookLog.ts'
import { roamMessage, type MessageDevice } from './hookTexts.ts'

/** How many encounters a hook may have in one second, and for how many seconds in a row there may be more. */
const MOST_A_SECOND = 20_000
const PATIENT_SECONDS = 5
/** How many messages may wait until the other device has been looked up. */
const MAX_DRAFTS = 20_000

/** Two devices that are near each other. */
interface Pair {
  readonly key: string
  readonly devices: readonly [string, string]
  /** When the two were last compared: see {@link RoamWatch.comparisons}. */
  comparedAt: number
}

/** A message whose other device has not been looked up yet. */
interface Draft {
  readonly pair: Pair
  readonly transition: 'nearby' | 'faraway'
  readonly device: MessageDevice
  readonly other: MetDevice
  /** In metres. */
  readonly distance: number
}

/**
 * The devices of one hook that are near each other. Pure.
 *
 * Invariants
 * - ROAM-1: The messages of two devices are a nearby, then a faraway, and so on, unless one of them was removed in
 *   between.
 */
export class RoamWatch {
  readonly kind = 'roam'
  readonly hook: Hook
  readonly meters: number
  readonly definition: string
  isNew: boolean
  isEnded = false
  trouble: string | undefined
  /** Increases with each comparison, so that it can be told which comparisons came after a look-up began. */
  comparisons = 0
  readonly #pairs = new Map<string, Pair>()
  readonly #pairsOf = new Map<string, Set<Pair>>()
  readonly #users: ReadonlySet<string> | undefined
  readonly #devices: ReadonlySet<string> | undefined
  #drafts: Draft[] = []
  #second = 0
  #met = 0
  #hastySeconds = 0

  constructor(
    hook: Hook & { readonly roam: { readonly meters: number } },
    definition: string,
    known: KnownStays | undefined,
  ) {
    this.hook = hook
    this.meters = hook.roam.meters
    this.definition = definition
    this.isNew = known === undefined
    this.#users = hook.userIds && new Set(hook.userIds)
    this.#devices = hook.deviceIds && new Set(hook.deviceIds)
    for (const [key] of known?.stays ?? []) this.#add(key, JSON.parse(key))
  }

  /** The number of known pairs and waiting messages. */
  get size(): number {
    return this.#pairs.size + this.#drafts.length
  }

  get hasDrafts(): boolean {
    return this.#drafts.length > 0
  }

  /** Why the hook cannot continue: it has too many encounters. Undefined if it can. */
  get overload(): string | undefined {
    if (this.#hastySeconds >= PATIENT_SECONDS)
      return `More than ${MOST_A_SECOND} encounters a second. Use fewer metres.`
    return this.#drafts.length > MAX_DRAFTS ? `More than ${MAX_DRAFTS} encounters wait.` : undefined
  }

  /** A device has moved, and the other one may be near it. */
  met(position: LivePosition, other: MetDevice, now: number): void {
    this.#count(now)
    const { deviceId, latitude, longitude } = position
    const devices = this.#devices
    if (devices?.has(deviceId) === false && !devices.has(other.deviceId)) return
    const names: [string, string] =
      deviceId < other.deviceId ? [deviceId, other.deviceId] : [other.deviceId, deviceId]
    const key = JSON.stringify(names)
    const distance = pointDistance(latitude, longitude, other.latitude, other.longitude)
    const known = this.#pairs.get(key)
    const isNear = distance <= this.meters
    if (!isNear && known === undefined) return
    const pair = known ?? this.#add(key, names)
    pair.comparedAt = ++this.comparisons
    if (isNear === (known !== undefined)) return
    this.#drafts.push({
      pair,
      transition: isNear ? 'nearby' : 'faraway',
      device: position,
      other: { deviceId: other.deviceId, latitude: other.latitude, longitude: other.longitude },
      distance,
    })
    if (!isNear) this.#drop(pair)
  }

  /** A device was removed: its pairs end, and nobody is told that they are far away. */
  gone(deviceId: string): HookEntry | undefined {
    const pairs = [...(this.#pairsOf.get(deviceId) ?? [])]
    if (pairs.length === 0) return undefined
    for (const pair of pairs) this.#drop(pair)
    return { hookId: this.hook.id, messages: [], stays: pairs.map(({ key }) => [key, null]) }
  }

  /** The devices of all pairs. */
  devices(): string[] {
    return [...this.#pairsOf.keys()]
  }

  /** All pairs, to be compared again. */
  pairs(): Pair[] {
    return [...this.#pairs.values()]
  }

  /**
   * Compares a pair by positions that were looked up.
   * @param since the number of comparisons before the look-up; a pair that was compared later is not compared by these
   * older positions
   */
  compare(
    pair: Pair,
    one: LivePosition | undefined,
    other: LivePosition | undefined,
    since: number,
    now: number,
  ): HookEntry | undefined {
    if (pair.comparedAt > since || this.#pairs.get(pair.key) !== pair) return undefined
    if (one !== undefined && other !== undefined) {
      this.met(one, other, now)
      return undefined
    }
    this.#drop(pair)
    return { hookId: this.hook.id, messages: [], stays: [[pair.key, null]] }
  }

  /** The oldest waiting messages. {@link conclude} removes them. */
  drafts(limit: number): readonly Draft[] {
    return this.#drafts.slice(0, limit)
  }

  /**
   * Completes the oldest waiting messages, with what is to be stored for them.
   * @param drafts what {@link drafts} returned
   * @param located the present position of each other device by its id; undefined if the device is gone
   */
  conclude(
    drafts: readonly Draft[],
    located: ReadonlyMap<string, LivePosition | undefined>,
    now: number,
  ): HookEntry {
    this.#drafts.splice(0, drafts.length)
    const { id: hookId, scope, detect } = this.hook
    const messages: HookMessage[] = []
    const stays = new Map<string, string | null>()
    for (const { pair, transition, device, other, distance } of drafts) {
      const present = located.get(other.deviceId)
      stays.set(pair.key, transition === 'nearby' ? '' : null)
      if (present === undefined) {
        // The pair's device was removed in the meantime.
        stays.set(pair.key, null)
        if (this.#pairs.get(pair.key) === pair) this.#drop(pair)
        continue
      }
      if (!detect.includes(transition) || !(this.#isWanted(device) || this.#isWanted(present))) continue
      const isThere = present.latitude === other.latitude && present.longitude === other.longitude
      const unknown = isThere ? {} : { accuracy: NaN, updatedAt: NaN }
      const second = { ...present, ...other, ...unknown }
      messages.push(roamMessage(scope, transition, pair.key, device, second, distance, now))
    }
    return { hookId, messages, stays: [...stays] }
  }

  #isWanted({ deviceId, userId }: MessageDevice): boolean {
    const hasUser = this.#users === undefined || (userId !== undefined && this.#users.has(userId))
    return hasUser && this.#devices?.has(deviceId) !== false
  }

  #count(now: number): void {
    const second = Math.floor(now / 1000)
    if (second !== this.#second) {
      this.#hastySeconds = this.#met > MOST_A_SECOND ? this.#hastySeconds + 1 : 0
      this.#second = second
      this.#met = 0
    }
    this.#met++
  }

  #add(key: string, devices: readonly [string, string]): Pair {
    const pair: Pair = { key, devices, comparedAt: 0 }
    this.#pairs.set(key, pair)
    for (const deviceId of devices) {
      const pairs = this.#pairsOf.get(deviceId)
      if (pairs === undefined) this.#pairsOf.set(deviceId, new Set([pair]))
      else pairs.add(pair)
    }
    return pair
  }

  #drop(pair: Pair): void {
    this.#pairs.delete(pair.key)
    for (const deviceId of pair.devices) {
      const pairs = this.#pairsOf.get(deviceId)!
      pairs.delete(pair)
      if (pairs.size === 0) this.#pairsOf.delete(deviceId)
    }
  }
}
