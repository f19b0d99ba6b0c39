import type { Parser } from 'csv-parse'
import { parse } from 'csv-parse'
import { Slice } from '../../runtime/slices.ts'
import { FileUnreadable, type FileRow } from './fileFormat.ts'

/** A row of a CSV file, including the header. */
export interface CsvRow extends FileRow {
  readonly cells: readonly string[]
  /** Whether it contains bytes that are not text in the file's encoding. */
  readonly damaged: boolean
}

/** The file is not CSV from `line` on; earlier rows were handed over. */
export class CsvUnreadable extends FileUnreadable {
  override name = 'CsvUnreadable'
}

/** How many bytes are parsed at once. That takes about a millisecond, even if each byte is a line. */
const PIECE_BYTES = 8 * 1024
/** The longest row in bytes. A quote that is never closed turns everything that follows into one row. */
const MAX_ROW_BYTES = 4 * 1024 * 1024
/** The most cells of a row, which are many more than a header may have. Four million of them take 80 ms by themselves. */
const MAX_CELLS = 64 * 1024

const REPLACEMENT = '\u{FFFD}'

/** csv-parse's messages in words for somebody who has the file open. */
const SENTENCES: Readonly<Record<string, string>> = {
  CSV_INVALID_CLOSING_QUOTE:
    'There is text after the closing quote of a cell. Quotes inside a quoted cell must be doubled.',
  CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE:
    'There is text after the closing quote of a cell. Quotes inside a quoted cell must be doubled.',
  INVALID_OPENING_QUOTE:
    'There is a quote inside a cell that is not quoted. Put the cell into quotes and double the quote inside it.',
  CSV_QUOTE_NOT_CLOSED: 'A quoted cell is never closed.',
}

/**
 * Reads CSV as spreadsheets write it: cells separated by commas, rows by LF, CRLF or CR, quoted cells with doubled
 * quotes and line breaks, UTF-8 with or without a byte order mark, UTF-16 with one. Blanks around an unquoted cell
 * are dropped, and so are rows without any content.
 *
 * Yields the rows of one chunk at a time, so it never holds more than those and one further row. Lets others have
 * their turn while it parses, whatever the file contains.
 * @throws {CsvUnreadable} after all rows before it; and the errors of `chunks`, unchanged
 */
export async function* readCsv(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<CsvRow[]> {
  const rows = new RowCollector()
  const decoder = new Decoder()
  // Waiting for the next chunk, and the caller's work with the rows, do not count.
  const slice = new Slice()
  slice.pause()
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
      slice.resume()
      if (slice.isOver) await slice.next()
      await rows.write(decoder.decode(chunk.subarray(start, start + PIECE_BYTES)), decoder.damaged)
      slice.pause()
      if (rows.collected.length > 0) yield rows.take()
      rows.check()
    }
  }
  await rows.write(decoder.end(), decoder.damaged)
  await rows.end()
  if (rows.collected.length > 0) yield rows.take()
  rows.check()
}

/**
 * Decodes bytes according to the mark at the beginning. Unlike a TextDecoder alone, it distinguishes lost text from a
 * written U+FFFD.
 */
class Decoder {
  /** Whether something in or before the last piece was not text. */
  damaged = false
  #begin: Uint8Array | undefined = new Uint8Array()
  #lenient = new TextDecoder()
  #strict = new TextDecoder('utf-8', { fatal: true })

  decode(piece: Uint8Array): string {
    if (this.#begin === undefined) return this.#next(piece)
    this.#begin = Buffer.concat([this.#begin, piece])
    return this.#begin.length < 2 ? '' : this.#first()
  }

  end(): string {
    const text = this.#begin === undefined ? '' : this.#first()
    return text + this.#next(undefined)
  }

  #first(): string {
    const begin = this.#begin!
    this.#begin = undefined
    const [first, second] = begin
    const encoding =
      first === 0xff && second === 0xfe
        ? 'utf-16le'
        : first === 0xfe && second === 0xff
          ? 'utf-16be'
          : 'utf-8'
    this.#lenient = new TextDecoder(encoding)
    this.#strict = new TextDecoder(encoding, { fatal: true })
    return this.#next(begin)
  }

