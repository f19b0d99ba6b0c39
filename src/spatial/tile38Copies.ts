import type { PositionObserver, Positions } from '../engine/port.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Logger } from '../runtime/logger.ts'
import type { GeofenceIndex } from './port.ts'
import type { Place } from './tile38Cells.ts'
import { Tile38Connection, type Tile38Address } from './tile38Connection.ts'
import { Tile38Devices } from './tile38Devices.ts'
import { Tile38Geofences, type GeofenceSource } from './tile38Geofences.ts'

/** What of Tile38 an operator sees. */
export interface Tile38Status {
  readonly connected: boolean
  /** Geofences and devices that it does not have as they are; Infinity while all are written. */
  readonly waiting: number
  /** Looks for candidates that cells from Tile38 answered, and that memory did. */
  readonly looks: { readonly cells: number; readonly memory: number }
  /** In words. */
  readonly detail: string
}

/**
 * What one process keeps in Tile38 for others to ask: its geofences and where its devices are. Nothing is read back but
 * candidates, where they are asked for, and those memory has too: with Tile38 gone the process does all that it did, and
 * writes it anew when Tile38 is back.
 */
export class Tile38Copies {
  readonly name = 'Tile38'
  readonly #connection: Tile38Connection
  readonly #geofences: Tile38Geofences
  readonly #parts: { readonly storeId: string; readonly logger: Logger }
  #devices: Tile38Devices | undefined

  /**
   * @param parts.writer differs with every start
   * @param parts.hooksUrl see {@link Tile38Hooks}
   */
  constructor(parts: {
    readonly address: Tile38Address
    readonly storeId: string
    readonly writer: string
    readonly hooksUrl: string
    readonly logger: Logger
  }) {
    this.#parts = parts
    this.#connection = new Tile38Connection(parts.address, parts.logger)
    this.#geofences = new Tile38Geofences({ ...parts, tile38: this.#connection })
  }

  get status(): Tile38Status {
    const waiting = this.#geofences.waiting + (this.#devices?.waiting ?? 0)
    const behind = waiting === Infinity ? 'is written anew' : `${waiting} changes behind`
    const connected = this.#connection.isConnected
    const { looks } = this.#geofences
    return { connected, waiting, looks, detail: `${this.#connection.detail}; ${behind}` }
  }

  /** See {@link Tile38Geofences.prepare}. */
  prepare(places: readonly (Place & { readonly scope: ScopeId })[]): Promise<void> {
    return this.#geofences.prepare(places)
  }

  /** An index whose geofences are copied. */
  index(memory: GeofenceIndex): GeofenceIndex {
    return this.#geofences.index(memory)
  }

  /**
   * Begins, once geofences and devices are read.
   * @param scopes those that devices may be in
   * @returns who is to be told of positions
   */
  open(
    source: GeofenceSource,
    positions: Pick<Positions, 'look'>,
    scopes: () => Iterable<ScopeId>,
  ): PositionObserver {
    this.#geofences.start(source)
    const owns = () => true
    this.#devices = new Tile38Devices({ ...this.#parts, tile38: this.#connection, positions, scopes, owns })
    this.#devices.start()
    this.#connection.start()
    return this.#devices
  }

  async stop(): Promise<void> {
    this.#geofences.stop()
    await this.#devices?.stop()
    await this.#connection.stop()
  }
}
