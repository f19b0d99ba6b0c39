/** Makes PMTiles files, by https://github.com/protomaps/PMTiles/tree/main/spec/v3. */
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { zxyToTileId } from 'pmtiles'

const HEADER_BYTES = 127
const PACKING = { none: 1, gzip: 2, brotli: 3, zstd: 4 } as const
const TYPES = { mvt: 1, png: 2 } as const

export type Packing = keyof typeof PACKING

export interface TileFileParts {
  /** By address, `z/x/y`; not packed. */
  readonly tiles: Readonly<Record<string, Uint8Array>>
  readonly metadata?: unknown
  readonly packing?: Packing
  readonly type?: keyof typeof TYPES
  readonly bounds?: readonly [number, number, number, number]
  /** Entries of each leaf directory; without it, all are in the root. */
  readonly leafEntries?: number
}

interface Entry {
  readonly id: number
  readonly offset: number
  readonly length: number
  /** 0 for a leaf directory. */
  readonly run: number
}

/** The bytes of a file with these tiles. */
export function tileFileBytes(parts: TileFileParts): Buffer {
  const { packing = 'gzip', type = 'mvt', bounds = [-180, -85, 180, 85], leafEntries } = parts
  const pack = packerOf(packing)
  const sorted = Object.entries(parts.tiles)
    .map(([address, bytes]) => ({
      address: address.split('/').map(Number) as [number, number, number],
      bytes,
    }))
    .map(({ address, bytes }) => ({ zoom: address[0], id: zxyToTileId(...address), bytes: pack(bytes) }))
    .sort((a, b) => a.id - b.id)
  let end = 0
  const entries: Entry[] = sorted.map(({ id, bytes }) => {
    const offset = end
    end += bytes.length
    return { id, offset, length: bytes.length, run: 1 }
  })
  const leaves: Buffer[] = []
  let root = entries
  if (leafEntries !== undefined) {
    root = []
    let at = 0
    for (let i = 0; i < entries.length; i += leafEntries) {
      const leaf = pack(directory(entries.slice(i, i + leafEntries)))
      root.push({ id: entries[i]!.id, offset: at, length: leaf.length, run: 0 })
      leaves.push(leaf)
      at += leaf.length
    }
  }
  const zooms = sorted.map(({ zoom }) => zoom)
  const blocks = [
    pack(directory(root)),
    pack(Buffer.from(JSON.stringify(parts.metadata ?? {}))),
    Buffer.concat(leaves),
    Buffer.concat(sorted.map(({ bytes }) => bytes)),
  ]
  const header = Buffer.alloc(HEADER_BYTES)
  header.write('PMTiles')
  header[7] = 3
  let offset = HEADER_BYTES
  for (const [i, block] of blocks.entries()) {
    header.writeBigUInt64LE(BigInt(offset), 8 + 16 * i)
    header.writeBigUInt64LE(BigInt(block.length), 16 + 16 * i)
    offset += block.length
  }
  for (const at of [72, 80, 88]) header.writeBigUInt64LE(BigInt(entries.length), at)
  header[96] = 1
  header[97] = PACKING[packing]
  header[98] = PACKING[packing]
  header[99] = TYPES[type]
  header[100] = Math.min(...zooms)
  header[101] = Math.max(...zooms)
  for (const [i, degrees] of bounds.entries()) header.writeInt32LE(Math.round(degrees * 1e7), 102 + 4 * i)
  return Buffer.concat([header, ...blocks])
}

function packerOf(packing: Packing): (bytes: Uint8Array) => Buffer {
  if (packing === 'gzip') return (bytes) => gzipSync(bytes)
  if (packing === 'brotli') return (bytes) => brotliCompressSync(bytes)
  if (packing === 'zstd') return (bytes) => zstdCompressSync(bytes)
  return (bytes) => Buffer.from(bytes)
}

function directory(entries: readonly Entry[]): Buffer {
  const numbers = [entries.length]
  let before = 0
  for (const { id } of entries) {
    numbers.push(id - before)
    before = id
  }
  for (const { run } of entries) numbers.push(run)
  for (const { length } of entries) numbers.push(length)
  let follows = -1
  for (const { offset, length } of entries) {
    numbers.push(offset === follows ? 0 : offset + 1)
    follows = offset + length
  }
  return Buffer.from(numbers.flatMap(varint))
}

/** @param value below 2^53 */
function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  while (rest > 127) {
    bytes.push((rest % 128) | 128)
    rest = Math.floor(rest / 128)
  }
  return [...bytes, rest]
}
