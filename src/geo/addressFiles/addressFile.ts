/** Reads files of addresses and number ranges, row by row, whatever their size. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, type ReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { parse } from 'csv-parse'
import type { Position } from '../../model/geofence.ts'
import { systemReason } from '../../runtime/errors.ts'
import { ADDRESS_FORMATS, formatOf, lineOf, placed, type AddressFormat, type Cells } from './formats.ts'
import { JsonItems } from './jsonItems.ts'
import { AddressFileRefused, type AddressFileRow, type Credit } from './rows.ts'
import { readShapefile, SHAPEFILE_CODE, type ShapeRow } from './shapefile.ts'

/** What is known about a file once all of it has been read. */
export interface AddressFileFacts {
  readonly bytes: number
  /** In hexadecimal. */
  readonly sha256: string
  readonly credit: Credit
  /** How many rows had no number, street or position. */
  readonly leftOut: number
}

export interface AddressFileReading {
  readonly path: string
  readonly signal: AbortSignal
  /** Called with the share that has been read, from 0 to 1. */
  readonly onProgress: (share: number) => void
  readonly onRow: (row: AddressFileRow) => void
}

/** How many bytes are read first. They show whether the file is compressed, JSON or a table. */
const HEAD_BYTES = 4096
const READ_BYTES = 1 << 18
const DELIMITERS = [',', '\t', ';', '|'] as const
/** What columns of the National Address Database contain if they have no value. */
const NOTHING = /^(?:|null|not stated|unknown|<null>)$/i
const MAX_ROW_CHARACTERS = 1e6
const MAX_COLUMNS_NAMED = 12

/**
 * Reads the rows of OpenAddresses (GeoJSON, CSV), the National Address Database (text) and TIGER (GeoJSON, or CSV as
 * made for Nominatim), in UTF-8, also if they are compressed with gzip, and of shapefiles.
 * @throws {AddressFileRefused} and the system's errors
 */
export async function readAddressFile({
  path,
  signal,
  onProgress,
  onRow,
}: AddressFileReading): Promise<AddressFileFacts> {
  const { size, head } = await headOf(path)
  if (size === 0) throw new AddressFileRefused(`${path} is empty.`)
  const rows = new Rows(path, onRow)
  if (head.length >= 4 && head.readInt32BE() === SHAPEFILE_CODE) {
    const { sha256 } = await readShapefile(
      path,
      (bytes) => {
        signal.throwIfAborted()
        onProgress(bytes / size)
      },
      (row) => rows.addShape(row),
    )
    return { bytes: size, sha256, ...rows.finished() }
  }
  const file = createReadStream(path, { highWaterMark: READ_BYTES })
  const hash = createHash('sha256')
  let read = 0
  file.on('data', (bytes) => {
    hash.update(bytes)
    read += bytes.length
    onProgress(read / size)
  })
  try {
    const content = head[0] === 0x1f && head[1] === 0x8b ? unzipped(file) : file
    await readContent(path, content, rows, signal)
  } catch (error) {
    throw asRefusal(path, error)
  } finally {
    file.destroy()
  }
  return { bytes: size, sha256: hash.digest('hex'), ...rows.finished() }
}

/**
 * Reads the beginning of the file.
 * @throws {AddressFileRefused} if it cannot be read
 */
async function headOf(path: string): Promise<{ size: number; head: Buffer }> {
  try {
    const handle = await open(path)
    try {
      const stats = await handle.stat()
      if (!stats.isFile()) throw new AddressFileRefused(`${path} is not a file.`)
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
      return { size: stats.size, head: buffer.subarray(0, bytesRead) }
    } finally {
      await handle.close()
    }
  } catch (cause) {
    if (cause instanceof AddressFileRefused) throw cause
    throw new AddressFileRefused(`${path} cannot be read: ${systemReason(cause)}.`, { cause })
  }
}

function unzipped(file: ReadStream): Readable {
  const gunzip = createGunzip({ chunkSize: READ_BYTES })
  file.on('error', (error) => gunzip.destroy(error))
  return file.pipe(gunzip)
}

