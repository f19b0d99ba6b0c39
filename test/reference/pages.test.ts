/** The pages under /docs are complete, load only from this server, and are cached by their content. */
import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'

const server = await startServer(t)

const PAGES = ['/docs', '/docs/guides', '/docs/routes', '/docs/playground']

const ODD_PATHS = [
  '/docs/assets/..%2Freference.js',
  '/docs/assets/..%2F..%2F..%2Fpackage.json',
  '/docs/assets/swagger-ui.css.map',
  '/docs/guides/README',
  '/docs/guides/..%2Foperating.md',
  '/docs/guides/draw.ts',
  '/docs/guides/no-such-picture.svg',
  '/docs/guides/quickstart/',
  '/docs/nothing',
]

t.test('every page and all that it refers to is served, nothing from other servers', async (t) => {
  const seen = new Set<string>()
  const waiting = [...PAGES]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue
    seen.add(path)
    const { status, body, headers } = await server.api('GET', path, undefined, null)
    t.equal(status, 200, path)
    if (!path.startsWith('/docs')) continue
    t.equal(headers.get('x-content-type-options'), 'nosniff', path)
    t.match(headers.get('content-security-policy'), /^default-src 'none'.*frame-ancestors 'none'/, path)
    t.notMatch(headers.get('content-security-policy'), /https?:|\*|unsafe-eval|script-src[^;]*unsafe/, path)
    t.match(headers.get('content-type'), typeOf(path), path)
    if (!headers.get('content-type')!.startsWith('text/html')) continue
    const html = body as string
    for (const [, attribute, target] of html.matchAll(/\s(href|src)="([^"]+)"/g)) {
      if (target!.startsWith('/')) waiting.push(target!.split('#')[0]!)
      else if (target!.startsWith('#'))
        t.match(html, `id="${target!.slice(1)}"`, `${path} leads to ${target}`)
      else t.ok(attribute === 'href' && target!.startsWith('https://'), `${path} refers to ${target}`)
    }
    t.notMatch(
      html,
      /<script(?! (?:defer|type="module") src="\/docs\/assets\/)|<style|\son\w+=/,
      `${path} has no script of its own`,
    )
  }
  t.ok(seen.has('/docs/assets/swagger-ui-bundle.js'))
  t.ok(seen.has('/docs/guides/quickstart'))
})

t.test('pages and files are packed for those who take it, and not sent again', async (t) => {
  const get = (path: string, headers: Record<string, string>) => fetch(server.url + path, { headers })
  for (const path of [...PAGES, '/docs/assets/swagger-ui-bundle.js', '/docs/guides/quickstart']) {
    const plain = await get(path, { 'accept-encoding': 'identity' })
    const text = await plain.text()
    t.equal(plain.headers.get('content-encoding'), null, path)
    t.equal(plain.headers.get('cache-control'), 'no-cache')
    const packed = await get(path, { 'accept-encoding': 'br, gzip' })
    t.equal(packed.headers.get('content-encoding'), 'gzip', path)
    t.equal(packed.headers.get('vary'), 'Accept-Encoding')
    t.ok(Number(packed.headers.get('content-length')) < text.length / 1.5, `${path} is smaller`)
    t.equal(await packed.text(), text)
    for (const answer of [plain, packed]) {
      const etag = answer.headers.get('etag')!
      const encoding = answer === plain ? 'identity' : 'gzip'
      const again = await get(path, { 'accept-encoding': encoding, 'if-none-match': etag })
      t.equal(again.status, 304, path)
    }
    t.not(plain.headers.get('etag'), packed.headers.get('etag'), 'each form has its own version')
  }
  t.equal((await get('/docs', { 'accept-encoding': 'gzip;q=0' })).headers.get('content-encoding'), null)
})

