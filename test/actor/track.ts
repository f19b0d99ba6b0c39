import type { Geofence } from '../../src/model/geofence.ts'
import type { Update } from '../../src/model/update.ts'
import { MINUTE, type Engine } from './kit.ts'
import { ADDRESSES, moved, randomRanged, USERS, wrapped, type Point, type Random } from './world.ts'

/** Devices that move in a random world. */

/** A point of the geofence's boundary, or near its middle. */
function pointOf(random: Random, { shape }: Geofence): Point {
  if (shape.kind === 'circle') {
    const [longitude, latitude] = shape.center
    const angle = random.between(0, 2 * Math.PI)
    const reach = shape.radius * (random.chance(0.7) ? 1 : random.next())
    return moved({ latitude, longitude }, reach * Math.cos(angle), reach * Math.sin(angle))
  }
  const i = random.below(shape.ring.length - 1)
  const [lonA, latA] = shape.ring[i]!
  const [lonB, latB] = shape.ring[i + 1]!
  const share = random.chance(0.3) ? 0 : random.next()
  let step = lonB - lonA
  if (Math.abs(step) > 180) step -= 360 * Math.sign(step)
  return wrapped({ latitude: latA + share * (latB - latA), longitude: lonA + share * step })
}

export interface TrackStyle {
  /** How far the device moves from the place, metres. */
  readonly spread: number
  /** Share of updates that jump to a boundary or elsewhere. After the others the device walks or stays. */
  readonly jumps: number
  /** Share of updates after which user, address and habits are chosen again. */
  readonly changes: number
}

/** One device. Its habits last for a while, so that not everything changes on every update. */
export class Track {
  readonly deviceId: string
  private readonly random: Random
  private readonly place: Point
  private readonly style: TrackStyle
  private at: Point
  private stepMeters = 0
  private accuracy: number | undefined = 10
  private userId: string | undefined
  private installId: string | undefined
  private ip = ADDRESSES[0]!
  private stopped = false
  private foreground = false
  private description: string | undefined
  private source: string | undefined
  private metadata: Update['metadata']
  private clockKind = 0
  private ranges = false

  constructor(random: Random, deviceId: string, place: Point, style: TrackStyle) {
    this.random = random
    this.deviceId = deviceId
    this.place = place
    this.style = style
    this.at = moved(place, this.offset(), this.offset())
    this.changeAll()
  }

  next(engine: Engine, geofences: readonly Geofence[]): Update {
    const { random, style } = this
    this.go(geofences)
    if (random.chance(style.changes)) this.change()
    return engine.update({
      deviceId: this.deviceId,
      latitude: this.at.latitude,
      longitude: this.at.longitude,
      accuracy: this.accuracy,
      userId: this.userId,
      installId: this.installId,
      ip: this.ip,
      stopped: this.stopped,
      foreground: this.foreground,
      replayed: random.chance(0.02),
      description: this.description,
      source: this.source,
      metadata: this.metadata,
      updatedAt: this.time(engine.clock.now()),
      beacons: this.ranges ? randomRanged(random, engine.world.beacons(0).values()) : undefined,
    })
  }

  private go(geofences: readonly Geofence[]): void {
    const { random, style, place } = this
    if (!random.chance(style.jumps)) {
      const step = random.chance(0.3) ? 0 : this.stepMeters
      this.at = moved(this.at, random.between(-step, step), random.between(-step, step))
      return
    }
    const kind = random.next()
    if (geofences.length === 0 || kind < 0.1) {
      this.at = moved(place, this.offset(), this.offset())
    } else if (kind < 0.13) {
      this.at = { latitude: random.pick([90, -90, 0]), longitude: random.pick([180, -180, 0]) }
    } else {
      const noise = random.pick([0, 0.01, 1, 20, 300])
      const from = pointOf(random, random.pick(geofences))
      this.at = moved(from, random.between(-noise, noise), random.between(-noise, noise))
    }
  }

  private offset(): number {
    return this.random.between(-1.5, 1.5) * this.style.spread
  }

  private change(): void {
    const { random } = this
    switch (random.below(11)) {
      case 0:
        this.userId = random.chance(0.4) ? undefined : random.pick(USERS)
        break
      case 1:
        this.ip = random.pick(ADDRESSES)
        break
      case 2:
        this.stopped = !this.stopped
        break
      case 3:
        this.foreground = !this.foreground
        break
      case 4:
        this.source = random.pick([undefined, 'BACKGROUND_LOCATION', 'GEOFENCE_ENTER'])
        this.description = random.chance(0.3) ? undefined : `Van ${random.below(3)}`
        this.metadata = random.chance(0.3) ? undefined : { team: random.below(3), night: random.chance(0.5) }
        break
      case 5:
        this.installId = random.chance(0.3) ? undefined : random.pick(['i1', 'i2'])
        break
      case 6:
        this.clockKind = random.below(6)
        break
      case 7:
      case 8:
        this.ranges = !this.ranges
        break
      default:
        this.changeAll()
    }
  }

  private changeAll(): void {
    const { random } = this
    this.accuracy = random.chance(0.08)
      ? undefined
      : random.pick([5, 5, 20, random.magnitude(1, 5000), random.magnitude(1, 500), 80_000])
    this.stepMeters = random.magnitude(0.1, this.style.spread / 2)
    this.clockKind = random.below(6)
  }

  /** The time that the device reports: usually none or the correct one, otherwise earlier, later, or the same again. */
  private time(now: number): number | undefined {
    const { random } = this
    switch (this.clockKind) {
      case 0:
        return now - Math.round(random.magnitude(1, 3_600_000))
      case 1:
        return now - 5 * MINUTE - (now % (10 * MINUTE))
      case 2:
        return random.chance(0.2) ? now + Math.round(random.magnitude(1, 3_600_000)) : now
      case 3:
        return now
      default:
        return undefined
    }
  }
}
