import { closeSync, createReadStream, fstatSync, openSync, readSync } from 'node:fs'
import type { MessagePort } from 'node:worker_threads'
import { parseGeofence } from '../registry/geofences/parseGeofence.ts'
import { CsvColumns } from '../registry/transfer/csvColumns.ts'
import { CsvUnreadable, readCsv, type CsvRow } from '../registry/transfer/csvReader.ts'
import { GEOFENCE_COLUMNS } from '../registry/transfer/importKinds.ts'
import { ApiError } from '../runtime/errors.ts'
import { lowerPriority } from '../runtime/threadPriority.ts'
import { serveCalls } from '../runtime/workerCalls.ts'
import { notCsv } from './notCsv.ts'
import { pairHash } from './pairHash.ts'
import { PairTable } from './pairTable.ts'
import { draftText } from './rowText.ts'
import type { ReadRow, RowBatch, SourceProblem } from './rowsPort.ts'

/** The methods of the thread. */
export interface SyncRowsThread {
  survey(files: readonly string[]): Promise<readonly (SourceProblem | undefined)[]>
  next(): Promise<RowBatch | undefined>
  named(pairs: readonly (readonly [tag: string, externalId: string])[]): Promise<readonly boolean[]>
}

/** How many rows a batch has. The other thread needs a few milliseconds for it. */
const BATCH_ROWS = 256
const BATCH_CHARACTERS = 128 * 1024
/** The limit for all files together; they take 135 MB, and twice that while the last file is read. */
const MOST_PAIRS = 5_000_000
const SNIFFED_BYTES = 4096
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/** Serves the calls of {@link SyncRowsThread} until the port closes. */
export function serveSyncRows(port: MessagePort): void {
  lowerPriority()
  const reader = new RowsReader()
  serveCalls<SyncRowsThread>(port, () => ({
    methods: {
      survey: (files) => reader.survey(files),
      next: () => reader.next(),
      named: (pairs) => reader.named(pairs),
    },
    opened: undefined,
    close: () => {},
  }))
}

/**
 * Reads files twice: first to the end, to see whether they can be taken and which rows are named again later; then row
 * by row.
 */
export class RowsReader {
  readonly #mostPairs: number
  /** For each pair its last row, as counted in the last file that names it, and the files that name it. */
  #pairs = new PairTable()
  #batches: AsyncGenerator<RowBatch> | undefined

  constructor(mostPairs = MOST_PAIRS) {
    this.#mostPairs = mostPairs
  }

  async survey(files: readonly string[]): Promise<readonly (SourceProblem | undefined)[]> {
    const problems: (SourceProblem | undefined)[] = []
    const readable: [number, string][] = []
    for (const [index, file] of files.entries()) {
      try {
        await this.#surveyFile(index, file)
        problems.push(undefined)
        readable.push([index, file])
      } catch (error) {
        problems.push(problemOf(error))
      }
    }
    this.#batches = this.#read(readable)
    return problems
  }

  async next(): Promise<RowBatch | undefined> {
    const step = await this.#batches!.next()
    return step.done ? undefined : step.value
  }

