// oxlint-disable-next-line import/no-unassigned-import
import 'maplibre-gl/dist/maplibre-gl.css'
import { Map as MapLibre, prewarm, setWorkerUrl, type MapOptions } from 'maplibre-gl'
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url'
import { environment } from '../api/environment.ts'
import { isDark } from '../theme/theme.ts'
import { containsBox, type Box, type LngLat } from './geometry.ts'
import { firstStyle, styleUrl } from './style.ts'

setWorkerUrl(workerUrl)
const HAS_WEBGL = hasWebGL()
// The thread of maps starts while the page is still loading, and stays for the maps of other pages.
if (HAS_WEBGL) prewarm()

const MAX_ZOOM = 20
/** Space around what a map shows at first, more of it where the buttons and the credits are, and how near it may be. */
const FIT = { padding: { top: 60, left: 60, bottom: 70, right: 90 }, maxZoom: 16, animate: false } as const

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
  /** Whether all of the box is in view. */
  shows(box: Box): boolean
  close(): void
}

/**
 * Opens a map.
 * @param start what it shows at first; if undefined, the style says where there is something to see
 * @returns undefined if the browser has no WebGL
 */
export function openMap(
  container: HTMLElement,
  start?: View | Box,
  onCredits: (text: string) => void = () => {},
): OpenMap | undefined {
  if (!HAS_WEBGL) return undefined
  const map = new MapLibre({
    container,
    style: firstStyle(),
    ...startOptions(start),
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
    fit: (box, maxZoom = FIT.maxZoom) => map.fitBounds([...box], { ...FIT, maxZoom }),
    shows(box) {
      const view = map.getBounds()
      return containsBox([view.getWest(), view.getSouth(), view.getEast(), view.getNorth()], box)
    },
    close() {
      unsubscribe()
      map.remove()
    },
  }
}

function startOptions(start: View | Box | undefined): Partial<MapOptions> {
  if (start === undefined) return {}
  if ('center' in start) return { center: [...start.center], zoom: start.zoom }
  return { bounds: [...start], fitBoundsOptions: FIT }
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
  const context = document.createElement('canvas').getContext('webgl2')
  // A browser allows a page only some of them.
  context?.getExtension('WEBGL_lose_context')?.loseContext()
  return context !== null
}
