import type { Position } from '../../model/geofence.ts'
import { NearbyPoints } from '../records/nearbyPoints.ts'
import type { IntersectionRecord } from '../records/records.ts'
import { nameKey } from '../text/words.ts'

/** Nodes that two streets share within this distance are one intersection. */
const SAME_METERS = 150
/** How many streets are distinguished at a node. More are a mistake in the data. */
const MAX_STREETS = 8

/** Collects the nodes of streets, 16 bytes for each, and finds where two streets share one. */
export class StreetCrossings {
  readonly #names: string[] = []
  readonly #numbers = new Map<string, number>()
  #nodes = new Float64Array(1024)
  #streets = new Uint32Array(1024)
  #count = 0

  /**
   * Adds a way of a street.
   * @param nodes the ids of its nodes
   */
  add(name: string, nodes: readonly number[]): void {
    // Spellings of one name are one street.
    const key = nameKey(name)
    let number = this.#numbers.get(key)
    if (number === undefined) {
      number = this.#names.push(name) - 1
      this.#numbers.set(key, number)
    }
    for (const node of nodes) {
      if (this.#count === this.#nodes.length) this.#grow()
      this.#nodes[this.#count] = node
      this.#streets[this.#count++] = number
    }
  }

  *found(positionOf: (node: number) => Position | undefined): Generator<IntersectionRecord> {
    for (const [pair, positions] of this.#pairs(positionOf)) {
      const [a, b] = pair.split(',').map((number) => this.#names[Number(number)]!) as [string, string]
      const streets: IntersectionRecord['streets'] = a < b ? [a, b] : [b, a]
      for (const position of means(positions)) yield { streets, position }
    }
  }

  /** Pairs of streets by their numbers, with the positions of the nodes that both have. */
  #pairs(positionOf: (node: number) => Position | undefined): Map<string, Position[]> {
    const pairs = new Map<string, Position[]>()
    const order = new Uint32Array(this.#count).map((_, i) => i)
    order.sort((a, b) => this.#nodes[a]! - this.#nodes[b]! || this.#streets[a]! - this.#streets[b]!)
    for (let at = 0; at < order.length;) {
      const node = this.#nodes[order[at]!]!
      const streets = new Set<number>()
      for (; at < order.length && this.#nodes[order[at]!] === node; at++)
        if (streets.size < MAX_STREETS) streets.add(this.#streets[order[at]!]!)
      if (streets.size < 2) continue
      const position = positionOf(node)!
      const all = [...streets]
      for (const [i, a] of all.entries()) {
        for (const b of all.slice(i + 1)) {
          const pair = `${a},${b}`
          const positions = pairs.get(pair)
          if (positions === undefined) pairs.set(pair, [position])
          else positions.push(position)
        }
      }
    }
    return pairs
  }

  #grow(): void {
    const nodes = new Float64Array(2 * this.#count)
    const streets = new Uint32Array(2 * this.#count)
    nodes.set(this.#nodes)
    streets.set(this.#streets)
    this.#nodes = nodes
    this.#streets = streets
  }
}

/** The mean of each group of positions that are near the first of the group. */
function means(positions: readonly Position[]): Position[] {
  if (positions.length === 1) return [positions[0]!]
  const groups: Position[][] = []
  const near = new NearbyPoints<Position[]>(SAME_METERS)
  for (const position of positions) {
    const group = near.near(position)
    if (group !== undefined) {
      group.push(position)
      continue
    }
    const first = [position]
    groups.push(first)
    near.add(position, first)
  }
  return groups.map((group) => {
    const sum = (axis: 0 | 1): number => group.reduce((total, position) => total + position[axis], 0)
    return [sum(0) / group.length, sum(1) / group.length]
  })
}
