import type { Readable } from 'node:stream'
import type { ScopeId } from '../../model/scope.ts'
import { ApiError, badParam } from '../../runtime/errors.ts'
import { Slice } from '../../runtime/slices.ts'
import { FileUnreadable, type FileFormat, type FileRow, type RowReader } from './fileFormat.ts'
import type { EndStatus, ImportHistory, ImportRecord, Interruption, RefusedRow } from './importHistory.ts'
import { ImportCanceled, MAX_ERRORS } from './importHistory.ts'
import type { ImportKind } from './importKinds.ts'
import type { Referenced } from '../records/recordList.ts'

/**
 * Rows are checked in slices, and then written: this many rows or slices form a transaction, which waits for a flush
 * of the disk.
 */
const MAX_PENDING = 256
/** As many bytes of rows fill a transaction, too: seven geofences with ten thousand users each took 300 ms to write. */
const MAX_PENDING_BYTES = 256 * 1024
const MAX_SLICES = 4
/** How often an import that waits for its file checks whether it was canceled. */
const CANCEL_CHECK_MS = 500

/** The file of an import. */
export interface ImportFile {
  readonly scope: ScopeId
  readonly kind: ImportKind
  readonly format: FileFormat
  readonly chunks: Readable
  readonly name?: string | undefined
  /** Whether the file is only checked: nothing is written. */
  readonly dryRun?: boolean | undefined
}

/** The dependencies of an import, besides those of its kind. */
export interface ImportRegistry {
  readonly imports: ImportHistory
  /** Makes an edit; see {@link EditLog}. */
  edit<T>(work: () => T): Promise<T>
}

/**
 * Imports a file as it arrives. Each row is upserted or refused by itself; rows go to the disk in transactions of
 * those that were checked in a few milliseconds, and other requests get turns in between. Memory only holds a piece
 * of the file and the rows of one transaction, however long the file is.
 *
 * What ends the file early leaves the rows before it in place, and the history says so: a file that stops being of its
 * format, and an import that is canceled, is answered like any other, with the record that tells where; what the chunks throw (the client has gone, the body
 * is too large) and a registry that cannot write are thrown on.
 *
 * @throws ApiError 400 for a header that is refused: nothing was done, and nothing is entered in the history; and for
 * a file that stops being of its format before a row of it is in, which the history has
 */
export async function importFile(
  registry: ImportRegistry,
  file: ImportFile,
): Promise<{ record: ImportRecord; errors: readonly RefusedRow[] }> {
  const { format, chunks } = file
  let run: ImportRun | undefined
  const watch = setInterval(() => {
    if (run?.isCanceled === true) chunks.destroy(new ImportCanceled())
  }, CANCEL_CHECK_MS)
  try {
    const slice = new Slice()
    let slices = 0
    // Waiting for the next rows does not count.
    slice.pause()
    for await (const rows of format.read(chunks)) {
      let i = 0
      if (run === undefined) {
        const { reader, isRow } = format.begin(rows[0], file.kind.columns)
        run = await ImportRun.begin(registry, file, reader)
        if (!isRow) i = 1
      }
      slice.resume()
      for (; i < rows.length; i++) {
        const lookedUp = run.take(rows[i]!)
        if (lookedUp !== undefined) {
          slice.pause()
          await lookedUp
          slice.resume()
        }
        if (!run.isFull && !slice.isOver) continue
        await slice.next()
        slices += 1
        if (run.isFull || slices === MAX_SLICES) {
          await run.write()
          slices = 0
          await slice.next()
        }
      }
      slice.pause()
    }
    if (run === undefined) {
      const { reader } = format.begin(undefined, file.kind.columns)
      run = await ImportRun.begin(registry, file, reader)
    }
    return await run.finish()
  } catch (error) {
    if (run === undefined)
      throw error instanceof FileUnreadable ? badParam(format.opening, error.message) : error
    const finished = await run.interrupt(error)
    if (error instanceof ImportCanceled) return finished
    if (!(error instanceof FileUnreadable)) throw error
    const { created, updated } = finished.record
    if (created + updated > 0) return finished
    throw badParam(
      'body',
      `The file is not valid ${format.name} from line ${error.line} on, and nothing was imported. ${error.message}`,
    )
  } finally {
    clearInterval(watch)
  }
}

