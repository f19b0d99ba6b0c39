/** Map styles, https://maplibre.org/maplibre-style-spec/. Pure. */
import type { Language } from '../records/names.ts'
import type { MapCredit } from './credits.ts'
import { STYLES, type StyleId } from './palettes.ts'
import type { Maps } from './port.ts'
import { styleLayers, type StyleLayer } from './styleLayers.ts'

/** A style as clients load it. */
export interface MapStyle {
  readonly version: 8
  readonly name: string
  /** Where clients begin that have no place of their own. */
  readonly center: readonly [longitude: number, latitude: number]
  readonly zoom: number
  readonly glyphs: string
  readonly sprite: string
  readonly sources: Readonly<Record<string, object>>
  readonly layers: readonly StyleLayer[]
}

export interface StyleQuestion {
  readonly id: StyleId
  /** The language of names. If undefined, they are in the language of the place. */
  readonly language: Language | undefined
  /** The server's address, as the client reaches it: `https://maps.example.com`. */
  readonly origin: string
  /** The key that the URLs of the style contain. */
  readonly key: string | undefined
}

const SOURCE = 'map'

/** Where readers can learn about a credit. */
const LINKS: readonly (readonly [text: string, url: string])[] = [
  ['OpenStreetMap', 'https://www.openstreetmap.org/copyright'],
  ['GeoNames', 'https://www.geonames.org'],
  ['Natural Earth', 'https://www.naturalearthdata.com'],
]

/**
 * A style.
 * @param maps what the style shows
 */
export function mapStyle(
  { id, language, origin, key }: StyleQuestion,
  maps: Pick<Maps, 'credits' | 'maxZoom' | 'version' | 'view'>,
): MapStyle {
  const base = `${origin}/maps`
  const withKey = key === undefined ? '' : `publishableKey=${encodeURIComponent(key)}`
  const query = withKey === '' ? '' : `?${withKey}`
  return {
    version: 8,
    name: id,
    ...maps.view,
    glyphs: `${base}/glyphs/{fontstack}/{range}.pbf${query}`,
    sprite: `${base}/sprites/icons${query}`,
    sources: {
      [SOURCE]: {
        type: 'vector',
        tiles: [`${base}/tiles/{z}/{x}/{y}.mvt?v=${maps.version}${withKey === '' ? '' : `&${withKey}`}`],
        minzoom: 0,
        maxzoom: maps.maxZoom,
        attribution: maps.credits.map(creditHtml).join(', '),
      },
    },
    layers: styleLayers(SOURCE, STYLES[id], language),
  }
}

/** A credit as HTML, because clients show it as such. */
function creditHtml(credit: MapCredit): string {
  const { text, url } = typeof credit === 'string' ? { text: credit, url: linkOf(credit) } : credit
  return url === undefined
    ? escaped(text)
    : `<a href="${escaped(url)}" target="_blank" rel="noopener">${escaped(text)}</a>`
}

function linkOf(text: string): string | undefined {
  return LINKS.find(([word]) => text.includes(word))?.[1]
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
