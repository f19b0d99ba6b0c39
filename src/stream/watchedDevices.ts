import type { LivePosition } from '../actor/port.ts'
import type { ShownDevice } from './messages.ts'
import type { ScopeId } from '../model/scope.ts'
import { NO_STAY } from './batchedStays.ts'
import type { TestedPosition } from './watchFilter.ts'

const FIRST_CAPACITY = 256
/** The cells of 8 bytes of a device, as a power of two. */
const CELLS = 3
/** The words of 4 bytes of a device, as a power of two. The last four cells are eight words. */
const WORDS = 4

const LATITUDE = 0
const LONGITUDE = 1
const ACCURACY = 2
const UPDATED_AT = 3
const HANDLE = 8
const FIRST_STAY = 9
const IS_GONE = 10
const WRITTEN_ROUND = 11
const WRITTEN_FROM = 12
const WRITTEN_TO = 13
const SCOPE = 14

const NO_HANDLE = -1
/** No device has this number. */
export const NO_DEVICE = -1

/**
 * The devices in the areas of batched watches, by number.
 *
 * With an object for each device and each of its numbers, a position of one of 20,000 devices waits for memory about
 * twenty times, which is most of its cost. Here the numbers of a device lie in one cache line. Whether a device has moved
 * since the last tick is an entry of two small arrays, so that a movement reads nothing else.
 *
 * Owns: the numbers and names of devices, which device a handle belongs to. Does not own: which devices there are
 * (batchedScope.ts), their stays (batchedStays.ts).
 *
 * Invariants
 * - WATCHED-DEVICES-1: A handle leads to a device only while the device has that handle.
 */
export class WatchedDevices {
  #cells = new Float64Array(FIRST_CAPACITY << CELLS)
  /** The same memory as {@link #cells}, as words. */
  #words = new Int32Array(this.#cells.buffer)
  /** 1 if the device has moved since the last tick. */
  #stirred = new Uint8Array(FIRST_CAPACITY)
  /** The number of the device after that of the handle; 0 if there is none. */
  #byHandle = new Int32Array(FIRST_CAPACITY)
  readonly #deviceIds: string[] = []
  readonly #recordIds: string[] = []
  readonly #userIds: (string | undefined)[] = []
  /** What the codec has made of the names; undefined if these have changed. */
  readonly #heads: ShownDevice['head'][] = []
  /** What filters read, of the devices without a handle. */
  readonly #records: (TestedPosition | undefined)[] = []
  readonly #free: number[] = []
  readonly #shown = new ShownNumber(this)
  #count = 0

  /** How many devices there are. */
  get count(): number {
    return this.#count
  }

  /** Adds a device, and returns its number. */
  add(live: LivePosition): number {
    const device = this.#free.pop() ?? this.#deviceIds.length
    this.#reserve(device)
    this.#deviceIds[device] = live.deviceId
    this.#recordIds[device] = live.recordId
    this.#userIds[device] = live.userId
    this.#heads[device] = undefined
    this.#records[device] = undefined
    const at = device << WORDS
    this.#words[at + HANDLE] = NO_HANDLE
    this.#words[at + FIRST_STAY] = NO_STAY
    this.#words[at + IS_GONE] = 0
    this.#words[at + SCOPE] = live.scope
    this.#count++
    this.#place(device, live)
    this.#attach(device, live.handle)
    return device
  }

