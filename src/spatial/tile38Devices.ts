import type { LivePosition, PositionObserver, Positions } from '../engine/port.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Logger } from '../runtime/logger.ts'
import type { AreaBox } from './liveAreas.ts'
import { positionCommand, readPosition } from './tile38Position.ts'
import { NO_LIMIT, Tile38Keys } from './tile38Texts.ts'
import { Tile38Unreachable, type Tile38, type Tile38Command, type Tile38Follower } from './tile38Port.ts'

/** Between two writes of the same device. */
const WRITE_MS = 1000
const PIPELINE = 512
/** Devices that wait; with more, all are written anew. */
const MOST_WAITING = 200_000
const WORLD: AreaBox = { kind: 'box', west: -180, south: -90, east: 180, north: 90 }

/** A removed record: the device goes with it, unless it has another one by now. */
interface Removal {
  readonly scope: ScopeId
  readonly deviceId: string
  readonly recordId: string
}

/**
 * Where devices are, in Tile38: the latest position of each, at most one a second.
 *
 * The naive way sends every update: a hundred thousand commands a second for what somebody looks at now and then. A
 * device that moved ten times since the last write is written once, as it stands; and a write costs the update nothing but
 * a note. With each connection all are written, and those that are there no more taken out: the server may be another one.
 *
 * Owns: what Tile38 holds of the devices that are this process's. Does not own: who reads it (tile38Positions.ts,
 * tile38Search.ts).
 */
export class Tile38Devices implements PositionObserver, Tile38Follower {
  readonly name = 'Tile38 positions'
  readonly #tile38: Tile38
  readonly #keys: Tile38Keys
  readonly #positions: Pick<Positions, 'look'>
  readonly #scopes: () => Iterable<ScopeId>
  readonly #owns: (deviceId: string) => boolean
  readonly #logger: Logger
  /** By scope and device. */
  readonly #waiting = new Map<ScopeId, Map<string, LivePosition>>()
  #removals: Removal[] = []
  #waitingCount = 0
  /** Of them, those that are on the way. */
  #sending = 0
  #isWhole = false
  #isWriting = false
  /** Rises with what is forgotten: what was under way then is not whole. */
  #life = 0
  #timer: NodeJS.Timeout | undefined

  /**
   * @param parts.positions all positions, for writing them anew
   * @param parts.scopes those that devices may be in
   * @param parts.owns whether a device is this process's to write
   */
  constructor(parts: {
    readonly tile38: Tile38
    readonly storeId: string
    readonly positions: Pick<Positions, 'look'>
    readonly scopes: () => Iterable<ScopeId>
    readonly owns: (deviceId: string) => boolean
    readonly logger: Logger
  }) {
    this.#tile38 = parts.tile38
    this.#keys = new Tile38Keys(parts.storeId)
    this.#positions = parts.positions
    this.#scopes = parts.scopes
    this.#owns = parts.owns
    this.#logger = parts.logger
  }

  /** Devices that have moved or gone and are not written yet; Infinity: all have to be written anew. */
  get waiting(): number {
    return this.#isWhole ? this.#waitingCount + this.#removals.length + this.#sending : Infinity
  }

  start(): void {
    this.#tile38.follow(this)
    this.#timer = setInterval(() => void this.#write(), WRITE_MS)
  }

  /** Writes what waits, if it can. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    if (this.#isWhole) await this.#write()
  }

  connected(): void {
    void this.#write()
  }

  disconnected(): void {
    this.#forget()
  }

  moved(position: LivePosition): void {
    // What is written anew later is looked up then.
    if (!this.#tile38.isConnected) return
    const { scope, deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt } = position
    let devices = this.#waiting.get(scope)
    if (devices === undefined) this.#waiting.set(scope, (devices = new Map()))
    if (!devices.has(deviceId)) this.#waitingCount++
    devices.set(deviceId, { scope, deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt })
    if (this.#waitingCount > MOST_WAITING) this.#forget()
  }

  removed(scope: ScopeId, deviceId: string, recordId: string): void {
    if (!this.#tile38.isConnected) return
    const devices = this.#waiting.get(scope)
    if (devices?.get(deviceId)?.recordId === recordId && devices.delete(deviceId)) this.#waitingCount--
    this.#removals.push({ scope, deviceId, recordId })
  }

  #forget(): void {
    this.#life++
    this.#isWhole = false
    this.#waiting.clear()
    this.#waitingCount = 0
    this.#removals = []
  }

  async #write(): Promise<void> {
    if (this.#isWriting || !this.#tile38.isConnected) return
    this.#isWriting = true
    try {
      if (!this.#isWhole) await this.#writeAll()
      await this.#writeWaiting()
    } catch (error) {
      this.#forget()
      if (!(error instanceof Tile38Unreachable))
        this.#logger.error({ err: error }, 'positions cannot be written to Tile38; trying again')
    } finally {
      this.#isWriting = false
      this.#sending = 0
    }
  }

  async #writeWaiting(): Promise<void> {
    const removals = this.#removals
    this.#removals = []
    this.#sending = this.#waitingCount + removals.length
    const commands: Tile38Command[] = []
    for (const devices of this.#waiting.values())
      for (const position of devices.values()) commands.push(positionCommand(this.#keys, position))
    this.#waiting.clear()
    this.#waitingCount = 0
    await this.#send(commands)
    const replies = await this.#send(
      removals.map(({ scope, deviceId }) => ['GET', this.#keys.devices(scope), deviceId]),
    )
    const gone = removals.filter(
      ({ scope, deviceId, recordId }, i) => readPosition(scope, deviceId, replies[i])?.recordId === recordId,
    )
    await this.#send(gone.map(({ scope, deviceId }) => ['DEL', this.#keys.devices(scope), deviceId]))
  }

  /** Devices are overwritten, not taken out before: whoever watches an area would see all of them leave. */
  async #writeAll(): Promise<void> {
    const life = this.#life
    for (const scope of this.#scopes()) {
      const there = new Set<string>()
      let commands: Tile38Command[] = []
      let sent: Promise<unknown> = Promise.resolve()
      const flush = () => {
        const part = commands
        commands = []
        sent = sent.then(() => this.#send(part))
        // Awaited below; not to be taken for a failure that nobody handles until then.
        sent.catch(() => {})
      }
      await this.#positions.look(scope, WORLD, {
        isEnded: false,
        found: (position) => {
          there.add(position.deviceId)
          commands.push(positionCommand(this.#keys, position))
        },
        pause: flush,
      })
      flush()
      await sent
      const [reply] = await this.#tile38.send([['SCAN', this.#keys.devices(scope), 'LIMIT', NO_LIMIT, 'IDS']])
      const [, known] = reply as readonly [unknown, readonly string[]]
      const gone = known.filter(
        (id) => !there.has(id) && this.#owns(id) && !this.#waiting.get(scope)?.has(id),
      )
      await this.#send(gone.map((id) => ['DEL', this.#keys.devices(scope), id]))
    }
    await this.#tile38.send([['SET', this.#keys.devicesState, 'whole', 'STRING', '1']])
    this.#isWhole = life === this.#life
  }

  async #send(commands: readonly Tile38Command[]): Promise<unknown[]> {
    const replies: unknown[] = []
    for (let from = 0; from < commands.length; from += PIPELINE)
      replies.push(...(await this.#tile38.send(commands.slice(from, from + PIPELINE))))
    return replies
  }
}
