import Type from 'typebox'
import { route, type Route } from '../../http/route.ts'
import { parseIpAddress } from '../../model/ipAddress.ts'
import { badParam } from '../../runtime/errors.ts'
import { AddressSchema } from '../geocoding/answerSchemas.ts'
import { LanguageText, parseLanguage } from '../geocoding/parameters.ts'
import type { IpGeocoder } from './ipGeocoder.ts'

/** More bytes than a URL can have. */
const MOST_QUERY_BYTES = 32_768

/** The route that says where the requester is, by the IP address. */
export function ipRoutes(geocoder: IpGeocoder): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/geocode/ip',
      auth: 'publishable',
      tag: 'Geocoding',
      summary: 'Find where the requester is, by the IP address',
      description:
        'Returns the city, state and country of the IP address from which the request comes. The coordinates are those of the area, not of the ' +
        'requester. For an IP address of a private network, and for an unknown one, there is no `address`. Pages that show the result must also show `meta.attribution`.',
      query: Type.Object({
        ip: Type.Optional(
          Type.String({
            // The limit is not lower, because with a publishable key the value is ignored, whatever it is.
            maxLength: MOST_QUERY_BYTES,
            description:
              'An IPv4 or IPv6 address to look up instead of that of the request. Only used with a secret key.',
            examples: ['72.229.28.185'],
          }),
        ),
        lang: Type.Optional(LanguageText),
      }),
      meta: Type.Object({
        attribution: Type.Optional(
          Type.String({
            description: 'The attribution to show with the address.',
            examples: ['IP Geolocation by DB-IP (https://db-ip.com), © OpenStreetMap contributors'],
          }),
        ),
      }),
      answers: {
        200: Type.Object({
          ip: Type.String({
            description: 'The address in its usual form; IPv4 mapped into IPv6 is IPv4.',
            examples: ['72.229.28.185'],
          }),
          proxy: Type.Boolean({
            description: 'Whether the IP address belongs to a proxy, a VPN, a hosting company or Tor.',
          }),
          address: Type.Optional(AddressSchema),
        }),
      },
      handler: async ({ query, credentials, ip, receivedAt }) => {
        const language = parseLanguage(query.lang)
        const isAsked = query.ip !== undefined && credentials?.level === 'secret'
        if (isAsked && parseIpAddress(query.ip!) === undefined)
          throw badParam(
            'ip',
            'Must be an IPv4 address in four decimal parts, or an IPv6 address without a zone.',
          )
        const { attribution, ...body } = await geocoder.answer(isAsked ? query.ip! : ip, language, receivedAt)
        return {
          body,
          meta: { ...(attribution !== undefined && { attribution }) },
          // Each requester gets another answer, and it changes with the time of day.
          headers: { 'Cache-Control': 'private, no-store' },
        }
      },
    }),
  ]
}
