import fs from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { CopyableSnapshots, Snapshot, SnapshotStore } from './port.ts'
import { SNAPSHOT_HEADER_BYTES, encodeHeader, snapshotProblem } from './snapshotFormat.ts'

/** A snapshot is the file `snapshots/<partition>-<offset>.snap`, of the format of snapshotFormat.ts. */
const KEPT = 2
const NAME = /^(\d+)-(\d+)\.snap$/

/**
 * Opens the snapshots of a store that this process has locked. Removes what an interrupted write left behind.
 *
 * @param damaged called for each snapshot that {@link SnapshotStore.newest} had to skip; the file stays until the
 * partition has two undamaged newer ones.
 */
export function openSnapshots(
  folder: string,
  storeId: string,
  damaged: (file: string, reason: string) => void,
): SnapshotStore & CopyableSnapshots {
  const home = join(folder, 'snapshots')
  fs.mkdirSync(home, { recursive: true, mode: 0o700 })
  /** The offsets of each partition's snapshots, newest first. */
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

  /**
   * Writes a snapshot. Writes of different partitions may run at the same time; those of one partition must ascend.
   */
  async write(partition: number, snapshot: Snapshot): Promise<void> {
    const path = this.#path(partition, snapshot.offset)
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

    const offsets = add(this.#kept, partition, snapshot.offset)
    const old = offsets.splice(KEPT)
    // A damaged snapshot at this very offset has been replaced.
    const bad = (this.#bad.get(partition) ?? []).filter((offset) => offset !== snapshot.offset)
    this.#bad.set(partition, offsets.length === KEPT ? [] : bad)
    if (offsets.length === KEPT) old.push(...bad)
    for (const offset of old) await rm(this.#path(partition, offset), { force: true })
  }

  newest(partition: number): Snapshot | undefined {
    const offsets = this.#kept.get(partition) ?? []
    for (;;) {
      const offset = offsets[0]
      if (offset === undefined) return undefined
      const path = this.#path(partition, offset)
      const bytes = fs.readFileSync(path)
      const reason = snapshotProblem(bytes, this.#storeId, partition, offset)
      if (reason === undefined) return { offset, bytes: bytes.subarray(SNAPSHOT_HEADER_BYTES) }
      offsets.shift()
      add(this.#bad, partition, offset)
      this.#damaged(path, reason)
    }
  }

  trimOffset(partition: number): number {
    const offsets = this.#kept.get(partition)
    return offsets !== undefined && offsets.length >= KEPT ? offsets[KEPT - 1]! + 1 : 0
  }

  files(): string[] {
    const names: string[] = []
    for (const [partition, offsets] of this.#kept) {
      for (const offset of offsets) {
        names.push(`${basename(this.#home)}/${basename(this.#path(partition, offset))}`)
      }
    }
    return names
  }

  #path(partition: number, offset: number): string {
    return join(this.#home, `${partition}-${offset}.snap`)
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

/** Adds an offset to a partition's list, newest first. Returns the list. */
function add(lists: Map<number, number[]>, partition: number, offset: number): number[] {
  const offsets = lists.get(partition) ?? []
  if (!offsets.includes(offset)) offsets.push(offset)
  offsets.sort((a, b) => b - a)
  lists.set(partition, offsets)
  return offsets
}