async function readContent(path: string, content: Readable, rows: Rows, signal: AbortSignal): Promise<void> {
  let table: CsvRows | undefined
  let items: JsonItems | undefined
  let isFirst = true
  for await (const chunk of content as AsyncIterable<Buffer>) {
    signal.throwIfAborted()
    let bytes = chunk
    if (isFirst) {
      isFirst = false
      refuseOthers(path, bytes)
      if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3)
      const isJson = /^\s*[{[]/.test(bytes.toString('latin1', 0, HEAD_BYTES))
      if (isJson) items = new JsonItems(path)
      else table = new CsvRows(path, bytes, rows)
    }
    if (items !== undefined) for (const item of items.push(bytes)) rows.addFeature(item)
    else await table!.push(bytes)
  }
  items?.end()
  await table?.end()
}

/**
 * Checks that the file is text.
 * @throws {AddressFileRefused} if it is not; the message says what to do
 */
function refuseOthers(path: string, head: Buffer): void {
  const zip = head[0] === 0x50 && head[1] === 0x4b
  if (zip)
    throw new AddressFileRefused(
      `${path} is a ZIP archive: unpack it, and give the file in it (of a shapefile, the one that ends in .shp).`,
    )
  const isWide = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff)
  if (isWide) throw notUtf8(path)
  if (head.includes(0)) throw new AddressFileRefused(`${path} is no text: it must be GeoJSON or CSV.`)
}

function notUtf8(path: string, cause?: unknown): AddressFileRefused {
  return new AddressFileRefused(
    `${path} is not in UTF-8. Convert it, for example with \`iconv -f LATIN1 -t UTF-8\` if it is in Latin-1.`,
    { cause },
  )
}

function asRefusal(path: string, error: unknown): unknown {
  const { code } = error as { code?: unknown }
  if (code === 'Z_BUF_ERROR')
    return new AddressFileRefused(`${path} is incomplete: the compressed data end too early.`)
  if (typeof code === 'string' && code.startsWith('Z_'))
    return new AddressFileRefused(`${path} is damaged: the compressed data are not valid.`, { cause: error })
  return error
}

/** The rows of a file. Its format is the first one whose columns it has. */
class Rows {
  readonly #path: string
  readonly #onRow: (row: AddressFileRow) => void
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  #format: AddressFormat | undefined
  #used = 0
  #leftOut = 0

  constructor(path: string, onRow: (row: AddressFileRow) => void) {
    this.#path = path
    this.#onRow = onRow
  }

