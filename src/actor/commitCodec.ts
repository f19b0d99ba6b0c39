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
 *   NUMBERED as MOVED · sequence f64: the profile's newest mark has come to that number
 * event    scope u32 · length u32 · JSON
 * ```
 * Little-endian. Version 1 has no NUMBERED. Rows are applied as data, in order, never evaluated again.
 */
const VERSION = 2
const MOVED = 1
const WHOLE = 2
const REMOVED = 3
const NUMBERED = 4

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
  private buffer: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  private view = viewOf(this.buffer)
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
    if (this.buffer.length > KEPT_BYTES) this.setBuffer(Buffer.allocUnsafeSlow(FIRST_BYTES))
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

  /** As {@link moved}, with the number of the newest mark. */
  numbered(table: DeviceTable, row: number): void {
    this.columns(NUMBERED, table, row)
    this.reserve(8)
    this.view.setFloat64(this.at, table.sequence(row), true)
    this.at += 8
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
    const { view, at } = this
    view.setUint8(at, kind)
    view.setUint32(at + 1, row, true)
    view.setUint8(at + 5, table.flags(row))
    view.setFloat64(at + 6, table.latitude(row), true)
    view.setFloat64(at + 14, table.longitude(row), true)
    view.setFloat64(at + 22, table.accuracy(row), true)
    view.setFloat64(at + 30, table.updatedAt(row), true)
    view.setFloat64(at + 38, table.receivedAt(row), true)
    this.at = at + 46
    this.rows++
  }

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.at + bytes))
    this.buffer.copy(grown, 0, 0, this.at)
    this.setBuffer(grown)
  }

  private setBuffer(buffer: Buffer): void {
    this.buffer = buffer
    this.view = viewOf(buffer)
  }
}

/** Numbers by way of a view: a Buffer's own methods take several times as long. */
function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** What a reader of frames is handed, in the order of the bytes. */
export interface FrameVisitor {
  /** A commit begins; false: its rows are skipped, because a snapshot has them already. */
  commit(partition: number, sequence: number, revision: number, rows: number): boolean
  /** The table that the rows of the current commit go to. */
  readonly table: DeviceTable
  /** Whether events are handed over: to make their texts takes longer than all else. */
  readonly wantsEvents: boolean
  event(event: CommittedEvent): void
}

/** Reads one frame. Throws when it is of a newer version or does not add up. */
export function readFrame(payload: Uint8Array, visitor: FrameVisitor): void {
  const buffer = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  const view = viewOf(payload)
  const version = buffer[0]
  if (version !== 1 && version !== VERSION)
    throw new Error(`frame version ${version} is not ${VERSION}: written by a newer release?`)
  const time = view.getFloat64(1, true)
  let at = 9
  while (at < buffer.length) {
    const rows = view.getUint32(at + 18, true)
    const wanted = visitor.commit(
      view.getUint16(at, true),
      view.getFloat64(at + 2, true),
      view.getFloat64(at + 10, true),
      rows,
    )
    const events = view.getUint32(at + 22, true)
    at += COMMIT_HEADER_BYTES
    const table = wanted ? visitor.table : undefined
    for (let i = 0; i < rows; i++) at = readRow(buffer, view, at, table, time)
    for (let i = 0; i < events; i++) {
      const length = view.getUint32(at + 4, true)
      if (visitor.wantsEvents)
        visitor.event({
          scope: view.getUint32(at, true),
          json: buffer.toString('utf8', at + 8, at + 8 + length),
        })
      at += 8 + length
    }
  }
  if (at !== buffer.length) throw new Error(`frame ends at byte ${at} of ${buffer.length}`)
}

/** Reads one row into the table (undefined: skips it) and returns where the next begins. */
function readRow(
  buffer: Buffer,
  view: DataView,
  at: number,
  table: DeviceTable | undefined,
  time: number,
): number {
  const kind = view.getUint8(at)
  const row = view.getUint32(at + 1, true)
  if (kind === REMOVED) {
    table?.remove(row, time)
    return at + 5
  }
  if (kind !== MOVED && kind !== WHOLE && kind !== NUMBERED)
    throw new Error(`row of kind ${kind} at byte ${at}`)
  let next = at + 46
  if (kind === WHOLE) {
    next = at + 54 + view.getUint32(at + 50, true)
    table?.setPacked(row, view.getUint32(at + 46, true), buffer.subarray(at + 54, next))
  }
  if (kind === NUMBERED) {
    next = at + 54
    table?.setSequence(row, view.getFloat64(at + 46, true))
  }
  table?.move(
    row,
    view.getFloat64(at + 6, true),
    view.getFloat64(at + 14, true),
    view.getFloat64(at + 22, true),
    view.getFloat64(at + 30, true),
    view.getFloat64(at + 38, true),
    view.getUint8(at + 5),
  )
  return next
}

/** A whole table as rows of one commit, for a snapshot. */
export function writeTable(writer: FrameWriter, table: DeviceTable): void {
  for (let row = 0; row < table.length; row++) {
    if (table.exists(row)) writer.whole(table, row, table.packedProfile(row))
  }
}
