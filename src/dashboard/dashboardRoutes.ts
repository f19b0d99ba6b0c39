import { createHash } from 'node:crypto'
import Type from 'typebox'
import { MAP_PAGE_POLICY } from '../http/pagePolicy.ts'
import { route, type Answer, type Route } from '../http/route.ts'
import { Name } from '../http/schemas.ts'
import { ApiError } from '../runtime/errors.ts'
import type { Dashboard, DashboardFile } from './port.ts'
import { waitingPage, WAITING_STYLE } from './waitingPage.ts'

/**
 * The dashboard in a browser. Every page of it is the same file, and its script shows the page of the address. These
 * routes are not part of the API and not in its document.
 */

/** The addresses of pages. A page of an environment has at most four parts: `/test/users/{id}/explain`. */
const PAGE_PATHS: readonly string[] = [
  '/sign-in',
  '/welcome',
  ...['test', 'live'].flatMap((environment) => [
    `/${environment}`,
    `/${environment}/:page`,
    `/${environment}/:page/:id`,
    `/${environment}/:page/:id/:part`,
  ]),
  '/keys',
  '/members',
  '/audit',
  '/shares',
  '/system',
]
const ASSETS_PATH = '/assets'
const DOCS_PATH = '/docs'

/** The policy of the page that is shown during a build, which contains its only style. */
const WAITING_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(WAITING_STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  woff2: 'font/woff2',
}
const HTML = 'text/html; charset=utf-8'

const PageParams = Type.Object({
  page: Type.Optional(Name(100)),
  id: Type.Optional(Name(300)),
  part: Type.Optional(Name(100)),
})

/** Serves `/`, the pages below it, and their files. Without a dashboard, `/` leads to the reference. */
export function dashboardRoutes(dashboard: Dashboard): Route[] {
  const page = (encodings: string): Answer => {
    const file = dashboard.page()
    if (file !== undefined) return fileAnswer(file, encodings, HTML, PAGE_HEADERS)
    if (dashboard.state === 'absent') return redirect(DOCS_PATH)
    return waitingAnswer(dashboard.state === 'failed')
  }
  const pages = ['/', ...PAGE_PATHS].map((path) =>
    route({
      method: 'GET',
      path,
      auth: 'none',
      tag: 'Pages',
      summary: 'A page of the dashboard',
      headers: ['accept-encoding'],
      ...(path.includes(':') && { params: paramsOf(path) }),
      answers: { 200: Type.Object({}) },
      handler: (call) => page(call.headers['accept-encoding'] ?? ''),
    }),
  )
  return [
    ...pages,
    route({
      method: 'GET',
      path: `${ASSETS_PATH}/:name`,
      auth: 'none',
      tag: 'Pages',
      summary: 'A file of the dashboard',
      headers: ['accept-encoding'],
      params: Type.Object({ name: Name(200) }),
      answers: { 200: Type.Object({}) },
      handler: ({ params: { name }, headers }) => {
        const file = dashboard.asset(name)
        const type = CONTENT_TYPES[name.slice(name.lastIndexOf('.') + 1)]
        if (file === undefined || type === undefined) throw new ApiError(404, 'There is no such file.')
        return fileAnswer(file, headers['accept-encoding'] ?? '', type, ASSET_HEADERS)
      },
    }),
  ]
}

const COMMON_HEADERS = {
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}
const PAGE_HEADERS = {
  ...COMMON_HEADERS,
  'Cache-Control': 'no-cache',
  'Content-Security-Policy': MAP_PAGE_POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), microphone=(), payment=(), usb=()',
  'X-Frame-Options': 'DENY',
}
/** The name of a file contains the hash of its content, so it never changes. */
const ASSET_HEADERS = {
  ...COMMON_HEADERS,
  'Cache-Control': 'public, max-age=31536000, immutable',
  'Content-Security-Policy': MAP_PAGE_POLICY,
}

function paramsOf(path: string) {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as keyof typeof PageParams.properties)
  return Type.Object(Object.fromEntries(names.map((name) => [name, Name(300)])))
}

/** Answers with a file in the smallest encoding that the browser reads. */
function fileAnswer(
  { encodings }: DashboardFile,
  accepted: string,
  contentType: string,
  headers: Readonly<Record<string, string>>,
): Answer {
  const read = new Set(accepted.split(',').map((part) => part.split(';', 1)[0]!.trim().toLowerCase()))
  const [encoding, content] = [...encodings].find(([name]) => name === 'identity' || read.has(name)) as [
    string,
    Uint8Array,
  ]
  return {
    bytes: { contentType, content, etag: etagOf(content) },
    headers: {
      ...headers,
      Vary: 'Accept-Encoding',
      ...(encoding !== 'identity' && { 'Content-Encoding': encoding }),
    },
  }
}

const etags = new WeakMap<Uint8Array, string>()

function etagOf(content: Uint8Array): string {
  let etag = etags.get(content)
  if (etag === undefined)
    etags.set(content, (etag = createHash('sha256').update(content).digest('hex').slice(0, 32)))
  return etag
}

function waitingAnswer(failed: boolean): Answer {
  return {
    status: 503,
    bytes: { contentType: HTML, content: Buffer.from(waitingPage(failed)) },
    headers: {
      ...PAGE_HEADERS,
      'Cache-Control': 'no-store',
      'Content-Security-Policy': WAITING_POLICY,
      ...(!failed && { 'Retry-After': '2' }),
    },
  }
}

function redirect(location: string): Answer {
  return {
    status: 302,
    text: { contentType: 'text/plain; charset=utf-8', content: `See ${location}\n` },
    headers: { Location: location },
  }
}
