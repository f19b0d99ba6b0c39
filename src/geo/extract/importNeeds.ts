/**
 * What making a region takes of the machine, by what was measured with made-up countries of up to 520 MB and 2.7 million roads
 * (docs/operating.md). Anonymous memory: files that are mapped besides, up to six times the extract, are the system's to drop.
 */
import { statfsSync } from 'node:fs'

/** Of tiles that each thread of the builder keeps; what does not fit is read again. Four times that is no faster. */
export const TILE_CACHE_BYTES = 64e6

/** This process while it reads the extract, and the builder with its libraries and without tiles. */
const MEMORY_BYTES = 250e6
/** Of the builder for each byte of the extract: its names, restrictions, lists of tiles. */
const MEMORY_PER_BYTE = 0.08
/** A thread overshoots its tiles by as much. */
const MEMORY_PER_THREAD = 2 * TILE_CACHE_BYTES

/** What a build takes on the disk while it is made: 1,650 to 1,900 bytes for each road were measured. */
const DISK_PER_ROAD = 2000

const FULL_BYTES = 10e6

/** Room on the disk for the routing stage, in bytes, without a constant. @param roads of the extract */
export function tilesRoom(roads: number): number {
  return roads * DISK_PER_ROAD
}

/**
 * Says that the memory may not suffice; undefined where it does.
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

/** Whether the disk of this folder is full: what failed on it may have taken its own away again. */
export function isFull(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize < FULL_BYTES
}

/** For a sentence, rounded up. */
export function wholeMegabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`
}
