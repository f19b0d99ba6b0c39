/**
 * The resources that an import needs, measured with synthetic countries of up to 520 MB and 2.7 million roads
 * (docs/operating.md). The figures are anonymous memory; the system can drop mapped files, up to six times the
 * extract.
 */
import { statfsSync } from 'node:fs'

/** Of the tiles that each thread of the builder keeps; the rest is read again. Four times as much is no faster. */
export const TILE_CACHE_BYTES = 64e6

/** This process while it reads the extract, and the builder with its libraries and without tiles. */
const MEMORY_BYTES = 250e6
/** Of the builder for each byte of the extract: its names, restrictions, lists of tiles. */
const MEMORY_PER_BYTE = 0.08
/** A thread may exceed its tiles by as much. */
const MEMORY_PER_THREAD = 2 * TILE_CACHE_BYTES

/** Disk space of a build in progress: 1,650 to 1,900 bytes for each road were measured. */
const DISK_PER_ROAD = 2000

const FULL_BYTES = 10e6

/** Room on the disk for the routing stage, in bytes, without a constant. @param roads of the extract */
export function tilesRoom(roads: number): number {
  return roads * DISK_PER_ROAD
}

/**
 * A sentence if the memory may not be enough; otherwise undefined.
 * @param extractBytes size of the file
 * @param threads of the builder
 * @param availableBytes of the machine or the container, without swap
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

/** Megabytes as text for a message, rounded up. */
export function wholeMegabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`
}
