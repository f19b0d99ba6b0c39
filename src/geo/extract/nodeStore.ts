import type { Position } from '../../model/geofence.ts'

/** The number of nodes in a chunk. */
const CHUNK = 1 << 18
const UNITS = 1e7

/**
 * The positions of all nodes of an extract by id, at 16 bytes each. Extracts are sorted by id. If one is not, it is
 * sorted here before the first look-up.
 */
export class NodeStore {
  readonly #ids: Float64Array[] = []
  readonly #positions: Int32Array[] = []
  #count = 0
  #last = -Infinity
  #isSorted = true

  add(id: number, longitude: number, latitude: number): void {
    const at = this.#count++ % CHUNK
    if (at === 0) {
      this.#ids.push(new Float64Array(CHUNK))
      this.#positions.push(new Int32Array(2 * CHUNK))
    }
    this.#ids.at(-1)![at] = id
    const positions = this.#positions.at(-1)!
    positions[2 * at] = Math.round(longitude * UNITS)
    positions[2 * at + 1] = Math.round(latitude * UNITS)
    if (id <= this.#last) this.#isSorted = false
    this.#last = id
  }

  /** The position of a node. Undefined if the node is not in the extract, as at its border. */
  positionOf(id: number): Position | undefined {
    if (!this.#isSorted) this.#sort()
    let low = 0
    let high = this.#count - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      const found = this.#idAt(middle)
      if (found === id) return this.#positionAt(middle)
      if (found < id) low = middle + 1
      else high = middle - 1
    }
    return undefined
  }

  #idAt(index: number): number {
    return this.#ids[Math.floor(index / CHUNK)]![index % CHUNK]!
  }

  #positionAt(index: number): Position {
    const chunk = this.#positions[Math.floor(index / CHUNK)]!
    const at = 2 * (index % CHUNK)
    return [chunk[at]! / UNITS, chunk[at + 1]! / UNITS]
  }

  /** Sorts the nodes. Of several nodes with the same id, the last one stays. */
  #sort(): void {
    const order = new Uint32Array(this.#count).map((_, i) => i)
    order.sort((a, b) => this.#idAt(a) - this.#idAt(b) || a - b)
    const sorted = new NodeStore()
    for (const [i, index] of order.entries()) {
      const next = order[i + 1]
      if (next !== undefined && this.#idAt(next) === this.#idAt(index)) continue
      const [longitude, latitude] = this.#positionAt(index)
      sorted.add(this.#idAt(index), longitude, latitude)
    }
    this.#ids.splice(0, Infinity, ...sorted.#ids)
    this.#positions.splice(0, Infinity, ...sorted.#positions)
    this.#count = sorted.#count
    this.#last = sorted.#last
    this.#isSorted = true
  }
}
