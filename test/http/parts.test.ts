/** The parts of the API machinery that are worth testing by themselves. */
import t from 'tap'
import Type from 'typebox'
import type { HttpResponse } from 'uWebSockets.js'
import { Validator as OpenApiValidator } from '@seriousme/openapi-schema-validator'
import {
  eachPiece,
  isManyKilobytes,
  listPieces,
  successBytes,
  successText,
} from '../../src/http/answerText.ts'
import { textPieces } from '../../src/runtime/textPieces.ts'
import { ClientAddress, Peers } from '../../src/http/clientAddress.ts'
import { openApiDocument, openApiRoute } from '../../src/http/openapi.ts'
import { LIMIT_NAMES, withLimits } from '../../src/http/limits.ts'
import { RateLimiter } from '../../src/http/rateLimit.ts'
import { route, type Method, type Route } from '../../src/http/route.ts'
import { Router } from '../../src/http/router.ts'
import { parseCoordinates, parseDate } from '../../src/http/schemas.ts'
import { writeLarge } from '../../src/http/wire.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import fc from '../kit/fastCheck.ts'
import { toyRoutes, toyServer } from './toy.ts'

const RUNS = Number(process.env.RINGFENCE_TEST_RUNS ?? 1)

t.test('dates', (t) => {
  const cases: readonly (readonly [string | number, string])[] = [
    ['2026-11-20T04:21:00.123Z', '2026-11-20T04:21:00.123Z'],
    ['2026-11-20T04:21:00Z', '2026-11-20T04:21:00.000Z'],
    ['2026-11-20T04:21Z', '2026-11-20T04:21:00.000Z'],
    ['2026-11-20T04:21:00.123456789Z', '2026-11-20T04:21:00.123Z'],
    ['2026-11-20T04:21:00.5+02:00', '2026-11-20T02:21:00.500Z'],
    ['2026-11-20T04:21:00-0530', '2026-11-20T09:51:00.000Z'],
    ['2026-11-20 04:21:00+01', '2026-11-20T03:21:00.000Z'],
    ['2026-11-20T04:21:00', '2026-11-20T04:21:00.000Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2026-11-20T24:00:00Z', '2026-11-21T00:00:00.000Z'],
    ['2026-12-31T23:59:60Z', '2027-01-01T00:00:00.000Z'],
    [' 2026-11-20 ', '2026-11-20T00:00:00.000Z'],
    ['0050-01-01', '0050-01-01T00:00:00.000Z'],
    ['Fri, 20 Nov 2026 04:21:00 GMT', '2026-11-20T04:21:00.000Z'],
    ['Fri Nov 20 2026 05:21:00 GMT+0100 (Central European Standard Time)', '2026-11-20T04:21:00.000Z'],
    [1_795_148_460_123, '2026-11-20T04:21:00.123Z'],
    ['1795148460123', '2026-11-20T04:21:00.123Z'],
    [1_795_148_460, '2026-11-20T04:21:00.000Z'],
    ['1795148460.5', '2026-11-20T04:21:00.500Z'],
    [0, '1970-01-01T00:00:00.000Z'],
  ]
  for (const [given, wanted] of cases)
    t.equal(new Date(parseDate('at', given)).toISOString(), wanted, String(given))
  const bad = [
    '',
    'now',
    'tomorrow',
    '2026',
    '2026-11',
    '2026-13-01',
    '2026-02-30',
    '2026-00-10',
    '2026-11-20T25:00Z',
    '2026-11-20T24:00:01Z',
    '2026-11-20T04:60Z',
    '2026-11-20T04:21:00+15:00',
    '2026-11-20T',
    'foo 1',
    '20-11-2026',
    '99999999999999999999',
    'Fri Nov 99 2026 05:21:00 GMT',
    Number.NaN,
    Infinity,
    1e20,
    -1e15,
    '0000-01-01',
  ]
  for (const given of bad) {
    t.throws(() => parseDate('at', given), { code: 400, param: 'at' }, String(given))
  }
  fc.assert(
    fc.property(
      fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }),
      (date) => {
        return parseDate('at', date.toISOString()) === date.getTime()
      },
    ),
    { numRuns: 300 * RUNS },
  )
  t.end()
})

