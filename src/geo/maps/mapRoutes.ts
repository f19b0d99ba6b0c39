import Type from 'typebox'
import { gunzipSync } from 'node:zlib'
import { badParam } from '../../runtime/errors.ts'
import { route, type Route } from '../../http/route.ts'
import { Text } from '../../http/schemas.ts'
import type { TileAddress } from '../mapFile/grid.ts'
import type { MapTiles } from './port.ts'

const TAG = 'Maps'
const CONTENT_TYPE = 'application/vnd.mapbox-vector-tile'
const MAX_KEY_LENGTH = 100
const MAX_NUMBER_LENGTH = 20

/** A tile whose URL names its version never changes; without it, another one may be there at any time. */
const OF_A_VERSION = 'public, max-age=86400'
const OF_NOW = 'public, no-cache'

const KeyQuery = Type.Optional(
  Text(MAX_KEY_LENGTH, 'A publishable key, for clients that cannot send the Authorization header.'),
)

export function tileRoute(tiles: MapTiles): Route {
  const number = (what: string) => Text(MAX_NUMBER_LENGTH, what)
  return route({
    method: 'GET',
    path: '/v1/maps/tiles/:z/:x/:y.mvt',
    auth: 'publishable',
    keyInQuery: true,
    isFree: true,
    tag: TAG,
    summary: 'A vector tile of the map',
    description:
      'Roads, buildings, water, land use, places and house numbers of the imported map regions, over an outline of the world, in the layers of ' +
      'the [Protomaps basemap schema](https://docs.protomaps.com/basemaps/layers). `GET /v1/maps/styles/{id}` gives a style that shows them. ' +
      'An empty tile has no bytes. Also without `/v1`. Does not count towards quotas.',
    params: Type.Object({
      z: number('Zoom.'),
      x: number('Column from the west, from 0 to 2^z - 1.'),
      y: number('Row from the north, from 0 to 2^z - 1.'),
    }),
    query: Type.Object({
      v: Type.Optional(
        Text(MAX_KEY_LENGTH, 'The version in the URLs of styles: tiles may then be kept for a day.'),
      ),
      publishableKey: KeyQuery,
    }),
    headers: ['accept-encoding'],
    answers: {
      200: Type.Object({}, { contents: { [CONTENT_TYPE]: { type: 'string', format: 'binary' } } }),
    },
    handler: async ({ params, query, headers }) => {
      const { content, etag } = await tiles.tile(addressOf(params, tiles.maxZoom))
      const isPacked = acceptsGzip(headers['accept-encoding'])
      return {
        bytes: {
          contentType: CONTENT_TYPE,
          content: isPacked ? content : gunzipSync(content),
          etag: isPacked ? etag : `${etag}-plain`,
        },
        headers: {
          'Cache-Control': query.v === tiles.version ? OF_A_VERSION : OF_NOW,
          Vary: 'Accept-Encoding',
          ...(isPacked && { 'Content-Encoding': 'gzip' }),
        },
      }
    },
  })
}

/** @throws ApiError 400 naming the parameter */
function addressOf(
  { z, x, y }: { readonly z: string; readonly x: string; readonly y: string },
  maxZoom: number,
): TileAddress {
  const zoom = numberIn('z', z, maxZoom)
  const last = 2 ** zoom - 1
  return { z: zoom, x: numberIn('x', x, last), y: numberIn('y', y, last) }
}

function numberIn(param: string, text: string, most: number): number {
  const value = /^(?:0|[1-9]\d{0,9})$/.test(text) ? Number(text) : NaN
  if (value >= 0 && value <= most) return value
  throw badParam(param, `Must be a whole number. Valid range: [0, ${most}].`)
}

/** @param accepted value of the Accept-Encoding header, if it was sent */
function acceptsGzip(accepted: string | undefined): boolean {
  return (
    accepted !== undefined &&
    /(?:^|[,\s])(?:gzip|\*)\s*(?:,|$|;\s*q=(?!0(?:\.0*)?\s*(?:,|$)))/i.test(accepted)
  )
}
