import { TerraDraw, TerraDrawPolygonMode, TerraDrawSelectMode, type GeoJSONStoreFeatures } from 'terra-draw'
import { TerraDrawMapLibreGLAdapter } from 'terra-draw-maplibre-gl-adapter'
import type { LngLat } from '../../map/geometry.ts'
import type { OpenMap } from '../../map/map.ts'

/** Drawing one polygon on the map: corners by clicks, Enter closes it, and its corners can be dragged. */
export class PolygonDrawing {
  readonly #draw: TerraDraw

  constructor({ map }: OpenMap, ring: readonly LngLat[], onChange: (ring: LngLat[]) => void) {
    this.#draw = new TerraDraw({
      adapter: new TerraDrawMapLibreGLAdapter({ map, coordinatePrecision: 7 }),
      modes: [
        new TerraDrawPolygonMode(),
        new TerraDrawSelectMode({
          flags: {
            polygon: {
              feature: {
                draggable: true,
                coordinates: { midpoints: true, draggable: true, deletable: true },
              },
            },
          },
        }),
      ],
    })
    this.#draw.start()
    this.#put(ring)
    this.#draw.on('finish', (id) => {
      const feature = this.#draw.getSnapshotFeature(id)
      if (feature === undefined) return
      onChange(ringOf(feature))
      if (this.#draw.getMode() !== 'polygon') return
      this.#draw.setMode('select')
      this.#draw.selectFeature(id)
    })
  }

  /** Shows another ring in place of what was drawn; without one, drawing begins anew. */
  show(ring: readonly LngLat[]): void {
    this.#draw.clear()
    this.#put(ring)
  }

  close(): void {
    this.#draw.stop()
  }

  #put(ring: readonly LngLat[]): void {
    if (ring.length <= 3) {
      this.#draw.setMode('polygon')
      return
    }
    const [added] = this.#draw.addFeatures([
      {
        type: 'Feature',
        properties: { mode: 'polygon' },
        geometry: { type: 'Polygon', coordinates: [ring.map(([x, y]) => [rounded(x), rounded(y)])] },
      },
    ])
    this.#draw.setMode('select')
    if (added?.valid && added.id !== undefined) this.#draw.selectFeature(added.id)
  }
}

function ringOf({ geometry }: GeoJSONStoreFeatures): LngLat[] {
  return geometry.type === 'Polygon' ? (geometry.coordinates[0] as unknown as LngLat[]) : []
}

/** The library takes nine digits at most. */
function rounded(degrees: number): number {
  return Math.round(degrees * 1e7) / 1e7
}