t.test('coordinates', (t) => {
  for (const [text, latitude, longitude] of [
    ['40.7342,-73.9911', 40.7342, -73.9911],
    [' 40 , +7 ', 40, 7],
    ['-90,180', -90, 180],
    ['.5,-1e-3', 0.5, -0.001],
  ] as const) {
    t.strictSame(parseCoordinates('near', text), { latitude, longitude })
  }
  for (const bad of ['', ',', '1', '1,', '1,2,3', 'a,b', 'NaN,1', '1;2', '0x1,2', 'Infinity,1', '1 2']) {
    t.throws(
      () => parseCoordinates('near', bad),
      { code: 400, message: 'near: Must be latitude,longitude.' },
      bad,
    )
  }
  t.throws(() => parseCoordinates('near', '90.001,0'), {
    message: 'near: Invalid latitude. Valid range: [-90, 90].',
  })
  t.throws(() => parseCoordinates('near', '0,1e9'), {
    message: 'near: Invalid longitude. Valid range: [-180, 180].',
  })
  t.end()
})

t.test('a rate limiter allows the same as a token bucket', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.tuple(fc.nat(2), fc.nat(400)), { maxLength: 200 }),
      (perSecond, calls) => {
        const limiter = new RateLimiter(perSecond)
        const buckets = new Map<string, { tokens: number; at: number }>()
        let now = 1.8e12
        for (const [who, pause] of calls) {
          now += pause
          const caller = `caller ${who}`
          const bucket = buckets.get(caller) ?? { tokens: perSecond, at: now }
          bucket.tokens = Math.min(perSecond, bucket.tokens + ((now - bucket.at) * perSecond) / 1000)
          bucket.at = now
          const allowed = bucket.tokens >= 1 - 1e-3
          if (allowed) bucket.tokens -= 1
          buckets.set(caller, bucket)
          let passed = true
          try {
            limiter.take(caller, now)
          } catch (error) {
            passed = false
            if (!(error instanceof ApiError) || error.code !== 429 || error.retryAfter !== 1) throw error
          }
          // Within the tolerance of the limiter, both results are right.
          const before = bucket.tokens + (allowed ? 1 : 0)
          if (passed !== allowed && Math.abs(before - 1) > 0.06) {
            throw new Error(`${passed ? 'passed' : 'held'} with ${before} tokens`)
          }
          if (passed !== allowed) bucket.tokens += allowed ? 1 : -1
        }
      },
    ),
    { numRuns: 200 * RUNS },
  )

  const small = new RateLimiter(1, 100)
  for (let i = 0; i < 10_000; i++) small.take(`caller ${i}`, 1.8e12)
  t.ok(small.size <= 100, 'memory is bounded')
  small.take('later', 1.8e12 + 5000)
  t.ok(small.size <= 100)
  const backwards = new RateLimiter(1)
  backwards.take('a', 1.8e12)
  backwards.take('a', 1.7e12)
  t.throws(() => backwards.take('a', 1.7e12), { code: 429 }, 'a clock set back locks nobody out')
  t.end()
})

t.test('every endpoint finds its rate limit', (t) => {
  const stub = (endpoint: string, auth: Route['auth'] = 'publishable'): Route => {
    const [method, path] = endpoint.split(' ') as [Method, string]
    return route({ method, path, auth, summary: '', tag: '', answers: {}, handler: () => ({}) })
  }
  // The limits of the interface, copied literally.
  const table = {
    'POST /v1/track': '1 device',
    'GET /v1/context': '10 key',
    'GET /v1/geocode/forward': '10 key',
    'GET /v1/geocode/reverse': '10 key',
    'GET /v1/geocode/ip': '10 address',
    'GET /v1/search/autocomplete': '10 key',
    'GET /v1/search/users': '100 key',
    'GET /v1/search/geofences': '100 key',
    'GET /v1/search/places': '150 key',
    'GET /v1/addresses/validate': '100 key',
    'GET /v1/route/distance': '100 key',
    'GET /v1/route/matrix': '20 key',
    'POST /v1/route/match': '10 key',
    'GET /v1/route/directions': '10 key',
    'GET /v1/route/optimize': '10 key',
  }
  const limitsOf = (routes: readonly Route[], changes: Record<string, number> = {}): unknown[] =>
    withLimits(routes, changes).map(({ limit }) => limit && `${limit.perSecond} ${limit.by}`)
  t.strictSame(limitsOf(Object.keys(table).map((endpoint) => stub(endpoint))), Object.values(table))
  for (const endpoint of Object.keys(table)) t.ok(LIMIT_NAMES.includes(endpoint), endpoint)

  const others = [
    stub('GET /v1/users', 'secret'),
    stub('GET /v1/search/users', 'secret'),
    stub('GET /v1/config'),
    stub('GET /healthz', 'none'),
  ]
  t.strictSame(limitsOf(others), ['100 key', '100 key', undefined, undefined])
  const changes = { management: 7, 'GET /v1/search/users': Infinity, 'POST /v1/track': 3 }
  t.strictSame(limitsOf(others, changes), ['7 key', undefined, undefined, undefined])
  t.strictSame(limitsOf([stub('POST /v1/track')], changes), ['3 device'])
  t.end()
})

