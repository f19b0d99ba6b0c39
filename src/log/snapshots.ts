import fs from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { CopyableSnapshots, Snapshot, SnapshotStore } from './port.ts'

/**
 * A snapshot is `snapshots/<partition>-<position>.snap`: 64 bytes of header, little-endian, then the state.
 *
 *     0  "RFSNAPSH"         16  16 bytes store id, ASCII   48  u32 CRC-32 of the state
 *     8  u32 format         32  u64 position               52  8 bytes 0
 *    12  u32 partition      40  u64 bytes of the state     60  u32 CRC-32 of bytes 0–59
 */
const HEADER_BYTES = 64
const MAGIC = 'RFSNAPSH'
const FORMAT = 1
const KEPT = 2
const NAME = /^(\d+)-(\d+)\.snap$/

/**
 * Opens the snapshots of a store that this process has locked. Removes what an interrupted write left behind.
 *
 * @param damaged told of each snapshot that {@link SnapshotStore.newest} had to pass over; the file stays until the
 *   partition has two whole ones that are newer.
 */
export function openSnapshots(
  folder: string,
  storeId: string,
  damaged: (file: string, reason: string) => void,
): SnapshotStore & CopyableSnapshots {
  const home = join(folder, 'snapshots')
  fs.mkdirSync(home, { recursive: true, mode: 0o700 })
  /** Positions of each partition's snapshots, newest first. */
  const kept = new Map<number, number[]>()
  for (const name of fs.readdirSync(home)) {
    const match = NAME.exec(name)
    if (match !== null) add(kept, Number(match[1]), Number(match[2]))
    else if (name.endsWith('.tmp')) fs.unlinkSync(join(home, name))
  }
  return new FileSnapshots(home, storeId, kept, damaged)
}

class FileSnapshots implements SnapshotStore, CopyableSnapshots {
  readonly #home: string
  readonly #storeId: string
  readonly #kept: Map<number, number[]>
  readonly #bad = new Map<number, number[]>()
  readonly #damaged: (file: string, reason: string) => void

  constructor(
    home: string,
    storeId: string,
    kept: Map<number, number[]>,
    damaged: (file: string, reason: string) => void,
  ) {
    this.#home = home
    this.#storeId = storeId
    this.#kept = kept
    this.#damaged = damaged
  }

  /** Writes of different partitions may run side by side; those of one partition must ascend. */
  async write(partition: number, snapshot: Snapshot): Promise<void> {
    const path = this.#path(partition, snapshot.position)
    const header = encodeHeader(this.#storeId, partition, snapshot)
    const file = await open(`${path}.tmp`, 'w', 0o600)
    try {
      await file.appendFile(header)
      await file.appendFile(snapshot.bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(`${path}.tmp`, path)
    await this.#syncHome()

    const positions = add(this.#kept, partition, snapshot.position)
    const old = positions.splice(KEPT)
    if (positions.length === KEPT) old.push(...(this.#bad.get(partition) ?? []))
    this.#bad.delete(partition)
    for (const position of old) await rm(this.#path(partition, position), { force: true })
  }

  newest(partition: number): Snapshot | undefined {
    const positions = this.#kept.get(partition) ?? []
    for (;;) {
      const position = positions[0]
      if (position === undefined) return undefined
      const path = this.#path(partition, position)
      const bytes = fs.readFileSync(path)
      const reason = check(bytes, this.#storeId, partition, position)
      if (reason === undefined) return { position, bytes: bytes.subarray(HEADER_BYTES) }
      positions.shift()
      add(this.#bad, partition, position)
      this.#damaged(path, reason)
    }
  }

  trimPosition(partition: number): number {
    const positions = this.#kept.get(partition)
    return positions !== undefined && positions.length >= KEPT ? positions[KEPT - 1]! + 1 : 0
  }

  files(): string[] {
    const names: string[] = []
    for (const [partition, positions] of this.#kept) {
      for (const position of positions) {
        names.push(`${basename(this.#home)}/${basename(this.#path(partition, position))}`)
      }
    }
    return names
  }

  #path(partition: number, position: number): string {
    return join(this.#home, `${partition}-${position}.snap`)
  }

  async #syncHome(): Promise<void> {
    const home = await open(this.#home, 'r')
    try {
      await home.sync()
    } finally {
      await home.close()
    }
  }
}

/** Adds a position to a partition's list, newest first; answers the list. */
function add(lists: Map<number, number[]>, partition: number, position: number): number[] {
  const positions = lists.get(partition) ?? []
  if (!positions.includes(position)) positions.push(position)
  positions.sort((a, b) => b - a)
  lists.set(partition, positions)
  return positions
}

function encodeHeader(storeId: string, partition: number, { position, bytes }: Snapshot): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.write(MAGIC, 0, 'latin1')
  header.writeUInt32LE(FORMAT, 8)
  header.writeUInt32LE(partition, 12)
  header.write(storeId, 16, 16, 'latin1')
  header.writeBigUInt64LE(BigInt(position), 32)
  header.writeBigUInt64LE(BigInt(bytes.length), 40)
  header.writeUInt32LE(crc32(bytes), 48)
  header.writeUInt32LE(crc32(header.subarray(0, 60)), 60)
  return header
}

/** Why the file is not the snapshot that its name says; undefined when it is. */
function check(file: Buffer, storeId: string, partition: number, position: number): string | undefined {
  if (file.length < HEADER_BYTES) return 'the header is cut off'
  if (file.readUInt32LE(60) !== crc32(file.subarray(0, 60)) || file.toString('latin1', 0, 8) !== MAGIC) {
    return 'the header is damaged'
  }
  const format = file.readUInt32LE(8)
  if (format !== FORMAT) return `snapshot format ${format}, this version reads format ${FORMAT}`
  const foundId = file.toString('latin1', 16, 32)
  if (foundId !== storeId) return `belongs to store ${foundId}, not to ${storeId}`
  if (file.readUInt32LE(12) !== partition || file.readBigUInt64LE(32) !== BigInt(position)) {
    return 'is the snapshot of another partition or position than its name says'
  }
  const state = file.subarray(HEADER_BYTES)
  if (file.readBigUInt64LE(40) !== BigInt(state.length)) return 'the state is cut off or too long'
  if (file.readUInt32LE(48) !== crc32(state)) return 'the state is damaged'
  return undefined
}
