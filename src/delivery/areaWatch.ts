import type { LivePosition } from '../actor/port.ts'
import { splitBounds } from '../geometry/bounds.ts'
import { touch, Way } from '../geometry/way.ts'
import type { Area } from '../model/area.ts'
import { HOOK_EVENTS, type Hook } from '../model/hook.ts'
import { readArea } from '../registry/records/areaFields.ts'
import type { AreaBox, LiveArea, LiveAreas } from '../spatial/liveAreas.ts'
import type { HookEntry, HookMessage, KnownStays } from './hookLog.ts'
import { areaMessage, type MessageDevice } from './hookTexts.ts'

/** A crossing of the area is noticed only if the device was seen within this distance of it before. */
const CROSSING_METERS = 5000
/** The shortest degree of latitude on WGS84 is 110,574 m. */
const SHORTEST_DEGREE_METERS = 110_500
const RADIANS = Math.PI / 180
/** Two positions that are farther apart than this are treated as a jump, as in the crossings of geofences. */
const MAX_WAY_METERS = 250_000

/** A device that is in the area, or, for a hook with `cross`, around it. */
interface Stay extends MessageDevice {
  readonly isInside: boolean
  /** Whether the device was seen since the positions were last looked up. */
  isConfirmed: boolean
}

type Transition = keyof typeof HOOK_EVENTS.area

/**
 * The area of one hook: who is in it, and what a new position means. Pure.
 *
 * Invariants
 * - AREA-1: The transitions of a device are an enter, then an exit, and so on; an `inside` is between the two, and a
 *   `cross` is not.
 */
export class AreaWatch {
  readonly kind = 'area'
  readonly hook: Hook
  readonly area: LiveArea
  /** The definition of the hook for which the stays are valid. */
  readonly definition: string
  readonly stays = new Map<string, Stay>()
  /**
   * Whether this is the first look. Devices that are there already cause no message then, because they have not
   * entered.
   */
  isNew: boolean
  isEnded = false
  /** Increases whenever the area is looked at again. The results of an earlier look no longer count then. */
  looks = 0
  /** Why the hook does not work now; undefined if it does. */
  trouble: string | undefined
  readonly #detect: ReadonlySet<string>
  readonly #users: ReadonlySet<string> | undefined
  readonly #devices: ReadonlySet<string> | undefined

  constructor(hook: Hook & { readonly area: Area }, definition: string, known: KnownStays | undefined) {
    this.hook = hook
    this.definition = definition
    this.area = readArea(hook.area)
    this.isNew = known === undefined
    this.#detect = new Set(hook.detect)
    this.#users = hook.userIds && new Set(hook.userIds)
    this.#devices = hook.deviceIds && new Set(hook.deviceIds)
    for (const [deviceId, value] of known?.stays ?? []) this.stays.set(deviceId, readStay(deviceId, value))
  }

  get size(): number {
    return this.stays.size
  }

  get tellsCrossings(): boolean {
    return this.#detect.has('cross')
  }

  /**
   * The area in which devices must be watched.
   * @param areas contains the area, with the watch as its key
   */
  reach(areas: LiveAreas<AreaWatch>): LiveArea {
    return this.tellsCrossings ? widened(this.area, areas.bounds(this)) : this.area
  }

  /** Ids of devices that were not seen since the last look began. */
  unconfirmed(): string[] {
    return [...this.stays].flatMap(([deviceId, { isConfirmed }]) => (isConfirmed ? [] : [deviceId]))
  }

  /** Marks all devices as unconfirmed, so that they are looked up again. */
  doubt(): void {
    for (const stay of this.stays.values()) stay.isConfirmed = false
  }

