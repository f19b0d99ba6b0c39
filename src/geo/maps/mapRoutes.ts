import Type from 'typebox'
import type { TObject } from 'typebox'
import { gunzipSync } from 'node:zlib'
import { acceptsGzip } from '../../http/acceptsGzip.ts'
import { route, type Answer, type Route } from '../../http/route.ts'
import { Text } from '../../http/schemas.ts'
import { ApiError, badParam } from '../../runtime/errors.ts'
import { parseLanguage } from '../geocoding/parameters.ts'
import type { TileAddress } from '../mapFile/grid.ts'
import { LANGUAGES } from '../records/names.ts'
import { fontOf, FONT_WEIGHTS, LETTERS, MOST_LETTER } from './fonts.ts'
import { STYLES, type StyleId } from './palettes.ts'
import type { MapContent, Maps } from './port.ts'
import { mapStyle } from './style.ts'

const TILE_TYPE = 'application/vnd.mapbox-vector-tile'
const GLYPH_TYPE = 'application/x-protobuf'
const JSON_TYPE = 'application/json; charset=utf-8'

const MOST_KEY_LENGTH = 100
const MOST_NUMBER_LENGTH = 20
const MOST_NAME_LENGTH = 256

/** For answers that change only with the version of the program or of the data. */
const FOR_A_DAY = 'public, max-age=86400'
/** The answer may be kept, but only be used after asking whether it is still right. */
const ASK_AGAIN = 'public, no-cache'

/** What all endpoints of maps have in common: clients load them by URL, often many at once. */
const COMMON = { method: 'GET', auth: 'publishable', keyInQuery: true, isFree: true, tag: 'Maps' } as const

const KeyQuery = Type.Optional(
  Text(MOST_KEY_LENGTH, 'A publishable key, for clients that cannot send the Authorization header.'),
)

/** The routes of styles, tiles, letters and icons. They also work without `/v1`. */
export function mapRoutes(maps: Maps): Route[] {
  return [styleRoute(maps), tileRoute(maps), glyphRoute(maps), spriteRoute(maps)]
}

function styleRoute(maps: Maps): Route {
  return route({
    ...COMMON,
    path: '/v1/maps/styles/:id',
    summary: 'A style of the map',
    description:
      'For MapLibre from 2.4 on, and for the map plugin of the Radar web SDK. All its URLs are absolute; with `publishableKey`, they also contain this key. ' +
      'Behind a proxy in `trustedProxies`, they follow its `X-Forwarded-Proto` and `X-Forwarded-Host`. Also without `/v1`. Does not count towards quotas.',
    params: Type.Object({ id: Text(MOST_NAME_LENGTH, `One of ${Object.keys(STYLES).join(', ')}.`) }),
    query: Type.Object({
      language: Type.Optional(
        Text(
          64,
          `The language of names, if the data have them in this language: ${LANGUAGES.join(', ')}. Without it, names are in the language of the place.`,
        ),
      ),
      publishableKey: KeyQuery,
    }),
    headers: ['host', 'x-forwarded-host', 'x-forwarded-proto'],
    answers: {
      200: fileOf('application/json', Type.Object({}, { description: 'A MapLibre style, without `meta`.' })),
    },
    handler: ({ params: { id }, query, headers }) => {
      if (!Object.hasOwn(STYLES, id)) {
        const sentence = `There is no style ${id}; there are ${Object.keys(STYLES).join(', ')}.`
        throw new ApiError(404, `id: ${sentence}`, { param: 'id' })
      }
      const { language, publishableKey: key } = query
      // The client asks for them when it has read the style and its first tiles.
      maps.prepare()
      const style = mapStyle(
        {
          id: id as StyleId,
          language: language === undefined ? undefined : parseLanguage(language, 'language'),
          origin: originOf(headers),
          key,
        },
        maps,
      )
      return {
        text: { contentType: JSON_TYPE, content: JSON.stringify(style) },
        headers: { 'Cache-Control': ASK_AGAIN },
      }
    },
  })
}

function tileRoute(maps: Maps): Route {
  return route({
    ...COMMON,
    path: '/v1/maps/tiles/:z/:x/:y.mvt',
    summary: 'A vector tile of the map',
    description:
      'Roads, buildings, water, land use, places and house numbers of the imported map regions, over an outline of the world, in the layers of ' +
      'the [Protomaps basemap schema](https://docs.protomaps.com/basemaps/layers). `GET /v1/maps/styles/{id}` gives a style that shows them. ' +
      'An empty tile has no bytes. Also without `/v1`. Does not count towards quotas.',
    params: Type.Object({
      z: Text(MOST_NUMBER_LENGTH, 'Zoom.'),
      x: Text(MOST_NUMBER_LENGTH, 'Column from the west, from 0 to 2^z - 1.'),
      y: Text(MOST_NUMBER_LENGTH, 'Row from the north, from 0 to 2^z - 1.'),
    }),
    query: Type.Object({
      v: Type.Optional(
        Text(MOST_NAME_LENGTH, 'The version in the URLs of styles: tiles may then be kept for a day.'),
      ),
      publishableKey: KeyQuery,
    }),
    headers: ['accept-encoding'],
    answers: { 200: fileOf(TILE_TYPE) },
    handler: async ({ params, query, headers }) => {
      const tile = await maps.tile(tileAddress(params, maps.maxZoom))
      return fileAnswer(tile, TILE_TYPE, query.v === maps.version ? FOR_A_DAY : ASK_AGAIN, headers)
    },
  })
}

