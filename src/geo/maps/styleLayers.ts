/**
 * The layers of a map style, from the ground up, https://maplibre.org/maplibre-style-spec/layers. Only what MapLibre 2.4
 * knows is used, so that all later versions show them. Pure.
 */
import type { Language } from '../records/names.ts'
import type { FontName } from './fonts.ts'
import type { Palette } from './palettes.ts'

type Expression = readonly unknown[]
type Value = string | number | boolean | Expression
type Values = Readonly<Record<string, Value | undefined>>

/** A layer of a style. */
export interface StyleLayer {
  readonly id: string
  readonly type: 'background' | 'fill' | 'line' | 'symbol'
  readonly source?: string
  readonly 'source-layer'?: string
  readonly minzoom?: number
  readonly filter?: Expression
  readonly layout?: Values
  readonly paint?: Values
}

const REGULAR: readonly FontName[] = ['Noto Sans Regular']
const MEDIUM: readonly FontName[] = ['Noto Sans Medium']

const get = (name: string): Expression => ['get', name]
const is = (name: string, ...values: readonly string[]): Expression => [
  'match',
  get(name),
  [...values],
  true,
  false,
]
const all = (...filters: readonly Expression[]): Expression => ['all', ...filters]
const not = (filter: Expression): Expression => ['!', filter]
const flag = (name: string): Expression => ['to-boolean', get(name)]

/** An expression for a number by zoom: zoom, number, zoom, number. The widths of roads double with each zoom. */
function byZoom(...stops: readonly number[]): Expression {
  return ['interpolate', ['exponential', 1.6], ['zoom'], ...stops]
}

/**
 * The layers.
 * @param source the id of the source of tiles
 * @param language the language of names; if undefined, they are in the language of the place
 */
export function styleLayers(source: string, palette: Palette, language: Language | undefined): StyleLayer[] {
  const layer = (
    id: string,
    type: StyleLayer['type'],
    sourceLayer: string,
    parts: Omit<StyleLayer, 'id' | 'type' | 'source' | 'source-layer'>,
  ): StyleLayer => ({ id, type, source, 'source-layer': sourceLayer, ...parts })
  const name: Expression =
    language === undefined ? get('name') : ['coalesce', get(`name:${language}`), get('name')]
  return [
    { id: 'sea', type: 'background', paint: { 'background-color': palette.sea } },
    ...landLayers(layer, palette),
    ...waters(layer, palette),
    ...roads(layer, palette),
    layer('borders', 'line', 'boundaries', {
      filter: ['any', is('kind', 'country'), ['==', get('kind_detail'), 2]],
      paint: {
        'line-color': palette.border,
        'line-width': byZoom(2, 0.6, 8, 1.6),
        'line-dasharray': [4, 2],
      },
    }),
    ...labels(layer, palette, name),
  ]
}

type MakeLayer = (
  id: string,
  type: StyleLayer['type'],
  sourceLayer: string,
  parts: Omit<StyleLayer, 'id' | 'type' | 'source' | 'source-layer'>,
) => StyleLayer

function landLayers(layer: MakeLayer, palette: Palette): StyleLayer[] {
  const uses: readonly (readonly [color: keyof Palette, ...kinds: string[]])[] = [
    ['residential', 'residential'],
    ['farmland', 'farmland', 'orchard', 'vineyard', 'allotments'],
    ['grass', 'grass', 'meadow', 'scrub', 'grassland', 'wetland', 'village_green', 'golf_course'],
    ['green', 'forest', 'wood', 'park', 'nature_reserve', 'national_park', 'garden', 'cemetery', 'zoo'],
    ['green', 'pitch', 'playground', 'recreation_ground'],
    ['sand', 'beach', 'sand'],
    ['ice', 'glacier'],
    ['industry', 'industrial', 'commercial', 'railway', 'quarry', 'military', 'aerodrome', 'bare_rock'],
    ['institution', 'school', 'university', 'college', 'kindergarten', 'hospital'],
    ['paved', 'pedestrian', 'parking', 'platform', 'pier'],
  ]
  return [
    // Smoothing is off, because the pieces of land in neighbouring tiles and cells would show their edges.
    layer('earth', 'fill', 'earth', {
      filter: ['==', ['geometry-type'], 'Polygon'],
      paint: { 'fill-color': palette.earth, 'fill-antialias': false },
    }),
    layer('landuse', 'fill', 'landuse', {
      filter: ['==', ['geometry-type'], 'Polygon'],
      paint: {
        'fill-color': [
          'match',
          get('kind'),
          ...uses.flatMap(([color, ...kinds]) => [kinds, palette[color]]),
          palette.earth,
        ],
        'fill-antialias': false,
      },
    }),
  ]
}

