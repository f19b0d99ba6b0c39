import type { ScopeId } from '../model/scope.ts'
import { nameHash } from '../runtime/nameHash.ts'
import { RowIndex } from '../runtime/rowIndex.ts'
import { OF_DEVICE, OF_USER, type DeviceColumns } from './deviceColumns.ts'
import type { ProfileStore } from './profileStore.ts'

/**
 * The look-ups of the records of one partition: by device, and by user. The records of one device form a chain, and so do those of
 * one user. A look-up has the first record of each chain, and a column has the next one of each record.
 *
 * Owns: the look-ups and the order of the chains. Does not own: which records there are (deviceTable.ts), names (profileStore.ts).
 */
export class DeviceChains {
  readonly #columns: DeviceColumns
  readonly #profiles: ProfileStore
  /** The first rows of the chains. */
  readonly #devices = new RowIndex()
  readonly #users = new RowIndex()

  constructor(columns: DeviceColumns, profiles: ProfileStore) {
    this.#columns = columns
    this.#profiles = profiles
  }

  /** Reserves room for this many devices. */
  expect(devices: number): void {
    this.#devices.expect(devices)
  }

  /** The first record of the device; −1 if it has none. */
  firstOf(scope: ScopeId, deviceId: string): number {
    const slot = this.#deviceSlot(scope, deviceId, nameHash(scope, deviceId))
    return slot < 0 ? -1 : this.#devices.row(slot)
  }

  /** The records of a user, in no order. */
  rowsOfUser(scope: ScopeId, userId: string): readonly number[] {
    const rows: number[] = []
    const slot = this.#userSlot(scope, userId, nameHash(scope, userId))
    for (let row = slot < 0 ? -1 : this.#users.row(slot); row >= 0; row = this.#columns.next(OF_USER, row))
      rows.push(row)
    return rows
  }

  /** Adds a new record to the chain of its device. */
  linkDevice(row: number, scope: ScopeId): void {
    const deviceId = this.#profiles.deviceId(row)
    const hash = nameHash(scope, deviceId)
    this.#link(this.#devices, OF_DEVICE, row, this.#deviceSlot(scope, deviceId, hash), hash)
  }

  /** Moves a record to the chain of the user in its profile. @param before the user whose chain has it */
  linkUser(row: number, scope: ScopeId, before: string | undefined): void {
    const userId = this.#profiles.userId(row)
    if (userId === before) return
    if (before !== undefined) this.#unlink(this.#users, OF_USER, row, nameHash(scope, before))
    if (userId === undefined) return
    const hash = nameHash(scope, userId)
    this.#link(this.#users, OF_USER, row, this.#userSlot(scope, userId, hash), hash)
  }

  /** Takes a record out of its chains. Its profile must still be there. */
  unlink(row: number, scope: ScopeId): void {
    this.#unlink(this.#devices, OF_DEVICE, row, nameHash(scope, this.#profiles.deviceId(row)))
    const userId = this.#profiles.userId(row)
    if (userId !== undefined) this.#unlink(this.#users, OF_USER, row, nameHash(scope, userId))
  }

  /** The slot of the device's first record; −1 if it has none. */
  #deviceSlot(scope: ScopeId, deviceId: string, hash: number): number {
    for (let slot = this.#devices.find(hash); slot >= 0; slot = this.#devices.findAfter(slot, hash)) {
      const row = this.#devices.row(slot)
      if (this.#columns.scope(row) === scope && this.#profiles.isOfDevice(row, deviceId)) return slot
    }
    return -1
  }

  #userSlot(scope: ScopeId, userId: string, hash: number): number {
    for (let slot = this.#users.find(hash); slot >= 0; slot = this.#users.findAfter(slot, hash)) {
      const row = this.#users.row(slot)
      if (this.#columns.scope(row) === scope && this.#profiles.isOfUser(row, userId)) return slot
    }
    return -1
  }

  /** Puts the row before the others of its chain, or begins a chain. */
  #link(index: RowIndex, chain: number, row: number, slot: number, hash: number): void {
    this.#columns.setNext(chain, row, slot < 0 ? -1 : index.row(slot))
    if (slot < 0) index.add(row, hash)
    else index.setRow(slot, row)
  }

  #unlink(index: RowIndex, chain: number, row: number, hash: number): void {
    const columns = this.#columns
    const next = columns.next(chain, row)
    for (let slot = index.find(hash); slot >= 0; slot = index.findAfter(slot, hash)) {
      let at = index.row(slot)
      if (at === row) return next < 0 ? index.remove(slot) : index.setRow(slot, next)
      while (at >= 0 && columns.next(chain, at) !== row) at = columns.next(chain, at)
      if (at >= 0) return columns.setNext(chain, at, next)
    }
    throw new Error(`device row ${row} is in no chain`)
  }
}
