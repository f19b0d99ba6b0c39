import Type from 'typebox'
import { route, type Route } from '../../http/route.ts'
import { versionedAnswer } from '../../http/versioned.ts'
import { CoordinatesText, limitOf, MetadataFilter, parseCoordinates, Text } from '../../http/schemas.ts'
import type { Position } from '../../model/geofence.ts'
import type { WantedMetadata } from '../../model/metadata.ts'
import { shownChain } from '../../model/place.ts'
import type { ScopeId } from '../../model/scope.ts'
import type { Settings } from '../../model/settings.ts'
import { badParam } from '../../runtime/errors.ts'
import { AttributionMeta, PlacesAnswer } from './answerSchemas.ts'
import { CountriesText, parseCountries } from './parameters.ts'
import type { FoundPlace, Geocoder, PlacesFound } from './port.ts'
import { PLACE_GROUPS } from './port.ts'

const STANDARD_RADIUS = 1000
const MOST_METERS = 10_000
const STANDARD_PLACES = 10
const MOST_PLACES = 100
const MOST_LIST_LENGTH = 4096

const Query = Type.Object({
  near: Type.Optional(CoordinatesText),
  chains: Type.Optional(
    Text(
      MOST_LIST_LENGTH,
      'Slugs of chains, or your own ids of them (`chainMappings`), separated by commas.',
    ),
  ),
  categories: Type.Optional(
    Text(MOST_LIST_LENGTH, 'Slugs of categories, separated by commas. One finds its subcategories, too.'),
  ),
  groups: Type.Optional(
    Text(MOST_LIST_LENGTH, `One or more of ${PLACE_GROUPS.join(', ')}, separated by commas.`),
  ),
  iataCode: Type.Optional(
    Text(64, 'The code of an airport, three letters. The answer is this airport, whatever else is sent.'),
  ),
  chainMetadata: Type.Optional(MetadataFilter),
  country: Type.Optional(CountriesText),
  radius: Type.Optional(
    Type.Number({ minimum: 1, maximum: MOST_METERS, default: STANDARD_RADIUS, description: 'Metres.' }),
  ),
  limit: Type.Optional(limitOf(STANDARD_PLACES, MOST_PLACES)),
})

/**
 * The routes of places.
 * @param settingsOf returns the settings of the environment that asks, for its ids and data of chains
 */
export function placeRoutes(
  geocoder: Pick<Geocoder, 'places' | 'airport'>,
  settingsOf: (scope: ScopeId) => Settings,
): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/search/places',
      auth: 'publishable',
      tag: 'Geocoding',
      summary: 'Find places near a point',
      description:
        'Finds shops, restaurants, stations and other places of the imported map regions by chain, category or group, the nearest first. ' +
        'If several of the three are given, a place must fit each of them; if one of them has several values, one value is enough. Airports are also found outside of all regions.',
      query: Query,
      meta: AttributionMeta,
      answers: { 200: PlacesAnswer },
      handler: async ({ query, credentials }) => {
        const settings = settingsOf(credentials!.scope)
        const { places, attribution } = await find(geocoder, query, settings)
        const body = { places: places.map((place) => shown(place, settings)) }
        return versionedAnswer({ body, meta: { attribution } })
      },
    }),
  ]
}

function find(
  geocoder: Pick<Geocoder, 'places' | 'airport'>,
  query: Type.Static<typeof Query>,
  settings: Settings,
): Promise<PlacesFound> {
  const { iataCode, chainMetadata, radius = STANDARD_RADIUS, limit = STANDARD_PLACES } = query
  if (iataCode !== undefined) return geocoder.airport(parseIata(iataCode))
  const near = parseNear(query.near)
  const chains = listOf(query.chains)
  const categories = listOf(query.categories)
  const groups = listOf(query.groups)
  if (chains === undefined && categories === undefined && groups === undefined)
    throw badParam('chains', 'Required, unless categories or groups are given.')
  const wanted = [
    chains && slugsOf(chains, settings),
    chainMetadata && chainsWith(chainMetadata as WantedMetadata, settings),
  ].filter((slugs) => slugs !== undefined)
  return geocoder.places({
    near,
    radius,
    limit,
    chains: wanted.length === 0 ? undefined : wanted.reduce((a, b) => a.filter((slug) => b.includes(slug))),
    categories,
    groups,
    countries: parseCountries('country', query.country),
  })
}

/**
 * Reads an IATA code.
 * @throws {ApiError} 400 naming `iataCode`
 */
function parseIata(text: string): string {
  const code = text.trim().toUpperCase()
  if (!/^[A-Z]{3}$/.test(code)) throw badParam('iataCode', 'Must be three letters, such as JFK.')
  return code
}

/**
 * Reads `near`.
 * @throws {ApiError} 400 naming `near`
 */
function parseNear(text: string | undefined): Position {
  if (text === undefined) throw badParam('near', 'Required.')
  const { latitude, longitude } = parseCoordinates('near', text)
  return [longitude, latitude]
}

/** The items of a list, trimmed, in lower case, each once; undefined if there are none. */
function listOf(text: string | undefined): string[] | undefined {
  const values = (text ?? '').split(',').map((value) => value.trim().toLowerCase())
  const list = [...new Set(values)].filter((value) => value !== '')
  return list.length === 0 ? undefined : list
}

/** The slugs of chains that are given by slug or by the customer's own id. */
function slugsOf(given: readonly string[], { chainMappings }: Settings): string[] {
  const wanted = new Set(given)
  const mapped = Object.entries(chainMappings).filter(([, id]) => wanted.has(id.toLowerCase()))
  return [...new Set([...given, ...mapped.map(([slug]) => slug)])]
}

/** The slugs of chains whose metadata have all of these values, compared as texts. */
function chainsWith(wanted: WantedMetadata, { chainMetadata }: Settings): string[] {
  const members = Object.entries(wanted).map(([key, text]) => [key, withoutQuotes(text)] as const)
  return Object.entries(chainMetadata)
    .filter(([, metadata]) =>
      members.every(([key, text]) => Object.hasOwn(metadata, key) && String(metadata[key]) === text),
    )
    .map(([slug]) => slug)
}

/** The text without quotes. Clients put texts into quotes, so that numbers can be told from them. */
function withoutQuotes(text: string): string {
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text
}

function shown(place: FoundPlace, settings: Settings): object {
  const { chain } = place
  return { ...place, ...(chain !== undefined && { chain: shownChain(chain, settings) }) }
}