/** A running import, after the header. */
class ImportRun {
  readonly #registry: ImportRegistry
  readonly #file: ImportFile
  readonly #reader: RowReader<FileRow>
  readonly #record: ImportRecord
  readonly #errors: RefusedRow[] = []
  #pending: Referenced[] = []
  #pendingBytes = 0
  /** The line of the row that was read last. */
  #line = 1

  static async begin(
    registry: ImportRegistry,
    file: ImportFile,
    reader: RowReader<FileRow>,
  ): Promise<ImportRun> {
    const { imports } = registry
    const { scope, kind, name, dryRun } = file
    const record = dryRun
      ? imports.dryRun(scope, kind.name, name)
      : await registry.edit(() => imports.begin(scope, kind.name, name))
    return new ImportRun(registry, file, reader, record)
  }

  private constructor(
    registry: ImportRegistry,
    file: ImportFile,
    reader: RowReader<FileRow>,
    record: ImportRecord,
  ) {
    this.#registry = registry
    this.#file = file
    this.#reader = reader
    this.#record = record
  }

  /** Whether the rows that are checked and not written yet fill a transaction. */
  get isFull(): boolean {
    return this.#pending.length >= MAX_PENDING || this.#pendingBytes >= MAX_PENDING_BYTES
  }

  get isCanceled(): boolean {
    return this.#registry.imports.isCanceled(this.#record)
  }

  /**
   * Checks a row. It is written with the next {@link write}, or refused.
   * @returns a promise if something must be looked up for it
   */
  take(row: FileRow): void | Promise<void> {
    this.#record.rows += 1
    this.#line = row.line
    const sentence = this.#reader.problemOf(row)
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
      const definition = this.#file.kind.parse(this.#reader.fieldsOf(row))
      if (definition instanceof Promise)
        return definition.then((known) => this.#keep(known, row.size), refused)
      this.#keep(definition, row.size)
    } catch (error) {
      refused(error)
    }
  }

  #keep(definition: Referenced, size: number): void {
    this.#pending.push(definition)
    this.#pendingBytes += size
  }

  /**
   * Writes the checked rows.
   * @throws {ApiError} 503 if it cannot be made durable; {@link ImportCanceled}
   */
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
      this.#clear()
      return
    }
    const written = await registry.edit(() => {
      if (this.isCanceled) throw new ImportCanceled()
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
    this.#clear()
  }

  #clear(): void {
    this.#pending = []
    this.#pendingBytes = 0
  }

  async finish() {
    await this.write()
    await this.#end('completed')
    return { record: this.#record, errors: this.#errors }
  }

  /** Writes the rows that were read before the error, if possible. */
  async interrupt(error: unknown) {
    const message = error instanceof Error ? error.message : String(error)
    const line = error instanceof FileUnreadable ? error.line : this.#line
    const status = error instanceof ImportCanceled ? 'canceled' : 'interrupted'
    try {
      if (status === 'interrupted') await this.write()
    } finally {
      this.#record.rows -= this.#pending.length
      await this.#end(status, { line, message })
    }
    return { record: this.#record, errors: this.#errors }
  }

  #end(status: EndStatus, interruption?: Interruption): Promise<void> {
    const registry = this.#registry
    return registry.edit(() => registry.imports.finish(this.#record, this.#errors, status, interruption))
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

  /**
   * Refuses a row.
   * @param param the field that breaks a rule; undefined for the row as a whole
   */
  #refuse(row: FileRow, message: string, param?: string): void {
    this.#record.refused += 1
    if (this.#errors.length === MAX_ERRORS) {
      this.#record.moreErrors += 1
      return
    }
    this.#errors.push(this.#reader.refusal(row, this.#record.rows, message, param))
  }
}