  /** Removes a device; its number may be used again. */
  remove(device: number): void {
    this.#attach(device, undefined)
    this.#deviceIds[device] = this.#recordIds[device] = ''
    this.#userIds[device] = this.#heads[device] = this.#records[device] = undefined
    this.#stirred[device] = 0
    this.#free.push(device)
    if (--this.#count === 0) this.#reset()
  }

  /** The device whose latest position is that of a record; {@link NO_DEVICE} if there is none. */
  ofHandle(handle: number): number {
    return handle < this.#byHandle.length ? this.#byHandle[handle]! - 1 : NO_DEVICE
  }

  scope(device: number): ScopeId {
    return this.#words[(device << WORDS) + SCOPE]!
  }

  /** The handle of a device's record; undefined if it has none. */
  handle(device: number): number | undefined {
    const handle = this.#words[(device << WORDS) + HANDLE]!
    return handle === NO_HANDLE ? undefined : handle
  }

  /**
   * Moves a device to a position, whichever of its records that belongs to.
   * @param keepsRecord whether filters go on with what they read before if the position does not tell
   */
  move(device: number, live: LivePosition, keepsRecord: boolean): void {
    if (this.#recordIds[device] !== live.recordId || this.#userIds[device] !== live.userId) {
      this.#recordIds[device] = live.recordId
      this.#userIds[device] = live.userId
      this.#heads[device] = undefined
    }
    this.#words[(device << WORDS) + IS_GONE] = 0
    this.#place(device, live)
    this.#attach(device, live.handle)
    if (live.handle === undefined) this.#keepRecord(device, live, keepsRecord)
  }

  /**
   * Moves a device to the present position of the record that its handle belongs to. Returns false, and takes its handle
   * away, if that is another record by now.
   */
  follow(device: number, live: LivePosition): boolean {
    if (live.recordId !== this.#recordIds[device]) {
      this.#attach(device, undefined)
      return false
    }
    const { userId } = live
    if (userId !== this.#userIds[device]) {
      this.#userIds[device] = userId
      this.#heads[device] = undefined
    }
    this.#place(device, live)
    return true
  }

  /**
   * The record of a device was removed, and it is nowhere.
   * @param live its last position, of which only the numbers are read; undefined if it is known
   */
  leaveRecord(device: number, live: LivePosition | undefined): void {
    if (live !== undefined) this.#place(device, live)
    this.#attach(device, undefined)
    this.#words[(device << WORDS) + IS_GONE] = 1
  }

  isGone(device: number): boolean {
    return this.#words[(device << WORDS) + IS_GONE] === 1
  }

  /** Marks a device as moved. Returns whether it was not. */
  stir(device: number): boolean {
    if (this.#stirred[device] === 1) return false
    this.#stirred[device] = 1
    return true
  }

  isStirred(device: number): boolean {
    return this.#stirred[device] === 1
  }

  settle(device: number): void {
    this.#stirred[device] = 0
  }

  /** The first of the device's stays; the others follow it (batchedStays.ts). */
  firstStay(device: number): number {
    return this.#words[(device << WORDS) + FIRST_STAY]!
  }

  setFirstStay(device: number, stay: number): void {
    this.#words[(device << WORDS) + FIRST_STAY] = stay
  }

  latitude(device: number): number {
    return this.#cells[(device << CELLS) + LATITUDE]!
  }

  longitude(device: number): number {
    return this.#cells[(device << CELLS) + LONGITUDE]!
  }

  accuracy(device: number): number {
    return this.#cells[(device << CELLS) + ACCURACY]!
  }

  updatedAt(device: number): number {
    return this.#cells[(device << CELLS) + UPDATED_AT]!
  }

  deviceId(device: number): string {
    return this.#deviceIds[device]!
  }

  recordId(device: number): string {
    return this.#recordIds[device]!
  }

  userId(device: number): string | undefined {
    return this.#userIds[device]
  }

  head(device: number): ShownDevice['head'] {
    return this.#heads[device]
  }

  setHead(device: number, head: ShownDevice['head']): void {
    this.#heads[device] = head
  }

  /** See {@link ShownDevice.writtenRound}. */
  writtenRound(device: number): number {
    return this.#words[(device << WORDS) + WRITTEN_ROUND]!
  }

  setWrittenRound(device: number, round: number): void {
    this.#words[(device << WORDS) + WRITTEN_ROUND] = round
  }

  writtenFrom(device: number): number {
    return this.#words[(device << WORDS) + WRITTEN_FROM]!
  }

  setWrittenFrom(device: number, from: number): void {
    this.#words[(device << WORDS) + WRITTEN_FROM] = from
  }

  writtenTo(device: number): number {
    return this.#words[(device << WORDS) + WRITTEN_TO]!
  }

  setWrittenTo(device: number, to: number): void {
    this.#words[(device << WORDS) + WRITTEN_TO] = to
  }

  /** What filters read of a device without a handle. */
  tested(device: number): TestedPosition {
    return this.#records[device] ?? { userId: this.#userIds[device] }
  }

  /** The device for a codec, valid until the next call. */
  shown(device: number): ShownDevice {
    return this.#shown.at(device)
  }

  #place(device: number, { latitude, longitude, accuracy, updatedAt }: LivePosition): void {
    const cells = this.#cells
    const at = device << CELLS
    cells[at + LATITUDE] = latitude
    cells[at + LONGITUDE] = longitude
    cells[at + ACCURACY] = accuracy
    cells[at + UPDATED_AT] = updatedAt
    this.#words[(device << WORDS) + WRITTEN_ROUND] = 0
  }

  #keepRecord(device: number, { userId, metadata, geofenceIds }: LivePosition, keepsRecord: boolean): void {
    if (geofenceIds !== undefined) this.#records[device] = { userId, metadata, geofenceIds }
    else {
      const known = this.#records[device]
      this.#records[device] = known && keepsRecord ? { ...known, userId } : undefined
    }
  }

