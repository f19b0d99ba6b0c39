import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'

/** How much memory the devices of a partition may take; approximate bytes. */
export interface DeviceMemory {
  /** Beyond it, new users are refused. */
  readonly bytes: number
  /** Of them, objects in the heap of V8, which is fast. */
  readonly unpackedBytes: number
}

export const UNLIMITED: DeviceMemory = { bytes: Infinity, unpackedBytes: Infinity }

/** Of V8's heap: an object takes about twice the bytes that are counted for it, and other things need room. */
const HEAP_SHARE = 1 / 4
const MIN_BYTES = 1024 * 1024

/**
 * The share of one partition. Devices are spread evenly over all partitions.
 * @param bytes of all partitions; 0: half of the memory of the machine, or of the container
 */
export function deviceMemoryOf(bytes: number, partitions: number): DeviceMemory {
  // Without a limit it is 0, or more than there is.
  const memory = Math.min(process.constrainedMemory() || Infinity, totalmem())
  const unpacked = getHeapStatistics().heap_size_limit * HEAP_SHARE
  return {
    bytes: Math.max((bytes || memory / 2) / partitions, MIN_BYTES),
    unpackedBytes: unpacked / partitions,
  }
}
