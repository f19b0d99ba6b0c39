import type { Fields } from '../../http/fields.ts'
import type { ColumnRules } from './csvColumns.ts'
import type { RefusedRow } from './importHistory.ts'

/** The position of a row or feature in its file. */
export interface FileRow {
  /** The line of the file where it begins, counted from 1. */
  readonly line: number
  /** How many bytes of the file it takes. */
  readonly size: number
}

/** The file is not of its format from `line` on; earlier rows were handed over. */
export class FileUnreadable extends Error {
  override name = 'FileUnreadable'
  readonly line: number

  constructor(line: number, sentence: string, cause?: unknown) {
    super(sentence, { cause })
    this.line = line
  }
}

/** How rows become fields of definitions. */
export interface RowReader<Row extends FileRow> {
  /** Why a row cannot be read at all. The reason is returned, because throwing takes ten times as long. */
  problemOf(row: Row): string | undefined
  /**
   * The fields of a row.
   * @throws {ApiError} 400 naming the field
   */
  fieldsOf(row: Row): Fields
  /**
   * The report about a row that was refused.
   * @param number the number of the row, counted from 1
   * @param param the field that breaks a rule; undefined for the row as a whole
   */
  refusal(row: Row, number: number, message: string, param?: string): RefusedRow
}

/** A format of files that can be imported. */
export interface FileFormat<Row extends FileRow = FileRow> {
  /** The name in sentences, such as `CSV`. */
  readonly name: string
  /** The parameter that an error before the first row names. */
  readonly opening: 'header' | 'body'
  /**
   * The rows, some of them at a time. The first list may be empty, once the rest of the file is known to be rows.
   * @throws {FileUnreadable} after all rows before it
   */
  read(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Row[]>
  /**
   * Begins to read.
   * @param first the first row of the file; undefined if it is not known yet
   * @returns the reader of the rows, and whether the first one is among them
   * @throws {ApiError} 400 for a header that is refused
   */
  begin(
    first: Row | undefined,
    rules: ColumnRules,
  ): { readonly reader: RowReader<Row>; readonly isRow: boolean }
}
