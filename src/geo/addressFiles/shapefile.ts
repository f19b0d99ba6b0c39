/**
 * Reads shapefiles, the format of TIGER/Line: points and lines in the file `.shp`, their columns in the file `.dbf`
 * beside it, and the encoding of those in `.cpg`. The sources are Esri's technical description of 1998 and the format
 * of dBase III. Only a part of each file is in memory.
 */
import { createHash, type Hash } from 'node:crypto'
import { open, readFile, type FileHandle } from 'node:fs/promises'
import type { Position } from '../../model/geofence.ts'
import { placed } from './formats.ts'
import { AddressFileRefused } from './rows.ts'

/** A shape with its columns, whose names are in lower case. */
export interface ShapeRow {
  readonly values: ReadonlyMap<string, string>
  /** The positions of a point or of the first part of a line; empty for other shapes. */
  readonly positions: readonly Position[]
}

export const SHAPEFILE_CODE = 9994
const HEADER_BYTES = 100
const RECORD_HEADER_BYTES = 8
/** The largest size of a shape. The usual line has some hundred positions. */
const MAX_RECORD_BYTES = 64e6
const WINDOW_BYTES = 1 << 20
const [POINT, LINE] = [1, 3]

/**
 * Reads a shapefile.
 * @param path the path of the file `.shp`
 * @param onRead called with the number of bytes that have been read of it
 * @returns the digest of both files
 * @throws {AddressFileRefused} and the system's errors
 */
export async function readShapefile(
  path: string,
  onRead: (bytes: number) => void,
  onRow: (row: ShapeRow) => void,
): Promise<{ sha256: string }> {
  const hash = createHash('sha256')
  const shapes = await PartOfFile.open(path, hash)
  let table: Table | undefined
  try {
    table = await Table.open(path, hash)
    let at = HEADER_BYTES
    for (let row = 0; at < shapes.size; row++) {
      const header = await shapes.bytes(at, RECORD_HEADER_BYTES)
      // Lengths are in words of 16 bits.
      const length = 2 * header.readInt32BE(4)
      if (length < 4 || length > MAX_RECORD_BYTES)
        throw new AddressFileRefused(`${path} is damaged: a shape has ${length} bytes.`)
      const values = await table.row(row)
      const positions = positionsOf(path, await shapes.bytes(at + RECORD_HEADER_BYTES, length))
      at += RECORD_HEADER_BYTES + length
      if (values !== undefined) onRow({ values, positions })
      onRead(at)
    }
    return { sha256: hash.digest('hex') }
  } finally {
    await shapes.close()
    await table?.close()
  }
}

function positionsOf(path: string, shape: Buffer): Position[] {
  // The kinds 11, 13, 21 and 23 also have heights and measures, which come after the positions.
  const kind = shape.readInt32LE(0) % 10
  const [first, count] = kind === POINT ? [4, 1] : kind === LINE ? partOf(shape) : [0, 0]
  if (first + 16 * count > shape.length)
    throw new AddressFileRefused(`${path} is damaged: a shape has fewer positions than it says.`)
  const positions: Position[] = []
  for (let at = first; at < first + 16 * count; at += 16) {
    const position = placed(shape.readDoubleLE(at), shape.readDoubleLE(at + 8))
    if (position !== undefined) positions.push(position)
  }
  return positions
}

/** Where the first part of a line begins, and how many positions it has. */
function partOf(shape: Buffer): [first: number, count: number] {
  if (shape.length < 44) return [0, Infinity]
  const [parts, points] = [shape.readInt32LE(36), shape.readInt32LE(40)]
  if (parts < 1 || points < 0 || 44 + 4 * parts > shape.length) return [0, Infinity]
  const end = parts > 1 && shape.length >= 52 ? shape.readInt32LE(48) : points
  return [44 + 4 * parts, Math.max(0, end)]
}

/** Reads the rows of a `.dbf`. */
class Table {
  readonly #file: PartOfFile
  readonly #path: string
  readonly #rows: number
  readonly #headerBytes: number
  readonly #rowBytes: number
  readonly #fields: readonly { readonly name: string; readonly from: number; readonly to: number }[]
  readonly #decoder

