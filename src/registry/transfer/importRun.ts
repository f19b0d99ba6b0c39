import type { ScopeId } from '../../model/scope.ts'
import { ApiError, badParam } from '../../runtime/errors.ts'
import { Slice } from '../../runtime/slices.ts'
import { CsvColumns } from './csvColumns.ts'
import type { CsvRow } from './csvReader.ts'
import { CsvUnreadable, readCsv } from './csvReader.ts'
import type { ImportHistory, ImportRecord, Interruption, RefusedRow } from './importHistory.ts'
import { MAX_ERRORS } from './importHistory.ts'
import type { ImportKind } from './importKinds.ts'
import type { Referenced } from '../records/recordList.ts'

/**
 * Rows are checked in slices, and then written: this many rows or slices form a transaction, which waits for a flush
 * of the disk.
 */
const MAX_PENDING = 256
const MAX_SLICES = 4

/** The file of an import. */
export interface ImportFile {
  readonly scope: ScopeId
  readonly kind: ImportKind
  readonly chunks: AsyncIterable<Uint8Array>
  readonly name?: string | undefined
  /** Whether the file is only checked: nothing is written. */
  readonly dryRun?: boolean | undefined
}

/** The dependencies of an import, besides those of its kind. */
export interface ImportRegistry {
  readonly imports: ImportHistory
  /** See {@link EditLog}. */
  edit<T>(work: () => T): Promise<T>
}

/**
 * Imports a CSV file as it arrives. Each row is upserted or refused by itself; rows go to the disk in transactions of
 * those that were checked in a few milliseconds, and other requests get turns in between. Memory only holds a piece
 * of the file and the rows of one transaction, however long the file is.
 *
 * What ends the file early leaves the rows before it in place, and the history says so: a file that stops being CSV
 * is answered like any other, with the record that tells where; what the chunks throw (the client has gone, the body
 * is too large) and a registry that cannot write are thrown on.
 *
 * @throws ApiError 400 for a header that is refused: nothing was done, and nothing is entered in the history; and for
 * a file that stops being CSV before a row of it is in, which the history has
 */
export async function importCsv(
  registry: ImportRegistry,
  file: ImportFile,
): Promise<{ record: ImportRecord; errors: readonly RefusedRow[] }> {
  let run: ImportRun | undefined
  try {
    const slice = new Slice()
    let slices = 0
    // The wait for the next rows does not count.
    slice.pause()
    for await (const rows of readCsv(file.chunks)) {
      let i = 0
      run ??= await ImportRun.begin(registry, file, rows[i++]!)
      slice.resume()
      for (; i < rows.length; i++) {
        const lookedUp = run.take(rows[i]!)
        if (lookedUp !== undefined) {
          slice.pause()
          await lookedUp
          slice.resume()
        }
        if (run.pending < MAX_PENDING && !slice.isOver) continue
        await slice.next()
        slices += 1
        if (run.pending >= MAX_PENDING || slices === MAX_SLICES) {
          await run.write()
          slices = 0
          await slice.next()
        }
      }
      slice.pause()
    }
    if (run === undefined) throw badParam('header', 'The file is empty; its first row must name the columns.')
    return run.finish()
  } catch (error) {
    if (run === undefined) throw error instanceof CsvUnreadable ? badParam('header', error.message) : error
    const finished = await run.interrupt(error)
    if (!(error instanceof CsvUnreadable)) throw error
    const { created, updated } = finished.record
    if (created + updated > 0) return finished
    throw badParam(
      'body',
      `The file is not valid CSV from line ${error.line} on, and nothing was imported. ${error.message}`,
    )
  }
}

/** A running import, after the header. */
class ImportRun {
  readonly #registry: ImportRegistry
  readonly #file: ImportFile
  readonly #columns: CsvColumns
  readonly #record: ImportRecord
  readonly #errors: RefusedRow[] = []
  #pending: Referenced[] = []
  #last: CsvRow

