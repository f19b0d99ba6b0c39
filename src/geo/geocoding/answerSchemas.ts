import Type from 'typebox'
import { CONFIDENCES, LAYERS, PLACE_GROUPS } from './port.ts'

const text = (description: string, ...examples: string[]) =>
  Type.Optional(Type.String({ description, ...(examples.length > 0 && { examples }) }))

const TimeZone = Type.Object(
  {
    id: Type.String({ examples: ['America/New_York'] }),
    name: Type.String({ examples: ['Eastern Daylight Time'] }),
    code: Type.String({ examples: ['EDT'] }),
    currentTime: Type.String({ examples: ['2024-04-09T10:12:00-04:00'] }),
    utcOffset: Type.Integer({ description: 'The offset from UTC in seconds, including summer time.' }),
    dstOffset: Type.Integer({ description: 'How many seconds of the offset are summer time.' }),
  },
  { description: 'The time zone at the point, and what its clocks show.' },
)

const AddressFields = {
  number: text('House number.'),
  unit: text('Apartment, suite or floor.'),
  street: text('For an intersection, both streets.'),
  neighborhood: text('Part of a city.'),
  borough: text('A borough of a large city.'),
  city: text('City, town or village.'),
  county: text('Name.'),
  state: text('Name.'),
  stateCode: text('The code of the state, if states of the country have one.', 'NY'),
  postalCode: text('Also called ZIP code.'),
  country: text('The name in the language of `lang`.'),
  countryCode: text('The two-letter code (ISO 3166-1 alpha-2).', 'UY'),
  countryFlag: text('An emoji.'),
  formattedAddress: Type.String({ examples: ['Plaza Cagancha 1157, Montevideo, Uruguay'] }),
}

export const AddressSchema = Type.Object({
  latitude: Type.Number(),
  longitude: Type.Number(),
  geometry: Type.Object({
    type: Type.Literal('Point'),
    coordinates: Type.Array(Type.Number(), { description: '[longitude, latitude]' }),
  }),
  layer: Type.Union(
    LAYERS.map((layer) => Type.Literal(layer)),
    { description: 'The kind of the result.' },
  ),
  addressLabel: text('Number and street in the order of the country, or the name.'),
  placeLabel: text('The name of the place. Such a result has no `addressLabel`.'),
  categories: Type.Optional(Type.Array(Type.String(), { description: 'The categories of a place.' })),
  ...AddressFields,
  timeZone: TimeZone,
  distance: Type.Optional(Type.Integer({ description: 'Metres; 0 inside.' })),
  confidence: Type.Optional(
    Type.Union(
      CONFIDENCES.map((confidence) => Type.Literal(confidence)),
      {
        description:
          'Only for forward geocoding. `exact`: what was asked for. `interpolated`: a house between known ones. `fallback`: the smallest known area around it.',
      },
    ),
  ),
})

export const AddressesAnswer = Type.Object({ addresses: Type.Array(AddressSchema) })

const ChainSchema = Type.Object(
  {
    name: Type.String(),
    slug: Type.String({ examples: ['burger-king'] }),
    domain: text('Of its website.', 'bk.com'),
    externalId: text('Your own id of it, by the setting `chainMappings`.'),
    metadata: Type.Optional(
      Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
        description: 'Your own data of it, by the setting `chainMetadata`.',
      }),
    ),
  },
  { title: 'FoundChain' },
)

const PlaceSchema = Type.Object(
  {
    _id: Type.String({
      description: 'The `_id` stays the same after each import. A geofence accepts it as `placeId`.',
    }),
    name: Type.String(),
    categories: Type.Array(Type.String(), {
      description: 'Slugs, each after the categories that contain it.',
      examples: [['food-beverage', 'restaurant', 'fast-food-restaurant']],
    }),
    location: Type.Object({
      type: Type.Literal('Point'),
      coordinates: Type.Array(Type.Number(), { description: '[longitude, latitude]' }),
    }),
    chain: Type.Optional(ChainSchema),
    address: Type.Object(AddressFields, { description: 'The parts of its address that are known.' }),
    group: Type.Optional(
      Type.Union(
        PLACE_GROUPS.map((group) => Type.Literal(group)),
        { description: 'The group of an airport.' },
      ),
    ),
    operatingHours: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.Array(Type.String())), {
        description:
          'Pairs of opening and closing times by day, if the place has the same hours each week, in the format of the operating hours of a geofence.',
        examples: [{ Monday: [['09:00', '18:00']] }],
      }),
    ),
    metadata: Type.Optional(
      Type.Object({
        openingHours: text('As it is written in OpenStreetMap.', 'Mo-Fr 09:00-18:00; PH off'),
        phone: text('As it is written in OpenStreetMap.'),
        website: text('As it is written in OpenStreetMap.'),
      }),
    ),
  },
  { title: 'FoundPlace' },
)

export const PlacesAnswer = Type.Object({ places: Type.Array(PlaceSchema) })

export const AttributionMeta = Type.Object({
  attribution: Type.String({
    description: 'The attribution to show with the results.',
    examples: ['© OpenStreetMap contributors, GeoNames'],
  }),
})
