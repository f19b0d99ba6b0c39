import Type from 'typebox'
import { route, type Answer, type Route } from '../../http/route.ts'
import { CoordinatesText, limitOf, parseCoordinates, Text } from '../../http/schemas.ts'
import type { Position } from '../../model/geofence.ts'
import { AddressesAnswer, AttributionMeta } from './answerSchemas.ts'
import {
  CountriesText,
  LanguageText,
  LayersText,
  parseCountries,
  parseLanguage,
  parseLayers,
  parseQuery,
  QueryText,
  REVERSE_LAYERS,
  SEARCH_LAYERS,
} from './parameters.ts'
import type { Geocoded, Geocoder } from './port.ts'

/** Returns where an IP address is used; undefined if that is not known. */
type PlaceOfIp = (ip: string) => Promise<Position | undefined>

const TAG = 'Geocoding'
const STANDARD_COMPLETIONS = 10
const MOST_COMPLETIONS = 100
const MOST_POSTAL_CODE_LENGTH = 32

/**
 * The routes that say where something is, and what is somewhere.
 * @param placeOf returns where an IP address is used; undefined if that is not known
 */
export function geocodingRoutes(geocoder: Geocoder, placeOf: PlaceOfIp): Route[] {
  return [forwardRoute(geocoder), reverseRoute(geocoder), autocompleteRoute(geocoder, placeOf)]
}

function forwardRoute(geocoder: Geocoder): Route {
  return route({
    method: 'GET',
    path: '/v1/geocode/forward',
    auth: 'publishable',
    tag: TAG,
    summary: 'Find where an address or a place is',
    description:
      'Returns all exact results that may be meant, the best first. If there is none, returns houses between known house numbers, or else the ' +
      'street or the smallest known area around it. If nothing is found, the list is empty. Results come from the imported map ' +
      'regions and, for cities, counties, states, countries and postal codes, from data of the whole world.',
    query: Type.Object({
      query: QueryText,
      layers: Type.Optional(LayersText),
      country: Type.Optional(CountriesText),
      lang: Type.Optional(LanguageText),
    }),
    meta: AttributionMeta,
    answers: { 200: AddressesAnswer },
    handler: async ({ query, receivedAt }) => {
      const found = await geocoder.forward({
        query: parseQuery(query.query),
        layers: parseLayers(query.layers, SEARCH_LAYERS),
        countries: parseCountries('country', query.country),
        language: parseLanguage(query.lang),
        now: receivedAt,
      })
      return answered(found)
    },
  })
}

function reverseRoute(geocoder: Geocoder): Route {
  return route({
    method: 'GET',
    path: '/v1/geocode/reverse',
    auth: 'publishable',
    tag: TAG,
    summary: 'Find what is at a point',
    description:
      'Returns at most one result for each layer: the nearest address, place, intersection or street within a kilometre, and the ' +
      'areas in which the point lies. Results come from the imported map regions; without one, only the city, county, state and country are known. ' +
      'Fields that are not known are absent.',
    query: Type.Object({
      coordinates: CoordinatesText,
      layers: Type.Optional(LayersText),
      lang: Type.Optional(LanguageText),
    }),
    meta: AttributionMeta,
    answers: { 200: AddressesAnswer },
    handler: async ({ query, receivedAt }) => {
      const { latitude, longitude } = parseCoordinates('coordinates', query.coordinates)
      const found = await geocoder.reverse({
        position: [longitude, latitude],
        layers: parseLayers(query.layers, REVERSE_LAYERS),
        language: parseLanguage(query.lang),
        now: receivedAt,
      })
      return answered(found)
    },
  })
}

function autocompleteRoute(geocoder: Geocoder, placeOf: PlaceOfIp): Route {
  return route({
    method: 'GET',
    path: '/v1/search/autocomplete',
    auth: 'publishable',
    tag: TAG,
    summary: 'Complete an address or a name as it is typed',
    description:
      'The last word may be unfinished, unless a space or comma follows it. Results near `near`, or else near the place of the ' +
      'IP address if it is known, come first and have their distance. With `layers=address`, streets are shown as their addresses. A house with known units is shown once for each unit.',
    query: Type.Object({
      query: QueryText,
      near: Type.Optional(CoordinatesText),
      layers: Type.Optional(LayersText),
      limit: Type.Optional(limitOf(STANDARD_COMPLETIONS, MOST_COMPLETIONS)),
      countryCode: Type.Optional(CountriesText),
      postalCode: Type.Optional(Text(MOST_POSTAL_CODE_LENGTH, 'Only results with this postal code.')),
      mailable: Type.Optional(
        Type.Boolean({ default: false, description: 'Only addresses that mail can be sent to.' }),
      ),
      lang: Type.Optional(LanguageText),
    }),
    meta: AttributionMeta,
    answers: { 200: AddressesAnswer },
    handler: async ({ query, ip, receivedAt }) => {
      const found = await geocoder.autocomplete({
        query: parseQuery(query.query),
        near: query.near === undefined ? await placeOf(ip) : parseNear(query.near),
        layers: parseLayers(query.layers, SEARCH_LAYERS),
        isAddressOnly: query.layers?.trim().toLowerCase() === 'address',
        limit: query.limit ?? STANDARD_COMPLETIONS,
        countries: parseCountries('countryCode', query.countryCode),
        postalCode: query.postalCode?.trim() || undefined,
        isMailable: query.mailable ?? false,
        language: parseLanguage(query.lang),
        now: receivedAt,
      })
      return answered(found)
    },
  })
}

/**
 * Reads `near`.
 * @throws {ApiError} 400 naming `near`
 */
function parseNear(text: string): Position {
  const { latitude, longitude } = parseCoordinates('near', text)
  return [longitude, latitude]
}

/** The answer. It must not be cached, because it contains the time of day at each result. */
function answered({ addresses, attribution }: Geocoded): Answer {
  return {
    packedJson: `"addresses":${addresses}`,
    meta: { attribution },
    headers: { 'Cache-Control': 'private, no-store' },
  }
}
