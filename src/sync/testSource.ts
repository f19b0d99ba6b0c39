import { parseGeofence } from '../registry/geofences/parseGeofence.ts'
import { CsvColumns } from '../registry/transfer/csvColumns.ts'
import { CsvUnreadable, readCsv } from '../registry/transfer/csvReader.ts'
import { GEOFENCE_COLUMNS } from '../registry/transfer/importKinds.ts'
import { ApiError } from '../runtime/errors.ts'
import { notCsv } from './notCsv.ts'
import { SourceFailed } from './sourceFailed.ts'

/** How many rows of a source are tried. */
const ROWS = 10

/** The beginning of a source. */
export interface Peeked {
  readonly bytes: Buffer
  /** Whether the source ends here. */
  readonly isWhole: boolean
}

/** What a test found out about a source, as one sentence for people. */
export interface SourceTested {
  readonly ok: boolean
  readonly message: string
}

/** Tries a source: its header and first rows. */
export async function testSource(peek: () => Promise<Peeked>): Promise<SourceTested> {
  try {
    return { ok: true, message: await sentenceOf(await peek()) }
  } catch (error) {
    if (error instanceof SourceFailed) return { ok: false, message: error.message }
    if (error instanceof CsvUnreadable) return { ok: false, message: `Line ${error.line}: ${error.message}` }
    if (error instanceof ApiError) return { ok: false, message: `Line 1: ${error.message}` }
    throw error
  }
}

/**
 * The sentence about a source.
 * @throws {ApiError} {@link CsvUnreadable} if the header or a row breaks a rule
 */
async function sentenceOf({ bytes, isWhole }: Peeked): Promise<string> {
  const no = notCsv(bytes)
  if (no !== undefined) throw new CsvUnreadable(1, no)
  let columns: CsvColumns | undefined
  let count = 0
  // The last line may be incomplete.
  const whole = isWhole ? bytes : bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1)
  try {
    for await (const rows of readCsv(oneOf(whole))) {
      for (const row of rows) {
        if (columns === undefined) {
          columns = new CsvColumns(row.cells, GEOFENCE_COLUMNS)
          continue
        }
        if (count === ROWS) break
        count++
        const problem = columns.problemOf(row)
        if (problem !== undefined) throw new CsvUnreadable(row.line, problem)
        try {
          parseGeofence(columns.fields(row.cells))
        } catch (error) {
          throw error instanceof ApiError ? new CsvUnreadable(row.line, error.message) : error
        }
      }
    }
  } catch (error) {
    // After the rows that are tried, an incomplete file may contain anything.
    if (!(error instanceof CsvUnreadable) || isWhole || count < ROWS) throw error
  }
  if (columns === undefined) throw new CsvUnreadable(1, 'It is empty; its first row must name the columns.')
  const rows = count === 1 ? '1 row' : `${count} rows`
  return `The source can be read: ${columns.count} columns; ${count < ROWS ? '' : 'the first '}${rows} would be taken.`
}

async function* oneOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
