import type { ScopeId } from '../model/scope.ts'
import type { DeviceTable } from './deviceTable.ts'

/**
 * Commits as bytes. A frame of the log is one flush: the commits of every partition that had mail.
 *
 * ```
 * frame    version u8 · server time f64 · commit*
 * commit   partition u16 · sequence f64 · registry revision f64 · rows u32 · events u32 · row* · event*
 * row      kind u8 · row u32 · …
 *   MOVED    flags u8 · latitude · longitude · accuracy · updatedAt · receivedAt (f64 each)
 *   WHOLE    as MOVED · scope u32 · length u32 · profile (profileCodec.ts)
 *   REMOVED  nothing
 * event    scope u32 · length u32 · JSON
 * ```
 * Little-endian. Rows are applied as data, in order, never evaluated again.
 */
const VERSION = 1
const MOVED = 1
const WHOLE = 2
const REMOVED = 3

const FIRST_BYTES = 64 * 1024
/** A writer that a burst has grown past this starts small again. */
const KEPT_BYTES = 4 * 1024 * 1024
const COMMIT_HEADER_BYTES = 26

/** An event as it stands in a commit. */
export interface CommittedEvent {
  readonly scope: ScopeId
  readonly json: string
}

/** Builds one frame after another in one reused buffer. */
export class FrameWriter {
  private buffer = Buffer.allocUnsafe(FIRST_BYTES)
  private at = 0
  private commitStart = 0
  private rows = 0
  private events = 0

  /** Bytes written since {@link begin}. */
  get bytes(): number {
    return this.at
  }

  /** Starts a frame; `time` is the server's, epoch milliseconds. */
  begin(time: number): void {
    if (this.buffer.length > KEPT_BYTES) this.buffer = Buffer.allocUnsafe(FIRST_BYTES)
    this.buffer[0] = VERSION
    this.buffer.writeDoubleLE(time, 1)
    this.at = 9
  }

  /** Starts the commit of one partition. Rows come before events. */
  beginCommit(partition: number, sequence: number, revision: number): void {
    this.reserve(COMMIT_HEADER_BYTES)
    this.commitStart = this.at
    this.buffer.writeUInt16LE(partition, this.at)
    this.buffer.writeDoubleLE(sequence, this.at + 2)
    this.buffer.writeDoubleLE(revision, this.at + 10)
    this.at += COMMIT_HEADER_BYTES
    this.rows = 0
    this.events = 0
  }

  /** Ends the commit; one without rows and events is taken back. Returns whether it stands. */
  endCommit(): boolean {
    if (this.rows === 0 && this.events === 0) {
      this.at = this.commitStart
      return false
    }
    this.sealCommit()
    return true
  }

  /** Ends the commit, an empty one too. */
  sealCommit(): void {
    this.buffer.writeUInt32LE(this.rows, this.commitStart + 18)
    this.buffer.writeUInt32LE(this.events, this.commitStart + 22)
  }

  /** The row's columns of position, times and flags; its profile is as it was. */
  moved(table: DeviceTable, row: number): void {
    this.columns(MOVED, table, row)
  }

  /** The whole row. */
  whole(table: DeviceTable, row: number, packed: Uint8Array): void {
    this.columns(WHOLE, table, row)
    this.reserve(8 + packed.length)
    this.buffer.writeUInt32LE(table.scope(row), this.at)
    this.buffer.writeUInt32LE(packed.length, this.at + 4)
    this.buffer.set(packed, this.at + 8)
    this.at += 8 + packed.length
  }

  removed(row: number): void {
    this.reserve(5)
    this.buffer[this.at] = REMOVED
    this.buffer.writeUInt32LE(row, this.at + 1)
    this.at += 5
    this.rows++
  }

  event(event: CommittedEvent): void {
    this.reserve(8 + event.json.length * 3)
    this.buffer.writeUInt32LE(event.scope, this.at)
    const length = this.buffer.write(event.json, this.at + 8, 'utf8')
    this.buffer.writeUInt32LE(length, this.at + 4)
    this.at += 8 + length
    this.events++
  }