t.test('links to sections of another guide lead to existing sections', async (t) => {
  const htmlOf = async (path: string) => (await server.api('GET', path, undefined, null)).body as string
  const index = await htmlOf('/docs/guides')
  const guides = [...index.matchAll(/href="(\/docs\/guides\/[\w-]+)"/g)].map(([, path]) => path!)
  for (const guide of new Set(guides)) {
    const html = await htmlOf(guide)
    for (const [, path, anchor] of html.matchAll(/href="(\/docs\/guides\/[\w-]+)#([^"]+)"/g))
      t.match(await htmlOf(path!), `id="${anchor}"`, `${guide} leads to ${path}#${anchor}`)
  }
})

t.test('a client that has the current file gets 304', async (t) => {
  for (const path of [...PAGES, '/docs/assets/pages.css']) {
    const { headers } = await server.api('GET', path, undefined, null)
    const etag = headers.get('etag')!
    t.match(etag, /^"[0-9a-f]+"$/)
    const again = await server.api('GET', path, undefined, null, { 'if-none-match': etag })
    t.equal(again.status, 304, path)
    t.equal(again.body, '')
    t.equal((await server.api('GET', path, undefined, null, { 'if-none-match': '"other"' })).status, 200)
  }
})

t.test('the address of the server leads to the reference; other addresses to 404', async (t) => {
  for (const path of ['/', '/docs/']) {
    const answer = await fetch(server.url + path, { redirect: 'manual' })
    t.equal(answer.status, 302)
    t.equal(answer.headers.get('location'), '/docs')
  }
  for (const path of ODD_PATHS) t.equal(await statusOf(path), 404, path)
})

t.test('a missing guide is answered with a page', async (t) => {
  const answer = await fetch(`${server.url}/docs/guides/foo`, { headers: { 'if-none-match': '*' } })
  t.equal(answer.status, 404)
  t.match(answer.headers.get('content-type'), /^text\/html/)
  t.match(await answer.text(), /no such guide.*$/is)
})

t.test('streams are in the document, have no form, and show a real excerpt', async (t) => {
  const { paths, tags } = (await server.api('GET', '/v1/openapi.json')).body
  const stream = paths['/v1/stream'].get
  t.match(stream.description, '/docs/guides/stream')
  t.ok(stream.responses[101] && stream.responses[401] && stream.responses[426])
  t.ok(tags.some(({ name }: { name: string }) => name === 'Streams'))
  const { examples } = paths['/v1/events/stream'].get.responses[200].content['text/event-stream']
  t.match(examples.example1.value, /^: connected\n\nid: [0-9a-f]{24}\nevent: \w+\ndata: \{.*\}\n\n$/)
  const mayTry = openReference('').mayTry(paths)
  for (const [path, methods] of Object.entries(paths) as [string, object][])
    for (const method of Object.keys(methods))
      t.equal(mayTry(path, method), !['/v1/stream', '/v1/events/stream'].includes(path), `${method} ${path}`)
  // A request without an upgrade is answered with an explanation of the endpoint.
  const plain = await server.api('GET', '/v1/stream')
  t.equal(plain.status, 426)
  t.match(plain.body.meta.message, '/docs/guides/stream')
})

t.test('the pages are not part of the API: they need and show no key, and add no operation', async (t) => {
  const { body } = await server.api('GET', '/v1/openapi.json')
  t.notMatch(Object.keys(body.paths).join(' '), '/docs')
  const { body: html } = await server.api('GET', '/docs')
  for (const key of Object.values(KEYS)) t.notMatch(html, key)
})

