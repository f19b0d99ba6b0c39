/**
 * The whole commit log of a store whose server trims it. Each segment is kept under a second name, and all frames are
 * read back row by row.
 */
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unpack } from 'msgpackr'
import { openCommitLog } from '../../src/log/commitLog.ts'
import { systemFiles } from '../../src/log/files.ts'
import {
  encodeLogManifest,
  logFolder,
  logManifestPath,
  readLogManifest,
  segmentPath,
} from '../../src/log/segments.ts'

/** What was committed, in log order. */
export interface Committed {
  /** By deviceId: the time t of each row that was written for the device, in epoch milliseconds. */
  readonly times: ReadonlyMap<string, readonly number[]>
  /** JSON. */
  readonly events: readonly string[]
}

export class KeptLog {
  readonly #log: string
  readonly #kept: string
  readonly #storeId: string
  /** Inode of each kept segment, by the segment's name. */
  readonly #inodes = new Map<string, number>()

  /**
   * @param data the server's data folder
   * @param kept a new folder on the same file system
   */
  constructor(data: string, kept: string) {
    this.#log = logFolder(data)
    this.#kept = kept
    this.#storeId = JSON.parse(readFileSync(join(data, 'store.json'), 'utf8')).storeId
    mkdirSync(logFolder(kept), { recursive: true })
  }

  /** Call this often enough that no segment is made and removed in between. */
  keep(): void {
    for (const name of readdirSync(this.#log)) {
      if (!name.endsWith('.seg')) continue
      const { ino } = statSync(join(this.#log, name), { throwIfNoEntry: false }) ?? {}
      if (ino === undefined || this.#inodes.get(name) === ino) continue
      const kept = join(logFolder(this.#kept), name)
      rmSync(kept, { force: true })
      linkSync(join(this.#log, name), kept)
      this.#inodes.set(name, ino)
    }
  }

  /**
   * Call this after the server has ended and before its next start, because a segment that was still being made does
   * not count.
   */
  ended(): void {
    this.keep()
    const { newest } = readLogManifest(systemFiles, this.#log, this.#storeId)
    for (const name of this.#inodes.keys()) {
      if (Number.parseInt(name, 10) <= newest) continue
      rmSync(join(logFolder(this.#kept), name))
      this.#inodes.delete(name)
    }
  }

  /** Reads all frames from the first on. Call it when the server has ended for the last time. */
  async read(): Promise<Committed> {
    const folder = logFolder(this.#kept)
    const newest = Math.max(...[...this.#inodes.keys()].map((name) => Number.parseInt(name, 10)))
    writeFileSync(logManifestPath(folder), encodeLogManifest(this.#storeId, { oldest: 1, newest }))
    const log = openCommitLog({
      store: { folder: this.#kept, storeId: this.#storeId },
      durability: 'os',
      segmentBytes: statSync(segmentPath(folder, newest)).size + 4096,
      failed: (error) => {
        throw error
      },
    })
    const reader = new RowReader()
    for (const { payload } of log.read(1))
      reader.frame(Buffer.from(payload.buffer, payload.byteOffset, payload.length))
    await log.close()
    return reader
  }
}

/** Reads frames as src/actor/commitCodec.ts describes them, row by row, as simply as possible. */
class RowReader implements Committed {
  readonly times = new Map<string, number[]>()
  readonly events: string[] = []
  /** By `partition/row`. */
  readonly #timesOfRow = new Map<string, number[]>()

  frame(bytes: Buffer): void {
    if (bytes[0] !== 4) throw new Error(`frame version ${bytes[0]}, this reader knows 4`)
    let at = 9
    while (at < bytes.length) {
      const partition = bytes.readUInt16LE(at)
      const rows = bytes.readUInt32LE(at + 18)
      const events = bytes.readUInt32LE(at + 22)
      at += 26
      for (let i = 0; i < rows; i++) at = this.#row(bytes, at, partition)
      for (let i = 0; i < events; i++) {
        const end = at + 8 + bytes.readUInt32LE(at + 4)
        this.events.push(bytes.toString('utf8', at + 8, end))
        at = end
      }
    }
  }

  /** Returns where the next row begins. */
  #row(bytes: Buffer, at: number, partition: number): number {
    const kind = bytes[at]
    if (kind !== 1 && kind !== 2 && kind !== 4) throw new Error(`row of kind ${kind}: nothing was removed`)
    const row = `${partition}/${bytes.readUInt32LE(at + 1)}`
    let end = at + (kind === 4 ? 54 : 46)
    if (kind === 2) {
      end = at + 54 + bytes.readUInt32LE(at + 50)
      if (!this.#timesOfRow.has(row)) {
        const deviceId: string = unpack(bytes.subarray(at + 54, end))[1]
        let times = this.times.get(deviceId)
        if (times === undefined) this.times.set(deviceId, (times = []))
        this.#timesOfRow.set(row, times)
      }
    }
    const times = this.#timesOfRow.get(row)
    if (times === undefined) throw new Error(`row ${row} moves before it is there`)
    times.push(bytes.readDoubleLE(at + 30))
    return end
  }
}
