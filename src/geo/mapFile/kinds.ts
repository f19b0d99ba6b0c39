/**
 * What maps show, by kind. The layers, kinds and details are those of the Protomaps basemap schema
 * (https://docs.protomaps.com/basemaps/layers), so the same style shows our tiles and those that users bring.
 */

export type MapLayer =
  | 'earth'
  | 'landuse'
  | 'water'
  | 'buildings'
  | 'roads'
  | 'boundaries'
  | 'places'
  | 'pois'

export type MapShape = 'point' | 'line' | 'area'

export interface MapKind {
  readonly layer: MapLayer
  readonly kind: string
  /** The `kind_detail` of the schema. */
  readonly detail?: string
  readonly shape: MapShape
  /** The lowest zoom at which it is shown. Areas must also be large enough. */
  readonly zoom: number
}

const line = (layer: MapLayer, kind: string, zoom: number, detail?: string): MapKind => ({
  layer,
  kind,
  shape: 'line',
  zoom,
  ...(detail !== undefined && { detail }),
})
const area = (layer: MapLayer, kind: string, zoom: number): MapKind => ({ layer, kind, shape: 'area', zoom })
const point = (layer: MapLayer, kind: string, zoom: number, detail?: string): MapKind => ({
  ...line(layer, kind, zoom, detail),
  shape: 'point',
})

/**
 * The kinds by the number that map files contain. A new kind must be added at the end, or the version of map files
 * must be raised.
 */
const MAP_KINDS: readonly MapKind[] = [
  line('roads', 'highway', 6, 'motorway'),
  line('roads', 'major_road', 6, 'trunk'),
  line('roads', 'major_road', 7, 'primary'),
  line('roads', 'major_road', 9, 'secondary'),
  line('roads', 'major_road', 10, 'tertiary'),
  line('roads', 'minor_road', 12, 'residential'),
  line('roads', 'minor_road', 12, 'unclassified'),
  line('roads', 'minor_road', 13, 'service'),
  line('roads', 'path', 13, 'pedestrian'),
  line('roads', 'path', 13, 'track'),
  line('roads', 'path', 14, 'cycleway'),
  line('roads', 'path', 14, 'footway'),
  line('roads', 'path', 14, 'steps'),
  line('roads', 'rail', 8, 'rail'),
  line('roads', 'rail', 13, 'tram'),
  line('roads', 'rail', 13, 'subway'),
  line('roads', 'rail', 13, 'service'),
  line('roads', 'ferry', 8, 'ferry'),
  line('roads', 'aeroway', 10, 'runway'),
  line('roads', 'aeroway', 12, 'taxiway'),
  area('water', 'lake', 6),
  area('water', 'river', 6),
  area('water', 'basin', 9),
  area('water', 'swimming_pool', 16),
  line('water', 'river', 8),
  line('water', 'canal', 11),
  line('water', 'stream', 13),
  line('water', 'ditch', 14),
  point('water', 'lake', 10),
  area('landuse', 'residential', 9),
  area('landuse', 'industrial', 9),
  area('landuse', 'commercial', 11),
  area('landuse', 'forest', 6),
  area('landuse', 'grass', 10),
  area('landuse', 'farmland', 9),
  area('landuse', 'scrub', 9),
  area('landuse', 'wetland', 9),
  area('landuse', 'beach', 10),
  area('landuse', 'glacier', 6),
  area('landuse', 'bare_rock', 9),
  area('landuse', 'park', 9),
  area('landuse', 'nature_reserve', 9),
  area('landuse', 'cemetery', 11),
  area('landuse', 'golf_course', 11),
  area('landuse', 'pitch', 14),
  area('landuse', 'playground', 15),
  area('landuse', 'school', 12),
  area('landuse', 'hospital', 12),
  area('landuse', 'military', 10),
  area('landuse', 'railway', 11),
  area('landuse', 'quarry', 11),
  area('landuse', 'aerodrome', 9),
  area('landuse', 'pedestrian', 13),
  area('landuse', 'parking', 14),
  area('buildings', 'building', 14),
  point('places', 'locality', 6, 'city'),
  point('places', 'locality', 8, 'town'),
  point('places', 'locality', 10, 'village'),
  point('places', 'locality', 13, 'hamlet'),
  point('places', 'macrohood', 11),
  point('places', 'neighbourhood', 13),
  point('places', 'island', 12),
  area('earth', 'earth', 0),
  line('boundaries', 'country', 0),
  point('places', 'country', 1),
]

const NUMBERS: ReadonlyMap<string, number> = new Map(MAP_KINDS.map((kind, number) => [nameOf(kind), number]))

/**
 * The number of a kind.
 * @param name e.g. `roads major_road primary line`: layer, kind, detail if it has one, and shape
 * @throws Error if there is no such kind
 */
export function kindNumber(name: string): number {
  const number = NUMBERS.get(name)
  if (number === undefined) throw new Error(`There is no kind "${name}".`)
  return number
}

/**
 * The kind with a number.
 * @param number from {@link kindNumber}
 */
export function kindOf(number: number): MapKind {
  const kind = MAP_KINDS[number]
  if (kind === undefined) throw new Error(`There is no kind ${number}.`)
  return kind
}

function nameOf({ layer, kind, detail, shape }: MapKind): string {
  return [layer, kind, detail, shape].filter((part) => part !== undefined).join(' ')
}
