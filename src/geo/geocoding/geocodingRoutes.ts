import Type from 'typebox'
import { route, type Route } from '../../http/route.ts'
import { CoordinatesText, parseCoordinates } from '../../http/schemas.ts'
import { LanguageText, LayersText, parseLanguage, parseLayers, REVERSE_LAYERS } from './parameters.ts'
import { LAYERS, type Geocoder } from './port.ts'

const TAG = 'Geocoding'

const text = (description: string, ...examples: string[]) =>
  Type.Optional(Type.String({ description, ...(examples.length > 0 && { examples }) }))

const TimeZone = Type.Object(
  {
    id: Type.String({ examples: ['America/New_York'] }),
    name: Type.String({ examples: ['Eastern Daylight Time'] }),
    code: Type.String({ examples: ['EDT'] }),
    currentTime: Type.String({ examples: ['2024-04-09T10:12:00-04:00'] }),
    utcOffset: Type.Integer({ description: 'Seconds, summer time included.' }),
    dstOffset: Type.Integer({ description: 'Seconds of summer time in it.' }),
  },
  { description: 'The time zone at the point, and what its clocks show.' },
)

const AddressSchema = Type.Object({
  latitude: Type.Number(),
  longitude: Type.Number(),
  geometry: Type.Object({
    type: Type.Literal('Point'),
    coordinates: Type.Array(Type.Number(), { description: '[longitude, latitude]' }),
  }),
  layer: Type.Union(
    LAYERS.map((layer) => Type.Literal(layer)),
    { description: 'What it is.' },
  ),
  formattedAddress: Type.String({ examples: ['Plaza Cagancha 1157, Montevideo, Uruguay'] }),
  addressLabel: text('Number and street in the order of the country, or the name.'),
  placeLabel: text('The name of a place; such a result has no `addressLabel`.'),
  categories: Type.Optional(Type.Array(Type.String(), { description: 'Of a place.' })),
  number: text('House number.'),
  unit: text('Apartment, suite or floor.'),
  street: text('Of an intersection: both.'),
  neighborhood: text('Part of a city.'),
  borough: text('Of a large city.'),
  city: text('City, town or village.'),
  county: text('Name.'),
  state: text('Name.'),
  stateCode: text('Where states have a code.', 'NY'),
  postalCode: text('Also called ZIP code.'),
  country: text('Name, in the language that `lang` asks for.'),
  countryCode: text('Alpha-2.', 'UY'),
  countryFlag: text('An emoji.'),
  timeZone: TimeZone,
  distance: Type.Optional(Type.Integer({ description: 'Metres; 0 inside.' })),
})

/** Where something is, and what is somewhere. */
export function geocodingRoutes(geocoder: Geocoder): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/geocode/reverse',
      auth: 'publishable',
      tag: TAG,
      summary: 'Find what is at a point',
      description:
        'At most one result for each layer: the nearest address, place, intersection or street within a kilometre, and the ' +
        'areas that the point lies in. Results come from the imported map regions; without one, only the city, county, state and country are known. ' +
        'Fields that are not known are absent.',
      query: Type.Object({
        coordinates: CoordinatesText,
        layers: Type.Optional(LayersText),
        lang: Type.Optional(LanguageText),
      }),
      meta: Type.Object({
        attribution: Type.String({
          description: 'The attribution to show with the results.',
          examples: ['© OpenStreetMap contributors, GeoNames'],
        }),
      }),
      answers: { 200: Type.Object({ addresses: Type.Array(AddressSchema) }) },
      handler: async ({ query, receivedAt }) => {
        const { latitude, longitude } = parseCoordinates('coordinates', query.coordinates)
        const { addresses, attribution } = await geocoder.reverse({
          position: [longitude, latitude],
          layers: parseLayers(query.layers, REVERSE_LAYERS),
          language: parseLanguage(query.lang),
          now: receivedAt,
        })
        return { body: { addresses }, meta: { attribution } }
      },
    }),
  ]
}
