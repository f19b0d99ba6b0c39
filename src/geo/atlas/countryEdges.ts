/** The borders of all countries as edges, in memory: 26,000 of them. */
import { borders } from '@rapideditor/country-coder'
import Flatbush from 'flatbush'
import type { Position } from '../../model/geofence.ts'
import { pointInside } from '../records/areas.ts'
import { countryAt } from '../world/countries.ts'
import type { AreaEdges } from './areaEdges.ts'
import type { CellBounds } from './grid.ts'

interface CountryEdges {
  readonly codes: readonly string[]
  /** The coordinates of each edge: x, y, x, y. */
  readonly edges: Float64Array
  readonly areas: Uint16Array
  readonly index: Flatbush
}

let made: CountryEdges | undefined

/**
 * The borders that meet a box.
 * @param reference a point whose country is returned with them
 */
export function countryEdges(box: CellBounds, reference: Position): AreaEdges {
  const all = (made ??= makeEdges())
  const found = all.index.search(box.west, box.south, box.east, box.north)
  const edges = new Float64Array(4 * found.length)
  const areas = new Uint16Array(found.length)
  const codes: string[] = []
  const placeOf = (code: string): number => {
    const place = codes.indexOf(code)
    return place < 0 ? codes.push(code) - 1 : place
  }
  found.forEach((edge, i) => {
    edges.set(all.edges.subarray(4 * edge, 4 * edge + 4), 4 * i)
    areas[i] = placeOf(all.codes[all.areas[edge]!]!)
  })
  const country = countryAt(reference)
  return { codes, reference: country === undefined ? -1 : placeOf(country.code), edges, areas }
}

function makeEdges(): CountryEdges {
  const codes: string[] = []
  /** The edges by both ends. An edge between two parts of one country is not a border. */
  const kept = new Map<
    string,
    { readonly edge: readonly [number, number, number, number]; readonly area: number }
  >()
  for (const { geometry } of borders.features) {
    const polygons = (geometry as unknown as { coordinates: Position[][][] } | null)?.coordinates ?? []
    for (const rings of polygons) {
      const code = countryAt(pointInside(rings))?.code
      if (code === undefined) continue
      const at = codes.indexOf(code)
      const area = at < 0 ? codes.push(code) - 1 : at
      for (const ring of rings) {
        for (let i = 1; i < ring.length; i++) {
          const edge = [...ring[i - 1]!, ...ring[i]!] as const
          const key = `${area} ${[ring[i - 1]!.join(), ring[i]!.join()].sort().join()}`
          if (!kept.delete(key)) kept.set(key, { edge, area })
        }
      }
    }
  }
  const all = [...kept.values()]
  const index = new Flatbush(all.length)
  for (const {
    edge: [ax, ay, bx, by],
  } of all)
    index.add(Math.min(ax, bx), Math.min(ay, by), Math.max(ax, bx), Math.max(ay, by))
  index.finish()
  return {
    codes,
    edges: Float64Array.from(all.flatMap(({ edge }) => edge)),
    areas: Uint16Array.from(all, ({ area }) => area),
    index,
  }
}
