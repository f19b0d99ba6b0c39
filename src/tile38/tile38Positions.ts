import type { LivePosition, PositionObserver, Positions, PositionViewer } from '../actor/port.ts'
import { splitBounds, type Bounds } from '../geometry/bounds.ts'
import { ShapeArena } from '../geometry/shapeArena.ts'
import type { ScopeId } from '../model/scope.ts'
import { ApiError } from '../runtime/errors.ts'
import { Slice } from '../runtime/slices.ts'
import type { LiveArea } from '../spatial/liveAreas.ts'
import { readFenced, readPoint, readReply, type FencedPosition } from './tile38Position.ts'
import { cornersOf, deviceOf, NO_LIMIT, Tile38Keys } from './tile38Texts.ts'
import { entriesOf } from './tile38Search.ts'
import { unavailable, type Tile38Wholeness } from './tile38Wholeness.ts'
import type { Fence, Tile38Channels } from './tile38Channels.ts'
import type { Tile38, Tile38Command } from './tile38Port.ts'

/** A margin in degrees, about a centimetre, which is more than any rounding error on the way. */
const PAD_DEGREES = 1e-7
/** After this many positions, the viewer gets a turn. */
const PAUSE_POSITIONS = 500

/** A watched area. */
interface Watched extends Fence {
  readonly scope: ScopeId
  readonly viewer: PositionViewer
  /** The boxes. There is one, or two at the antimeridian, with a channel for each. */
  readonly bounds: readonly Bounds[]
  /** The latest record of each device in the boxes, by key of the device. */
  readonly records: Map<string, string>
  /**
   * The keys of devices that were reported since a look began, for which its results are older; undefined if there is
   * no look.
   */
  news: Set<string> | undefined
}

/**
 * Live positions from Tile38: a fence channel for the bounding box of each watched area, which is created when the
 * watch begins and renewed while it lasts. Tile38's circles are polygons with 64 corners, so the channel covers the
 * box, and viewers decide by our own geometry. With `enter,exit,inside` they get each position in the box and the
 * first one outside.
 *
 * After each connection the channels are created again. Once Tile38 has all devices, each device that was in a box is
 * looked up: it may have moved or gone in the meantime. A new watch is refused until Tile38 has all devices.
 *
 * Owns: what the channels of areas tell. Does not own: channels (tile38Channels.ts), what is written to Tile38
 * (tile38Devices.ts), who is in an area (stream/watchedScope.ts).
 */
export class Tile38Positions implements Positions {
  observer: PositionObserver | undefined
  readonly #tile38: Tile38
  readonly #keys: Tile38Keys
  readonly #wholeness: Tile38Wholeness
  readonly #channels: Tile38Channels

  constructor(parts: {
    readonly tile38: Tile38
    readonly storeId: string
    readonly wholeness: Tile38Wholeness
    readonly channels: Tile38Channels
  }) {
    this.#tile38 = parts.tile38
    this.#keys = new Tile38Keys(parts.storeId)
    this.#wholeness = parts.wholeness
    this.#channels = parts.channels
  }

  /**
   * Reports the devices in the area, and then informs the observer until the viewer has ended.
   * @throws {ApiError} 503
   */
  async look(scope: ScopeId, area: LiveArea, viewer: PositionViewer): Promise<void> {
    const watched = this.#watched(scope, area, viewer)
    this.#channels.add(watched)
    try {
      await this.#listen(watched)
      await this.#wholeness.reached()
      await this.#find(watched, (position) => viewer.found(position))
      watched.news = undefined
    } catch (error) {
      this.#channels.drop(watched)
      if (error instanceof ApiError) throw error
      this.#channels.report(error as Error)
      throw unavailable()
    }
  }