t.test('the requester of a request', (t) => {
  const nobody = new ClientAddress([])
  t.equal(nobody.trustsAnybody, false)
  t.equal(nobody.peer(Uint8Array.of(10, 0, 0, 1).buffer), '10.0.0.1')
  t.equal(nobody.peer(Uint8Array.of(255, 255, 255, 255).buffer), '255.255.255.255')
  const six = (...groups: number[]): ArrayBuffer =>
    Uint8Array.from(groups.flatMap((g) => [g >> 8, g & 255])).buffer
  t.equal(nobody.peer(six(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)), '2001:db8::1')
  t.equal(nobody.peer(six(0, 0, 0, 0, 0, 0xffff, 0x0102, 0x0304)), '1.2.3.4')
  t.equal(nobody.peer(new ArrayBuffer(0)), '')

  const proxies = new ClientAddress(['10.0.0.0/8', '192.168.1.1', '2001:db8::/32', '::ffff:172.16.0.0/108'])
  const cases: readonly (readonly [peer: string, forwardedFor: string, requester: string])[] = [
    ['10.1.1.1', '', '10.1.1.1'],
    ['10.1.1.1', '8.8.8.8', '8.8.8.8'],
    ['11.1.1.1', '8.8.8.8', '11.1.1.1'],
    ['10.1.1.1', '6.6.6.6, 8.8.8.8', '8.8.8.8'],
    ['10.1.1.1', '6.6.6.6,8.8.8.8 , 192.168.1.1,10.2.2.2', '8.8.8.8'],
    ['10.1.1.1', '10.3.3.3, 10.2.2.2', '10.3.3.3'],
    ['10.1.1.1', '8.8.8.8:1234', '8.8.8.8'],
    ['10.1.1.1', '[2001:470::1]:443', '2001:470::1'],
    ['10.1.1.1', '2001:470:0:0::1', '2001:470::1'],
    ['10.1.1.1', '::ffff:8.8.4.4', '8.8.4.4'],
    ['2001:db8::5', '8.8.8.8', '8.8.8.8'],
    ['172.16.9.9', '8.8.8.8', '8.8.8.8'],
    ['172.32.9.9', '8.8.8.8', '172.32.9.9'],
    ['10.1.1.1', 'unknown', '10.1.1.1'],
    ['10.1.1.1', '8.8.8.8, _hidden', '10.1.1.1'],
    ['10.1.1.1', '127.1, 0x7f000001', '10.1.1.1'],
    ['10.1.1.1', ',', '10.1.1.1'],
    ['', '8.8.8.8', ''],
  ]
  for (const [peer, forwardedFor, wanted] of cases) {
    t.equal(proxies.requester(peer, forwardedFor), wanted, `${peer} says ${forwardedFor}`)
  }
  for (const bad of ['', 'localhost', '10.0.0.0/33', '1.2.3', '::1/129']) {
    t.throws(() => new ClientAddress([bad]), { message: /neither an address nor a CIDR range/ }, bad)
  }
  t.end()
})

t.test('a common peer of all connections is never wrong', (t) => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.boolean()), { maxLength: 30 }), (changes) => {
      const peers = new Peers()
      const open: string[] = []
      for (const [peer, connects] of changes) {
        if (connects) {
          open.push(peer)
          peers.connected(peer)
        } else if (open.length > 0) {
          open.pop()
          peers.disconnected()
        }
        const { sole } = peers
        if (sole !== undefined && open.some((each) => each !== sole)) return false
      }
      return true
    }),
    { numRuns: 500 * RUNS },
  )
  const peers = new Peers()
  peers.connected('a')
  peers.connected('a')
  t.equal(peers.sole, 'a')
  peers.connected('b')
  t.equal(peers.sole, undefined)
  for (let i = 0; i < 3; i++) peers.disconnected()
  peers.connected('b')
  t.equal(peers.sole, 'b', 'known again after nobody was connected')
  t.end()
})