  /** Gives a device a handle, or takes its handle away. */
  #attach(device: number, handle: number = NO_HANDLE): void {
    const at = (device << WORDS) + HANDLE
    const before = this.#words[at]!
    if (before === handle) return
    if (before !== NO_HANDLE) this.#byHandle[before] = 0
    this.#words[at] = handle
    if (handle === NO_HANDLE) return
    if (handle >= this.#byHandle.length) this.#byHandle = grown(this.#byHandle, handle)
    const other = this.#byHandle[handle]! - 1
    if (other !== NO_DEVICE) this.#words[(other << WORDS) + HANDLE] = NO_HANDLE
    this.#byHandle[handle] = device + 1
  }

  #reserve(device: number): void {
    if (device < this.#stirred.length) return
    this.#stirred = grown(this.#stirred, device)
    const cells = new Float64Array(this.#stirred.length << CELLS)
    cells.set(this.#cells)
    this.#cells = cells
    this.#words = new Int32Array(cells.buffer)
  }

  /** Gives the memory back. */
  #reset(): void {
    this.#cells = new Float64Array(FIRST_CAPACITY << CELLS)
    this.#words = new Int32Array(this.#cells.buffer)
    this.#stirred = new Uint8Array(FIRST_CAPACITY)
    this.#byHandle = new Int32Array(FIRST_CAPACITY)
    for (const column of [this.#deviceIds, this.#recordIds, this.#userIds, this.#heads, this.#records])
      column.length = 0
    this.#free.length = 0
  }
}

/** The same numbers in an array twice as long, or longer, so that there is one at `index`. */
function grown<A extends Int32Array | Uint8Array>(array: A, index: number): A {
  let { length } = array
  while (length <= index) length *= 2
  const larger = new (array.constructor as new (length: number) => A)(length)
  larger.set(array)
  return larger
}

/** Shows a device to a codec. One object is moved from device to device. */
class ShownNumber implements ShownDevice {
  readonly #devices: WatchedDevices
  #device = NO_DEVICE

  constructor(devices: WatchedDevices) {
    this.#devices = devices
  }

  at(device: number): this {
    this.#device = device
    return this
  }

  get deviceId(): string {
    return this.#devices.deviceId(this.#device)
  }

  get recordId(): string {
    return this.#devices.recordId(this.#device)
  }

  get userId(): string | undefined {
    return this.#devices.userId(this.#device)
  }

  get latitude(): number {
    return this.#devices.latitude(this.#device)
  }

  get longitude(): number {
    return this.#devices.longitude(this.#device)
  }

  get accuracy(): number {
    return this.#devices.accuracy(this.#device)
  }

  get updatedAt(): number {
    return this.#devices.updatedAt(this.#device)
  }

  get head(): ShownDevice['head'] {
    return this.#devices.head(this.#device)
  }

  set head(head: ShownDevice['head']) {
    this.#devices.setHead(this.#device, head)
  }

  get writtenRound(): number {
    return this.#devices.writtenRound(this.#device)
  }

  set writtenRound(round: number) {
    this.#devices.setWrittenRound(this.#device, round)
  }

  get writtenFrom(): number {
    return this.#devices.writtenFrom(this.#device)
  }

  set writtenFrom(from: number) {
    this.#devices.setWrittenFrom(this.#device, from)
  }

  get writtenTo(): number {
    return this.#devices.writtenTo(this.#device)
  }

  set writtenTo(to: number) {
    this.#devices.setWrittenTo(this.#device, to)
  }
}
