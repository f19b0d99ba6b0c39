import { borders } from '@rapideditor/country-coder'
import type { Position } from '../../model/geofence.ts'
import type { Coverage } from './coverage.ts'
import type { OsmExtract, OsmNode, OsmRelation, OsmTags, OsmWay } from './osmPbfWriter.ts'
import type { BoundingBox } from './port.ts'

/** An area with its OpenStreetMap tags. */
export interface Boundary {
  readonly tags: OsmTags
  /** The polygons. Each is a list of closed rings, the outer one first. */
  readonly polygons: readonly (readonly (readonly Position[])[])[]
}

export interface CountryBoundary extends Boundary {
  /** No two countries have the same name. */
  readonly name: string
  readonly drivesOnRight: boolean
}

const COUNTRY_TAGS = { type: 'boundary', boundary: 'administrative', admin_level: '2' } as const
/**
 * Names that countries have in OpenStreetMap, by country-coder's id. Valhalla has more rules for these countries (who
 * may use which kind of path), and finds them by that name.
 */
const OSM_NAMES: Readonly<Record<string, string>> = {
  Q578170: 'United States',
  Q875134: 'Russia',
  Q1083368: 'Finland',
  Q19188: 'China',
  Q16390686: 'Spain',
  Q2872203: 'Australia',
  Q98059339: 'Norway',
  Q22: 'Alba / Scotland',
  Q25: 'Cymru / Wales',
  TR: 'Türkiye',
  TH: 'ประเทศไทย',
  FX: 'France',
}

/**
 * The countries of the world, and parts of countries, that may overlap the bounds. Coasts are included generously.
 * @param bounds the bounds of the extract
 */
export function countriesIn(bounds: BoundingBox): CountryBoundary[] {
  return borders.features.flatMap(({ geometry, properties }) => {
    if (geometry?.type !== 'MultiPolygon') return []
    const polygons = geometry.coordinates as unknown as CountryBoundary['polygons']
    if (!polygons.some(([outer]) => overlap(boundsOf(outer!), bounds))) return []
    const { id, nameEn, iso1A2, isoStatus, country, driveSide } = properties
    // The code of metropolitan France is only reserved.
    const code = isoStatus === 'official' || country === undefined ? iso1A2 : country
    const name = OSM_NAMES[id] ?? nameEn
    const tags = {
      ...COUNTRY_TAGS,
      name,
      'name:en': nameEn,
      ...(code === undefined ? {} : { 'ISO3166-1:alpha2': code }),
    }
    // Valhalla ignores a country called France that contains all of its territories.
    const level = name === 'France' ? { admin_level: '3' } : {}
    return [{ name, tags: { ...tags, ...level }, drivesOnRight: driveSide !== 'left', polygons }]
  })
}

/** Returns the name of the time zone at a position in degrees; undefined if the builder knows none there. */
export type ZoneAt = (longitude: number, latitude: number) => string | undefined

/**
 * The time zones of the cells that have nodes, determined at the middle of each cell.
 * @param prefix comes before their names
 */
export function zones(coverage: Coverage, zoneAt: ZoneAt, prefix: string): Boundary[] {
  return Array.from(coverage.runs(zoneAt)).flatMap(({ kind: zone, bounds: [west, south, east, north] }) => {
    if (zone === undefined) return []
    const ring: Position[] = [
      [west, south],
      [east, south],
      [east, north],
      [west, north],
      [west, south],
    ]
    return [{ tags: { ...COUNTRY_TAGS, name: prefix + zone }, polygons: [[ring]] }]
  })
}

/** An extract that has one boundary relation for each boundary, and nothing else. */
export function boundaryExtract(boundaries: readonly Boundary[]): OsmExtract {
  const nodes: OsmNode[] = []
  const ways: OsmWay[] = []
  const relations: OsmRelation[] = []
  for (const { tags, polygons } of boundaries) {
    const members = polygons.flatMap((rings) =>
      rings.map((ring, index) => {
        const first = nodes.length + 1
        for (const [longitude, latitude] of ring.slice(0, -1))
          nodes.push({ id: nodes.length + 1, longitude, latitude, tags: {} })
        const ids = nodes.slice(first - 1).map(({ id }) => id)
        ways.push({ id: ways.length + 1, nodes: [...ids, first], tags: {} })
        return { type: 'way', id: ways.length, role: index === 0 ? 'outer' : 'inner' } as const
      }),
    )
    relations.push({ id: relations.length + 1, members, tags })
  }
  return { nodes, ways, relations }
}

function boundsOf(ring: readonly Position[]): BoundingBox {
  const longitudes = ring.map(([longitude]) => longitude)
  const latitudes = ring.map(([, latitude]) => latitude)
  return [Math.min(...longitudes), Math.min(...latitudes), Math.max(...longitudes), Math.max(...latitudes)]
}

function overlap(one: BoundingBox, other: BoundingBox): boolean {
  return one[0] <= other[2] && one[2] >= other[0] && one[1] <= other[3] && one[3] >= other[1]
}
