import type { Users } from '../actor/port.ts'
import type { Job } from '../jobs/port.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Logger } from '../runtime/logger.ts'
import { systemClock } from '../runtime/clock.ts'
import { failureFields } from '../runtime/errors.ts'
import { Troubles } from '../runtime/troubles.ts'
import { Tile38Connection, type Tile38Address } from './tile38Connection.ts'
import { Tile38Devices, type DeviceShare } from './tile38Devices.ts'
import { Tile38File } from './tile38File.ts'
import { Tile38Channels } from './tile38Channels.ts'
import { Tile38Positions } from './tile38Positions.ts'
import { Tile38Roams } from './tile38Roams.ts'
import { Tile38Search } from './tile38Search.ts'
import { Tile38Wholeness } from './tile38Wholeness.ts'

/** The state of Tile38 for operators. */
export interface Tile38Status {
  readonly connected: boolean
  /** How many devices of this process are not up to date in Tile38; Infinity while all are being written. */
  readonly waiting: number
  /** The state in words. */
  readonly detail: string
}

/**
 * One process's use of Tile38: the positions that it stores there for others, and its queries. Evaluation does not
 * depend on it, and everything is written to Tile38 again when it is back.
 */
export class Tile38Copies {
  readonly name = 'Tile38'
  readonly #parts: Tile38CopiesParts
  readonly #connection: Tile38Connection
  /** Logs a failure. A server that is full or read-only refuses each write of each part, and one line says so. */
  readonly #troubled: (error: Error) => void
  #devices: Tile38Devices | undefined
  #channels: Tile38Channels | undefined

  /**
   * Reads the settings.
   * @throws {SettingUnfit}
   */
  constructor(parts: Tile38CopiesParts) {
    this.#parts = parts
    this.#connection = new Tile38Connection(parts.address, parts.logger)
    const { tell } = new Troubles(systemClock, (error, times) =>
      parts.logger.error({ ...failureFields(error), times }, 'Tile38 refuses a command; retrying'),
    )
    this.#troubled = tell
  }

  get status(): Tile38Status {
    const waiting = this.#devices?.waiting ?? 0
    const behind = waiting === Infinity ? 'is written anew' : `${waiting} changes pending`
    const connected = this.#connection.isConnected
    const { detail } = this.#connection
    return { connected, waiting, detail: connected ? `${detail}; ${behind}` : detail }
  }

  /** The job that keeps the server's file small. */
  get job(): Job {
    return new Tile38File(this.#connection)
  }

  /** Begins to connect. */
  start(): void {
    this.#connection.start()
  }

  /** Writes the devices of partitions; see {@link Tile38Devices}. */
  writeDevices(parts: {
    readonly partitions: number
    readonly shares: () => readonly DeviceShare[]
    readonly scopes: () => Iterable<ScopeId>
    readonly isLive: () => boolean
  }): void {
    this.#devices = new Tile38Devices({
      ...this.#parts,
      ...parts,
      tile38: this.#connection,
      writer: this.#parts.process,
      troubled: this.#troubled,
    })
    this.#devices.start()
  }

  /**
   * Queries the devices that others write. Each call returns positions with their own observer.
   * @param parts.shares the names of all shares
   * @param parts.partitions the number of partitions of the store
   * @param parts.users answers what Tile38 cannot
   */
  readDevices(parts: {
    readonly shares: readonly string[]
    readonly partitions: number
    readonly users: Users
  }): { positions: Tile38Positions; roams: Tile38Roams; users: Users } {
    const { storeId } = this.#parts
    const tile38 = this.#connection
    const wholeness = new Tile38Wholeness(tile38, storeId, parts.shares)
    if (this.#channels === undefined) {
      this.#channels = new Tile38Channels({ ...this.#parts, tile38, troubled: this.#troubled })
      this.#channels.start()
    }
    const asked = { tile38, storeId, wholeness, channels: this.#channels, partitions: parts.partitions }
    return {
      positions: new Tile38Positions(asked),
      roams: new Tile38Roams(asked),
      users: new Tile38Search(tile38, storeId, wholeness, parts.users),
    }
  }

  async stop(): Promise<void> {
    await this.#devices?.stop()
    this.#channels?.stop()
    await this.#connection.stop()
  }
}

interface Tile38CopiesParts {
  readonly address: Tile38Address
  readonly storeId: string
  /** Identifies this run of the process. */
  readonly process: string
  readonly logger: Logger
}
