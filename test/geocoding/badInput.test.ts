/**
 * Hostile and malformed values in every parameter of geocoding, search and validation: each is answered 200, or 400 with
 * the name of that very parameter, and a harmless question has the same answer afterwards. Extracts and files of addresses
 * with such texts: test/geodata/hostileExtracts.slow.test.ts and addAddresses.test.ts; IP addresses: test/ip.
 */
import t from 'tap'
import { streets } from '../geodata/kit.ts'
import { buildRegion, serveGeocoding } from './kit.ts'

const AT = '-34,-56'
const grid = streets([-56, -34])
grid.nodes.push(
  {
    id: 9001,
    longitude: -56.0001,
    latitude: -34.0001,
    tags: { 'addr:housenumber': '12', 'addr:street': 'Calle "Uno"', 'addr:city': 'San Juan' },
  },
  { id: 9002, longitude: -56.0002, latitude: -34.0002, tags: { amenity: 'cafe', name: 'Café * NEAR(a)' } },
  {
    id: 9003,
    longitude: -56.0003,
    latitude: -34.0003,
    tags: { amenity: 'cafe', name: 'Café Paz ☕', 'name:ar': 'مقهى السلام' },
  },
)
const served = await serveGeocoding(t, [await buildRegion(t, 'grid', grid)])

/** The parameters of each endpoint, with values that are right. */
const QUESTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/v1/geocode/forward': { query: 'calle uno 12', layers: 'address', country: 'UY', lang: 'es' },
  '/v1/geocode/reverse': { coordinates: AT, layers: 'address', lang: 'es' },
  '/v1/search/autocomplete': {
    query: 'calle u',
    near: AT,
    layers: 'address',
    limit: '3',
    countryCode: 'UY',
    postalCode: '11000',
    mailable: 'false',
    lang: 'es',
    sessionToken: 'x',
    expandUnits: 'true',
  },
  '/v1/search/places': {
    near: AT,
    chains: 'x',
    categories: 'cafe',
    groups: 'airport',
    'chainMetadata[k]': 'v',
    country: 'UY',
    radius: '100',
    limit: '3',
  },
  '/v1/addresses/validate': {
    addressLabel: '841 Broadway',
    city: 'New York',
    stateCode: 'NY',
    postalCode: '10003',
    countryCode: 'US',
    number: '841',
    street: 'Broadway',
    unit: '7',
  },
}

const VALUES = [
  '',
  ' ',
  'x',
  'x'.repeat(10_000),
  '"',
  '*',
  'calle* OR 1',
  'NEAR(calle uno)',
  '-',
  'calle -uno',
  '"calle',
  'a AND NOT b:c ^ {d}',
  '🏠🇺🇾👨‍👩‍👧',
  'مرحبا بالعالم ١٢',
  '\u202eunu ellac\u202c',
  '\u0000',
  'tab\tand\r\nlines',
  "'; DROP TABLE address; --",
  '1 OR 1=1',
  'x") UNION SELECT * FROM sqlite_master --',
  '<script>alert(1)</script>',
  '../../etc/passwd',
  '%00%ff',
  '${7*7}',
  '__proto__',
  'constructor',
  '0',
  '-1',
  '101',
  '1.5',
  'abc',
  'NaN',
  '1e999',
  '0x10',
  '91,0',
  '0,181',
  '1,2,3',
  ',',
  ',,,address,,,',
  '9'.repeat(400),
]

const harmless = async (): Promise<unknown> => {
  const { body } = await served.get('/v1/geocode/forward', { query: 'Calle Uno 12, San Juan' })
  return body.addresses.map(({ addressLabel, latitude }: Record<string, unknown>) => [addressLabel, latitude])
}

t.test('any value in any parameter', async (t) => {
  const before = await harmless()
  t.strictSame(before, [['Calle "Uno" 12', -34.0001]])
  const refused = new Set<string>()
  const check = async (path: string, param: string, query: Record<string, string>): Promise<void> => {
    const { status, body } = await served.get(path, query)
    const where = `${path} ${param}=${query[param]!.slice(0, 40)}`
    if (status === 400) {
      refused.add(`${path} ${param}`)
      // Chains are asked for if a kind is missing, whichever was empty.
      const name = param.replace('[', '.').replace(']', '')
      const named = param === 'categories' || param === 'groups' ? [name, 'chains'] : [name]
      if (!named.includes(body.meta.param)) t.fail(`${where}: 400 names ${body.meta.param}`)
    } else if (status !== 200) t.fail(`${where}: ${status} ${JSON.stringify(body)}`)
  }
  for (const [path, question] of Object.entries(QUESTIONS))
    for (const param of Object.keys(question))
      for (const value of VALUES) await check(path, param, { ...question, [param]: value })
  for (const value of VALUES)
    await check('/v1/search/places', 'iataCode', { near: AT, chains: 'x', iataCode: value })
  for (const one of [
    '/v1/geocode/forward query',
    '/v1/geocode/forward layers',
    '/v1/geocode/forward country',
    '/v1/geocode/forward lang',
    '/v1/geocode/reverse coordinates',
    '/v1/search/autocomplete near',
    '/v1/search/autocomplete limit',
    '/v1/search/autocomplete countryCode',
    '/v1/search/places near',
    '/v1/search/places radius',
    '/v1/search/places limit',
    '/v1/search/places iataCode',
    '/v1/addresses/validate stateCode',
    '/v1/addresses/validate countryCode',
  ])
    t.ok(refused.has(one), `${one} is refused where it is wrong`)
  t.notOk(refused.has('/v1/search/autocomplete sessionToken'), 'what is not read is not refused')
  t.strictSame(await harmless(), before)
})

