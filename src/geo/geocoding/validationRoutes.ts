import Type from 'typebox'
import { route, type Route } from '../../http/route.ts'
import { versionedAnswer } from '../../http/versioned.ts'
import { Name, Text } from '../../http/schemas.ts'
import { badParam } from '../../runtime/errors.ts'
import { AttributionMeta } from './answerSchemas.ts'
import type { Geocoder } from './port.ts'
import { RECORD_TYPES, VERIFICATION_STATUSES } from './validation.ts'

const MOST_PART = 64
const MOST_LINE = 256

const Part = (description?: string, ...examples: string[]) =>
  Type.Optional(
    Type.String({
      ...(description !== undefined && { description }),
      ...(examples.length > 0 && { examples }),
    }),
  )

const ValidatedAddress = Type.Object({
  addressLabel: Type.String({ examples: ['841 BROADWAY FL 7'] }),
  number: Part(),
  street: Part(),
  unit: Part('The unit with its designator, such as `FL`.', 'FL 7'),
  city: Type.String(),
  stateCode: Type.String(),
  postalCode: Type.String(),
  plus4: Part('As it was sent; it is not checked.'),
  county: Part('The name of the county, without `County`.'),
  countryCode: Type.String(),
  formattedAddress: Type.String({ examples: ['841 BROADWAY FL 7, NEW YORK, NY 10003-4704 US'] }),
  metadata: Type.Object({
    recordType: Type.Union(
      RECORD_TYPES.map((type) => Type.Literal(type)),
      {
        description:
          '`S` street, `H` high-rise (units), `F` firm, `P` box at a post office, `R` rural route, `G` general delivery.',
      },
    ),
    propertyType: Type.Optional(
      Type.Union([Type.Literal('residential'), Type.Literal('commercial')], {
        description: 'Absent if it is not known.',
      }),
    ),
  }),
})

/** Validation of addresses of the United States and Canada. */
export function validationRoutes(geocoder: Geocoder): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/addresses/validate',
      auth: 'publishable',
      tag: 'Geocoding',
      summary: 'Validate an address of the United States or Canada',
      description:
        'Compares the address with the houses of the imported map regions and the postal codes of both countries, and writes it as the postal services ' +
        'do. Without houses with the postal code, it is `unverified`. Either `addressLabel` or both `number` and `street` are required.',
      query: Type.Object({
        city: Name(MOST_PART),
        stateCode: Type.String({ minLength: 2, maxLength: 2, examples: ['NY'] }),
        postalCode: Name(MOST_PART, 'With or without the last four digits.'),
        countryCode: Type.String({
          minLength: 2,
          maxLength: 2,
          description: '`US` or `CA`.',
          examples: ['US'],
        }),
        number: Type.Optional(Text(MOST_PART)),
        street: Type.Optional(Text(MOST_LINE)),
        unit: Type.Optional(Text(MOST_PART)),
        addressLabel: Type.Optional(
          Text(
            MOST_LINE,
            'The first line of the address: number, street and unit. It is used instead of the separate fields.',
          ),
        ),
      }),
      meta: AttributionMeta,
      answers: {
        200: Type.Object({
          address: ValidatedAddress,
          result: Type.Object({
            verificationStatus: Type.Union(VERIFICATION_STATUSES.map((status) => Type.Literal(status))),
            analysis: Type.Optional(
              Type.Array(Type.Union([Type.Literal('unit:missing'), Type.Literal('unit:invalid')]), {
                description: 'In the United States, where the units of the house are known.',
              }),
            ),
          }),
        }),
      },
      handler: async ({ query }) => {
        const countryCode = query.countryCode.toUpperCase()
        if (countryCode !== 'US' && countryCode !== 'CA') throw badParam('countryCode', 'Must be US or CA.')
        const stateCode = query.stateCode.toUpperCase()
        if (!/^[A-Z]{2}$/.test(stateCode)) throw badParam('stateCode', 'Must be two letters.')
        const label = query.addressLabel?.trim() ?? ''
        const [number = '', street = ''] = [query.number?.trim(), query.street?.trim()]
        if (label === '' && number === '') throw badParam('number', 'Required without addressLabel.')
        if (label === '' && street === '') throw badParam('street', 'Required without addressLabel.')
        const { validation, attribution } = await geocoder.validate({
          countryCode,
          stateCode,
          postalCode: query.postalCode,
          city: query.city,
          firstLine: label === '' ? `${number} ${street}` : label,
          unit: label === '' ? query.unit?.trim() || undefined : undefined,
        })
        const body = { address: validation.address, result: validation.result }
        return versionedAnswer({ body, meta: { attribution } })
      },
    }),
  ]
}
