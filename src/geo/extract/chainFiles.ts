/** The chains of name-suggestion-index, read from its optional package. */
import { feature, isIn, iso1A2Code } from '@rapideditor/country-coder'
import { join } from 'node:path'
import type { Position } from '../../model/geofence.ts'
import { packageFolder, packageVersion } from '../../runtime/packageFolder.ts'
import { packedPath, readPackedText } from '../../runtime/packedFile.ts'
import { pointInside } from '../records/areas.ts'
import { Chains, type ChainItem, type Location, type LocationSet } from '../records/chains.ts'

export const CHAIN_PACKAGE = 'name-suggestion-index'

/** Only brands are read. The package also has operators, flags and transit. */
const BRANDS = 'brands/'

interface Items {
  readonly _meta: { readonly version: string }
  readonly nsi: Readonly<Record<string, { readonly items: readonly Omit<ChainItem, 'key' | 'value'>[] }>>
}

interface Wikidata {
  readonly wikidata: Readonly<Record<string, { readonly officialWebsites?: readonly string[] }>>
}

interface Features {
  readonly features: readonly {
    readonly id: string
    readonly geometry:
      | { readonly type: 'Polygon'; readonly coordinates: Position[][] }
      | { readonly type: 'MultiPolygon'; readonly coordinates: Position[][][] }
  }[]
}

/** What chains are found with: `name-suggestion-index 8.0.20260918`. Undefined if it is not installed. */
export function chainSource(): string | undefined {
  const folder = packageFolder(CHAIN_PACKAGE)
  return folder === undefined ? undefined : packageVersion(CHAIN_PACKAGE, folder)
}

/**
 * Reads the chains, which takes a third of a second and about 100 MB in the meantime. The package must be installed.
 */
export function readChains(): Chains {
  return new Chains(chainItems(), { isUsedIn: locationSets(), domainOf: domains() })
}

function* chainItems(): Generator<ChainItem> {
  for (const [path, { items }] of Object.entries(contents<Items>('json/nsi.min.json').nsi)) {
    if (!path.startsWith(BRANDS)) continue
    const [, key, value] = path.split('/') as [string, string, string]
    for (const { id, displayName, matchNames, locationSet, tags } of items)
      yield {
        key,
        value,
        id,
        displayName,
        locationSet,
        tags,
        ...(matchNames !== undefined && { matchNames }),
      }
  }
}

/** Reads the file of websites when the first one is asked for. */
function domains(): (brandId: string) => string | undefined {
  let known: Wikidata['wikidata'] | undefined
  return (brandId) => {
    known ??= contents<Wikidata>('wikidata/wikidata.min.json').wikidata
    const [website = ''] = known[brandId]?.officialWebsites ?? []
    return URL.canParse(website) ? new URL(website).hostname.replace(/^www\d?\./, '') : undefined
  }
}

/**
 * Whether a location set contains a country. It may name countries by code, what they are part of, and parts of them.
 */
function locationSets(): (locations: LocationSet, country: string) => boolean {
  const kept = new Map<string, string | undefined>()
  let features: ReadonlyMap<string, Features['features'][number]['geometry']> | undefined
  /** The country of a part of a country, a feature or a point. */
  const countryOf = (location: Location): string | undefined => {
    if (typeof location !== 'string') return codeAt(location)
    if (!location.endsWith('.geojson')) return feature(location)?.properties.country
    features ??= new Map(
      contents<Features>('json/featureCollection.min.json').features.map(({ id, geometry }) => [
        id,
        geometry,
      ]),
    )
    const geometry = features.get(location)
    if (geometry === undefined) return undefined
    return codeAt(
      pointInside(geometry.type === 'Polygon' ? geometry.coordinates : geometry.coordinates.flat()),
    )
  }
  const isPartOf = (location: Location, country: string): boolean => {
    const key = String(location)
    if (!kept.has(key)) kept.set(key, countryOf(location))
    return kept.get(key) === country
  }
  const contains = (location: Location, country: string): boolean =>
    typeof location === 'string' && !location.endsWith('.geojson') && isIn(country, location) === true
  return ({ include = [], exclude = [] }, country) =>
    (include.length === 0 ||
      include.some((location) => contains(location, country) || isPartOf(location, country))) &&
    !exclude.some((location) => contains(location, country))
}

function codeAt([longitude, latitude]: readonly number[]): string | undefined {
  return iso1A2Code([longitude!, latitude!], { level: 'territory' }) ?? undefined
}

function contents<Contents>(file: string): Contents {
  const path = packedPath(join(packageFolder(CHAIN_PACKAGE)!, 'dist', file))
  return JSON.parse(readPackedText(path)) as Contents
}