  /** @throws ApiError 400 for a header that is refused */
  static async begin(registry: ImportRegistry, file: ImportFile, header: CsvRow): Promise<ImportRun> {
    if (header.damaged) throw badParam('header', 'It contains bytes that are not valid UTF-8.')
    const columns = new CsvColumns(header.cells, file.kind.columns)
    const { imports } = registry
    const { scope, kind, name, dryRun } = file
    const record = dryRun
      ? imports.dryRun(scope, kind.name, name)
      : await registry.edit(() => imports.begin(scope, kind.name, name))
    return new ImportRun(registry, file, header, columns, record)
  }

  private constructor(
    registry: ImportRegistry,
    file: ImportFile,
    header: CsvRow,
    columns: CsvColumns,
    record: ImportRecord,
  ) {
    this.#registry = registry
    this.#file = file
    this.#columns = columns
    this.#last = header
    this.#record = record
  }

  /** How many rows are checked and not written yet. */
  get pending(): number {
    return this.#pending.length
  }

  /**
   * Checks a row: it is written with the next {@link write}, or refused.
   * @returns a promise if something must be looked up for it
   */
  take(row: CsvRow): void | Promise<void> {
    this.#record.rows += 1
    this.#last = row
    const sentence = this.#columns.problemOf(row)
    if (sentence !== undefined) {
      this.#refuse(row, sentence)
      return
    }
    const refused = (error: unknown): void => {
      if (error instanceof ApiError) this.#refuse(row, error.message, error.param)
      // The import continues, whatever error a row causes.
      else this.#refuse(row, 'The row cannot be read.')
    }
    try {
      const definition = this.#file.kind.parse(this.#columns.fields(row.cells))
      if (definition instanceof Promise)
        return definition.then((known) => void this.#pending.push(known), refused)
      this.#pending.push(definition)
    } catch (error) {
      refused(error)
    }
  }

  /** @throws ApiError 503 if it cannot be made durable */
  async write(): Promise<void> {
    if (this.#pending.length === 0) return
    const { kind, scope } = this.#file
    const registry = this.#registry
    const definitions = this.#pending
    if (this.#file.dryRun) {
      const outcomes = definitions.map(({ tag, externalId }) => ({
        created: tag === undefined || externalId === undefined || !kind.has(scope, tag, externalId),
      }))
      Object.assign(this.#record, this.#counting(outcomes, definitions))
      this.#pending = []
      return
    }
    const written = await registry.edit(() => {
      let counts: ImportRecord | undefined
      kind.put(scope, definitions, {
        alongside: (outcomes) => {
          counts = this.#counting(outcomes, definitions)
          return [registry.imports.saved(counts)]
        },
      })
      return counts
    })
    Object.assign(this.#record, written)
    this.#pending = []
  }

  async finish() {
    await this.write()
    await this.#end()
    return { record: this.#record, errors: this.#errors }
  }

  /** The rows that were read before the error are written if possible. */
  async interrupt(error: unknown) {
    const message = error instanceof Error ? error.message : String(error)
    const line = error instanceof CsvUnreadable ? error.line : this.#last.line
    try {
      await this.write()
    } finally {
      this.#record.rows -= this.#pending.length
      await this.#end({ line, message })
    }
    return { record: this.#record, errors: this.#errors }
  }

  #end(interruption?: Interruption): Promise<void> {
    const registry = this.#registry
    return registry.edit(() => registry.imports.finish(this.#record, this.#errors, interruption))
  }

  /** The record after these rows. */
  #counting(
    outcomes: readonly { readonly created: boolean }[],
    definitions: readonly Referenced[],
  ): ImportRecord {
    const created = outcomes.reduce((sum, outcome) => sum + Number(outcome.created), 0)
    const unpaired = definitions.filter(
      ({ tag, externalId }) => tag === undefined || externalId === undefined,
    )
    const record = { ...this.#record }
    record.created += created
    record.updated += outcomes.length - created
    record.createdWithoutPair += unpaired.length
    return record
  }

  /** @param param the field that breaks a rule; undefined for the row as a whole */
  #refuse(row: CsvRow, message: string, param?: string): void {
    this.#record.refused += 1
    if (this.#errors.length === MAX_ERRORS) {
      this.#record.moreErrors += 1
      return
    }
    this.#errors.push(this.#columns.refusal(row, this.#record.rows, message, param))
  }
}
