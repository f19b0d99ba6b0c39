import Flatbush from 'flatbush'
import type { Probe } from '../geometry/probe.ts'
import { boxGapMeters, type Box } from './cellGrid.ts'
import { SlotMarks } from './slotMarks.ts'

/** Up to so many additions since the tree was built are searched one by one, */
const LEAST_RECENT = 1024
/** or this share of all, if that is more. Then the next search builds the tree anew. */
const RECENT_SHARE = 1 / 8
/** Of a node of the tree, the library's default. */
const NODE_ITEMS = 16

/**
 * Bounds of slots for searches of wide boxes: a packed R-tree of what was there when it was built, beside a list of
 * what came since. A set or clear costs nothing; building is left to the search that needs it, and is proportionate
 * to the changes before it. Every hit is checked against the slot's present bounds, so that the tree may be stale.
 */
export class BoundsTree {
  /**
   * West, south, east, north by slot, degrees, east past 180 across the antimeridian; west is NaN where free. Rounded
   * outwards: some metres of a box, at most, for half of its bytes.
   */
  #boxes = new Float32Array(4 * 64)
  readonly #marks = new SlotMarks()
  /** One past the highest slot that was ever set. */
  #end = 0
  #count = 0
  #tree: Flatbush | undefined
  #slotOfItem = new Int32Array(0)
  #recent: number[] = []
  #stale = false

  /** Makes room for so many slots. */
  expect(slots: number): void {
    if (slots * 4 > this.#boxes.length) this.#resize(slots)
  }

  /** Widens the box to what is kept of it, and keeps it. */
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

  /** Frees the slot and sets `box` to what was kept of it. */
  clear(slot: number, box: Box): void {
    const at = slot * 4
    box.west = this.#boxes[at]!
    box.south = this.#boxes[at + 1]!
    box.east = this.#boxes[at + 2]!
    box.north = this.#boxes[at + 3]!
    this.#boxes[at] = NaN
    this.#count--
  }

  /** Metres, a lower bound of the way from the point to the slot's bounds; 0 within. */
  gapMeters(slot: number, probe: Probe): number {
    const boxes = this.#boxes
    const at = slot * 4
    return boxGapMeters(boxes[at]!, boxes[at + 1]!, boxes[at + 2]!, boxes[at + 3]!, probe)
  }

  /** Appends the slots whose bounds meet the box, each once. */
  search(box: Box, out: number[]): void {
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
   * Whether the bounds of more than `count` slots meet the box; looks at hardly more than that. A slot may count twice:
   * across the antimeridian, or when it was set again since the tree was built.
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

  #take(slot: number, box: Box, out: number[]): void {
    if (this.#meets(slot, box) && this.#marks.mark(slot)) out.push(slot)
  }

  #meets(slot: number, box: Box): boolean {
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

/** The largest number of single precision that is not above this one; up to twice as far away. */
function singleBelow(value: number): number {
  const single = Math.fround(value)
  return single > value ? Math.fround(value - Math.abs(value) * 2 ** -23) : single
}

/** The smallest number of single precision that is not below this one; up to twice as far away. */
function singleAbove(value: number): number {
  return -singleBelow(-value)
}

/** Asks for each part of the box that lies within ±180 degrees, until one says true; whether one did. */
function forEachTurn(box: Box, ask: (west: number, east: number) => boolean): boolean {
  for (let turn = -360; turn <= 360; turn += 360) {
    const west = Math.max(-180, box.west + turn)
    const east = Math.min(180, box.east + turn)
    if (west <= east && ask(west, east)) return true
  }
  return false
}
