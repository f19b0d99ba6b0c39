import { isActive, type GeofenceProperties } from '../model/geofence.ts'
import { RowBytes } from '../runtime/rowBytes.ts'
import { RowIndex } from '../runtime/rowIndex.ts'
import { geofenceCreatedAt, hashOfId, hasExternalId, hasId, hasTag } from './geofenceCodec.ts'
import { packedBytes, packGeofence, unpackGeofence, updatedAtOf } from './geofenceCodec.ts'
import { SharedTexts } from './sharedTexts.ts'
import type { SlotStore } from './slotStore.ts'

/**
 * At most this many geofences are kept unpacked, at some hundred bytes each. They are those with devices near them.
 */
const MOST_UNPACKED = 65_536
const FIRST_SLOTS = 64
const NONE = -1

/** The geofence is active and open to everybody. */
const UNRESTRICTED = 1
/** The geofence is also unrestricted, and only the settings decide what happens to a stay. */
const PLAIN = 3

/**
 * The geofences of a scope without their shapes, by slot and by id: packed bytes, and objects for those that were
 * used recently.
 *
 * The naive way keeps an object for each: its strings, its map entry and the garbage collector's work take several
 * hundred bytes, although most geofences have no device near them for days.
 *
 * Invariants
 * - UNPACK-1: An unpacked geofence is equal to its bytes. Each slot has one place in which it may be kept unpacked.
 *   Slots share places once there are more slots than places.
 */
export class GeofenceSlotStore implements SlotStore<GeofenceProperties> {
  readonly #texts: SharedTexts
  readonly #bytes = new RowBytes()
  readonly #byId = new RowIndex()
  readonly #freeSlots: number[] = []
  #end = 0
  #size = 0
  /** For each slot, bits of what is known about the geofence without unpacking it. */
  #traits = new Uint8Array(FIRST_SLOTS)
  /** For each place, which slot is kept there, and its object. The number of places is a power of two. */
  #keptSlots = new Int32Array(FIRST_SLOTS).fill(NONE)
  #kept: (GeofenceProperties | undefined)[] = []
  /** The slot that was read last. */
  #lastRead = NONE

  /** @param texts shared with the geofences of other scopes */
  constructor(texts = new SharedTexts()) {
    this.#texts = texts
  }

  get size(): number {
    return this.#size
  }

  get end(): number {
    return this.#end
  }

  expect(count: number): void {
    this.#bytes.expect(count)
    this.#byId.expect(count)
    if (count > this.#traits.length) this.#resize(count)
  }

  slotOf(id: string): number {
    if (this.#isLastRead(id)) return this.#lastRead
    const hash = hashOfId(id)
    for (let i = this.#byId.find(hash); i >= 0; i = this.#byId.findAfter(i, hash)) {
      const slot = this.#byId.row(i)
      if (hasId(this.#bytes.buffer(slot), this.#bytes.start(slot), id)) return slot
    }
    return NONE
  }

  /**
   * Whether this is the geofence that was read last. Mostly it is, because an event asks for the outline of the geofence
   * that was read for its update.
   */
  #isLastRead(id: string): boolean {
    const place = this.#lastRead & (this.#keptSlots.length - 1)
    return this.#keptSlots[place] === this.#lastRead && this.#kept[place]?.id === id
  }

  has(slot: number): boolean {
    return this.#bytes.has(slot)
  }

  get(slot: number): GeofenceProperties {
    this.#lastRead = slot
    const place = slot & (this.#keptSlots.length - 1)
    if (this.#keptSlots[place] === slot) return this.#kept[place]!
    const geofence = unpackGeofence(this.#bytes.buffer(slot), this.#bytes.start(slot), this.#texts)
    this.#keptSlots[place] = slot
    this.#kept[place] = geofence
    return geofence
  }

  /** How many bytes {@link get} must unpack; 0 if the geofence is kept unpacked. The slot must be in use. */
  unreadBytes(slot: number): number {
    const isKept = this.#keptSlots[slot & (this.#keptSlots.length - 1)] === slot
    return isKept ? 0 : this.#bytes.length(slot)
  }

  /** Objects of a million geofences that nobody needs again would take the places of those in use, and live long. */
  glimpse(slot: number): GeofenceProperties {
    const place = slot & (this.#keptSlots.length - 1)
    if (this.#keptSlots[place] === slot) return this.#kept[place]!
    return unpackGeofence(this.#bytes.buffer(slot), this.#bytes.start(slot), this.#texts)
  }

  put(geofence: GeofenceProperties): number {
    let slot = this.slotOf(geofence.id)
    if (slot === NONE) {
      slot = this.#freeSlots.pop() ?? this.#end++
      if (slot >= this.#traits.length) this.#resize(2 * this.#traits.length)
      this.#byId.add(slot, hashOfId(geofence.id))
      this.#size++
    }
    const length = packGeofence(geofence, this.#texts)
    this.#bytes.set(slot, packedBytes(), length)
    this.#traits[slot] = traitsOf(geofence)
    this.#forget(slot)
    return slot
  }

  remove(slot: number): void {
    const { id } = this.get(slot)
    this.#forget(slot)
    const hash = hashOfId(id)
    let entry = this.#byId.find(hash)
    while (this.#byId.row(entry) !== slot) entry = this.#byId.findAfter(entry, hash)
    this.#byId.remove(entry)
    this.#bytes.delete(slot)
    this.#freeSlots.push(slot)
    this.#size--
  }

  /** Whether it is active and open to every user at every address. */
  isUnrestricted(slot: number): boolean {
    return (this.#traits[slot]! & UNRESTRICTED) !== 0
  }

  /** Whether it is also without its own date, hours or dwell threshold. */
  isPlain(slot: number): boolean {
    return this.#traits[slot] === PLAIN
  }

  /** In epoch milliseconds. */
  createdAt(slot: number): number {
    return geofenceCreatedAt(this.#bytes.buffer(slot), this.#bytes.start(slot))
  }

  /** Epoch milliseconds. */
  updatedAt(slot: number): number {
    return updatedAtOf(this.#bytes.buffer(slot), this.#bytes.start(slot))
  }

  hasTag(slot: number, tag: string): boolean {
    return hasTag(this.#bytes.buffer(slot), this.#bytes.start(slot), tag, this.#texts)
  }

  hasExternalId(slot: number, externalId: string): boolean {
    return hasExternalId(this.#bytes.buffer(slot), this.#bytes.start(slot), externalId)
  }

  #forget(slot: number): void {
    const place = slot & (this.#keptSlots.length - 1)
    if (this.#keptSlots[place] !== slot) return
    this.#keptSlots[place] = NONE
    this.#kept[place] = undefined
  }

  #resize(slots: number): void {
    const traits = new Uint8Array(slots)
    traits.set(this.#traits)
    this.#traits = traits
    const places = Math.min(MOST_UNPACKED, 2 ** Math.ceil(Math.log2(slots)))
    if (places === this.#keptSlots.length) return
    // The geofences are unpacked again when they are needed.
    this.#keptSlots = new Int32Array(places).fill(NONE)
    this.#kept = []
  }
}

function traitsOf(geofence: GeofenceProperties): number {
  const { userId, userIds, ip } = geofence
  if (!isActive(geofence) || userId !== undefined || userIds !== undefined || ip !== undefined) return 0
  const { disableAfter, deleteAfter, operatingHours, dwellThreshold } = geofence
  const isUntimed = disableAfter === undefined && deleteAfter === undefined
  return isUntimed && operatingHours === undefined && dwellThreshold === undefined ? PLAIN : UNRESTRICTED
}
