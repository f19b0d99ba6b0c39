import { crc32 } from 'node:zlib'
import type { Snapshot } from './port.ts'

/**
 * A snapshot as bytes, in files and in the object store: 64 bytes of header, little-endian, then the state.
 *
 *     0  "RFSNAPSH"         16  16 bytes store id, ASCII   48  u32 CRC-32 of the state
 *     8  u32 format         32  u64 offset               52  8 bytes 0
 *    12  u32 partition      40  u64 bytes of the state     60  u32 CRC-32 of bytes 0–59
 */
export const SNAPSHOT_HEADER_BYTES = 64
const MAGIC = 'RFSNAPSH'
const FORMAT = 1

export function encodeHeader(storeId: string, partition: number, { offset, bytes }: Snapshot): Buffer {
  const header = Buffer.alloc(SNAPSHOT_HEADER_BYTES)
  header.write(MAGIC, 0, 'latin1')
  header.writeUInt32LE(FORMAT, 8)
  header.writeUInt32LE(partition, 12)
  header.write(storeId, 16, 16, 'latin1')
  header.writeBigUInt64LE(BigInt(offset), 32)
  header.writeBigUInt64LE(BigInt(bytes.length), 40)
  header.writeUInt32LE(crc32(bytes), 48)
  header.writeUInt32LE(crc32(header.subarray(0, 60)), 60)
  return header
}

/** Why the bytes are not the expected snapshot; undefined if they are. */
export function snapshotProblem(
  file: Buffer,
  storeId: string,
  partition: number,
  offset: number,
): string | undefined {
  if (file.length < SNAPSHOT_HEADER_BYTES) return 'the header is cut off'
  if (file.readUInt32LE(60) !== crc32(file.subarray(0, 60)) || file.toString('latin1', 0, 8) !== MAGIC) {
    return 'the header is damaged'
  }
  const format = file.readUInt32LE(8)
  if (format !== FORMAT) return `snapshot format ${format}, this version reads format ${FORMAT}`
  const foundId = file.toString('latin1', 16, 32)
  if (foundId !== storeId) return `belongs to store ${foundId}, not to ${storeId}`
  if (file.readUInt32LE(12) !== partition || file.readBigUInt64LE(32) !== BigInt(offset)) {
    return 'is the snapshot of another partition or offset than its name says'
  }
  const state = file.subarray(SNAPSHOT_HEADER_BYTES)
  if (file.readBigUInt64LE(40) !== BigInt(state.length)) return 'the state is cut off or too long'
  if (file.readUInt32LE(48) !== crc32(state)) return 'the state is damaged'
  return undefined
}