  #next(bytes: Uint8Array | undefined): string {
    const options = { stream: bytes !== undefined }
    if (!this.damaged) {
      try {
        this.#strict.decode(bytes, options)
      } catch {
        this.damaged = true
      }
    }
    return this.#lenient.decode(bytes, options)
  }
}

/**
 * Collects csv-parse's rows as they are found. As a stream, csv-parse would drop the last rows at an error, and count
 * a CRLF within quotes as two lines.
 */
class RowCollector {
  collected: CsvRow[] = []
  readonly #parser: Parser
  #damaged = false
  /** The line of the file on which the last row ended. */
  #line = 0
  /** The same line as csv-parse counts it. */
  #parserLine = 0
  /** How many bytes were given to the parser, and how many of them end with the last row. */
  #written = 0
  #rowEnd = 0
  #error: CsvUnreadable | undefined

  constructor() {
    this.#parser = parse({
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      trim: true,
      on_record: (cells: string[], { lines, bytes }) => this.#add(cells, lines, bytes),
    })
    // The error is ignored here, because the callbacks also report it.
    this.#parser.on('error', () => {})
  }

  async write(text: string, damaged: boolean): Promise<void> {
    if (text === '' || this.#error !== undefined) return
    this.#damaged = damaged
    const bytes = Buffer.from(text)
    this.#written += bytes.length
    await this.#run((done) => this.#parser.write(bytes, done))
    if (this.#written - this.#rowEnd > MAX_ROW_BYTES) {
      const sentence = `A row is longer than ${MAX_ROW_BYTES} bytes, or a quoted cell is never closed.`
      this.#error ??= new CsvUnreadable(this.#line + 1, sentence)
    } else if (this.#cellsSoFar > MAX_CELLS) {
      const sentence = `A row has more than ${MAX_CELLS} cells.`
      this.#error ??= new CsvUnreadable(this.#line + 1, sentence)
    }
  }

  /** How many cells of the row that has begun are known. */
  get #cellsSoFar(): number {
    return (this.#parser as Parser & { readonly state: { readonly record: unknown[] } }).state.record.length
  }

  async end(): Promise<void> {
    if (this.#error === undefined) await this.#run((done) => this.#parser.end(done))
  }

  take(): CsvRow[] {
    const rows = this.collected
    this.collected = []
    return rows
  }

  /**
   * Checks that the text can be read further.
   * @throws {CsvUnreadable}
   */
  check(): void {
    if (this.#error !== undefined) throw this.#error
  }

  #run(step: (done: (error?: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve) => {
      step((error) => {
        if (error) {
          const sentence = SENTENCES[(error as Error & { code?: string }).code ?? ''] ?? error.message
          this.#error ??= new CsvUnreadable(this.#line + 1, sentence, error)
        }
        resolve()
      })
    })
  }

  /** The parser calls this for each row. Nothing may stay in the parser's own queue. */
  #add(cells: string[], parserLine: number, bytes: number): undefined {
    // The parser is told that each row is the first one. Otherwise, for a row that is not as long as the first, it
    // would make an error with a copy of its whole state, which takes 11 µs, although nobody wants it.
    const info: { records: number } = this.#parser.info
    info.records = 0
    const line = this.#line + 1
    const lines = parserLine - this.#parserLine
    this.#line += lines > 1 ? lines - quotedLineBreaks(cells) : lines
    this.#parserLine = parserLine
    const size = bytes - this.#rowEnd
    this.#rowEnd = bytes
    if (cells.every((cell) => cell === '')) return
    const damaged = this.#damaged && cells.some((cell) => cell.includes(REPLACEMENT))
    this.collected.push({ cells, line, size, damaged })
  }
}

/** The number of CRLFs within the cells. */
function quotedLineBreaks(cells: readonly string[]): number {
  return cells.reduce((sum, cell) => sum + cell.split('\r\n').length - 1, 0)
}