  #watched(scope: ScopeId, area: LiveArea, viewer: PositionViewer): Watched {
    const bounds = boundsOf(area)
    const watched: Watched = {
      scope,
      viewer,
      bounds,
      channels: bounds.map(() => this.#channels.name(scope)),
      settings: bounds.map((box) => this.#setting(scope, box)),
      records: new Map(),
      news: undefined,
      get isEnded() {
        return viewer.isEnded
      },
      told: (message) => this.#told(watched, message),
      openAgain: () => this.#openAgain(watched),
    }
    return watched
  }

  /** Looks up the devices in the area after a new connection, and informs the observer. */
  async #openAgain(watched: Watched): Promise<void> {
    await this.#listen(watched)
    while (!(await this.#isWhole())) if (watched.viewer.isEnded || !this.#tile38.isConnected) return
    const { scope, records } = watched
    const before = [...records]
    await this.#find(watched, (position) => this.observer?.moved(position))
    const replies = await this.#tile38.send(before.map(([key]) => this.#keys.gettingDevice(scope, key)))
    const slice = new Slice()
    for (const [i, [key, recordId]] of before.entries()) {
      if (slice.isOver) await slice.next()
      if (watched.news?.has(key) === true) continue
      const position = readReply(scope, deviceOf(key), replies[i])
      if (position === undefined) this.#gone(watched, key, recordId)
      else this.observer?.moved(position)
    }
    watched.news = undefined
    watched.viewer.pause()
  }

  async #isWhole(): Promise<boolean> {
    try {
      await this.#wholeness.reached()
      return true
    } catch (error) {
      if (error instanceof ApiError) return false
      throw error
    }
  }

  /** Begins to report movements in the area. */
  async #listen(watched: Watched): Promise<void> {
    watched.news = new Set()
    await this.#channels.listen(watched)
  }

  /**
   * Reports the devices in the area, except those that were reported in the meantime, because those reports are newer.
   */
  async #find(watched: Watched, found: (position: LivePosition) => void): Promise<void> {
    const { scope, viewer, bounds, records, news } = watched
    const boxes = bounds.map((box) => [
      'INTERSECTS',
      this.#keys.devices(scope),
      'LIMIT',
      NO_LIMIT,
      'POINTS',
      'BOUNDS',
      ...cornersOf(box, PAD_DEGREES),
    ])
    const replies = await this.#tile38.send(boxes)
    let count = 0
    const slice = new Slice()
    for (const entry of replies.flatMap(entriesOf)) {
      if (slice.isOver) await slice.next()
      const [key] = entry
      const position = readPoint(scope, deviceOf(key), entry)
      if (position === undefined || viewer.isEnded || news?.has(key) === true) continue
      records.set(key, position.recordId)
      found(position)
      if (++count % PAUSE_POSITIONS === 0) viewer.pause()
    }
    viewer.pause()
  }

  #told(watched: Watched, message: string): void {
    const { scope, records, news } = watched
    const fenced = JSON.parse(message) as FenceMessage
    const { command, detect, id: key } = fenced
    if (key === undefined) return
    news?.add(key)
    if (command === 'del') {
      const recordId = records.get(key)
      if (recordId !== undefined) this.#gone(watched, key, recordId)
      return
    }
    const position = readFenced(scope, deviceOf(key), fenced)
    if (position === undefined) return
    if (detect === 'exit') records.delete(key)
    else records.set(key, position.recordId)
    this.observer?.moved(position)
  }

  #gone({ scope, records }: Watched, key: string, recordId: string): void {
    records.delete(key)
    this.observer?.removed(scope, deviceOf(key), recordId)
  }

  #setting(scope: ScopeId, box: Bounds): Tile38Command {
    return [
      'INTERSECTS',
      this.#keys.devices(scope),
      'FENCE',
      'DETECT',
      'enter,exit,inside',
      'BOUNDS',
      ...cornersOf(box, PAD_DEGREES),
    ]
  }
}

/** A message of a channel about one command. */
interface FenceMessage extends FencedPosition {
  readonly command: 'set' | 'del' | 'drop'
  readonly detect?: 'enter' | 'exit' | 'inside'
  /** The id of the device in its collection; absent if the whole collection is meant. */
  readonly id?: string
}

function boundsOf(area: LiveArea): Bounds[] {
  if (area.kind === 'box') {
    const { west, south, east, north } = area
    return splitBounds(west, south, west <= east ? east : east + 360, north)
  }
  const arena = new ShapeArena()
  return arena.bounds(arena.add(area))
}