t.test('the router finds the same as trying every route in order of rank', (t) => {
  const segment = fc.constantFrom('a', 'b', ':x', ':y')
  const method = fc.constantFrom<Method>('GET', 'PUT')
  const table = fc.uniqueArray(fc.tuple(method, fc.array(segment, { minLength: 1, maxLength: 4 })), {
    selector: ([verb, path]) =>
      `${verb} ${path.map((part) => (part.startsWith(':') ? ':' : part)).join('/')}`,
    maxLength: 12,
  })
  const path = fc.array(fc.constantFrom('a', 'b', 'c', '%61'), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(table, method, path, (routes, verb, parts) => {
      const router = new Router<string>()
      for (const [each, pattern] of routes)
        router.add(each, `/${pattern.join('/')}`, `${each} ${pattern.join('/')}`)
      const fits = routes.filter(
        ([, pattern]) =>
          pattern.length === parts.length &&
          pattern.every((part, i) => part.startsWith(':') || part === decodeURIComponent(parts[i]!)),
      )
      const rank = (pattern: readonly string[]): string =>
        pattern.map((part) => +part.startsWith(':')).join('')
      const [best] = fits
        .filter(([each]) => each === verb)
        .toSorted(([, a], [, b]) => rank(a).localeCompare(rank(b)))
      const match = router.match(verb, `/${parts.join('/')}`)
      if (best !== undefined) {
        const segments = parts.filter((_, i) => best[1][i]!.startsWith(':'))
        t.strictSame(match, { value: `${best[0]} ${best[1].join('/')}`, segments })
      } else if (fits.length > 0) {
        t.strictSame(match?.value, undefined)
        const allowed = match !== undefined && 'allowed' in match ? match.allowed.toSorted() : undefined
        t.strictSame(allowed, [...new Set(fits.map(([each]) => each))].toSorted())
      } else {
        t.equal(match, undefined)
      }
    }),
    { numRuns: 300 * RUNS },
  )
  const router = new Router<number>()
  router.add('GET', '/a/:x', 1)
  t.throws(() => router.add('GET', '/a/:y', 2), { message: 'Two routes for GET /a/:y.' })

  router.add('GET', '/a/:id/users', 3, ([id]) => id === '7')
  t.equal(router.match('GET', '/a/8/users'), undefined, 'not accepted, and nobody else has it')
  router.add('GET', '/a/:tag/:externalId', 4)
  t.strictSame(router.match('GET', '/a/7/users'), { value: 3, segments: ['7'] })
  t.strictSame(router.match('GET', '/a/8/users'), { value: 4, segments: ['8', 'users'] })
  t.end()
})

t.test('the OpenAPI document', async (t) => {
  const routes = toyRoutes()
  const toy = await toyServer(t, { routes: [...routes, openApiRoute(routes, '1.2.3')] })
  const { status, body, headers } = await toy.call('/v1/openapi.json')
  t.equal(status, 200)
  t.equal(headers.get('content-type'), 'application/json; charset=utf-8')
  t.equal(headers.get('vary'), 'Accept-Encoding')
  const packed = await toy.call('/v1/openapi.json', { headers: { 'accept-encoding': 'gzip' } })
  t.equal(packed.headers.get('content-encoding'), 'gzip')
  t.strictSame(packed.body, body, 'it is the same, packed')
  for (const accepted of ['gzip', 'identity']) {
    const asked = { 'accept-encoding': accepted }
    const etag = (await toy.call('/v1/openapi.json', { headers: asked })).headers.get('etag')!
    const again = await toy.call('/v1/openapi.json', { headers: { ...asked, 'if-none-match': etag } })
    t.equal(again.status, 304, `a client that has it does not get it again: ${accepted}`)
  }
  const result = await new OpenApiValidator().validate(structuredClone(body))
  t.strictSame(result.errors, undefined)
  t.equal(result.valid, true)
  t.equal(body.openapi, '3.1.0')
  t.equal(body.info.version, '1.2.3')
  const wanted = [...routes.map((each) => each.path), '/v1/openapi.json'].map((path) =>
    path.replaceAll(/:(\w+)/g, '{$1}'),
  )
  t.strictSame(Object.keys(body.paths).toSorted(), [...new Set(wanted)].toSorted())

  const track = body.paths['/v1/track'].post
  t.strictSame(track.security, [{ publishableKey: [] }, { session: [] }])
  const sent = track.requestBody.content['application/json'].schema
  t.strictSame(sent.required, ['deviceId', 'latitude', 'longitude'])
  t.strictSame(
    sent.properties.items.items,
    { $ref: '#/components/schemas/Item' },
    'a titled schema is a component',
  )
  t.ok(body.components.schemas.Item)
  t.ok(track.responses[400] && track.responses[401] && track.responses[413])
  t.strictSame(body.paths['/v1/things/{tag}/{externalId}'].put.security, [{ secretKey: [] }, { session: [] }])
  t.strictSame(body.paths['/v1/things/{id}'].get.security, [])
  const search: { name: string; required: boolean; style?: string }[] =
    body.paths['/v1/search'].get.parameters
  t.strictSame(
    search.map(({ name, required, style }) => [name, required, style]),
    [
      ['near', false, undefined],
      ['radius', false, undefined],
      ['limit', false, undefined],
      ['includeGeometry', false, undefined],
      ['tags', false, undefined],
      ['metadata', false, 'deepObject'],
    ],
    'what has a default need not be sent',
  )
  t.ok(body.paths['/v1/limited'].get.responses[429])

  const titled = (schema: ReturnType<typeof Type.Object>, path: string): Route =>
    route({
      method: 'GET',
      path,
      auth: 'none',
      summary: 's',
      tag: 't',
      answers: { 200: Type.Object({ x: schema }) },
      handler: () => ({}),
    })
  t.throws(
    () =>
      openApiDocument(
        [
          titled(Type.Object({ a: Type.String() }, { title: 'Same' }), '/a'),
          titled(Type.Object({ b: Type.String() }, { title: 'Same' }), '/b'),
        ],
        '1',
      ),
    { message: 'Two different schemas are titled "Same".' },
  )
})

