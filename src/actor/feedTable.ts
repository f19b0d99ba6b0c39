import type { Confidence } from '../geometry/confidence.ts'
import type { Metadata } from '../model/metadata.ts'
import type { ScopeId } from '../model/scope.ts'
import type { TripOptions, TripUser } from '../model/trip.ts'
import type { ActorTable, ActorType } from './actorType.ts'
import type { FrameBytes, FrameWriter } from './commitCodec.ts'
import { DeviceMemory } from './deviceMemory.ts'

/**
 * What the devices of a partition must report to trips, which may be in other partitions. A row is written in the
 * commit of the update that it is about, and stays until the trips have acknowledged it. So whoever owns the
 * partition next still tells it.
 *
 * Owns: the numbers of rows, which ascend, their order, their bounds. Does not own: who is told, and when
 * (trips/tripDispatcher.ts).
 *
 * ```
 * PUT   kind u8 · the row as JSON
 * DONE  kind u8 · number f64 *: the rows with these numbers are acknowledged
 * LAST  kind u8 · number f64: of the last row, in snapshots, and of one whose trips moved in the same frame
 * ```
 * Little-endian.
 *
 * Invariants
 * - TRIP-FEED-1: A row has a higher number than all rows before it, also after a recovery.
 * - TRIP-FEED-2: A device has at most {@link MAX_DEVICE_ROWS} rows and not much more than {@link MAX_DEVICE_BYTES}, a
 *   partition not much more than {@link MAX_BYTES}. So no device alone stops the others of its partition.
 */
const PUT = 1
const DONE = 2
const LAST = 3
const NUMBER_BYTES = 8

/** How many rows of a device may wait. */
const MAX_DEVICE_ROWS = 1000
/** How many bytes of rows of a partition may wait. */
const MAX_BYTES = 2 * 1024 * 1024
/**
 * How many bytes of rows of a device may wait before the next one is refused. A row lists all geofences that the device
 * is in, so a few rows of a device in ten thousand of them would otherwise stop all trips of its partition.
 */
const MAX_DEVICE_BYTES = MAX_BYTES * 0.75
/** The bytes of a row besides its JSON. */
const ROW_BYTES = 150
/** How many waiting rows are also kept as objects. Most rows are told at once, and so need not be read from their JSON. */
const MAX_UNPACKED = 256

/** An update as its trips see it. */
export interface FeedUpdate {
  readonly metadata?: Metadata | undefined
  /** Time t, epoch milliseconds. */
  readonly time: number
  /** Server time, epoch milliseconds. */
  readonly receivedAt: number
  readonly latitude: number
  readonly longitude: number
  /** In metres, as it was sent. */
  readonly accuracy?: number | undefined
  readonly foreground: boolean
  readonly stopped: boolean
  readonly replayed: boolean
  /** Whether the accuracy is worse than `maxAccuracyMeters`. */
  readonly isInaccurate: boolean
  /** The geofences that the device is in after it and that can be a destination, by `_id`. */
  readonly inside: readonly string[]
  /** The geofences that the device entered with this update. */
  readonly entered: readonly { readonly id: string; readonly confidence: Confidence }[]
  /** The trips of its user that may have been active, by `_id`. */
  readonly trips: readonly string[]
  readonly options?: TripOptions | undefined
  /** The `_id` of the trip that had the name in the options; absent if there was none. */
  readonly named?: string | undefined
}

/** What a device must report. */
export interface FeedRow {
  readonly number: number
  readonly scope: ScopeId
  /** The record to which the report belongs. */
  readonly user: TripUser
  /** The update. It is absent if the record was removed. */
  readonly update?: FeedUpdate | undefined
}

interface Waiting {
  readonly scope: ScopeId
  readonly device: string
  readonly json: Buffer
  readonly row?: FeedRow | undefined
}

/** What waits of a device. */
interface DeviceShare {
  rows: number
  bytes: number
}

export class FeedTable implements ActorTable {
  /** The numbers of rows that nobody has taken yet, in order. */
  #fresh: number[] = []
  readonly #rows = new Map<number, Waiting>()
  readonly #ofDevice = new Map<string, DeviceShare>()
  /** Rows up to this number may have been reported already, because another process had them. */
  recoveredTo = 0
  #last = 0
  #bytes = 0
  #memory = new DeviceMemory()

  /** How many rows wait. */
  get size(): number {
    return this.#rows.size
  }

  /** The number of the last row that was ever written. */
  get last(): number {
    return this.#last
  }

  get hasFresh(): boolean {
    return this.#fresh.length > 0
  }

  /** The rows that nobody has taken yet, in order. To be called between batches. */
  takeFresh(): FeedRow[] {
    return this.#fresh.splice(0).map((number) => this.get(number)!)
  }

  /** A row that waits. */
  get(number: number): FeedRow | undefined {
    const waiting = this.#rows.get(number)
    return waiting && (waiting.row ?? (JSON.parse(waiting.json.toString()) as FeedRow))
  }