function waters(layer: MakeLayer, palette: Palette): StyleLayer[] {
  return [
    layer('water', 'fill', 'water', {
      filter: ['==', ['geometry-type'], 'Polygon'],
      paint: { 'fill-color': palette.sea },
    }),
    layer('rivers', 'line', 'water', {
      filter: all(['==', ['geometry-type'], 'LineString'], not(flag('is_tunnel'))),
      layout: { 'line-cap': 'round', 'line-join': 'round' },
      paint: {
        'line-color': palette.sea,
        'line-width': [
          'interpolate',
          ['exponential', 1.6],
          ['zoom'],
          8,
          ['match', get('kind'), ['river', 'canal'], 1, 0.4],
          18,
          ['match', get('kind'), ['river', 'canal'], 14, 4],
        ],
      },
    }),
    layer('buildings', 'fill', 'buildings', {
      minzoom: 13,
      filter: ['==', ['geometry-type'], 'Polygon'],
      paint: { 'fill-color': palette.building, 'fill-outline-color': palette.buildingEdge },
    }),
  ]
}

/** A class of roads, with its width by zoom. */
interface RoadClass {
  readonly id: string
  readonly filter: Expression
  readonly color: keyof Palette
  readonly edge: keyof Palette
  readonly minzoom: number
  readonly width: readonly number[]
}

const ROADS: readonly RoadClass[] = [
  {
    id: 'service',
    filter: all(is('kind', 'minor_road'), is('kind_detail', 'service')),
    color: 'minor',
    edge: 'roadEdge',
    minzoom: 14,
    width: [14, 0.6, 20, 14],
  },
  {
    id: 'minor',
    filter: all(is('kind', 'minor_road'), not(is('kind_detail', 'service'))),
    color: 'minor',
    edge: 'roadEdge',
    minzoom: 12,
    width: [12, 0.5, 14, 2, 20, 26],
  },
  {
    id: 'tertiary',
    filter: all(is('kind', 'major_road'), is('kind_detail', 'tertiary', 'secondary')),
    color: 'minor',
    edge: 'roadEdge',
    minzoom: 9,
    width: [9, 0.4, 13, 2.2, 20, 32],
  },
  {
    id: 'major',
    filter: all(is('kind', 'major_road'), not(is('kind_detail', 'tertiary', 'secondary'))),
    color: 'major',
    edge: 'roadEdge',
    minzoom: 6,
    width: [6, 0.5, 13, 3, 20, 36],
  },
  {
    id: 'highway',
    filter: is('kind', 'highway'),
    color: 'highway',
    edge: 'highwayEdge',
    minzoom: 4,
    width: [4, 0.4, 8, 1.2, 13, 4, 20, 40],
  },
]

function roads(layer: MakeLayer, palette: Palette): StyleLayer[] {
  const joined: Values = { 'line-cap': 'round', 'line-join': 'round' }
  const edges = ROADS.map(({ id, filter, edge, minzoom, width }) =>
    layer(`${id}-edge`, 'line', 'roads', {
      minzoom: Math.max(minzoom, 11),
      filter,
      layout: joined,
      paint: {
        'line-color': palette[edge],
        'line-width': byZoom(...width.map((value, i) => (i % 2 === 0 ? value : value + 1.4))),
        'line-opacity': ['case', flag('is_tunnel'), 0.4, 1],
      },
    }),
  )
  const surfaces = ROADS.map(({ id, filter, color, minzoom, width }) =>
    layer(id, 'line', 'roads', {
      minzoom,
      filter,
      layout: joined,
      paint: {
        'line-color': palette[color],
        'line-width': byZoom(...width),
        'line-opacity': ['case', flag('is_tunnel'), 0.5, 1],
      },
    }),
  )
  return [
    layer('ferries', 'line', 'roads', {
      filter: is('kind', 'ferry'),
      paint: { 'line-color': palette.ferry, 'line-width': 1, 'line-dasharray': [6, 4] },
    }),
    layer('aeroways', 'line', 'roads', {
      filter: is('kind', 'aeroway'),
      paint: {
        'line-color': palette.paved,
        'line-width': [
          'interpolate',
          ['exponential', 1.6],
          ['zoom'],
          10,
          1,
          18,
          ['match', get('kind_detail'), 'runway', 80, 24],
        ],
      },
    }),
    layer('paths', 'line', 'roads', {
      minzoom: 14,
      filter: is('kind', 'path'),
      paint: {
        'line-color': palette.path,
        'line-width': byZoom(14, 0.8, 20, 6),
        'line-dasharray': [3, 1.5],
      },
    }),
    layer('rails', 'line', 'roads', {
      filter: all(is('kind', 'rail'), not(flag('is_tunnel'))),
      paint: { 'line-color': palette.rail, 'line-width': byZoom(8, 0.5, 16, 2) },
    }),
    ...edges,
    ...surfaces,
  ]
}

