import { Compile } from 'typebox/schema'
import type { Change } from '../../registry/store/editLog.ts'
import type { RowKind } from '../../registry/store/rowKind.ts'
import type { Entry } from './editStream.ts'

/** Thrown for an entry that {@link EntryCodec.entryOf} did not make. */
export class EntryUnreadable extends Error {
  override readonly name = 'EntryUnreadable'
}

/**
 * Translates changes into entries of the edit stream. The value is the row as JSON, with its JSON columns as JSON
 * values, so that people can read it. Anybody who may write to the stream can write invalid rows, so everything that
 * is read from it is checked.
 */
export class EntryCodec {
  readonly kinds: readonly RowKind[]
  readonly #byName: ReadonlyMap<string, RowKind & { readonly validator: ReturnType<typeof Compile> }>

  constructor(kinds: readonly RowKind[]) {
    this.kinds = kinds
    this.#byName = new Map(kinds.map((kind) => [kind.name, { ...kind, validator: Compile(kind.schema) }]))
  }

  entryOf({ kind, key, row }: Change): Entry {
    const name = `${kind}.${key}`
    if (row === undefined) return { name, value: undefined }
    const columns: Record<string, unknown> = { ...row }
    for (const column of this.#byName.get(kind)!.json) columns[column] = JSON.parse(columns[column] as string)
    return { name, value: Buffer.from(JSON.stringify(columns)) }
  }

  /**
   * The inverse of {@link entryOf}.
   * @throws {EntryUnreadable}
   */
  changeOf({ name, value }: Entry): Change {
    const dot = name.indexOf('.')
    const kind = this.#byName.get(name.slice(0, dot))
    if (kind === undefined) throw new EntryUnreadable(`${name}: there is no such kind`)
    const key = name.slice(dot + 1)
    if (value === undefined) return { kind: kind.name, key, row: undefined }
    try {
      const columns = JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString())
      if (!kind.validator.Check(columns)) {
        const [, [error]] = kind.validator.Errors(columns)
        throw new Error(`${error?.instancePath ?? ''} ${error?.message ?? 'is not what it should be'}`.trim())
      }
      const row: Record<string, unknown> = { ...(columns as object) }
      const keyOfRow = kind.key.map((column) => String(row[column])).join('.')
      if (keyOfRow !== key) throw new Error(`it says that it is ${kind.name}.${keyOfRow}`)
      for (const column of kind.json) row[column] = JSON.stringify(row[column])
      kind.check?.(row)
      return { kind: kind.name, key, row }
    } catch (cause) {
      throw new EntryUnreadable(`${name}: ${(cause as Error).message}`, { cause })
    }
  }
}
