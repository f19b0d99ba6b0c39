import type { FrameBytes, FrameWriter } from './commitCodec.ts'
import type { DeviceTable } from './deviceTable.ts'

/**
 * Rows of device actors as bytes. They are most of every log, so they have kinds of their own and no length:
 *
 * ```
 * MOVED    kind u8 · row u32 · flags u8 · latitude · longitude · accuracy · updatedAt · receivedAt (f64 each)
 * WHOLE    as MOVED · scope u32 · length u32 · profile (profileCodec.ts)
 * REMOVED  kind u8 · row u32
 * NUMBERED as MOVED · sequence f64: the profile's newest mark has come to that number
 * ```
 * Little-endian.
 */
/** The number of the actor type. */
export const DEVICE_TYPE = 0

const MOVED = 1
const WHOLE = 2
const REMOVED = 3
const NUMBERED = 4

const REMOVED_BYTES = 5
const MOVED_BYTES = 46
const NUMBERED_BYTES = MOVED_BYTES + 8
/** The size of a whole row without its profile. */
const WHOLE_BYTES = MOVED_BYTES + 8

/** Writes the row's columns of position, times and flags; its profile is unchanged. */
export function writeMoved(writer: FrameWriter, table: DeviceTable, row: number): void {
  const at = writer.addRow(MOVED_BYTES)
  writeColumns(writer.view, at, MOVED, table, row)
}

/** Writes the same as {@link writeMoved}, with the number of the newest mark. */
export function writeNumbered(writer: FrameWriter, table: DeviceTable, row: number): void {
  const at = writer.addRow(NUMBERED_BYTES)
  writeColumns(writer.view, at, NUMBERED, table, row)
  writer.view.setFloat64(at + MOVED_BYTES, table.sequence(row), true)
}

/** Writes the whole row, including its profile. */
export function writeWhole(writer: FrameWriter, table: DeviceTable, row: number, packed: Uint8Array): void {
  const at = writer.addRow(WHOLE_BYTES + packed.length)
  writeColumns(writer.view, at, WHOLE, table, row)
  writer.view.setUint32(at + MOVED_BYTES, table.scope(row), true)
  writer.view.setUint32(at + MOVED_BYTES + 4, packed.length, true)
  writer.set(packed, at + WHOLE_BYTES)
}

export function writeRemoved(writer: FrameWriter, row: number): void {
  const at = writer.addRow(REMOVED_BYTES)
  writer.view.setUint8(at, REMOVED)
  writer.view.setUint32(at + 1, row, true)
}

function writeColumns(view: DataView, at: number, kind: number, table: DeviceTable, row: number): void {
  view.setUint8(at, kind)
  view.setUint32(at + 1, row, true)
  view.setUint8(at + 5, table.flags(row))
  view.setFloat64(at + 6, table.latitude(row), true)
  view.setFloat64(at + 14, table.longitude(row), true)
  view.setFloat64(at + 22, table.accuracy(row), true)
  view.setFloat64(at + 30, table.updatedAt(row), true)
  view.setFloat64(at + 38, table.receivedAt(row), true)
}

/** The position after the row that begins at `at`. */
export function deviceRowEnd(view: DataView, at: number): number {
  switch (view.getUint8(at)) {
    case MOVED:
      return at + MOVED_BYTES
    case NUMBERED:
      return at + NUMBERED_BYTES
    case REMOVED:
      return at + REMOVED_BYTES
    case WHOLE:
      return at + WHOLE_BYTES + view.getUint32(at + MOVED_BYTES + 4, true)
    default:
      throw new Error(`row of kind ${view.getUint8(at)} at byte ${at}`)
  }
}

/** Reads a row; see `ActorTable.readRow`. */
export function readDeviceRow(
  table: DeviceTable,
  { buffer, view }: FrameBytes,
  at: number,
  end: number,
  time: number,
): void {
  const kind = view.getUint8(at)
  const row = view.getUint32(at + 1, true)
  if (kind === REMOVED) return table.remove(row, time)
  if (kind === WHOLE)
    table.setPacked(row, view.getUint32(at + MOVED_BYTES, true), buffer.subarray(at + WHOLE_BYTES, end))
  if (kind === NUMBERED) table.setSequence(row, view.getFloat64(at + MOVED_BYTES, true))
  table.move(
    row,
    view.getFloat64(at + 6, true),
    view.getFloat64(at + 14, true),
    view.getFloat64(at + 22, true),
    view.getFloat64(at + 30, true),
    view.getFloat64(at + 38, true),
    view.getUint8(at + 5),
  )
}