function labels(layer: MakeLayer, palette: Palette, name: Expression): StyleLayer[] {
  const paint = (color: string): Values => ({
    'text-color': color,
    'text-halo-color': palette.halo,
    'text-halo-width': 1.4,
  })
  const text = (font: readonly FontName[], size: Value, more: Values = {}): Values => ({
    'text-field': name,
    'text-font': font,
    'text-size': size,
    'text-max-width': 8,
    ...more,
  })
  const alongLines: Values = { 'symbol-placement': 'line', 'text-max-angle': 35 }
  // If there is not enough room, the largest are shown.
  const bySize: Values = { 'symbol-sort-key': ['-', 20, ['coalesce', get('population_rank'), 0]] }
  return [
    layer('house-numbers', 'symbol', 'buildings', {
      minzoom: 17,
      filter: is('kind', 'address'),
      layout: text(REGULAR, 11, { 'text-field': get('addr_housenumber'), 'text-padding': 1 }),
      paint: paint(palette.faintText),
    }),
    layer('river-names', 'symbol', 'water', {
      minzoom: 11,
      filter: all(['==', ['geometry-type'], 'LineString'], ['has', 'name']),
      layout: text(REGULAR, 12, alongLines),
      paint: paint(palette.waterText),
    }),
    layer('road-names', 'symbol', 'roads', {
      minzoom: 13,
      filter: all(is('kind', 'highway', 'major_road', 'minor_road', 'path'), ['has', 'name']),
      layout: text(REGULAR, byZoom(13, 10, 18, 14), alongLines),
      paint: paint(palette.roadText),
    }),
    layer('road-numbers', 'symbol', 'roads', {
      minzoom: 8,
      filter: all(is('kind', 'highway', 'major_road'), ['has', 'ref']),
      layout: text(MEDIUM, 10, {
        'text-field': get('ref'),
        'symbol-placement': 'line',
        'symbol-spacing': 400,
        'text-rotation-alignment': 'viewport',
      }),
      paint: paint(palette.faintText),
    }),
    layer('places', 'symbol', 'pois', {
      minzoom: 14,
      filter: all(['has', 'name'], ['>=', ['zoom'], ['+', ['coalesce', get('min_zoom'), 15], 0.5]]),
      layout: text(REGULAR, 11, {
        'icon-image': ['coalesce', ['image', get('icon')], ['image', get('kind')], ['image', 'marker']],
        'icon-size': 0.9,
        'icon-padding': 1,
        'text-anchor': 'top',
        'text-offset': [0, 0.8],
        'text-optional': true,
        'symbol-sort-key': ['coalesce', get('min_zoom'), 15],
      }),
      paint: { ...paint(palette.placeText), 'icon-color': palette.placeText },
    }),
    layer('lake-names', 'symbol', 'water', {
      minzoom: 10,
      filter: all(['==', ['geometry-type'], 'Point'], ['has', 'name']),
      layout: text(REGULAR, 12),
      paint: paint(palette.waterText),
    }),
    layer('neighbourhoods', 'symbol', 'places', {
      minzoom: 11,
      filter: is('kind', 'neighbourhood', 'macrohood', 'island'),
      layout: text(REGULAR, byZoom(11, 10, 16, 14)),
      paint: paint(palette.faintText),
    }),
    layer('villages', 'symbol', 'places', {
      minzoom: 9,
      filter: all(is('kind', 'locality'), not(is('kind_detail', 'city', 'town'))),
      layout: text(REGULAR, byZoom(9, 10, 16, 15), bySize),
      paint: paint(palette.text),
    }),
    layer('cities', 'symbol', 'places', {
      filter: all(is('kind', 'locality'), is('kind_detail', 'city', 'town')),
      layout: text(
        MEDIUM,
        ['interpolate', ['linear'], ['zoom'], 3, 10, 14, ['match', get('kind_detail'), 'city', 20, 16]],
        bySize,
      ),
      paint: paint(palette.text),
    }),
    layer('countries', 'symbol', 'places', {
      filter: is('kind', 'country'),
      layout: text(MEDIUM, byZoom(1, 10, 6, 16), bySize),
      paint: paint(palette.text),
    }),
  ]
}
