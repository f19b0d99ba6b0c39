// oxlint-disable-next-line import/no-unassigned-import
import 'maplibre-gl/dist/maplibre-gl.css'
import { Map as MapLibre, setWorkerUrl, type LngLatBoundsLike } from 'maplibre-gl'
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url'
import { environment } from '../api/environment.ts'
import { isDark } from '../theme/theme.ts'
import type { Box, LngLat } from './geometry.ts'

setWorkerUrl(workerUrl)

/** Where the map is when nobody has said anything else. */
const WORLD: View = { center: [8, 30], zoom: 1.6 }
const MAX_ZOOM = 20

export interface View {
  readonly center: LngLat
  readonly zoom: number
}

/** A map of this server, without rotation, that follows the theme. */
export interface OpenMap {
  readonly map: MapLibre
  /** Called now and after each change of the style, which removes all layers. */
  onStyle(add: () => void): void
  fit(box: Box, maxZoom?: number): void
  close(): void
}

/**
 * Opens a map.
 * @returns undefined if the browser has no WebGL
 */
export function openMap(
  container: HTMLElement,
  view: View = WORLD,
  onCredits: (text: string) => void = () => {},
): OpenMap | undefined {
  if (!hasWebGL()) return undefined
  const map = new MapLibre({
    container,
    style: styleUrl(),
    center: [...view.center],
    zoom: view.zoom,
    maxZoom: MAX_ZOOM,
    // The control would write the credits as HTML.
    attributionControl: false,
    maplibreLogo: false,
    dragRotate: false,
    pitchWithRotate: false,
    fadeDuration: 0,
    transformRequest: requestOf,
  })
  map.touchZoomRotate.disableRotation()
  map.keyboard.disableRotation()
  const canvas = map.getCanvas()
  canvas.setAttribute(
    'aria-label',
    'Map: arrows move it, plus and minus zoom. The list beside it has the same.',
  )
  const adders: (() => void)[] = []
  let isStyled = false
  map.on('style.load', () => {
    isStyled = true
    onCredits(creditsOf(map))
    for (const add of adders) add()
  })
  // Tiles that are missing leave the background, which is no reason to interrupt.
  map.on('error', () => {})
  const unsubscribe = isDark.subscribe(() => {
    if (!isStyled) return
    isStyled = false
    map.setStyle(styleUrl(), { diff: false })
  })
  return {
    map,
    onStyle(add) {
      adders.push(add)
      if (isStyled) add()
    },
    fit([west, south, east, north], maxZoom = 16) {
      const bounds: LngLatBoundsLike = [west, south, east, north]
      map.fitBounds(bounds, { padding: 60, maxZoom, animate: false })
    },
    close() {
      unsubscribe()
      map.remove()
    },
  }
}

function styleUrl(): string {
  return new URL(isDark.value ? '/maps/styles/dark' : '/maps/styles/radar-light-v1', location.href).href
}

/** All requests go to this page's server, however it is called in the style, with the session of the page. */
function requestOf(url: string) {
  const { pathname, search, protocol } = new URL(url, location.href)
  if (protocol === 'blob:' || protocol === 'data:') return { url }
  return {
    url: location.origin + pathname + search,
    headers: { 'X-Ringfence-Environment': environment.value },
    credentials: 'same-origin' as const,
  }
}

/** The credits of the map's data as texts. */
function creditsOf(map: MapLibre): string {
  const { sources = {} } = map.getStyle() ?? {}
  return Object.values(sources)
    .map((source) => (source as { attribution?: string }).attribution ?? '')
    .filter((html) => html !== '')
    .join(', ')
    .replaceAll(/<[^<>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
}

function hasWebGL(): boolean {
  return document.createElement('canvas').getContext('webgl2') !== null
}
