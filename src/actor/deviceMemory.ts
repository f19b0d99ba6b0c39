import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { ScopeId } from '../model/scope.ts'

/**
 * The share of V8's heap that devices may use. An object takes about twice the bytes that are counted for it, and
 * other things need room.
 */
const HEAP_SHARE = 1 / 4

/** The memory that the devices of a process take, in approximate bytes, and its limit. Its partitions share it. */
export class DeviceMemory {
  readonly maxBytes: number
  #bytes = 0
  readonly #bytesOfScope = new Map<ScopeId, number>()

  /**
   * Starts at 0 bytes.
   * @param maxBytes the limit for all devices; those of one scope may take half of it
   */
  constructor(maxBytes = Infinity) {
    this.maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Whether the scope may have another record, or one with more text. */
  hasRoom(scope: ScopeId): boolean {
    const half = this.maxBytes / 2
    // In this case, no scope can have more than half.
    if (this.#bytes < half) return true
    return this.#bytes < this.maxBytes && (this.#bytesOfScope.get(scope) ?? 0) < half
  }

  /**
   * Counts bytes of a scope.
   * @param bytes negative if there are fewer now
   */
  add(scope: ScopeId, bytes: number): void {
    this.#bytes += bytes
    this.#bytesOfScope.set(scope, (this.#bytesOfScope.get(scope) ?? 0) + bytes)
  }
}

/** What the devices or the trips of one partition take of the memory of their process. */
export class MemoryShare {
  /** Approximate bytes of all records. */
  bytes = 0
  readonly #bytesOfScope = new Map<ScopeId, number>()
  #memory = new DeviceMemory()

  /** From now on, the records are counted here, and no longer in the object before. */
  countIn(memory: DeviceMemory): void {
    for (const [scope, bytes] of this.#bytesOfScope) {
      this.#memory.add(scope, -bytes)
      memory.add(scope, bytes)
    }
    this.#memory = memory
  }

  /** See {@link DeviceMemory.hasRoom}. */
  hasRoom(scope: ScopeId): boolean {
    return this.#memory.hasRoom(scope)
  }

  /**
   * Counts bytes of a scope.
   * @param bytes negative if there are fewer now
   */
  add(scope: ScopeId, bytes: number): void {
    if (bytes === 0) return
    this.bytes += bytes
    this.#bytesOfScope.set(scope, (this.#bytesOfScope.get(scope) ?? 0) + bytes)
    this.#memory.add(scope, bytes)
  }
}

/**
 * The memory for devices with a limit.
 * @param bytes the limit of a process; 0 stands for half of the memory of the machine or container
 */
export function deviceMemoryOf(bytes: number): DeviceMemory {
  // If there is no limit, it is 0 or more than the machine has.
  const memory = Math.min(process.constrainedMemory() || Infinity, totalmem())
  return new DeviceMemory(bytes || memory / 2)
}

/** Approximate bytes of the objects in V8's heap for the devices of one of the process's partitions. */
export function unpackedBytesOf(partitions: number): number {
  return (getHeapStatistics().heap_size_limit * HEAP_SHARE) / partitions
}
