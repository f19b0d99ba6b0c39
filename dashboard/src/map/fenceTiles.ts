import { environment } from '../api/environment.ts'
import { colorOf } from './colors.ts'
import type { OpenMap } from './map.ts'

const SOURCE = 'fence-tiles'
/** How often the layer asks whether geofences have changed. */
const ASK_MS = 10_000
/** A tile without geofences: its tag alone says whether any tile has changed. */
const PROBE = '/v1/geofences/tiles/16/0/0.mvt'

/**
 * All geofences of the environment as vector tiles, below the devices, however many there are. While nothing changes,
 * nothing is loaded and nothing is drawn.
 */
export class FenceTileLayer {
  readonly #opened: OpenMap
  readonly #isFaint: boolean
  readonly #timer: number
  readonly #onChange: () => void
  #tag: string | undefined

  /**
   * Makes the layer.
   * @param isFaint draws it as a background of other geofences, without names
   */
  constructor(
    opened: OpenMap,
    onChoose?: (id: string) => void,
    { isFaint = false, onChange = () => {} } = {},
  ) {
    this.#opened = opened
    this.#isFaint = isFaint
    opened.onStyle(() => this.#add())
    const { map } = opened
    if (onChoose !== undefined)
      for (const layer of ['fence-tile-fill', 'fence-tile-points']) {
        map.on('click', layer, (event) => {
          const id = event.features?.[0]?.properties._id as string | undefined
          if (id !== undefined && !event.defaultPrevented) onChoose(id)
        })
        map.on('mouseenter', layer, () => (map.getCanvas().style.cursor = 'pointer'))
        map.on('mouseleave', layer, () => (map.getCanvas().style.cursor = ''))
      }
    this.#onChange = onChange
    this.#timer = window.setInterval(() => void this.look(), ASK_MS)
    void this.look()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Asks whether geofences have changed, and shows what they are now. */
  async look(): Promise<void> {
    if (document.visibilityState !== 'visible') return
    const before = this.#tag
    try {
      const headers = { 'X-Ringfence-Environment': environment.peek() }
      const answer = await fetch(PROBE, { headers, cache: 'no-store' })
      if (!answer.ok) return
      this.#tag = answer.headers.get('etag') ?? undefined
    } catch {
      // The connection shows that the server is away.
      return
    }
    if (before === undefined || before === this.#tag) return
    const { map } = this.#opened
    if (map.getSource(SOURCE) !== undefined) map.refreshTiles(SOURCE)
    this.#onChange()
  }

  #add(): void {
    const { map } = this.#opened
    if (map.getSource(SOURCE) !== undefined) return
    const color = colorOf('fence')
    const isOn = ['to-boolean', ['get', 'enabled']] as never
    const faint = this.#isFaint ? 0.4 : 1
    map.addSource(SOURCE, {
      type: 'vector',
      tiles: [`${location.origin}/v1/geofences/tiles/{z}/{x}/{y}.mvt`],
      maxzoom: 16,
      promoteId: '_id',
    })
    map.addLayer({
      id: 'fence-tile-fill',
      type: 'fill',
      source: SOURCE,
      'source-layer': 'geofences',
      paint: { 'fill-color': color, 'fill-opacity': ['case', isOn, 0.13 * faint, 0.04 * faint] },
    })
    for (const on of [true, false])
      map.addLayer({
        id: on ? 'fence-tile-line' : 'fence-tile-line-off',
        type: 'line',
        source: SOURCE,
        'source-layer': 'geofences',
        filter: on ? isOn : ['!', isOn],
        paint: {
          'line-color': color,
          'line-width': 1.5,
          'line-opacity': faint,
          ...(!on && { 'line-dasharray': [2, 2] }),
        },
      })
    map.addLayer({
      id: 'fence-tile-points',
      type: 'circle',
      source: SOURCE,
      'source-layer': 'points',
      paint: {
        'circle-color': color,
        'circle-opacity': 0.75 * faint,
        'circle-radius': [
          'interpolate',
          ['linear'],
          ['coalesce', ['get', 'count'], 1],
          1,
          2.5,
          50,
          5,
          1000,
          9,
        ],
      },
    })
    if (this.#isFaint) return
    map.addLayer({
      id: 'fence-tile-name',
      type: 'symbol',
      source: SOURCE,
      'source-layer': 'geofences',
      minzoom: 13,
      // Only in one of the tiles that it meets.
      filter: ['has', 'named'],
      layout: {
        'text-field': ['get', 'description'],
        'text-font': ['Noto Sans Medium'],
        'text-size': 12,
        'text-max-width': 10,
      },
      paint: { 'text-color': color, 'text-halo-color': colorOf('card'), 'text-halo-width': 1.6 },
    })
  }
}