  async named(pairs: readonly (readonly [string, string])[]): Promise<readonly boolean[]> {
    return pairs.map(([tag, externalId]) => this.#pairs.has(pairHash(tag, externalId)))
  }

  async #surveyFile(index: number, file: string): Promise<void> {
    const endsWithLine = sniff(file)
    /** The rows of this file. They only count once the file was read to its end. */
    const pairs = new PairTable()
    /** Those that no earlier file names. */
    let added = 0
    let columns: CsvColumns | undefined
    let count = 0
    let last: CsvRow | undefined
    for await (const rows of readCsv(createReadStream(file))) {
      for (const row of rows) {
        if (columns === undefined) {
          columns = columnsOf(row)
          continue
        }
        const { tag, externalId } = pairOf(columns, row)
        count++
        last = row
        if (tag === undefined || externalId === undefined) continue
        const hash = pairHash(tag, externalId)
        if (!pairs.has(hash) && !this.#pairs.has(hash)) added++
        pairs.put(hash, count, 2 ** index)
        if (added + this.#pairs.size > this.#mostPairs) throw new TooManyPairs(row.line, this.#mostPairs)
      }
    }
    if (columns === undefined) throw new CsvUnreadable(1, 'It is empty; its first row must name the columns.')
    if (!endsWithLine && last !== undefined && last.cells.length < columns.count)
      throw new CsvUnreadable(last.line, 'The file breaks off within a row.')
    if (this.#pairs.size === 0) this.#pairs = pairs
    else this.#pairs.putAll(pairs)
  }

  async *#read(files: readonly (readonly [number, string])[]): AsyncGenerator<RowBatch> {
    for (const [index, file] of files) {
      let columns: CsvColumns | undefined
      let batch: ReadRow[] = []
      let characters = 0
      let count = 0
      for await (const rows of readCsv(createReadStream(file))) {
        for (const row of rows) {
          if (columns === undefined) {
            columns = columnsOf(row)
            continue
          }
          const read = this.#readRow(columns, row, index, ++count)
          batch.push(read)
          characters += charactersOf(read)
          if (batch.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue
          yield { file: index, rows: batch }
          batch = []
          characters = 0
        }
      }
      yield { file: index, rows: batch }
    }
  }

  /** @param row its number in the file */
  #readRow(columns: CsvColumns, csvRow: CsvRow, file: number, row: number): ReadRow {
    const { line } = csvRow
    const pair = pairOf(columns, csvRow)
    const { tag, externalId } = pair
    const read: ReadRow = { line, row, ...pair }
    const hash = tag === undefined || externalId === undefined ? undefined : pairHash(tag, externalId)
    const naming = hash === undefined ? [file] : filesOf(this.#pairs.filesOf(hash))
    if (hash !== undefined && (naming.at(-1) !== file || this.#pairs.rowOf(hash) !== row))
      return { ...read, isRepeated: true }
    const problem = columns.problemOf(csvRow)
    if (problem !== undefined) return { ...read, refusal: columns.refusal(csvRow, row, problem) }
    try {
      const text = draftText(parseGeofence(columns.fields(csvRow.cells)), Date.now())
      return naming.length === 1 ? { ...read, text } : { ...read, text, files: naming }
    } catch (error) {
      if (error instanceof ApiError)
        return { ...read, refusal: columns.refusal(csvRow, row, error.message, error.param) }
      // The run continues, whatever error a row causes.
      return { ...read, refusal: columns.refusal(csvRow, row, 'The row cannot be read.') }
    }
  }
}

/** How many characters of a row go to the other thread. The pair of a row that is refused may be as long as any cell. */
function charactersOf({ text = '', tag = '', externalId = '' }: ReadRow): number {
  return text.length + tag.length + externalId.length
}

/** The sources name more pairs than are remembered. */
class TooManyPairs extends Error {
  constructor(line: number, most: number) {
    super(`Line ${line}: The sources have more than ${most} geofences together.`)
  }
}

/** The indexes of the bits. */
function filesOf(bits: number): number[] {
  const files: number[] = []
  for (let index = 0; bits >> index !== 0; index++) if ((bits >> index) & 1) files.push(index)
  return files
}

function pairOf(columns: CsvColumns, { cells }: CsvRow): Pick<ReadRow, 'tag' | 'externalId'> {
  return {
    tag: columns.cell(cells, 'tag') || undefined,
    externalId: columns.cell(cells, 'externalId') || undefined,
  }
}

function columnsOf(header: CsvRow): CsvColumns {
  if (header.damaged)
    throw new CsvUnreadable(header.line, 'The header contains bytes that are not valid UTF-8.')
  return new CsvColumns(header.cells, GEOFENCE_COLUMNS)
}

function problemOf(error: unknown): SourceProblem {
  if (error instanceof CsvUnreadable)
    return { code: 'notCsv', message: `Line ${error.line}: ${error.message}` }
  if (error instanceof TooManyPairs) return { code: 'tooLarge', message: error.message }
  if (error instanceof ApiError) return { code: 'header', message: `Line 1: ${error.message}` }
  throw error
}

/**
 * Refuses a file that is not CSV in UTF-8, by its first bytes.
 * @returns whether the file ends with the end of a line
 * @throws {CsvUnreadable}
 */
function sniff(file: string): boolean {
  const descriptor = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(SNIFFED_BYTES)
    const begin = bytes.subarray(0, readSync(descriptor, bytes, 0, SNIFFED_BYTES, 0))
    const sentence = notCsv(begin)
    if (sentence !== undefined) throw new CsvUnreadable(1, sentence)
    const { size } = fstatSync(descriptor)
    if (size === 0) return true
    const last = Buffer.alloc(1)
    readSync(descriptor, last, 0, 1, size - 1)
    return last[0] === LINE_FEED || last[0] === CARRIAGE_RETURN
  } finally {
    closeSync(descriptor)
  }
}
