import type { RefusedRow } from '../registry/transfer/importHistory.ts'

/**
 * Reads the rows of sources. Technology: rowsThread.ts, in a thread of its own, so that nobody waits for it.
 */
export interface SourceRows {
  /** Reads all files to the end. Of each: why it cannot be taken, or undefined. */
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
  /** Counted from 1. */
  readonly row: number
  /** Undefined: the row does not say it. */
  readonly tag?: string | undefined
  readonly externalId?: string | undefined
  /** What it says, see rowText.ts; undefined if it is refused or repeated. */
  readonly text?: string
  readonly refusal?: RefusedRow
  /** A later row has its pair. */
  readonly isRepeated?: true
  /** The indexes of all files that name its pair, if there are several. */
  readonly files?: readonly number[]
}
