import type { LivePosition, PositionObserver, Positions, PositionViewer } from '../engine/port.ts'
import { splitBounds, type Bounds } from '../geometry/bounds.ts'
import { ShapeArena } from '../geometry/shapeArena.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Logger } from '../runtime/logger.ts'
import type { LiveArea } from './liveAreas.ts'
import { readPosition } from './tile38Position.ts'
import { cornersOf, NO_LIMIT, Tile38Keys } from './tile38Texts.ts'
import { Tile38Unreachable, type Tile38, type Tile38Command, type Tile38Follower } from './tile38Port.ts'

/** A channel that nobody renews ends after so long: a process that was killed leaves none behind for good. */
const CHANNEL_SECONDS = 60
const RENEW_MS = (CHANNEL_SECONDS / 2) * 1000
/** How often it is looked who has stopped to look. */
const SWEEP_MS = 1000
/** Degrees, a centimetre: beyond any rounding on the way. */
const PAD_DEGREES = 1e-7
/** Positions after which whoever looks may have a turn. */
const PAUSE_POSITIONS = 500

/** An area that somebody looks at. */
interface Watched {
  readonly scope: ScopeId
  readonly viewer: PositionViewer
  /** One, or two at the antimeridian, with a channel each. */
  readonly bounds: readonly Bounds[]
  readonly channels: readonly string[]
  /** Devices that are in the boxes: the latest record of each. */
  readonly records: Map<string, string>
}

/**
 * Live positions, told by Tile38: a fence channel for the box about each area that somebody looks at, made when they begin,
 * renewed while they look. Tile38's circles are polygons of 64 corners, so it tells of the box, and those who look decide by
 * our geometry; with `enter,exit,inside` they hear of each position in the box and of the first behind its edge.
 *
 * After each connection the channels are made again, and each device that was in a box is looked up: it may have moved, or
 * gone, while nobody was told.
 *
 * Owns: channels. Does not own: what Tile38 is told (tile38Devices.ts), who is in an area (stream/watchedScope.ts).
 */
export class Tile38Positions implements Positions, Tile38Follower {
  readonly name = 'Tile38 watches'
  observer: PositionObserver | undefined
  readonly #tile38: Tile38
  readonly #keys: Tile38Keys
  readonly #process: string
  readonly #logger: Logger
  readonly #watched = new Set<Watched>()
  #channels = 0
  #renewAt = 0
  #timer: NodeJS.Timeout | undefined

  /** @param parts.process tells this process's channels from those of others, and of its own life before */
  constructor(parts: {
    readonly tile38: Tile38
    readonly storeId: string
    readonly process: string
    readonly logger: Logger
  }) {
    this.#tile38 = parts.tile38
    this.#keys = new Tile38Keys(parts.storeId)
    this.#process = parts.process
    this.#logger = parts.logger
  }

  /** Areas that somebody looks at. */
  get count(): number {
    return this.#watched.size
  }

