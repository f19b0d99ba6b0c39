/* The map of the pages: this server's own, with the key in the page's field. */

const STYLES = { light: '/maps/styles/light', dark: '/maps/styles/dark' }
const dark = matchMedia('(prefers-color-scheme: dark)')

/**
 * Opens a map.
 * @param container an element, which is left unchanged if there can be no map
 * @param options `center` ([longitude, latitude]), `zoom`, `isStill` (only the page moves it), `onCredits(text)`
 * @returns a promise of `{map, maplibre}`, or of undefined if the browser has no WebGL or the server no map
 */
export async function openMap(container, { center, zoom, isStill = false, onCredits }) {
  const maplibre = await import('./maplibre-gl.mjs').catch(() => undefined)
  if (maplibre === undefined || !hasWebGL()) return undefined
  maplibre.setWorkerUrl?.(new URL('maplibre-gl-worker.mjs', import.meta.url).href)
  const map = new maplibre.Map({
    container,
    style: styleUrl(),
    center,
    zoom,
    interactive: !isStill,
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
  const showCredits = () => onCredits?.(creditsOf(map))
  map.on('styledata', showCredits)
  // The page's own requests report missing tiles and keys.
  map.on('error', () => {})
  const reload = () => map.setStyle(styleUrl(), { diff: false })
  dark.addEventListener('change', reload)
  document.getElementById('key').addEventListener('change', reload)
  return { map, maplibre }
}

function styleUrl() {
  return new URL(dark.matches ? STYLES.dark : STYLES.light, location.href).href
}

/** Sends all requests to this page's server, whatever the style calls it, with the key in the header. */
function requestOf(url) {
  const { pathname, search } = new URL(url, location.href)
  const key = document.getElementById('key').value.trim()
  return {
    url: location.origin + pathname + search,
    headers: key === '' ? {} : { Authorization: key },
  }
}

/** The credits of the map's data as texts. */
function creditsOf(map) {
  const { sources = {} } = map.getStyle() ?? {}
  const html = Object.values(sources).map(({ attribution = '' }) => attribution)
  return html
    .join(', ')
    .replaceAll(/<[^<>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
}

function hasWebGL() {
  const canvas = document.createElement('canvas')
  return canvas.getContext('webgl2') !== null
}