function glyphRoute(maps: Maps): Route {
  const fonts = Object.keys(FONT_WEIGHTS).join(', ')
  return route({
    ...COMMON,
    path: '/v1/maps/glyphs/:fontstack/:range.pbf',
    summary: 'Letters of a font, for maps',
    description: `256 letters as signed distance fields, of Noto Sans (SIL Open Font License 1.1). Also without \`/v1\`. Does not count towards quotas.`,
    params: Type.Object({
      fontstack: Text(MOST_NAME_LENGTH, `Fonts in the order of preference, separated by commas: ${fonts}.`),
      range: Text(
        MOST_NUMBER_LENGTH,
        'The first and the last letter: 0-255, 256-511, and so on to 65280-65535.',
      ),
    }),
    query: Type.Object({ publishableKey: KeyQuery }),
    headers: ['accept-encoding'],
    answers: { 200: fileOf(GLYPH_TYPE) },
    handler: async ({ params: { fontstack, range }, headers }) => {
      const font = fontOf(fontstack)
      if (font === undefined)
        throw new ApiError(404, `fontstack: There is no such font; there are ${fonts}.`, {
          param: 'fontstack',
        })
      return fileAnswer(await maps.letters(font, startOf(range)), GLYPH_TYPE, FOR_A_DAY, headers)
    },
  })
}

function spriteRoute(maps: Maps): Route {
  return route({
    ...COMMON,
    path: '/v1/maps/sprites/:name',
    summary: 'Icons for maps',
    description:
      'The icons of Maki (CC0) in one picture, as signed distance fields, and the position of each icon in it. Also without `/v1`. Does not count towards quotas.',
    params: Type.Object({
      name: Text(MOST_NAME_LENGTH, 'icons.json, icons.png, icons@2x.json or icons@2x.png.'),
    }),
    query: Type.Object({ publishableKey: KeyQuery }),
    headers: ['accept-encoding'],
    answers: {
      200: Type.Object(
        {},
        {
          contents: {
            'application/json': Type.Object({}),
            'image/png': Type.String({ format: 'binary' }),
          },
        },
      ),
    },
    handler: async ({ params: { name }, headers }) => {
      const [, large, form] = /^icons(@2x)?\.(json|png)$/.exec(name) ?? []
      if (form === undefined)
        throw new ApiError(
          404,
          'name: There is no such file; there are icons.json and icons.png, and both with @2x.',
          {
            param: 'name',
          },
        )
      const file = await maps.icons(large === undefined ? 1 : 2, form as 'json' | 'png')
      return fileAnswer(file, form === 'json' ? JSON_TYPE : 'image/png', FOR_A_DAY, headers)
    },
  })
}

function fileOf(
  type: string,
  schema: TObject | ReturnType<typeof Type.String> = Type.String({ format: 'binary' }),
) {
  return Type.Object({}, { contents: { [type]: schema } })
}

function fileAnswer(
  { content, isPacked, etag }: MapContent,
  contentType: string,
  caching: string,
  headers: Readonly<Record<string, string>>,
): Answer {
  const isSentPacked = isPacked && acceptsGzip(headers['accept-encoding'])
  return {
    bytes: {
      contentType,
      content: isPacked && !isSentPacked ? gunzipSync(content) : content,
      etag: isPacked && !isSentPacked ? `${etag}-plain` : etag,
    },
    headers: {
      'Cache-Control': caching,
      Vary: 'Accept-Encoding',
      ...(isSentPacked && { 'Content-Encoding': 'gzip' }),
    },
  }
}

/**
 * The server's address, as the client reaches it.
 * @throws {ApiError} 400 naming the header
 */
function originOf(headers: Readonly<Record<string, string>>): string {
  const name = headers['x-forwarded-host'] === undefined ? 'host' : 'x-forwarded-host'
  // If there are several proxies, the first one talks to the client.
  const host = (headers[name] ?? '').split(',', 1)[0]!.trim()
  // The host becomes a part of URLs.
  if (host.length > MOST_NAME_LENGTH || !/^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(host))
    throw badParam(name, 'Must be the name or address of a host, with its port if it has one.')
  const isSecure = headers['x-forwarded-proto']?.split(',', 1)[0]?.trim().toLowerCase() === 'https'
  return `${isSecure ? 'https' : 'http'}://${host}`
}

/**
 * The tile that the parameters name.
 * @throws {ApiError} 400 naming the parameter
 */
export function tileAddress(
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

/**
 * The first letter of a range.
 * @throws {ApiError} 404 naming `range`
 */
function startOf(range: string): number {
  const [, first, last] = /^(0|[1-9]\d{0,4})-([1-9]\d{0,4})$/.exec(range) ?? []
  const start = Number(first)
  if (start % LETTERS === 0 && Number(last) === start + LETTERS - 1 && start <= MOST_LETTER) return start
  throw new ApiError(404, 'range: There are 0-255, 256-511, and so on to 65280-65535.', { param: 'range' })
}