  private constructor(path: string, file: PartOfFile, header: Buffer, encoding: string) {
    this.#path = path
    this.#file = file
    this.#rows = header.readUInt32LE(4)
    this.#headerBytes = header.length
    this.#rowBytes = header.readUInt16LE(10)
    const fields = []
    let from = 1
    for (let at = 32; at + 32 <= header.length && header[at] !== 0x0d; at += 32) {
      const name = header
        .toString('latin1', at, at + 11)
        .replace(/\0.*$/s, '')
        .toLowerCase()
      fields.push({ name, from, to: from + header[at + 16]! })
      from += header[at + 16]!
    }
    this.#fields = fields
    this.#decoder = new TextDecoder(encoding, { fatal: true })
  }

  static async open(shapes: string, hash: Hash): Promise<Table> {
    const stem = shapes.replace(/\.[^.]*$/, '')
    const isUpper = shapes.endsWith('.SHP')
    const path = `${stem}.${isUpper ? 'DBF' : 'dbf'}`
    let file: PartOfFile
    try {
      file = await PartOfFile.open(path, hash)
    } catch (cause) {
      throw new AddressFileRefused(`${shapes} cannot be used without ${path}, which cannot be read.`, {
        cause,
      })
    }
    try {
      const start = await file.bytes(0, 32)
      const header = await file.bytes(0, Math.max(32, start.readUInt16LE(8)))
      return new Table(
        path,
        file,
        Buffer.from(header),
        await encodingOf(`${stem}.${isUpper ? 'CPG' : 'cpg'}`),
      )
    } catch (error) {
      await file.close()
      throw error
    }
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  /**
   * Reads a row. Undefined if it is marked as deleted.
   * @throws {AddressFileRefused}
   */
  async row(index: number): Promise<ReadonlyMap<string, string> | undefined> {
    if (index >= this.#rows)
      throw new AddressFileRefused(
        `${this.#path} is incomplete: it has ${this.#rows} rows, fewer than there are shapes.`,
      )
    const bytes = await this.#file.bytes(this.#headerBytes + index * this.#rowBytes, this.#rowBytes)
    if (bytes[0] === 0x2a) return undefined
    try {
      const text = (from: number, to: number): string => this.#decoder.decode(bytes.subarray(from, to)).trim()
      return new Map(this.#fields.map(({ name, from, to }) => [name, text(from, to)]))
    } catch (cause) {
      throw new AddressFileRefused(`${this.#path} is not in ${this.#decoder.encoding}, as its .cpg says.`, {
        cause,
      })
    }
  }
}

/**
 * The encoding of the columns. TIGER has used UTF-8 since 2015, and a `.cpg` names it. Without one, it is Latin-1 in
 * the variant of Windows.
 */
async function encodingOf(path: string): Promise<string> {
  const text = await readFile(path, 'latin1').catch(() => '')
  return /utf-?8/i.test(text) ? 'utf-8' : 'windows-1252'
}

/** Reads a file from its beginning to its end, one window of it at a time. */
class PartOfFile {
  readonly size: number
  readonly #path: string
  readonly #file: FileHandle
  readonly #hash: Hash
  #window = Buffer.alloc(0)
  #windowAt = 0

  private constructor(path: string, file: FileHandle, size: number, hash: Hash) {
    this.#path = path
    this.#file = file
    this.size = size
    this.#hash = hash
  }

  static async open(path: string, hash: Hash): Promise<PartOfFile> {
    const file = await open(path)
    return new PartOfFile(path, file, (await file.stat()).size, hash)
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  /**
   * Bytes of the file, which are valid until the next call.
   * @param at not before what was read last
   * @throws {AddressFileRefused} beyond the end
   */
  async bytes(at: number, length: number): Promise<Buffer> {
    if (at + length > this.size)
      throw new AddressFileRefused(`${this.#path} is incomplete: it ends in the middle of a row.`)
    const isInside = at >= this.#windowAt && at + length <= this.#windowAt + this.#window.length
    if (!isInside) {
      const size = Math.min(Math.max(length, WINDOW_BYTES), this.size - at)
      const { buffer, bytesRead } = await this.#file.read(Buffer.alloc(size), 0, size, at)
      const before = this.#windowAt + this.#window.length
      this.#window = buffer.subarray(0, bytesRead)
      this.#windowAt = at
      // The part that overlaps the last window has been hashed already.
      this.#hash.update(this.#window.subarray(Math.max(0, before - at)))
    }
    return this.#window.subarray(at - this.#windowAt, at - this.#windowAt + length)
  }
}