t.test('a long text is cut into pieces, but not within a character', async (t) => {
  for (const shift of [0, 1]) {
    const text = 'x'.repeat(shift) + '\u{1F6F0}'.repeat(200_000)
    const pieces = textPieces(text)
    t.ok(pieces.length > 3, `${pieces.length} pieces`)
    t.ok(Buffer.concat(pieces.map((piece) => Buffer.from(piece))).equals(Buffer.from(text)))
  }
  t.strictSame(textPieces('{}'), ['{}'])
})

t.test(
  'an answer in pieces has the same bytes, in turns or at once, also if its pieces are made while they are read',
  async (t) => {
    const items = Array.from({ length: 3000 }, (_, i) =>
      JSON.stringify({ i, text: `é\u{1F6F0}${'x'.repeat(i % 300)}` }),
    )
    items.push(JSON.stringify('long'.repeat(100_000)))
    const made = () => eachPiece('"events":', items, ',"user":null')
    const meta = { omittedEvents: 1 }
    const answer = { meta, pieces: { [Symbol.iterator]: made } }
    const text = `{"meta":{"code":200,"omittedEvents":1},"events":[${items.join(',')}],"user":null}`
    t.equal(successText(200, answer), text)
    t.ok(isManyKilobytes(answer.pieces))
    const bytes = await successBytes(200, answer)
    t.equal(Buffer.from(bytes).toString(), text)
    t.strictSame(listPieces('"events":', items, ',"user":null'), [...made()])
    t.strictSame(listPieces('"x":', []), ['"x":[', ']'])
  },
)

t.test(
  'a large body goes to its socket in turns, whether the socket takes all of it or a part',
  async (t) => {
    const body = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => i % 251))
    for (const taken of [Infinity, 300_000]) {
      let turn = 0
      let isOver = false
      const count = () => {
        turn++
        if (!isOver) setImmediate(count)
      }
      setImmediate(count)
      let writable: ((offset: number) => boolean) | undefined
      const written: Buffer[] = []
      const turns: number[] = []
      let offset = 0
      const res = {
        tryEnd(bytes: Uint8Array, total: number): [boolean, boolean] {
          const some = Buffer.from(bytes.subarray(0, taken))
          written.push(some)
          turns.push(turn)
          offset += some.length
          t.equal(total, body.length)
          const isTaken = some.length === bytes.length
          if (!isTaken) setTimeout(() => writable!(offset), 1)
          return [isTaken, offset === total]
        },
        onWritable(handler: (offset: number) => boolean) {
          writable = handler
        },
        cork: (write: () => void) => write(),
      } as unknown as HttpResponse
      await new Promise<void>((done) => {
        const kept = writeLarge(res, body, () => false, done)
        t.equal(kept, body.length)
      })
      isOver = true
      t.ok(Buffer.concat(written).equals(body))
      t.ok(Math.max(...written.map(({ length }) => length)) <= 512 * 1024)
      t.equal(new Set(turns).size, turns.length, 'each piece has a turn of its own')
    }
    const small = { tryEnd: () => [true, true] } as unknown as HttpResponse
    t.equal(
      writeLarge(
        small,
        body.subarray(0, 100_000),
        () => false,
        () => t.fail('it is written already'),
      ),
      0,
    )
  },
)
