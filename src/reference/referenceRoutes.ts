import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import Type from 'typebox'
import { acceptsGzip } from '../http/acceptsGzip.ts'
import { MAP_PAGE_POLICY } from '../http/pagePolicy.ts'
import { route, type Answer, type Route } from '../http/route.ts'
import { Name } from '../http/schemas.ts'
import { ApiError } from '../runtime/errors.ts'
import { Guides, GUIDES_PATH } from './guides.ts'
import { packageFolder } from '../runtime/packageFolder.ts'
import { ASSETS_PATH, guidePage, PLAYGROUND_PATH, referencePage, ROUTES_PATH } from './pages.ts'
import { playgroundPage } from './playgroundPage.ts'
import { routesPage } from './routesPage.ts'

/**
 * The reference and the guides in a browser: everything comes from this server, and the pages may ask nobody else.
 * These routes are not part of the API and not in its document.
 */

const ASSETS: ReadonlyMap<string, URL> = new Map([
  ['swagger-ui-bundle.js', new URL(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js'))],
  ['swagger-ui.css', new URL(import.meta.resolve('swagger-ui-dist/swagger-ui.css'))],
  ...[
    'key.js',
    'reference.js',
    'guide.js',
    'routes.js',
    'addressField.js',
    'routeDrawing.js',
    'map.js',
    'playground.js',
    'trustedTypes.js',
    'pages.css',
    'routes.css',
    'playground.css',
    'icon.svg',
  ].map((name) => [name, new URL(`browser/${name}`, import.meta.url)] as const),
])

/** The optional package of the map, and its files: browsers load the program, and the program its thread. */
const MAP_PACKAGE = 'maplibre-gl'
const MAP_FILES: ReadonlySet<string> = new Set([
  'maplibre-gl.mjs',
  'maplibre-gl-shared.mjs',
  'maplibre-gl-worker.mjs',
  'maplibre-gl.css',
])

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  html: 'text/html; charset=utf-8',
}

/**
 * What a page may load and request: only from this server. Swagger UI sets styles on elements and has icons as data.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A picture contains its colours and loads nothing, also when it is opened by itself. */
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

/**
 * The routes of `/docs`, its guides, its pages with maps and all of their files. Files are read at their first
 * request.
 */
export function referenceRoutes(): Route[] {
  const guides = new Guides()
  const files = new Map<string, Answer>()
  const kept = (key: string, make: () => Answer): Answer => {
    let answer = files.get(key)
    if (answer === undefined) files.set(key, (answer = make()))
    return answer
  }
  const file = (path: URL, name: string) => fileAnswer(name, readFileSync(path))
  const page = (html: string, policy = PAGE_POLICY) => fileAnswer('page.html', Buffer.from(html), policy)

  return [
    pageRoute('/docs/', undefined, () => redirect('/docs')),
    pageRoute('/docs', undefined, () => kept('/docs', () => page(referencePage()))),
    pageRoute(ROUTES_PATH, undefined, () => kept(ROUTES_PATH, () => page(routesPage(), MAP_PAGE_POLICY))),
    pageRoute(PLAYGROUND_PATH, undefined, () =>
      kept(PLAYGROUND_PATH, () => page(playgroundPage(), MAP_PAGE_POLICY)),
    ),
    pageRoute(`${ASSETS_PATH}/:name`, NameParams, ({ name }) => {
      const path = MAP_FILES.has(name) ? mapFile(name) : ASSETS.get(name)
      if (path === undefined) throw noSuchPage()
      return kept(`${ASSETS_PATH}/${name}`, () => file(path, name))
    }),
    pageRoute(GUIDES_PATH, undefined, () =>
      kept(GUIDES_PATH, () => page(guidePage(guides.entries, undefined, guides.html('README')!))),
    ),
    pageRoute(`${GUIDES_PATH}/:name`, NameParams, ({ name }) => {
      const picture = guides.picture(name)
      if (picture !== undefined && existsSync(picture))
        return kept(`${GUIDES_PATH}/${name}`, () => file(picture, name))
      const known = guides.entries.some((entry) => entry.name === name)
      if (!known) return notFoundAnswer(page(guidePage(guides.entries, undefined, NO_SUCH_GUIDE)))
      return kept(`${GUIDES_PATH}/${name}`, () => page(guidePage(guides.entries, name, guides.html(name)!)))
    }),
  ]
}

const NameParams = Type.Object({ name: Name(100) })

function pageRoute(
  path: string,
  params: typeof NameParams | undefined,
  answer: (params: { readonly name: string }) => Answer,
): Route {
  return route({
    method: 'GET',
    path,
    auth: 'none',
    tag: 'Pages',
    summary: 'A page of the reference',
    ...(params && { params }),
    answers: { 200: Type.Object({}) },
    headers: ['accept-encoding'],
    handler: (call) =>
      encoded(answer((call.params ?? { name: '' }) as { name: string }), call.headers['accept-encoding']),
  })
}

/**
 * The URL of a file.
 * @throws {ApiError} 503 if the package is not installed
 */
function mapFile(name: string): URL {
  const folder = packageFolder(MAP_PACKAGE)
  if (folder === undefined)
    throw new ApiError(503, `The package ${MAP_PACKAGE} is not installed: npm install ${MAP_PACKAGE}.`)
  return pathToFileURL(join(folder, 'dist', name))
}

function fileAnswer(name: string, content: Uint8Array, policy = PAGE_POLICY): Answer {
  const extension = name.slice(name.lastIndexOf('.') + 1)
  return {
    bytes: {
      contentType: CONTENT_TYPES[extension]!,
      content,
      etag: etagOf(content),
    },
    headers: {
      'Cache-Control': 'no-cache',
      'Content-Security-Policy': extension === 'svg' ? PICTURE_POLICY : policy,
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
    },
  }
}

function etagOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 32)
}

/** Shorter files are not packed. */
const LEAST_PACKED_BYTES = 1024
const pack = promisify(gzip)
/** The packed bytes of answers that are kept. */
const packed = new WeakMap<Answer, Promise<Uint8Array>>()

/** The answer in an encoding that the client accepts. A file is packed once, in another thread. */
async function encoded(answer: Answer, accepted: string | undefined): Promise<Answer> {
  const { bytes, headers, status } = answer
  if (bytes === undefined) return answer
  const varied = { ...headers, Vary: 'Accept-Encoding' }
  const { contentType, content } = bytes
  if (status === 404 || content.length < LEAST_PACKED_BYTES || !acceptsGzip(accepted))
    return { ...answer, headers: varied }
  let small = packed.get(answer)
  if (small === undefined) packed.set(answer, (small = pack(content)))
  return {
    bytes: { contentType, content: await small, etag: etagOf(await small) },
    headers: { ...varied, 'Content-Encoding': 'gzip' },
  }
}

/** The answer for a page that does not exist. It has no etag, because what does not exist has no version. */
function notFoundAnswer({ bytes, headers }: Answer): Answer {
  const { contentType, content } = bytes!
  return { status: 404, bytes: { contentType, content }, headers: headers! }
}

function redirect(location: string): Answer {
  return {
    status: 302,
    text: { contentType: 'text/plain; charset=utf-8', content: `See ${location}\n` },
    headers: { Location: location },
  }
}

const NO_SUCH_GUIDE = '<h1>There is no such guide</h1><p>The list shows all guides.</p>'

function noSuchPage(): ApiError {
  return new ApiError(404, 'There is no such page. /docs has the reference, /docs/guides the guides.')
}
