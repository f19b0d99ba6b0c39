import type { Position } from '../../model/geofence.ts'
import { cleanName } from '../records/names.ts'
import type { Parity } from '../records/numberRanges.ts'
import type { AddressRecord, RangeRecord } from '../records/records.ts'
import type { Tags } from '../records/tags.ts'

/** What the numbers of an interpolation belong to, according to its own tags or those of the house at its end. */
type Where = Pick<RangeRecord, 'city' | 'state' | 'postalCode'> & { readonly street: string | undefined }

interface Interpolation {
  readonly parity: Parity
  readonly nodes: readonly number[]
  /** The positions of the nodes. */
  readonly line: readonly Position[]
  readonly own: Where
}

/** A node with a house number. */
interface NumberedNode extends Where {
  readonly number: string
}

/**
 * Ways with `addr:interpolation`, which stand for the numbers between nodes with a house number. The nodes are looked
 * up at the end, because only few of them belong to such a way.
 */
export class AddressInterpolations {
  readonly #interpolations: Interpolation[] = []
  /** The numbers of nodes that do not name their street. It may be that of the way. */
  readonly #withoutStreet = new Map<number, string>()

  /** Adds a node with tags. */
  addNode(id: number, tags: Tags): void {
    const number = cleanName(tags.get('addr:housenumber'))
    if (number !== undefined && !tags.has('addr:street') && !tags.has('addr:place'))
      this.#withoutStreet.set(id, number)
  }

  /**
   * Adds a way with `addr:interpolation`.
   * @param nodes those of its nodes that the extract has, with their positions
   */
  addWay(tags: Tags, nodes: readonly number[], line: readonly Position[]): void {
    const parity = parityOf(tags.get('addr:interpolation'))
    if (parity === undefined || nodes.length < 2) return
    const tag = (key: string): string | undefined => cleanName(tags.get(`addr:${key}`)?.split(';', 1)[0])
    const street = cleanName(tags.get('addr:street')) ?? cleanName(tags.get('addr:place'))
    const own = { street, city: tag('city'), state: tag('state'), postalCode: tag('postcode') }
    this.#interpolations.push({ parity, nodes, line, own })
  }

  /**
   * The ranges of all ways.
   * @param houses all houses of the extract
   */
  *ranges(houses: Iterable<AddressRecord>): Generator<RangeRecord> {
    if (this.#interpolations.length === 0) return
    const wanted = new Set(this.#interpolations.flatMap(({ nodes }) => nodes))
    const numbered = new Map<number, NumberedNode>()
    for (const [id, number] of this.#withoutStreet)
      if (wanted.has(id)) {
        const nothing = { street: undefined, city: undefined, state: undefined, postalCode: undefined }
        numbered.set(id, { number, ...nothing })
      }
    for (const house of houses)
      if (house.type === 'node' && wanted.has(house.id)) numbered.set(house.id, house)
    for (const interpolation of this.#interpolations) yield* between(interpolation, numbered)
  }
}

/** The ranges between successive numbered nodes of a way, if they are in the same street. */
function* between(
  { parity, nodes, line, own }: Interpolation,
  numbered: ReadonlyMap<number, NumberedNode>,
): Generator<RangeRecord> {
  let begin = -1
  for (const [index, node] of nodes.entries()) {
    if (!numbered.has(node)) continue
    const [a, b] = [begin < 0 ? undefined : numbered.get(nodes[begin]!), numbered.get(node)!]
    const from = begin
    begin = index
    if (a === undefined) continue
    const streets = new Set([a.street, b.street].map((street) => street ?? own.street))
    const [street] = streets
    if (street === undefined || streets.size > 1) continue
    yield {
      street,
      first: a.number,
      last: b.number,
      parity,
      city: a.city ?? b.city ?? own.city,
      state: a.state ?? b.state ?? own.state,
      postalCode: a.postalCode ?? b.postalCode ?? own.postalCode,
      line: line.slice(from, index + 1),
    }
  }
}

/** The parity of a number. Undefined for numbers with letters, because no numbers lie between those. */
function parityOf(text: string | undefined): Parity | undefined {
  if (text === 'even' || text === 'odd' || text === 'all') return text
  return text === '1' ? 'all' : undefined
}