  start(): void {
    this.#tile38.follow(this)
    this.#timer = setInterval(() => void this.#sweep(), SWEEP_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  connected(): void {
    for (const watched of this.#watched) void this.#orLater(this.#open(watched, true))
  }

  disconnected(): void {}

  /** Shows who is in the area, and goes on telling the observer until the viewer has ended. */
  async look(scope: ScopeId, area: LiveArea, viewer: PositionViewer): Promise<void> {
    const bounds = boundsOf(area)
    const channels = bounds.map(() => this.#keys.watch(scope, `${this.#process}:${this.#channels++}`))
    const watched: Watched = { scope, viewer, bounds, channels, records: new Map() }
    this.#watched.add(watched)
    if (this.#tile38.isConnected) await this.#orLater(this.#open(watched, false))
  }

  /** What could not be done is done with the next connection. */
  async #orLater(done: Promise<unknown>): Promise<void> {
    try {
      await done
    } catch (error) {
      if (!(error instanceof Tile38Unreachable))
        this.#logger.error({ err: error }, 'an area cannot be watched in Tile38')
    }
  }

  /** @param again who was in it is looked up, and the observer told */
  async #open(watched: Watched, again: boolean): Promise<void> {
    const { scope, viewer, bounds, channels, records } = watched
    for (const channel of channels)
      await this.#tile38.subscribe(channel, (message) => this.#told(watched, message))
    await this.#tile38.send(this.#settings(watched))
    const before = again ? [...records] : []
    const replies = await this.#tile38.send([
      ...bounds.map((box) => [
        'INTERSECTS',
        this.#keys.devices(scope),
        'LIMIT',
        NO_LIMIT,
        'OBJECTS',
        'BOUNDS',
        ...cornersOf(box, PAD_DEGREES),
      ]),
      ...before.map(([deviceId]) => ['GET', this.#keys.devices(scope), deviceId]),
    ])
    let count = 0
    for (const reply of replies.slice(0, bounds.length)) {
      const [, objects] = reply as unknown as readonly [unknown, readonly (readonly [string, string])[]]
      for (const [deviceId, object] of objects) {
        const position = readPosition(scope, deviceId, object)
        if (position === undefined || viewer.isEnded) continue
        records.set(deviceId, position.recordId)
        if (again) this.observer?.moved(position)
        else viewer.found(position)
        if (++count % PAUSE_POSITIONS === 0) viewer.pause()
      }
    }
    before.forEach(([deviceId, recordId], i) =>
      this.#is(watched, deviceId, recordId, replies[bounds.length + i]),
    )
    viewer.pause()
  }

  /** A device that was in a box is where the object says, or nowhere. */
  #is({ scope, records }: Watched, deviceId: string, recordId: string, object: unknown): void {
    const position = readPosition(scope, deviceId, object)
    if (position !== undefined) {
      this.observer?.moved(position)
      return
    }
    records.delete(deviceId)
    this.observer?.removed(scope, deviceId, recordId)
  }

  #told(watched: Watched, message: string): void {
    if (watched.viewer.isEnded) return
    const { scope, records } = watched
    const { command, detect, id, object } = JSON.parse(message) as FenceMessage
    if (id === undefined) return
    if (command === 'del') {
      const recordId = records.get(id)
      if (recordId === undefined) return
      records.delete(id)
      this.observer?.removed(scope, id, recordId)
      return
    }
    const position: LivePosition | undefined = readPosition(scope, id, object)
    if (position === undefined) return
    if (detect === 'exit') records.delete(id)
    else records.set(id, position.recordId)
    this.observer?.moved(position)
  }

  async #sweep(): Promise<void> {
    const renews = Date.now() >= this.#renewAt
    if (renews) this.#renewAt = Date.now() + RENEW_MS
    for (const watched of this.#watched) {
      if (watched.viewer.isEnded) this.#watched.delete(watched)
      if (!this.#tile38.isConnected) continue
      if (watched.viewer.isEnded) await this.#orLater(this.#close(watched))
      else if (renews) await this.#orLater(this.#tile38.send(this.#settings(watched)))
    }
  }

  async #close({ channels }: Watched): Promise<void> {
    await this.#tile38.send(channels.map((channel) => ['DELCHAN', channel]))
    for (const channel of channels) await this.#tile38.unsubscribe(channel)
  }

  /** The commands that make the channels, or renew them. */
  #settings({ scope, bounds, channels }: Watched): Tile38Command[] {
    return bounds.map((box, i) => [
      'SETCHAN',
      channels[i]!,
      'EX',
      `${CHANNEL_SECONDS}`,
      'INTERSECTS',
      this.#keys.devices(scope),
      'FENCE',
      'DETECT',
      'enter,exit,inside',
      'BOUNDS',
      ...cornersOf(box, PAD_DEGREES),
    ])
  }
}

/** What a channel tells of one command. */
interface FenceMessage {
  readonly command: 'set' | 'del' | 'drop'
  readonly detect?: 'enter' | 'exit' | 'inside'
  /** Of the device; absent where the whole collection is meant. */
  readonly id?: string
  readonly object?: unknown
}

function boundsOf(area: LiveArea): Bounds[] {
  if (area.kind === 'box') {
    const { west, south, east, north } = area
    return splitBounds(west, south, west <= east ? east : east + 360, north)
  }
  const arena = new ShapeArena()
  return arena.bounds(arena.add(area))
}
