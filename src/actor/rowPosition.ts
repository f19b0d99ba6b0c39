import type { LivePosition } from './port.ts'
import type { Profile } from '../model/device.ts'
import type { Metadata } from '../model/metadata.ts'
import type { ScopeId } from '../model/scope.ts'
import type { DeviceTable } from './deviceTable.ts'

/**
 * Shows a row of a device table as a position. One object is moved from row to row, and only reads what is asked for.
 */
export class RowPosition implements LivePosition {
  #table!: DeviceTable
  #row = 0
  #deviceId: string | undefined
  #profile: Profile | undefined
  handle: number | undefined

  /**
   * Moves to a row.
   * @param deviceId the row's device, if it is known
   * @param handle the number of the row among those of all partitions, if it is known
   */
  at(table: DeviceTable, row: number, deviceId?: string, handle?: number): this {
    this.#table = table
    this.#row = row
    this.#deviceId = deviceId
    this.#profile = undefined
    this.handle = handle
    return this
  }

  /** The profile. Its marks may be old, and are not read here. */
  get #record(): Profile {
    return (this.#profile ??= this.#table.peekUnsettled(this.#row))
  }

  get scope(): ScopeId {
    return this.#table.scope(this.#row)
  }

  get deviceId(): string {
    return (this.#deviceId ??= this.#record.deviceId)
  }

  get recordId(): string {
    return this.#record.id
  }

  get userId(): string | undefined {
    return this.#record.userId
  }

  get latitude(): number {
    return this.#table.latitude(this.#row)
  }

  get longitude(): number {
    return this.#table.longitude(this.#row)
  }

  get accuracy(): number {
    return this.#table.accuracy(this.#row)
  }

  get updatedAt(): number {
    return this.#table.updatedAt(this.#row)
  }

  get metadata(): Metadata | undefined {
    return this.#record.metadata
  }

  get geofenceIds(): readonly string[] {
    return this.#record.visits.map(({ geofenceId }) => geofenceId)
  }
}
