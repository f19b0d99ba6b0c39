/**
 * The log's folder: `log/<first offset, 16 digits>.seg` and `log/MANIFEST`.
 *
 * A segment starts with 64 bytes, little-endian:
 *
 *     0  "RFLOGSEG"          16  16 bytes store id, ASCII          40  20 bytes 0
 *     8  u32 format          32  u64 offset of the first frame   60  u32 CRC-32 of bytes 0–59
 *    12  u32 0
 *
 * MANIFEST names the oldest and the newest segment that are in use, so that a missing one is noticed. A segment is in
 * use only after MANIFEST names it: a newer one was being created and holds nothing; an older one was being trimmed.
 */
import { crc32 } from 'node:zlib'
import { join } from 'node:path'
import { LogDamaged } from './errors.ts'
import { readWhole, replaceFileBlocking, syncFolderBlocking, writeAll } from './files.ts'
import type { Files } from './files.ts'

export const SEGMENT_HEADER_BYTES = 64
const LOG_FORMAT = 1

const MAGIC = 'RFLOGSEG'
const TWO_32 = 2 ** 32

export interface LogManifest {
  /** The first offsets of the segments, not their names. */
  readonly oldest: number
  readonly newest: number
}

export function logFolder(storeFolder: string): string {
  return join(storeFolder, 'log')
}

export function logManifestPath(folder: string): string {
  return join(folder, 'MANIFEST')
}

export function segmentPath(folder: string, first: number): string {
  return join(folder, `${String(first).padStart(16, '0')}.seg`)
}

export function encodeSegmentHeader(storeId: string, first: number): Buffer {
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES)
  bytes.write(MAGIC, 0, 'latin1')
  bytes.writeUInt32LE(LOG_FORMAT, 8)
  bytes.write(storeId, 16, 16, 'latin1')
  bytes.writeUInt32LE(first % TWO_32, 32)
  bytes.writeUInt32LE(Math.floor(first / TWO_32), 36)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 60)), 60)
  return bytes
}

/**
 * Checks that `bytes` start with the header of this store's segment with that first offset.
 * @throws {LogDamaged}
 */
export function checkSegmentHeader(bytes: Buffer, path: string, storeId: string, first: number): void {
  if (bytes.length < SEGMENT_HEADER_BYTES) throw new LogDamaged(path, 'the segment header is cut off')
  if (bytes.readUInt32LE(60) !== crc32(bytes.subarray(0, 60)) || bytes.toString('latin1', 0, 8) !== MAGIC) {
    throw new LogDamaged(path, 'the segment header is damaged')
  }
  const format = bytes.readUInt32LE(8)
  if (format !== LOG_FORMAT) {
    throw new LogDamaged(path, `segment format ${format}, this version reads format ${LOG_FORMAT}`)
  }
  const found = bytes.toString('latin1', 16, 32)
  if (found !== storeId) throw new LogDamaged(path, `belongs to store ${found}, not to ${storeId}`)
  const offset = bytes.readUInt32LE(32) + bytes.readUInt32LE(36) * TWO_32
  if (offset !== first) throw new LogDamaged(path, `starts at frame ${offset}, its name says ${first}`)
}

/** One line of JSON; its `crc` covers the other members in the order written here. */
export function encodeLogManifest(storeId: string, { oldest, newest }: LogManifest): Buffer {
  const content = { format: LOG_FORMAT, storeId, oldest, newest }
  const crc = crc32(JSON.stringify(content))
  return Buffer.from(`${JSON.stringify({ ...content, crc })}\n`)
}

/**
 * Reads MANIFEST.
 * @throws {LogDamaged} if it is missing, damaged, newer, or belongs to another store
 */
export function readLogManifest(files: Files, folder: string, storeId: string): LogManifest {
  const path = logManifestPath(folder)
  let text: string
  try {
    text = readWhole(files, path).toString()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new LogDamaged(path, 'is missing')
  }
  let found: { format?: unknown; storeId?: unknown; oldest?: unknown; newest?: unknown } | null
  try {
    found = JSON.parse(text) as typeof found
  } catch {
    throw new LogDamaged(path, 'is damaged: not JSON')
  }
  if (typeof found?.format === 'number' && found.format > LOG_FORMAT) {
    throw new LogDamaged(path, `log format ${found.format}, this version reads format ${LOG_FORMAT}`)
  }
  const manifest = { oldest: Number(found?.oldest), newest: Number(found?.newest) }
  const foundId = String(found?.storeId)
  if (text !== encodeLogManifest(foundId, manifest).toString()) throw new LogDamaged(path, 'is damaged')
  if (foundId !== storeId) throw new LogDamaged(path, `belongs to store ${foundId}, not to ${storeId}`)
  return manifest
}

/**
 * The first offsets of all segment files, ascending.
 * @throws {LogDamaged} at a name that no segment has
 */
export function listSegments(files: Files, folder: string): number[] {
  const offsets: number[] = []
  for (const name of files.list(folder)) {
    if (!name.endsWith('.seg')) continue
    const first = Number.parseInt(name, 10)
    const path = join(folder, name)
    if (!(first > 0) || segmentPath(folder, first) !== path) {
      throw new LogDamaged(path, 'is not the name of a segment of this log')
    }
    offsets.push(first)
  }
  return offsets.toSorted((a, b) => a - b)
}

/** Writes an empty log into the store's folder, durably. It is a part of creating a store, never of opening one. */
export function createLog(files: Files, storeFolder: string, storeId: string): void {
  const folder = logFolder(storeFolder)
  files.makeFolder(folder)
  const descriptor = files.open(segmentPath(folder, 1), 'w')
  try {
    writeAll(files, descriptor, encodeSegmentHeader(storeId, 1), 0)
    files.syncBlocking(descriptor)
  } finally {
    files.close(descriptor)
  }
  replaceFileBlocking(files, logManifestPath(folder), encodeLogManifest(storeId, { oldest: 1, newest: 1 }))
  syncFolderBlocking(files, storeFolder)
}
