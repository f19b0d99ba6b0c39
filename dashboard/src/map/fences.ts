import type { GeoJSONSource, GeoJSONSourceSpecification } from 'maplibre-gl'
import type { Geofence } from '../../../sdk/src/types.ts'
import { circleRing, type LngLat } from './geometry.ts'
import type { OpenMap } from './map.ts'
import { colorOf } from './colors.ts'

const SOURCE = 'fences'

export interface FenceFeature {
  readonly type: 'Feature'
  readonly properties: {
    readonly id: string
    readonly name: string
    readonly on: boolean
    readonly chosen: boolean
  }
  readonly geometry: { readonly type: 'Polygon'; readonly coordinates: LngLat[][] }
}

/** What a geofence covers, for drawing; undefined while an isochrone has no area. */
export function fenceRings(
  fence: Pick<Geofence, 'type' | 'geometry' | 'geometryCenter' | 'geometryRadius'>,
): LngLat[][] | undefined {
  if (fence.type === 'circle')
    return [circleRing(fence.geometryCenter.coordinates as unknown as LngLat, fence.geometryRadius)]
  return fence.geometry?.coordinates as LngLat[][] | undefined
}

/** Geofences as areas with names, below the devices. */
export class FenceLayer {
  readonly #map: OpenMap
  #features: readonly FenceFeature[] = []

  constructor(map: OpenMap, onChoose?: (id: string) => void) {
    this.#map = map
    map.onStyle(() => this.#add())
    if (onChoose !== undefined) {
      map.map.on('click', 'fence-fill', (event) => {
        const id = event.features?.[0]?.properties.id as string | undefined
        if (id !== undefined && !event.defaultPrevented) onChoose(id)
      })
      map.map.on('mouseenter', 'fence-fill', () => (map.map.getCanvas().style.cursor = 'pointer'))
      map.map.on('mouseleave', 'fence-fill', () => (map.map.getCanvas().style.cursor = ''))
    }
  }

  show(fences: readonly Geofence[], chosen?: string): void {
    this.#features = fences.flatMap((fence): FenceFeature[] => {
      const coordinates = fenceRings(fence)
      if (coordinates === undefined) return []
      const properties = {
        id: fence._id,
        name: fence.description,
        on: fence.enabled,
        chosen: fence._id === chosen,
      }
      return [{ type: 'Feature', properties, geometry: { type: 'Polygon', coordinates } }]
    })
    const source = this.#map.map.getSource(SOURCE) as GeoJSONSource | undefined
    source?.setData(this.#collection() as never)
  }

  #collection(): GeoJSONSourceSpecification['data'] {
    return {
      type: 'FeatureCollection',
      features: this.#features,
    } as unknown as GeoJSONSourceSpecification['data']
  }

  #add(): void {
    const { map } = this.#map
    if (map.getSource(SOURCE) !== undefined) return
    const color = colorOf('fence')
    map.addSource(SOURCE, { type: 'geojson', data: this.#collection() })
    map.addLayer({
      id: 'fence-fill',
      type: 'fill',
      source: SOURCE,
      paint: {
        'fill-color': color,
        'fill-opacity': ['case', ['get', 'chosen'], 0.28, ['get', 'on'], 0.13, 0.04],
      },
    })
    map.addLayer({
      id: 'fence-line',
      type: 'line',
      source: SOURCE,
      filter: ['get', 'on'],
      paint: { 'line-color': color, 'line-width': ['case', ['get', 'chosen'], 3, 1.5] },
    })
    map.addLayer({
      id: 'fence-line-off',
      type: 'line',
      source: SOURCE,
      filter: ['!', ['get', 'on']],
      paint: { 'line-color': color, 'line-width': 1.5, 'line-dasharray': [2, 2] },
    })
    map.addLayer({
      id: 'fence-name',
      type: 'symbol',
      source: SOURCE,
      minzoom: 13,
      layout: {
        'text-field': ['get', 'name'],
        'text-font': ['Noto Sans Medium'],
        'text-size': 12,
        'text-max-width': 10,
      },
      paint: { 'text-color': color, 'text-halo-color': colorOf('card'), 'text-halo-width': 1.6 },
    })
  }
}
