import { closeSync, createReadStream, fstatSync, openSync, readSync } from 'node:fs'
import type { MessagePort } from 'node:worker_threads'
import { parseGeofence } from '../registry/geofences/parseGeofence.ts'
import { CsvColumns } from '../registry/transfer/csvColumns.ts'
import { CsvUnreadable, readCsv, type CsvRow } from '../registry/transfer/csvReader.ts'
import { GEOFENCE_COLUMNS } from '../registry/transfer/importKinds.ts'
import { ApiError } from '../runtime/errors.ts'
import { serveCalls } from '../runtime/workerCalls.ts'
import { notCsv } from './notCsv.ts'
import { pairHash } from './pairHash.ts'
import { draftText } from './rowText.ts'
import type { ReadRow, RowBatch, SourceProblem } from './rowsPort.ts'

/** The methods of the thread. */
export interface SyncRowsThread {
  survey(files: readonly string[]): Promise<readonly (SourceProblem | undefined)[]>
  next(): Promise<RowBatch | undefined>
}

/** A batch takes the other thread a few milliseconds. */
const BATCH_ROWS = 256
const BATCH_CHARACTERS = 128 * 1024
const SNIFFED_BYTES = 4096
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/** Serves the calls of {@link SyncRowsThread} until the port closes. */
export function serveSyncRows(port: MessagePort): void {
  const reader = new RowsReader()
  serveCalls<SyncRowsThread>(port, () => ({
    methods: { survey: (files) => reader.survey(files), next: () => reader.next() },
    opened: undefined,
    close: () => {},
  }))
}

/**
 * Reads files twice: first to the end, to see whether they can be taken and which rows are named again later; then row
 * by row.
 */
class RowsReader {
  /** The number of the last row with a pair, by its hash; rows are numbered through all files. */
  readonly #lastRow = new Map<number, number>()
  /** The files of pairs that several files name. */
  readonly #filesOf = new Map<number, Set<number>>()
  /** The number of the first row of each file. */
  readonly #firstRow: number[] = []
  #batches: AsyncGenerator<RowBatch> | undefined

  async survey(files: readonly string[]): Promise<readonly (SourceProblem | undefined)[]> {
    const problems: (SourceProblem | undefined)[] = []
    const readable: [number, string][] = []
    let rows = 0
    for (const [index, file] of files.entries()) {
      this.#firstRow.push(rows)
      try {
        rows += await this.#surveyFile(index, file, rows)
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

  /** @returns the number of its rows */
  async #surveyFile(index: number, file: string, first: number): Promise<number> {
    const endsWithLine = sniff(file)
    /** Of this file, which counts only once it was read to its end. */
    const lastRow = new Map<number, number>()
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
        if (tag !== undefined && externalId !== undefined)
          lastRow.set(pairHash(tag, externalId), first + count)
        count++
        last = row
      }
    }
    if (columns === undefined) throw new CsvUnreadable(1, 'It is empty; its first row must name the columns.')
    if (!endsWithLine && last !== undefined && last.cells.length < columns.count)
      throw new CsvUnreadable(last.line, 'The file breaks off within a row.')
    for (const [hash, row] of lastRow) {
      const before = this.#lastRow.get(hash)
      if (before !== undefined) {
        const files = this.#filesOf.get(hash) ?? new Set([this.#fileOf(before)])
        this.#filesOf.set(hash, files.add(index))
      }
      this.#lastRow.set(hash, row)
    }
    return count
  }

  #fileOf(row: number): number {
    return this.#firstRow.findLastIndex((first) => first <= row)
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
          const read = this.#readRow(columns, row, this.#firstRow[index]! + count, ++count)
          batch.push(read)
          characters += read.text?.length ?? 0
          if (batch.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue
          yield { file: index, rows: batch }
          batch = []
          characters = 0
        }
      }
      yield { file: index, rows: batch }
    }
  }

  /** @param number of the row in all files @param row its number in its own */
  #readRow(columns: CsvColumns, csvRow: CsvRow, number: number, row: number): ReadRow {
    const { line } = csvRow
    const pair = pairOf(columns, csvRow)
    const { tag, externalId } = pair
    const read: ReadRow = { line, row, ...pair }
    const hash = tag === undefined || externalId === undefined ? undefined : pairHash(tag, externalId)
    if (hash !== undefined && this.#lastRow.get(hash) !== number) return { ...read, isRepeated: true }
    const problem = columns.problemOf(csvRow)
    if (problem !== undefined) return { ...read, refusal: columns.refusal(csvRow, row, problem) }
    try {
      const text = draftText(parseGeofence(columns.fields(csvRow.cells)), Date.now())
      const files = hash === undefined ? undefined : this.#filesOf.get(hash)
      return files === undefined ? { ...read, text } : { ...read, text, files: [...files] }
    } catch (error) {
      if (error instanceof ApiError)
        return { ...read, refusal: columns.refusal(csvRow, row, error.message, error.param) }
      // The run continues, whatever error a row causes.
      return { ...read, refusal: columns.refusal(csvRow, row, 'The row cannot be read.') }
    }
  }
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