  /** The frame; valid until the next {@link begin}. */
  take(): Uint8Array {
    return this.buffer.subarray(0, this.at)
  }

  private columns(kind: number, table: DeviceTable, row: number): void {
    this.reserve(46)
    const { buffer, at } = this
    buffer[at] = kind
    buffer.writeUInt32LE(row, at + 1)
    buffer[at + 5] = table.flags(row)
    buffer.writeDoubleLE(table.latitude(row), at + 6)
    buffer.writeDoubleLE(table.longitude(row), at + 14)
    buffer.writeDoubleLE(table.accuracy(row), at + 22)
    buffer.writeDoubleLE(table.updatedAt(row), at + 30)
    buffer.writeDoubleLE(table.receivedAt(row), at + 38)
    this.at = at + 46
    this.rows++
  }

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return
    const grown = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.at + bytes))
    this.buffer.copy(grown, 0, 0, this.at)
    this.buffer = grown
  }
}

/** What a reader of frames is handed, in the order of the bytes. */
export interface FrameVisitor {
  /** A commit begins; false: its rows are skipped, because a snapshot has them already. */
  commit(partition: number, sequence: number, revision: number): boolean
  /** The table that the rows of the current commit go to. */
  readonly table: DeviceTable
  event(event: CommittedEvent): void
}

/** Reads one frame. Throws when it is of a newer version or does not add up. */
export function readFrame(payload: Uint8Array, visitor: FrameVisitor): void {
  const buffer = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  const version = buffer[0]
  if (version !== VERSION)
    throw new Error(`frame version ${version} is not ${VERSION}: written by a newer release?`)
  const time = buffer.readDoubleLE(1)
  let at = 9
  while (at < buffer.length) {
    const wanted = visitor.commit(
      buffer.readUInt16LE(at),
      buffer.readDoubleLE(at + 2),
      buffer.readDoubleLE(at + 10),
    )
    const rows = buffer.readUInt32LE(at + 18)
    const events = buffer.readUInt32LE(at + 22)
    at += COMMIT_HEADER_BYTES
    for (let i = 0; i < rows; i++) at = readRow(buffer, at, wanted ? visitor.table : undefined, time)
    for (let i = 0; i < events; i++) {
      const length = buffer.readUInt32LE(at + 4)
      visitor.event({
        scope: buffer.readUInt32LE(at),
        json: buffer.toString('utf8', at + 8, at + 8 + length),
      })
      at += 8 + length
    }
  }
  if (at !== buffer.length) throw new Error(`frame ends at byte ${at} of ${buffer.length}`)
}

/** Reads one row into the table (undefined: skips it) and returns where the next begins. */
function readRow(buffer: Buffer, at: number, table: DeviceTable | undefined, time: number): number {
  const kind = buffer[at]
  const row = buffer.readUInt32LE(at + 1)
  if (kind === REMOVED) {
    table?.remove(row, time)
    return at + 5
  }
  if (kind !== MOVED && kind !== WHOLE) throw new Error(`row of kind ${kind} at byte ${at}`)
  let next = at + 46
  if (kind === WHOLE) {
    const length = buffer.readUInt32LE(at + 50)
    next = at + 54 + length
    table?.setPacked(row, buffer.readUInt32LE(at + 46), buffer.subarray(at + 54, next))
  }
  if (table !== undefined) {
    table.move(
      row,
      buffer.readDoubleLE(at + 6),
      buffer.readDoubleLE(at + 14),
      buffer.readDoubleLE(at + 22),
      buffer.readDoubleLE(at + 30),
      buffer.readDoubleLE(at + 38),
      buffer[at + 5]!,
    )
  }
  return next
}

/** A whole table as rows of one commit, for a snapshot. */
export function writeTable(writer: FrameWriter, table: DeviceTable): void {
  for (let row = 0; row < table.length; row++) {
    if (table.exists(row)) writer.whole(table, row, table.packedProfile(row))
  }
}
