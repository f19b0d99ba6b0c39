/** The borders of all countries as edges: those of the file, and beyond them, at sea, those of country-coder, in memory. */
import { borders } from '@rapideditor/country-coder'
import Flatbush from 'flatbush'
import type { Position } from '../../model/geofence.ts'
import { pointInside } from '../records/areas.ts'
import { countryBorders } from '../world/borders.ts'
import { coarseCountryAt } from '../world/countries.ts'
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
 * The borders that meet a box. An area by country-coder comes after all of the file, so it counts only where none of
 * those is. So a country may be two areas.
 * @param reference a point whose countries are returned with them
 */
export function countryEdges(box: CellBounds, reference: Position): AreaEdges {
  const fine = countryBorders()
  const near = fine.edgesIn(box)
  const inside = fine.codesAt(reference)
  const codes = fine.inOrder([...near.codes, ...inside])
  const places = new Map(codes.map((code, place) => [code, place]))
  const references = inside.map((code) => places.get(code)!)
  const edges = [...near.edges]
  const areas = near.codes.map((code) => places.get(code)!)
  const first = codes.length
  const placeOf = (code: string): number => {
    const place = codes.indexOf(code, first)
    return place < 0 ? codes.push(code) - 1 : place
  }
  const all = (made ??= makeEdges())
  for (const edge of all.index.search(box.west, box.south, box.east, box.north)) {
    edges.push(...all.edges.subarray(4 * edge, 4 * edge + 4))
    areas.push(placeOf(all.codes[all.areas[edge]!]!))
  }
  const coarse = coarseCountryAt(reference)
  if (coarse !== undefined) references.push(placeOf(coarse))
  return { codes, references, edges: Float64Array.from(edges), areas: Uint16Array.from(areas) }
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
      const code = coarseCountryAt(pointInside(rings))
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