t.test('what is wrong is refused, and named; any text is a query', async (t) => {
  const forward = '/v1/geocode/forward'
  const reverse = '/v1/geocode/reverse'
  const autocomplete = '/v1/search/autocomplete'
  const places = '/v1/search/places'
  const validate = '/v1/addresses/validate'
  const REFUSED: readonly (readonly [paths: readonly string[], param: string, values: readonly string[]])[] =
    [
      [[forward, autocomplete], 'query', ['', ' ', '\t\n', 'x'.repeat(1001), 'x'.repeat(10_000)]],
      [[forward, reverse, autocomplete], 'layers', ['x', 'address,x', '"address"', '<script>']],
      [[forward, reverse, autocomplete], 'lang', ['xx', 'e', 'en;de', "es'"]],
      [[forward, places], 'country', ['URY', 'U', 'XX', 'UY,XX', '🇺🇾']],
      [[autocomplete], 'countryCode', ['URY', 'XX', "UY' OR '1'='1"]],
      [[validate], 'countryCode', ['UY', 'MX', 'USA', '']],
      [[autocomplete, places], 'limit', ['0', '-1', '101', '1.5', 'abc', '1e999']],
      [[autocomplete, places], 'near', ['91,0', '-91,0', '0,181', '0,-181', '90.0001,0', '1,2,3', 'abc']],
      [[reverse], 'coordinates', ['91,0', '-91,0', '0,181', '0,-181', '90.0001,0', '1,2,3', 'abc', '']],
    ]
  for (const [paths, param, values] of REFUSED)
    for (const path of paths)
      for (const value of values) {
        const { status, body } = await served.get(path, { ...QUESTIONS[path], [param]: value })
        t.strictSame([status, body.meta.param], [400, param], `${path} ${param}=${value.slice(0, 20)}`)
      }
  for (const [country, sentence] of [
    ['uy, xx', 'No country has the code XX.'],
    ['URY', 'Must be two-letter country codes, separated by commas.'],
  ] as const)
    t.match(await served.get(forward, { query: 'x', country }), {
      status: 400,
      body: { meta: { message: `country: ${sentence}` } },
    })
  for (const path of [forward, autocomplete]) {
    for (const query of ['"', '*', '-', '^', '🏠', '. . .', '"*" -("")'])
      t.match(await served.get(path, { query }), { status: 200, body: { addresses: [] } }, `${path} ${query}`)
    for (const query of ['x', 'x'.repeat(1000), 'NEAR(', 'مرحبا بالعالم', "'; DROP TABLE address; --"])
      t.match(
        await served.get(path, { query }),
        { status: 200, body: { addresses: Array } },
        `${path} ${query}`,
      )
  }
})

t.test('text from right to left, marks of direction and emoji do not hide what is asked for', async (t) => {
  for (const query of [
    'مقهى السلام',
    'مقهى  السلام ☕',
    '\u202bمقهى السلام\u202c',
    'café paz ☕',
    '☕🏠 Cafe Paz',
  ])
    for (const path of ['/v1/geocode/forward', '/v1/search/autocomplete']) {
      const { status, body } = await served.get(path, { query, layers: 'place' })
      t.strictSame([status, body.addresses.length], [200, 1], `${path} ${query}`)
      t.equal(body.addresses[0]?.placeLabel, 'Café Paz ☕')
    }
})

t.test('the limits of a number are accepted', async (t) => {
  for (const [path, query] of Object.entries(QUESTIONS).filter(([, { limit }]) => limit !== undefined))
    for (const limit of ['1', '100']) t.equal((await served.get(path, { ...query, limit })).status, 200)
})

t.test('an address of the United States, where no addresses are loaded, is unverified', async (t) => {
  const { status, body } = await served.get('/v1/addresses/validate', QUESTIONS['/v1/addresses/validate']!)
  t.strictSame([status, body.result.verificationStatus], [200, 'unverified'])
})

t.test('versions: what does not depend on the time is asked for again for nothing', async (t) => {
  for (const [path, query] of Object.entries(QUESTIONS)) {
    const first = await served.get(path, query)
    const etag = first.headers.get('etag')
    if (!/places|validate/.test(path)) {
      t.equal(etag, null, `${path} has the time of day`)
      t.equal(first.headers.get('cache-control'), 'private, no-store')
      continue
    }
    t.match(etag, /^"[0-9a-f]{32}"$/)
    t.equal(first.headers.get('cache-control'), 'private, no-cache')
    t.equal((await served.get(path, query, { 'if-none-match': etag! })).status, 304, path)
    const other = Object.hasOwn(query, 'near') ? { ...query, limit: '2' } : { ...query, city: 'Albany' }
    t.equal((await served.get(path, other, { 'if-none-match': '"x"' })).status, 200)
  }
})
