import type { FrameBytes, FrameWriter } from './commitCodec.ts'
import type { PlaceStays } from '../model/place.ts'
import type { DeviceTable } from './deviceTable.ts'

/**
 * Rows of device actors as bytes. They are most of every log, so they have kinds of their own and no length:
 *
 * ```
 * MOVED    kind u8 · row u32 · flags u8 · latitude · longitude · accuracy · updatedAt · receivedAt (f64 each)
 * WHOLE    as MOVED · scope u32 · length u32 · profile (profileCodec.ts)
 * REMOVED  kind u8 · row u32
 * NUMBERED as MOVED · sequence f64: the profile's newest mark has come to that number
 * FIRST    as NUMBERED, or NaN if that number is the same · since f64 · length u8 · id: the profile has changed only in
 *          the place that is first among the candidates; without an id, there is none
 * ```
 * Little-endian. The ids of places are ASCII.
 */
/** The number of the actor type. */
export const DEVICE_TYPE = 0

const MOVED = 1
const WHOLE = 2
const REMOVED = 3
const NUMBERED = 4
const FIRST = 6

const REMOVED_BYTES = 5
const MOVED_BYTES = 46
const NUMBERED_BYTES = MOVED_BYTES + 8
/** The size of a row of the kind FIRST without the id. */
const FIRST_BYTES = NUMBERED_BYTES + 9
const MAX_ID_BYTES = 255
/** The size of a whole row without its profile. */
const WHOLE_BYTES = MOVED_BYTES + 8

/**
 * Writes the row's columns of position, times and flags; its profile is unchanged.
 * @param sequence the number of the newest mark; undefined if it is the same as before
 */
export function writeMoved(
  writer: FrameWriter,
  table: DeviceTable,
  row: number,
  sequence: number | undefined,
): void {
  if (sequence === undefined) {
    const at = writer.addRow(MOVED_BYTES)
    return writeColumns(writer.view, at, MOVED, table, row)
  }
  const at = writer.addRow(NUMBERED_BYTES)
  writeColumns(writer.view, at, NUMBERED, table, row)
  writer.view.setFloat64(at + MOVED_BYTES, sequence, true)
}

/**
 * Whether a place can be written by {@link writeFirst}. Every id of a place can, unless a map region has been tampered
 * with.
 */
export function fitsFirst(first: { readonly id: string; readonly since?: number } | undefined): boolean {
  if (first === undefined) return true
  const { id } = first
  if (id.length === 0 || id.length > MAX_ID_BYTES) return false
  for (let i = 0; i < id.length; i++) if (id.charCodeAt(i) > 0x7f) return false
  return true
}

/**
 * Writes the columns, and the place that is first among the candidates.
 * @param sequence the number of the newest mark; undefined if it is the same as before
 */
export function writeFirst(
  writer: FrameWriter,
  table: DeviceTable,
  row: number,
  first: PlaceStays['first'],
  sequence: number | undefined,
): void {
  const { id, since } = first ?? { id: '', since: 0 }
  const at = writer.addRow(FIRST_BYTES + id.length)
  const { view } = writer
  writeColumns(view, at, FIRST, table, row)
  view.setFloat64(at + MOVED_BYTES, sequence ?? NaN, true)
  view.setFloat64(at + NUMBERED_BYTES, since, true)
  view.setUint8(at + FIRST_BYTES - 1, id.length)
  for (let i = 0; i < id.length; i++) view.setUint8(at + FIRST_BYTES + i, id.charCodeAt(i))
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
    case FIRST:
      return at + FIRST_BYTES + view.getUint8(at + FIRST_BYTES - 1)
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
  if (kind === FIRST) {
    const id = buffer.toString('latin1', at + FIRST_BYTES, end)
    table.readFirst(row, id === '' ? undefined : { id, since: view.getFloat64(at + NUMBERED_BYTES, true) })
  }
  if (kind === NUMBERED || kind === FIRST) {
    const sequence = view.getFloat64(at + MOVED_BYTES, true)
    if (!Number.isNaN(sequence)) table.setSequence(row, sequence)
  }
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