  /**
   * A device has moved, or was found by a look.
   * @param areas contains the area of {@link reach}
   * @param isNear whether the device is within reach
   */
  moved(
    position: LivePosition,
    isInside: boolean,
    isNear: boolean,
    areas: LiveAreas<AreaWatch>,
    now: number,
  ): HookEntry | undefined {
    const { deviceId, userId } = position
    const before = this.stays.get(deviceId)
    const isWanted =
      this.#devices?.has(deviceId) !== false &&
      (this.#users === undefined || (userId !== undefined && this.#users.has(userId)))
    if (!isWanted) return before && this.#forget(before)
    if (before !== undefined) {
      before.isConfirmed = true
      // Several areas may report the same movement, and a position that was looked up may be an older one.
      if (isSame(before, position)) return undefined
      if (before.recordId === position.recordId && position.updatedAt < before.updatedAt) return undefined
    }
    const wasInside = before?.isInside === true
    if (!isInside && !isNear) this.stays.delete(deviceId)
    else this.stays.set(deviceId, stayOf(position, isInside))
    if (this.isNew) return undefined
    const messages: HookMessage[] = []
    const tell = (transition: Transition, path?: Parameters<typeof areaMessage>[4]): void => {
      if (this.#detect.has(transition))
        messages.push(areaMessage(this.hook.scope, transition, position, now, path))
    }
    if (isInside) {
      if (!wasInside) tell('enter')
      tell('inside')
    } else if (wasInside) tell('exit')
    else if (before !== undefined && this.tellsCrossings) {
      const path = this.#path(before, position, areas)
      if (path !== undefined) tell('cross', path)
    }
    const isStored = isInside !== wasInside || (isInside && this.#detect.has('inside'))
    if (!isStored && messages.length === 0) return undefined
    const value = isInside ? writeStay(position) : null
    return { hookId: this.hook.id, messages, stays: isStored ? [[deviceId, value]] : [] }
  }

  /** A record was removed, or the device is gone. This is no exit, because nobody has left the area. */
  removed(deviceId: string, recordId?: string): HookEntry | undefined {
    const stay = this.stays.get(deviceId)
    if (stay === undefined || (recordId !== undefined && stay.recordId !== recordId)) return undefined
    return this.#forget(stay)
  }

  /** The stays that the log has to store when the first look is over. */
  known(): KnownStays {
    const inside = [...this.stays].filter(([, { isInside }]) => isInside)
    return { definition: this.definition, stays: inside.map(([id, stay]) => [id, writeStay(stay)]) }
  }

  #forget({ deviceId, isInside }: Stay): HookEntry | undefined {
    this.stays.delete(deviceId)
    if (!isInside || this.isNew) return undefined
    return { hookId: this.hook.id, messages: [], stays: [[deviceId, null]] }
  }

  /** Where the path between two positions outside first touches the area, and where it last leaves it. */
  #path(from: Stay, to: LivePosition, areas: LiveAreas<AreaWatch>) {
    const way = new Way(from, to)
    if (way.lengthMeters > MAX_WAY_METERS) return undefined
    const distanceAt = (share: number) => areas.distance(this, way.latitude(share), way.longitude(share))
    if (distanceAt(0) > way.lengthMeters) return undefined
    const touched = touch(way.lengthMeters, distanceAt)
    const waypoint = (share: number) => ({
      time: Math.round(from.updatedAt + share * (to.updatedAt - from.updatedAt)),
      latitude: way.latitude(share),
      longitude: way.longitude(share),
    })
    return touched && { entered: waypoint(touched.first), exited: waypoint(touched.last) }
  }
}

/** A box around an area that contains all within {@link CROSSING_METERS} of it. */
function widened(area: LiveArea, bounds: AreaWatchBounds): AreaBox {
  const [first, second] = bounds
  const whole =
    area.kind === 'box'
      ? area
      : second === undefined
        ? first!
        : // At the antimeridian there are two parts: one ends at 180, and the other begins at −180.
          { ...first!, west: Math.max(first!.west, second.west), east: Math.min(first!.east, second.east) }
  const south = whole.south - CROSSING_METERS / SHORTEST_DEGREE_METERS
  const north = whole.north + CROSSING_METERS / SHORTEST_DEGREE_METERS
  const east = whole.east >= whole.west ? whole.east : whole.east + 360
  const poleward = Math.max(Math.abs(south), Math.abs(north))
  const margin =
    poleward >= 90 ? 360 : CROSSING_METERS / SHORTEST_DEGREE_METERS / Math.cos(poleward * RADIANS)
  const [box, other] = splitBounds(whole.west - margin, south, east + margin, north)
  return other === undefined
    ? { kind: 'box', ...box! }
    : { kind: 'box', ...box!, west: Math.max(box!.west, other.west), east: Math.min(box!.east, other.east) }
}

type AreaWatchBounds = ReturnType<LiveAreas<AreaWatch>['bounds']>

function isSame(stay: Stay, { recordId, userId, latitude, longitude, updatedAt }: LivePosition): boolean {
  return (
    stay.updatedAt === updatedAt &&
    stay.latitude === latitude &&
    stay.longitude === longitude &&
    stay.recordId === recordId &&
    stay.userId === userId
  )
}

function stayOf(position: MessageDevice, isInside: boolean): Stay {
  const { deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt } = position
  return { deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt, isInside, isConfirmed: true }
}

function writeStay({ recordId, userId, latitude, longitude, updatedAt }: MessageDevice): string {
  return JSON.stringify([recordId, latitude, longitude, updatedAt, userId])
}

function readStay(deviceId: string, value: string): Stay {
  const [recordId, latitude, longitude, updatedAt, userId] = JSON.parse(value)
  const position = { deviceId, recordId, userId: userId ?? undefined, latitude, longitude, updatedAt }
  return { ...position, accuracy: NaN, isInside: true, isConfirmed: false }
}
