import type { GeoJSONSource } from 'maplibre-gl'
import { colorOf, type ColorToken } from './colors.ts'
import type { LngLat } from './geometry.ts'
import type { OpenMap } from './map.ts'

/** One thing that a page draws on a map. */
export type Mark = {
  readonly color: ColorToken
  /** The text beside a point, or in an area. */
  readonly name?: string | undefined
  /** The sign in a point. */
  readonly sign?: string | undefined
  /** The id that clicks on the mark report. */
  readonly id?: string | undefined
  readonly isStrong?: boolean
  readonly isDashed?: boolean
  /** Draws an area without a line around it. */
  readonly isBare?: boolean
} & (
  | { readonly shape: 'point'; readonly at: LngLat }
  | { readonly shape: 'line'; readonly path: readonly LngLat[] }
  | { readonly shape: 'area'; readonly ring: readonly LngLat[] }
)

/**
 * What a page draws on a map beside geofences: points, lines and areas in colours of the theme. It survives a change of
 * the theme, which removes all layers.
 */
export class Overlay {
  readonly #opened: OpenMap
  readonly #name: string
  #marks: readonly Mark[] = []

  /**
   * Makes the overlay.
   * @param name distinguishes several overlays of one map
   */
  constructor(opened: OpenMap, name: string, onChoose?: (id: string) => void) {
    this.#opened = opened
    this.#name = name
    opened.onStyle(() => this.#add())
    if (onChoose === undefined) return
    const { map } = opened
    for (const layer of [`${name}-points`, `${name}-areas`]) {
      map.on('click', layer, (event) => {
        const id = event.features?.[0]?.properties.id as string | undefined
        if (id === undefined || event.defaultPrevented) return
        event.preventDefault()
        onChoose(id)
      })
      map.on('mouseenter', layer, () => (map.getCanvas().style.cursor = 'pointer'))
      map.on('mouseleave', layer, () => (map.getCanvas().style.cursor = ''))
    }
  }

  show(marks: readonly Mark[]): void {
    this.#marks = marks
    const source = this.#opened.map.getSource(this.#name) as GeoJSONSource | undefined
    source?.setData(this.#collection() as never)
  }

  #collection(): unknown {
    const colors = new Map<ColorToken, string>()
    const colorFor = (token: ColorToken) => {
      if (!colors.has(token)) colors.set(token, colorOf(token))
      return colors.get(token)!
    }
    const features = this.#marks.map((mark) => ({
      type: 'Feature',
      properties: {
        color: colorFor(mark.color),
        name: mark.name ?? '',
        sign: mark.sign ?? '',
        id: mark.id,
        strong: mark.isStrong ?? false,
        dashed: mark.isDashed ?? false,
        bare: mark.isBare ?? false,
        shape: mark.shape,
      },
      geometry: geometryOf(mark),
    }))
    return { type: 'FeatureCollection', features }
  }

  #add(): void {
    const { map } = this.#opened
    const source = this.#name
    if (map.getSource(source) !== undefined) return
    map.addSource(source, { type: 'geojson', data: this.#collection() as never })
    const color = ['get', 'color'] as never
    const halo = { 'text-halo-color': colorOf('card'), 'text-halo-width': 1.6 }
    const font = { 'text-font': ['Noto Sans Medium'], 'text-size': 12 }
    map.addLayer({
      id: `${source}-areas`,
      type: 'fill',
      source,
      filter: ['==', ['get', 'shape'], 'area'],
      paint: { 'fill-color': color, 'fill-opacity': ['case', ['get', 'strong'], 0.26, 0.12] },
    })
    for (const dashed of [false, true])
      map.addLayer({
        id: `${source}-lines${dashed ? '-dashed' : ''}`,
        type: 'line',
        source,
        filter: [
          'all',
          ['!=', ['get', 'shape'], 'point'],
          ['==', ['get', 'dashed'], dashed],
          ['!', ['get', 'bare']],
        ],
        layout: { 'line-cap': 'round', 'line-join': 'round' },
        paint: {
          'line-color': color,
          'line-width': ['case', ['get', 'strong'], 4, 2],
          ...(dashed && { 'line-dasharray': [2, 2] }),
        },
      })
    map.addLayer({
      id: `${source}-points`,
      type: 'circle',
      source,
      filter: ['==', ['get', 'shape'], 'point'],
      paint: {
        'circle-color': color,
        'circle-radius': ['case', ['!=', ['get', 'sign'], ''], 11, ['get', 'strong'], 8, 6],
        'circle-stroke-color': colorOf('card'),
        'circle-stroke-width': 2,
      },
    })
    map.addLayer({
      id: `${source}-signs`,
      type: 'symbol',
      source,
      filter: ['all', ['==', ['get', 'shape'], 'point'], ['!=', ['get', 'sign'], '']],
      layout: { ...font, 'text-field': ['get', 'sign'], 'text-allow-overlap': true },
      paint: { 'text-color': colorOf('card') },
    })
    map.addLayer({
      id: `${source}-names`,
      type: 'symbol',
      source,
      filter: ['all', ['!=', ['get', 'shape'], 'line'], ['!=', ['get', 'name'], '']],
      layout: {
        ...font,
        'text-field': ['get', 'name'],
        'text-max-width': 12,
        'text-offset': [
          'case',
          ['==', ['get', 'shape'], 'point'],
          ['literal', [0, 1.4]],
          ['literal', [0, 0]],
        ],
        'text-anchor': 'top',
      },
      paint: { 'text-color': color, ...halo },
    })
  }
}

/** The points of marks, to fit a map to them. */
export function pointsOf(marks: readonly Mark[]): LngLat[] {
  return marks.flatMap((mark) => {
    if (mark.shape === 'point') return [mark.at]
    return mark.shape === 'line' ? [...mark.path] : [...mark.ring]
  })
}

function geometryOf(mark: Mark) {
  if (mark.shape === 'point') return { type: 'Point', coordinates: mark.at }
  if (mark.shape === 'line') return { type: 'LineString', coordinates: mark.path }
  return { type: 'Polygon', coordinates: [mark.ring] }
}