  /**
   * Decodes bytes as UTF-8.
   * @throws {AddressFileRefused}
   */
  decoded(bytes: Buffer, isLast = true): string {
    try {
      return this.#decoder.decode(bytes, { stream: !isLast })
    } catch (cause) {
      throw notUtf8(this.#path, cause)
    }
  }

  /**
   * Finds the format by the columns.
   * @throws {AddressFileRefused} if no format has these columns
   */
  columns(names: readonly string[]): void {
    this.#format ??= formatOf(new Set(names))
    if (this.#format === undefined) throw unknownColumns(this.#path, names)
  }

  add(cells: Cells): void {
    const row = this.#format!.rowOf(cells)
    if (row === undefined) this.#leftOut++
    else {
      this.#used++
      this.#onRow(row)
    }
  }

  /**
   * Reads a feature of GeoJSON.
   * @throws {AddressFileRefused}
   */
  addFeature(bytes: Buffer): void {
    const text = this.decoded(bytes)
    let feature: Feature
    try {
      feature = JSON.parse(text) as Feature
    } catch (cause) {
      throw new AddressFileRefused(`${this.#path} is damaged: a feature is no JSON: ${text.slice(0, 80)}`, {
        cause,
      })
    }
    const properties = propertiesOf(feature)
    if (this.#format === undefined) this.columns([...properties.keys(), 'geometry'])
    const cell = (column: string): string | undefined => textOf(properties.get(column))
    this.add({ text: cell, positions: positionsOf(feature) })
  }

  /**
   * Reads a shape.
   * @throws {AddressFileRefused}
   */
  addShape({ values, positions }: ShapeRow): void {
    if (this.#format === undefined) this.columns([...values.keys(), 'geometry'])
    this.add({ text: (column) => textOf(values.get(column)), positions })
  }

  /**
   * What was read, once the file has ended.
   * @throws {AddressFileRefused} if it has no rows, or none that can be used
   */
  finished(): { credit: Credit; leftOut: number } {
    const format = this.#format
    if (format === undefined) throw new AddressFileRefused(`${this.#path} has no rows in it.`)
    if (this.#used === 0)
      throw new AddressFileRefused(
        `${this.#path} has no row with a house number, a street and a position in degrees (format: ${format.name}).`,
      )
    return { credit: format.credit, leftOut: this.#leftOut }
  }
}

interface Feature {
  readonly properties?: Readonly<Record<string, unknown>> | null
  readonly geometry?: { readonly type?: unknown; readonly coordinates?: unknown } | null
}

function propertiesOf({ properties }: Feature): Map<string, unknown> {
  if (typeof properties !== 'object' || properties === null) return new Map()
  return new Map(Object.entries(properties).map(([name, value]) => [name.toLowerCase(), value]))
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  return NOTHING.test(text) ? undefined : text
}

/** The positions of a point or line. If there are several lines, the first one counts. */
function positionsOf({ geometry }: Feature): Position[] {
  const { type, coordinates } = geometry ?? {}
  const list =
    type === 'Point' ? [coordinates] : type === 'MultiLineString' ? firstOf(coordinates) : coordinates
  if (!Array.isArray(list)) return []
  return list.flatMap((pair: unknown) => {
    if (!Array.isArray(pair) || typeof pair[0] !== 'number' || typeof pair[1] !== 'number') return []
    const position = placed(pair[0], pair[1])
    return position === undefined ? [] : [position]
  })
}

function firstOf(list: unknown): unknown {
  return Array.isArray(list) ? list[0] : undefined
}

function unknownColumns(path: string, names: readonly string[]): AddressFileRefused {
  const shown = names
    .filter((name) => name !== 'geometry')
    .slice(0, MAX_COLUMNS_NAMED)
    .join(', ')
  const formats = ADDRESS_FORMATS.map(
    ({ name, columns }) => `${name} (${columns.map((some) => some.join(' or ')).join(', ')})`,
  )
  return new AddressFileRefused(
    `${path} has none of the known sets of columns: it has ${shown || 'none'}. Known are: ${formats.join('; ')}.`,
  )
}

/** Reads a table of text. */
class CsvRows {
  readonly #parser
  readonly #rows: Rows
  readonly #path: string
  #names: Map<string, number> | undefined
  #failure: unknown

  constructor(path: string, head: Buffer, rows: Rows) {
    this.#path = path
    this.#rows = rows
    const line = head.toString('latin1', 0, HEAD_BYTES).split(/\r?\n/, 1)[0]!
    const count = (delimiter: string): number => line.split(delimiter).length
    const delimiter = DELIMITERS.reduce((best, one) => (count(one) > count(best) ? one : best))
    this.#parser = parse({
      delimiter,
      max_record_size: MAX_ROW_CHARACTERS,
      skip_empty_lines: true,
      relax_quotes: true,
    })
    this.#parser.on('readable', () => this.#take())
    this.#parser.on('error', (error) => (this.#failure ??= this.#refusal(error)))
  }

  async push(bytes: Buffer, isLast = false): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    const text = this.#rows.decoded(bytes, isLast)
    if (!this.#parser.write(text)) await this.#settled('drain')
    if (this.#failure !== undefined) throw this.#failure
  }

  async end(): Promise<void> {
    // An unfinished letter at the end is refused here.
    await this.push(Buffer.alloc(0), true)
    this.#parser.end()
    await this.#settled('end')
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Waits for the event or an error. The error is kept. */
  async #settled(event: 'drain' | 'end'): Promise<void> {
    await once(this.#parser, event).catch((error: unknown) => (this.#failure ??= error))
  }

  #take(): void {
    try {
      for (let row: string[] | null; (row = this.#parser.read() as string[] | null) !== null;) this.#add(row)
    } catch (error) {
      this.#failure ??= error
      this.#parser.destroy(error as Error)
    }
  }

  #add(row: string[]): void {
    if (this.#names === undefined) {
      const names = row.map((name) => name.trim().toLowerCase())
      this.#rows.columns(names.includes('wkt') ? [...names, 'geometry'] : names)
      this.#names = new Map(names.map((name, index) => [name, index]))
      return
    }
    const names = this.#names
    const text = (column: string): string | undefined => {
      const index = names.get(column)
      return index === undefined ? undefined : textOf(row[index])
    }
    this.#rows.add({ text, positions: lineOf(text('wkt') ?? text('geometry') ?? '') })
  }

  #refusal(error: Error): unknown {
    const { code, lines } = error as Error & { code?: string; lines?: number }
    if (code === 'CSV_QUOTE_NOT_CLOSED')
      return new AddressFileRefused(`${this.#path} is incomplete: it ends within quotes.`, { cause: error })
    if (code === 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH')
      return new AddressFileRefused(
        `${this.#path}, line ${lines}: it has another number of columns than the first line. The file may be incomplete.`,
        { cause: error },
      )
    if (code?.startsWith('CSV_') === true)
      return new AddressFileRefused(`${this.#path}, line ${lines}: ${error.message}`, { cause: error })
    return error
  }
}