  /** Whether no more rows can wait for the device. */
  isFull(scope: ScopeId, deviceId: string): boolean {
    if (this.#rows.size === 0) return false
    if (this.#bytes >= MAX_BYTES) return true
    const share = this.#ofDevice.get(deviceOf(scope, deviceId))
    return share !== undefined && (share.rows >= MAX_DEVICE_ROWS || share.bytes >= MAX_DEVICE_BYTES)
  }

  /** Whether rows of the device wait. */
  hasRowsOf(scope: ScopeId, deviceId: string): boolean {
    return this.#rows.size > 0 && this.#ofDevice.has(deviceOf(scope, deviceId))
  }

  /**
   * Uses the next number for a row that need not wait, and writes to the commit that it is used. Returns the number.
   */
  skip(writer: FrameWriter): number {
    writeLast(writer, ++this.#last)
    return this.#last
  }

  /** Adds a row, and writes it to the commit. Returns its number. */
  put(writer: FrameWriter, row: Omit<FeedRow, 'number'>): number {
    const numbered: FeedRow = { number: this.#last + 1, ...row }
    const json = Buffer.from(JSON.stringify(numbered))
    const data = Buffer.allocUnsafe(1 + json.length)
    data[0] = PUT
    data.set(json, 1)
    writer.actorRow(FEEDS, data)
    this.#add(numbered, json, this.#rows.size < MAX_UNPACKED ? numbered : undefined)
    this.#fresh.push(numbered.number)
    return numbered.number
  }

  /** Removes rows, and writes that to the commit. */
  done(writer: FrameWriter, numbers: readonly number[]): void {
    const known = numbers.filter((number) => this.#delete(number))
    if (known.length === 0) return
    const data = Buffer.allocUnsafe(1 + known.length * NUMBER_BYTES)
    data[0] = DONE
    known.forEach((number, i) => data.writeDoubleLE(number, 1 + i * NUMBER_BYTES))
    writer.actorRow(FEEDS, data)
  }

  readRow({ buffer }: FrameBytes, at: number, end: number): void {
    if (buffer[at] === PUT) {
      const json = Buffer.from(buffer.subarray(at + 1, end))
      return this.#add(JSON.parse(json.toString()) as FeedRow, json)
    }
    if (buffer[at] === LAST) this.#last = Math.max(this.#last, buffer.readDoubleLE(at + 1))
    else for (let i = at + 1; i < end; i += NUMBER_BYTES) this.#delete(buffer.readDoubleLE(i))
  }

  writeAll(writer: FrameWriter): void {
    if (this.#last === 0) return
    writeLast(writer, this.#last)
    for (const { json } of this.#rows.values()) writer.actorRow(FEEDS, Buffer.concat([Buffer.of(PUT), json]))
  }

  /** Rows that were not acknowledged are reported again. */
  recovered(): void {
    this.#fresh = [...this.#rows.keys()]
    this.recoveredTo = this.#last
  }

  countIn(memory: DeviceMemory): void {
    for (const { scope, json } of this.#rows.values()) {
      this.#memory.add(scope, -(ROW_BYTES + json.length))
      memory.add(scope, ROW_BYTES + json.length)
    }
    this.#memory = memory
  }

  #add({ number, scope, user }: FeedRow, json: Buffer, row?: FeedRow): void {
    const device = deviceOf(scope, user.deviceId)
    this.#last = Math.max(this.#last, number)
    this.#rows.set(number, { scope, device, json, row })
    const bytes = ROW_BYTES + json.length
    const share = this.#ofDevice.get(device)
    if (share === undefined) this.#ofDevice.set(device, { rows: 1, bytes })
    else {
      share.rows++
      share.bytes += bytes
    }
    this.#count(scope, bytes)
  }

  #delete(number: number): boolean {
    const waiting = this.#rows.get(number)
    if (waiting === undefined) return false
    const { scope, device, json } = waiting
    this.#rows.delete(number)
    const bytes = ROW_BYTES + json.length
    const share = this.#ofDevice.get(device)!
    share.rows--
    share.bytes -= bytes
    if (share.rows === 0) this.#ofDevice.delete(device)
    this.#count(scope, -bytes)
    return true
  }

  #count(scope: ScopeId, bytes: number): void {
    this.#bytes += bytes
    this.#memory.add(scope, bytes)
  }
}

const lastRow = Buffer.of(LAST, ...new Uint8Array(NUMBER_BYTES))
const lastView = new DataView(lastRow.buffer, lastRow.byteOffset, lastRow.byteLength)

function writeLast(writer: FrameWriter, number: number): void {
  lastView.setFloat64(1, number, true)
  writer.actorRow(FEEDS, lastRow)
}

/** A name for a device that is unique over all scopes. */
function deviceOf(scope: ScopeId, deviceId: string): string {
  return `${scope} ${deviceId}`
}

/** The feed of a partition. Its command is listed in actorTypes.ts. */
export const FEEDS: Pick<ActorType<FeedTable>, 'name' | 'number' | 'createTable'> = {
  name: 'feed',
  number: 2,
  createTable: () => new FeedTable(),
}
