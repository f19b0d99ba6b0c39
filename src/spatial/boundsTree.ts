import Flatbush from 'flatbush'
import type { Probe } from '../geometry/probe.ts'
import { boxGapMeters, type Box } from './cellGrid.ts'
import { SlotMarks } from './slotMarks.ts'

/**
 * Up to this many additions since the tree was built are searched one by one, or the share below of all bounds, if
 * that is more.
 */
const LEAST_RECENT = 1024
/** Beyond this share, the next search rebuilds the tree. */
const RECENT_SHARE = 1 / 8
/** Items of a node of the tree, the library's default. */
const NODE_ITEMS = 16

/**
 * Bounds of slots, for searches of wide boxes: a packed R-tree of the bounds at the time when it was built, and a
 * list of later additions. Setting and clearing cost nothing; the search that needs a new tree builds it, at a cost
 * in proportion to the changes before it. Every hit is checked against the slot's present bounds, so the tree may be
 * stale.
 */
export class BoundsTree {
  /**
   * West, south, east and north of each slot in degrees, with an east of more than 180 across the antimeridian. West
   * is NaN for free slots. They are rounded outwards by at most a few metres, so that they take half the bytes.
   */
  #boxes = new Float32Array(4 * 64)
  readonly #marks = new SlotMarks()
  /** The number after the highest slot that was ever set. */
  #end = 0
  #count = 0
  #tree: Flatbush | undefined
  #slotOfItem = new Int32Array(0)
  #recent: number[] = []
  #stale = false

  /** Makes room for this many slots. */
  expect(slots: number): void {
    if (slots * 4 > this.#boxes.length) this.#resize(slots)
  }

  /** Stores the box, and sets `box` to what was stored, which may be wider. */
  set(slot: number, box: Box): void {
    if (slot * 4 >= this.#boxes.length) this.#resize(Math.max(slot + 1, this.#boxes.length / 2))
    const at = slot * 4
    this.#boxes[at] = box.west = Math.max(-180, singleBelow(box.west))
    this.#boxes[at + 1] = box.south = Math.max(-90, singleBelow(box.south))
    this.#boxes[at + 2] = box.east = singleAbove(box.east)
    this.#boxes[at + 3] = box.north = Math.min(90, singleAbove(box.north))
    if (slot >= this.#end) this.#end = slot + 1
    this.#count++
    if (this.#stale) return
    this.#recent.push(slot)
    if (this.#recent.length <= LEAST_RECENT || this.#recent.length <= this.#count * RECENT_SHARE) return
    this.#stale = true
    this.#recent = []
    this.#tree = undefined
  }

  /** Frees the slot, and sets `box` to what was stored for it. */
  clear(slot: number, box: Box): void {
    this.bounds(slot, box)
    this.#boxes[slot * 4] = NaN
    this.#count--
  }

  /** Sets `box` to what is stored for the slot. */
  bounds(slot: number, box: Box): void {
    const at = slot * 4
    box.west = this.#boxes[at]!
    box.south = this.#boxes[at + 1]!
    box.east = this.#boxes[at + 2]!
    box.north = this.#boxes[at + 3]!
  }

  /** A lower bound of the distance from the point to the slot's bounds in metres; 0 inside. */
  gapMeters(slot: number, probe: Probe): number {
    const boxes = this.#boxes
    const at = slot * 4
    return boxGapMeters(boxes[at]!, boxes[at + 1]!, boxes[at + 2]!, boxes[at + 3]!, probe)
  }

  /** Appends the slots whose bounds meet the box, each once. */
  search(box: Readonly<Box>, out: number[]): void {
    if (this.#stale) this.#build()
    this.#marks.clear(this.#end)
    for (const slot of this.#recent) this.#take(slot, box, out)
    const tree = this.#tree
    if (tree === undefined) return
    forEachTurn(box, (west, east) => {
      for (const item of tree.search(west, box.south, east, box.north)) {
        this.#take(this.#slotOfItem[item]!, box, out)
      }
      return false
    })
  }

  /**
   * Whether the bounds of more than `count` slots meet the box. It checks hardly more than that. A slot may count
   * twice: across the antimeridian, or if it was set again after the tree was built.
   */
  isCrowded(box: Box, count: number): boolean {
    if (this.#stale) this.#build()
    let met = 0
    for (const slot of this.#recent) if (this.#meets(slot, box) && ++met > count) return true
    const tree = this.#tree
    if (tree === undefined) return false
    const isOneTooMany = (item: number) => this.#meets(this.#slotOfItem[item]!, box) && ++met > count
    return forEachTurn(box, (west, east) => tree.collides(west, box.south, east, box.north, isOneTooMany))
  }

  #take(slot: number, box: Readonly<Box>, out: number[]): void {
    if (this.#meets(slot, box) && this.#marks.mark(slot)) out.push(slot)
  }

  #meets(slot: number, box: Readonly<Box>): boolean {
    const boxes = this.#boxes
    const at = slot * 4
    const west = boxes[at]!
    const east = boxes[at + 2]!
    if (Number.isNaN(west) || boxes[at + 1]! > box.north || boxes[at + 3]! < box.south) return false
    const apart =
      (west > box.east || east < box.west) &&
      (west + 360 > box.east || east + 360 < box.west) &&
      (west - 360 > box.east || east - 360 < box.west)
    return !apart
  }

  #build(): void {
    const boxes = this.#boxes
    this.#stale = false
    this.#recent = []
    if (this.#count <= LEAST_RECENT) {
      for (let slot = 0; slot < this.#end; slot++) {
        if (!Number.isNaN(boxes[slot * 4])) this.#recent.push(slot)
      }
      return
    }
    let items = this.#count
    for (let at = 0; at < this.#end * 4; at += 4)
      if (boxes[at + 2]! > 180 && !Number.isNaN(boxes[at])) items++
    const tree = new Flatbush(items, NODE_ITEMS, Float32Array)
    this.#slotOfItem = new Int32Array(items)
    for (let slot = 0; slot < this.#end; slot++) {
      const west = boxes[slot * 4]!
      if (Number.isNaN(west)) continue
      const south = boxes[slot * 4 + 1]!
      const east = boxes[slot * 4 + 2]!
      const north = boxes[slot * 4 + 3]!
      this.#slotOfItem[tree.add(west, south, Math.min(180, east), north)] = slot
      if (east > 180) this.#slotOfItem[tree.add(-180, south, singleAbove(east - 360), north)] = slot
    }
    tree.finish()
    this.#tree = tree
  }

  #resize(slots: number): void {
    const boxes = new Float32Array(4 * slots)
    boxes.set(this.#boxes)
    this.#boxes = boxes
  }
}

/** The largest single-precision number that is not above this one, or one up to twice as far away. */
function singleBelow(value: number): number {
  const single = Math.fround(value)
  return single > value ? Math.fround(value - Math.abs(value) * 2 ** -23) : single
}

/** The smallest single-precision number that is not below this one, or one up to twice as far away. */
function singleAbove(value: number): number {
  return -singleBelow(-value)
}

/** Calls `ask` for each part of the box within ±180 degrees until one returns true. Returns whether one did. */
function forEachTurn(box: Readonly<Box>, ask: (west: number, east: number) => boolean): boolean {
  for (let turn = -360; turn <= 360; turn += 360) {
    const west = Math.max(-180, box.west + turn)
    const east = Math.min(180, box.east + turn)
    if (west <= east && ask(west, east)) return true
  }
  return false
}
