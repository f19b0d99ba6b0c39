import type { ScopeId } from '../../model/scope.ts'
import { RowBytes } from '../../runtime/rowBytes.ts'
import { isTextAt } from '../../runtime/textBytes.ts'

/**
 * The entries of the directory of trips as bytes, by row.
 *
 * ```
 * changedAt f64 · version u32 · flags u8 · bytes of the externalId u16 · id, 12 bytes · externalId · userId
 * ```
 * Little-endian, texts in UTF-8.
 *
 * Owns: the bytes. Does not own: which rows there are, look-ups (scopeTrips.ts).
 */
const VERSION_AT = 8
const FLAGS_AT = 12
const NAME_BYTES_AT = 13
const ID_AT = 15
const ID_BYTES = 12
const NAME_AT = ID_AT + ID_BYTES

const IS_DELETED = 1
const HAS_USER = 2

/** An entry without its scope, which all of them have in common. */
export interface EntryFields {
  /** 24 hex digits. */
  readonly id: string
  readonly externalId: string
  readonly userId?: string | undefined
  /** In epoch milliseconds. */
  readonly changedAt: number
  readonly isDeleted: boolean
}

export class PackedEntries {
  readonly #rows = new RowBytes()
  #scratch = Buffer.alloc(1024)

  has(row: number): boolean {
    return this.#rows.has(row)
  }

  /** @param version of 32 bits; see `ScopeTrips.versionOf` */
  set(row: number, { id, externalId, userId, changedAt, isDeleted }: EntryFields, version: number): void {
    const most = NAME_AT + 3 * (externalId.length + (userId?.length ?? 0))
    if (most > this.#scratch.length) this.#scratch = Buffer.alloc(most)
    const bytes = this.#scratch
    bytes.writeDoubleLE(changedAt, 0)
    bytes.writeUInt32LE(version, VERSION_AT)
    bytes[FLAGS_AT] = (isDeleted ? IS_DELETED : 0) | (userId === undefined ? 0 : HAS_USER)
    bytes.write(id, ID_AT, 'hex')
    let end = NAME_AT + bytes.write(externalId, NAME_AT)
    bytes.writeUInt16LE(end - NAME_AT, NAME_BYTES_AT)
    if (userId !== undefined) end += bytes.write(userId, end)
    this.#rows.set(row, bytes, end)
  }

  delete(row: number): void {
    this.#rows.delete(row)
  }

  get<Scope extends ScopeId>(row: number, scope: Scope) {
    const bytes = this.#rows.bytes(row)
    const flags = bytes[FLAGS_AT]!
    const nameEnd = NAME_AT + bytes.readUInt16LE(NAME_BYTES_AT)
    return {
      id: this.idOf(row),
      scope,
      externalId: bytes.toString('utf8', NAME_AT, nameEnd),
      userId: (flags & HAS_USER) === 0 ? undefined : bytes.toString('utf8', nameEnd),
      changedAt: bytes.readDoubleLE(0),
      isDeleted: (flags & IS_DELETED) !== 0,
    }
  }

  idOf(row: number): string {
    const from = this.#rows.start(row) + ID_AT
    return this.#rows.buffer(row).toString('hex', from, from + ID_BYTES)
  }

  version(row: number): number {
    return this.#rows.buffer(row).readUInt32LE(this.#rows.start(row) + VERSION_AT)
  }

  changedAt(row: number): number {
    return this.#rows.buffer(row).readDoubleLE(this.#rows.start(row))
  }

  isDeleted(row: number): boolean {
    return (this.#rows.buffer(row)[this.#rows.start(row) + FLAGS_AT]! & IS_DELETED) !== 0
  }

  isNamed(row: number, externalId: string): boolean {
    const bytes = this.#rows.buffer(row)
    const from = this.#rows.start(row)
    return isTextAt(bytes, from + NAME_AT, bytes.readUInt16LE(from + NAME_BYTES_AT), externalId)
  }

  isOfUser(row: number, userId: string): boolean {
    const bytes = this.#rows.buffer(row)
    const from = this.#rows.start(row)
    if ((bytes[from + FLAGS_AT]! & HAS_USER) === 0) return false
    const before = NAME_AT + bytes.readUInt16LE(from + NAME_BYTES_AT)
    return isTextAt(bytes, from + before, this.#rows.length(row) - before, userId)
  }
}
