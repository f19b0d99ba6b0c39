/**
 * The resources that an import needs, measured with synthetic countries of up to 520 MB and 2.7 million roads
 * (docs/operating.md). The figures are anonymous memory; the system can drop mapped files, up to six times the
 * extract.
 */
import { statfsSync } from 'node:fs'

/**
 * The bytes of the tiles that each thread of the builder keeps. The rest is read again. Four times as much would be no
 * faster.
 */
export const TILE_CACHE_BYTES = 64e6

/** The memory of this process while it reads the extract, and of the builder with its libraries and without tiles. */
const MEMORY_BYTES = 250e6
/** The memory of the builder for each byte of the extract, for its names, restrictions and lists of tiles. */
const MEMORY_PER_BYTE = 0.08
/** By this much, a thread may exceed its tiles. */
const MEMORY_PER_THREAD = 2 * TILE_CACHE_BYTES

/** The disk space of a build in progress for each road. 1,650 to 1,900 bytes were measured. */
const DISK_BYTES_PER_ROAD = 2000

const FULL_BYTES = 10e6

/**
 * The room on the disk for the routing stage in bytes, besides a constant.
 * @param roads the number of roads in the extract
 */
export function tilesRoom(roads: number): number {
  return roads * DISK_BYTES_PER_ROAD
}

/**
 * A sentence if the memory may not be enough; otherwise undefined.
 * @param extractBytes the size of the file
 * @param threads the threads of the builder
 * @param availableBytes the memory of the machine or container, without swap
 */
export function memoryShortage(
  extractBytes: number,
  threads: number,
  availableBytes: number,
): string | undefined {
  const needed = MEMORY_BYTES + MEMORY_PER_BYTE * extractBytes + MEMORY_PER_THREAD * threads
  if (availableBytes >= needed) return undefined
  const fewer = threads > 1 ? ' --threads 1 needs the least.' : ''
  return (
    `This import may take up to ${wholeMegabytes(needed)} of memory, but only ${wholeMegabytes(availableBytes)} are available: ` +
    `the system may end it.${fewer}`
  )
}

/**
 * Whether the disk of this folder is full. A process that failed because of it may have removed its own files again.
 */
export function isFull(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize < FULL_BYTES
}

/** Megabytes as text for a message. They are rounded up. */
export function wholeMegabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`
}
