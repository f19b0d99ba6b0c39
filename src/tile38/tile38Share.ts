import type { LivePosition, PositionObserver, Positions, PositionViewer } from '../actor/port.ts'
import { deviceHash } from '../model/deviceHash.ts'
import type { ScopeId } from '../model/scope.ts'
import { aborted } from '../runtime/aborted.ts'
import type { AreaBox } from '../spatial/liveAreas.ts'
import { positionCommand, readReply } from './tile38Position.ts'
import { deviceKey, deviceOf, NO_LIMIT, Tile38Keys } from './tile38Texts.ts'
import { type Tile38, type Tile38Command, type Tile38Reply } from './tile38Port.ts'

const PIPELINE = 512
/** How many devices may wait. With more, all devices are written again. */
const MOST_WAITING = 200_000
const WORLD: AreaBox = { kind: 'box', west: -180, south: -90, east: 180, north: 90 }

/** A removed record. The device is removed with it, unless it has another record by now. */
interface Removal {
  readonly scope: ScopeId
  readonly deviceId: string
  readonly recordId: string
}

/** The share no longer belongs to this process, or Tile38 was emptied. */
export class WriterElsewhere extends Error {
  override readonly name = 'WriterElsewhere'
}

/**
 * The devices of some partitions in Tile38.
 *
 * A process that was suspended or cut off may continue to write its old state when another process has the
 * partitions, and Tile38 has no fence to refuse it. So each pipeline begins with the writer's name, which replaces
 * the name of the last writer. A process that finds another name, or none, writes everything again and removes what
 * does not belong there. So no device is wrong for more than a second or two after the last write of a former owner.
 *
 * Owns: what is written. Does not own: when (tile38Devices.ts).
 */
export class Tile38Share implements PositionObserver {
  readonly #tile38: Tile38
  readonly #keys: Tile38Keys
  readonly #parts: Tile38ShareParts
  /** The devices that wait, by scope and device. */
  readonly #waiting = new Map<ScopeId, Map<string, LivePosition>>()
  #removals: Removal[] = []
  #waitingCount = 0
  /** How many of them are in flight. */
  #sending = 0
  #isWhole = false
  readonly #ended = new AbortController()
  /** Increases when everything is forgotten, so that writes that were in flight do not make the share complete. */
  #life = 0

  constructor(parts: Tile38ShareParts) {
    this.#parts = parts
    this.#tile38 = parts.tile38
    this.#keys = new Tile38Keys(parts.storeId)
  }

  /** How many devices have moved or gone and are not written yet; Infinity if all must be written again. */
  get waiting(): number {
    return this.isWhole ? this.#waitingCount + this.#removals.length + this.#sending : Infinity
  }

  get name(): string {
    return this.#parts.name
  }

  /** Whether everything is in Tile38, except for waiting changes. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  moved(position: LivePosition): void {
    // Without a connection, everything is written again later, and looked up then.
    if (!this.#tile38.isConnected) return
    const {
      scope,
      deviceId,
      recordId,
      userId,
      latitude,
      longitude,
      accuracy,
      updatedAt,
      metadata,
      geofenceIds,
    } = position
    let devices = this.#waiting.get(scope)
    if (devices === undefined) this.#waiting.set(scope, (devices = new Map()))
    if (!devices.has(deviceId)) this.#waitingCount++
    devices.set(deviceId, {
      scope,
      deviceId,
      recordId,
      userId,
      latitude,
      longitude,
      accuracy,
      updatedAt,
      metadata,
      geofenceIds,
    })
    if (this.#waitingCount > MOST_WAITING) this.forget()
  }

  removed(scope: ScopeId, deviceId: string, recordId: string): void {
    if (!this.#tile38.isConnected) return
    const devices = this.#waiting.get(scope)
    if (devices?.get(deviceId)?.recordId === recordId && devices.delete(deviceId)) this.#waitingCount--
    this.#removals.push({ scope, deviceId, recordId })
  }

  /** Makes everything be written again. */
  forget(): void {
    this.#life++
    this.#isWhole = false
    this.#waiting.clear()
    this.#waitingCount = 0
    this.#removals = []
  }

  /** Ends the share, so that nothing is written any more. */
  end(): void {
    this.#ended.abort()
    this.forget()
  }