t.test('the key of the page stays in the tab and is only sent to this server', async (t) => {
  const key = KEYS.testSecret
  const page = openReference('')
  t.equal(page.kind.textContent, 'no key: calls will be refused')
  t.notOk(page.send({ url: '/v1/users', headers: {} }).headers.Authorization)
  page.field.value = ` ${key} `
  page.input()
  t.equal(page.kind.textContent, 'test, secret')
  t.strictSame([...page.stored], [['ringfence.key', key]])
  t.equal(page.send({ url: '/v1/users', headers: {} }).headers.Authorization, key)
  t.equal(page.send({ url: 'http://127.0.0.1:8080/v1/users', headers: {} }).headers.Authorization, key)
  const elsewhere = [
    'https://example.com/v1/users',
    'http://127.0.0.1:8081/',
    '//example.com/',
    'https://127.0.0.1:8080/',
  ]
  for (const url of elsewhere) t.notOk(page.send({ url, headers: {} }).headers.Authorization, url)
  t.notOk(page.send({ url: '/v1/openapi.json', headers: {}, loadSpec: true }).headers.Authorization)
  page.field.value = 'nonsense'
  page.input()
  t.equal(page.kind.textContent, 'this is not a key')
  const live = openReference(KEYS.livePublishable)
  t.equal(live.field.value, KEYS.livePublishable, 'a reload in the tab finds it again')
  t.strictSame([live.kind.textContent, live.kind.dataset.environment], ['live, publishable', 'live'])
})

interface PageRequest {
  readonly url: string
  readonly headers: { Authorization?: string }
  readonly loadSpec?: boolean
}

/** Runs the page's scripts in a tab whose session storage holds this key. There is no other storage. */
function openReference(storedKey: string) {
  const source = ['key.js', 'reference.js']
    .map((name) => readFileSync(new URL(`../../src/reference/browser/${name}`, import.meta.url), 'utf8'))
    .join('\n')
  const stored = new Map(storedKey === '' ? [] : [['ringfence.key', storedKey]])
  let input = () => {}
  let options:
    | { requestInterceptor(request: PageRequest): PageRequest; plugins: (() => Plugin)[] }
    | undefined
  const kind = { textContent: '', dataset: {} as Record<string, string> }
  const field = { value: '', addEventListener: (_: string, listener: () => void) => void (input = listener) }
  const elements: Record<string, unknown> = { key: field, kind, reference: {} }
  runInNewContext(source, {
    URL,
    location: new URL('http://127.0.0.1:8080/docs'),
    sessionStorage: {
      getItem: (name: string) => stored.get(name) ?? null,
      setItem: (name: string, value: string) => void stored.set(name, value),
    },
    matchMedia: () => ({ matches: false, addEventListener: () => {} }),
    document: {
      getElementById: (id: string) => elements[id],
      documentElement: { classList: { toggle: () => {} } },
    },
    window: { SwaggerUIBundle: Object.assign((given: typeof options) => (options = given), { presets: {} }) },
  })
  return {
    kind,
    field,
    stored,
    input: () => input(),
    send: (request: PageRequest) => options!.requestInterceptor(request),
    /** Whether an operation of the document may be tried. */
    mayTry: (paths: object) => {
      const wrap = options!.plugins
        .map((plugin) => plugin().statePlugins)
        .find((each) => each?.spec !== undefined)!
      const specSelectors = { specJson: () => mapOf({ paths }) }
      const selector = wrap.spec!.wrapSelectors.allowTryItOutFor(() => true, { specSelectors })
      return (path: string, method: string) => selector(undefined, path, method)
    },
  }
}

interface Plugin {
  readonly statePlugins?: {
    readonly spec?: {
      readonly wrapSelectors: {
        allowTryItOutFor(
          original: () => boolean,
          system: object,
        ): (state: undefined, path: string, method: string) => boolean
      }
    }
  }
}

/** The part of an immutable map that the script uses. */
function mapOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const at = (path: readonly string[]) => {
    let part: unknown = value
    for (const key of path) part = (part as Record<string, unknown> | undefined)?.[key]
    return part
  }
  return {
    getIn: (path: readonly string[]) => mapOf(at(path)),
    hasIn: (path: readonly string[]) => at(path) !== undefined,
  }
}

async function statusOf(path: string): Promise<number> {
  return (await fetch(server.url + path)).status
}

function typeOf(path: string): RegExp {
  if (path.endsWith('.js')) return /^text\/javascript/
  if (path.endsWith('.css')) return /^text\/css/
  return path.endsWith('.svg') ? /^image\/svg\+xml/ : /^text\/html/
}
