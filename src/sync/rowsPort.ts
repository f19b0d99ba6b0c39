import type { RefusedRow } from '../registry/transfer/importHistory.ts'

/** Reads the rows of sources. rowsThread.ts implements it in a separate thread, so that nobody waits for it. */
export interface SourceRows {
  /** Reads all files to the end. For each file it returns why it cannot be taken, or undefined. */
  survey(files: readonly string[]): Promise<readonly (SourceProblem | undefined)[]>
  /** The next rows of the files without a problem, in order; undefined after the last. */
  next(): Promise<RowBatch | undefined>
  /** Of each pair of tag and externalId, whether a row of the files without a problem names it. After {@link survey}. */
  named(pairs: readonly (readonly [tag: string, externalId: string])[]): Promise<readonly boolean[]>
  close(): Promise<void>
}

/** Why a file cannot be taken. */
export interface SourceProblem {
  readonly code: 'notCsv' | 'header' | 'tooLarge'
  readonly message: string
}

/** Rows of one file. */
export interface RowBatch {
  /** The index of the file. */
  readonly file: number
  readonly rows: readonly ReadRow[]
}

/** One row below the header. */
export interface ReadRow {
  readonly line: number
  /** The number of the row, counted from 1. */
  readonly row: number
  /** The tag; undefined if the row does not contain one. */
  readonly tag?: string | undefined
  readonly externalId?: string | undefined
  /** What the row says (see rowText.ts); undefined if it is refused or repeated. */
  readonly text?: string
  readonly refusal?: RefusedRow
  /** Whether a later row has the same pair. */
  readonly isRepeated?: true
  /** The indexes of all files that name its pair, if there are several. */
  readonly files?: readonly number[]
}