  /**
   * Writes changes.
   * @throws {WriterElsewhere} and Tile38's errors; nothing is known about its contents then
   */
  async write(): Promise<void> {
    try {
      if (!this.#isWhole) await this.#writeAll()
      await this.#writeWaiting()
    } finally {
      this.#sending = 0
    }
  }

  async #writeWaiting(): Promise<void> {
    const removals = this.#removals
    this.#removals = []
    this.#sending = this.#waitingCount + removals.length
    const commands: Tile38Command[] = []
    for (const devices of this.#waiting.values())
      for (const position of devices.values()) commands.push(this.#setting(position))
    this.#waiting.clear()
    this.#waitingCount = 0
    await this.#send(commands)
    const replies = await this.#send(
      removals.map(({ scope, deviceId }) => this.#keys.gettingDevice(scope, this.#keyOf(deviceId))),
    )
    const gone = removals.filter(
      ({ scope, deviceId, recordId }, i) => readReply(scope, deviceId, replies[i])?.recordId === recordId,
    )
    await this.#send(
      gone.map(({ scope, deviceId }) => ['DEL', this.#keys.devices(scope), this.#keyOf(deviceId)]),
    )
  }

  /**
   * Writes everything. Devices are overwritten and not removed first, because watchers of an area would see all of
   * them leave.
   */
  async #writeAll(): Promise<void> {
    const { name, writer, positions, scopes } = this.#parts
    const { signal } = this.#ended
    const life = this.#life
    await this.#tile38.send([['SET', this.#keys.writers, name, 'STRING', writer]])
    for (const scope of scopes()) {
      const there = new Set<string>()
      let commands: Tile38Command[] = []
      let sent: Promise<unknown> = Promise.resolve()
      const flush = () => {
        const part = commands
        commands = []
        sent = sent.then(() => this.#send(part))
        // It is awaited below. Until then, it must not count as an unhandled rejection.
        sent.catch(() => {})
      }
      const viewer: PositionViewer = {
        get isEnded() {
          return signal.aborted
        },
        found: (position) => {
          there.add(position.deviceId)
          commands.push(this.#setting(position))
        },
        pause: flush,
      }
      // A partition that was lost may never answer.
      await Promise.race([positions.look(scope, WORLD, viewer), aborted(signal)])
      flush()
      await sent
      await this.#takeOut(scope, there)
    }
    this.#isWhole = life === this.#life
  }

  /** Removes devices of the share's partitions that are not among these. */
  async #takeOut(scope: ScopeId, there: ReadonlySet<string>): Promise<void> {
    const key = this.#keys.devices(scope)
    const replies = await this.#send(
      this.#parts.of.map((partition) => [
        'SCAN',
        key,
        'MATCH',
        deviceKey(partition, '*'),
        'LIMIT',
        NO_LIMIT,
        'IDS',
      ]),
    )
    const known = replies.flatMap((reply) => (reply as readonly [unknown, readonly string[]])[1])
    const gone = known.filter((id) => {
      const deviceId = deviceOf(id)
      return !there.has(deviceId) && this.#waiting.get(scope)?.has(deviceId) !== true
    })
    await this.#send(gone.map((id) => ['DEL', key, id]))
  }

  #setting(position: LivePosition): Tile38Command {
    return positionCommand(this.#keys, this.#keyOf(position.deviceId), position)
  }

  #keyOf(deviceId: string): string {
    return deviceKey(deviceHash(deviceId) % this.#parts.partitions, deviceId)
  }

  /** Sends commands. Resolves to one reply per command. */
  async #send(commands: readonly Tile38Command[]): Promise<Tile38Reply[]> {
    const { name, writer, isLive } = this.#parts
    const signature: Tile38Command = ['SET', this.#keys.writers, name, 'XX', 'STRING', writer]
    const replies: Tile38Reply[] = []
    for (let from = 0; from < commands.length; from += PIPELINE) {
      if (this.#ended.signal.aborted || !isLive())
        throw new WriterElsewhere(`The share ${name} is another's.`)
      const part = commands.slice(from, from + PIPELINE)
      const [signed, ...answers] = await this.#tile38.send([signature, ...part])
      if (signed === null) throw new WriterElsewhere(`The share ${name} is gone from Tile38.`)
      replies.push(...answers)
    }
    return replies
  }
}

interface Tile38ShareParts {
  readonly tile38: Tile38
  readonly storeId: string
  readonly writer: string
  /** How many partitions the store has. */
  readonly partitions: number
  /** The name of the share; see `DeviceShare`. */
  readonly name: string
  /** The partitions that it contains. */
  readonly of: readonly number[]
  readonly positions: Pick<Positions, 'look'>
  readonly scopes: () => Iterable<ScopeId>
  readonly isLive: () => boolean
}
