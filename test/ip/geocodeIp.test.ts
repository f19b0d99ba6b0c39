/** GET /v1/geocode/ip of a real server behind a proxy, with the data of DB-IP, GeoLite2 and lists of proxies. */
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { CityFiles } from '../../src/geo/ip/cityFiles.ts'
import { FreshFiles } from '../../src/geo/ip/freshFiles.ts'
import { ProxyLists, type ProxyFiles } from '../../src/geo/ip/proxyLists.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import fc from '../kit/fastCheck.ts'
import { KEYS, startServer, type Server } from '../kit/server.ts'
import { writeMmdb } from './mmdb.ts'

const folder = mkdtempSync(join(tmpdir(), 'ringfence-ip-'))
t.teardown(() => rmSync(folder, { recursive: true }))

const NEW_YORK = '72.229.28.185'
const GOOGLE = '8.8.8.8'

const lists = {
  proxies: join(folder, 'proxies.txt'),
  tor: join(folder, 'tor.txt'),
  allowed: join(folder, 'allowed.txt'),
}
writeFileSync(
  lists.proxies,
  '# of the operator\r\n\r\n72.229.28.0/24 # a block\r\n2600:1700::/32\n10.0.0.0/8\n127.0.0.0/8\n',
)
writeFileSync(lists.tor, '185.220.101.1\n185.220.101.2\n')
writeFileSync(lists.allowed, '72.229.28.186\n5.9.1.0/24\n')

const server = await startServer(t, {
  env: {
    RINGFENCE_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8',
    RINGFENCE_IP_PROXY_FILES: lists.proxies,
    RINGFENCE_IP_TOR_FILE: lists.tor,
    RINGFENCE_IP_ALLOWED_FILE: lists.allowed,
  },
})

function ask(
  query: Readonly<Record<string, string>>,
  {
    key = KEYS.testSecret as string,
    forwarded = undefined as string | undefined,
    of = server as Server,
  } = {},
) {
  return call(of, `?${new URLSearchParams(query)}`, {
    Authorization: key,
    ...(forwarded !== undefined && { 'X-Forwarded-For': forwarded }),
  })
}

async function call(of: Server, query: string, headers: Record<string, string>) {
  const answer = await fetch(`${of.url}/v1/geocode/ip${query}`, { headers })
  // oxlint-disable-next-line typescript/no-explicit-any -- of every shape
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as any }
}

t.test('an address with everything that is known about it', async (t) => {
  const { status, headers, body } = await ask({ ip: NEW_YORK.replace('185', '186') })
  t.equal(status, 200)
  t.equal(headers.get('cache-control'), 'private, no-store')
  t.match(body.meta, {
    attribution: /^IP Geolocation by DB-IP \(https:\/\/db-ip\.com\), © OpenStreetMap contributors$/,
  })
  const { latitude, longitude, geometry, timeZone, ...rest } = body.address
  t.ok(Math.abs(latitude - 40.7) < 0.3 && Math.abs(longitude + 74) < 0.3)
  t.strictSame(geometry, { type: 'Point', coordinates: [longitude, latitude] })
  t.match(timeZone, { id: 'America/New_York', name: /^Eastern/, code: /^E[SD]T$/ })
  t.strictSame(rest, {
    layer: 'locality',
    country: 'United States',
    countryCode: 'US',
    countryFlag: '🇺🇸',
    state: 'New York',
    stateCode: 'NY',
    city: 'New York',
    addressLabel: 'New York',
    formattedAddress: 'New York, NY USA',
  })
  t.strictSame([body.ip, body.proxy], ['72.229.28.186', false])
})

t.test('states have a code in the United States and Canada only; parts of cities are cut', async (t) => {
  t.match((await ask({ ip: '24.48.0.1' })).body.address, {
    city: 'Montreal',
    state: 'Quebec',
    stateCode: 'QC',
    countryCode: 'CA',
    formattedAddress: 'Montreal, QC CAN',
  })
  const { address } = (await ask({ ip: '190.64.49.1', lang: 'es-UY' })).body
  t.match(address, { city: 'Montevideo', countryCode: 'UY', country: 'Uruguay' })
  t.notOk('stateCode' in address)
  t.notOk('postalCode' in address)
  t.equal((await ask({ ip: '81.2.69.142', lang: 'de' })).body.address.country, 'Vereinigtes Königreich')
})

t.test('the requester is the last hop that is not trusted', async (t) => {
  const key = KEYS.testPublishable
  for (const [forwarded, ip] of [
    [undefined, '127.0.0.1'],
    [GOOGLE, GOOGLE],
    [`${GOOGLE}:4711`, GOOGLE],
    [`1.2.3.4, ${GOOGLE}`, GOOGLE],
    [`1.2.3.4, ${GOOGLE}, 10.1.2.3, 10.0.0.1`, GOOGLE],
    [`${NEW_YORK}, nonsense, ${GOOGLE}`, GOOGLE],
    [`${GOOGLE}, nonsense`, '127.0.0.1'],
    [`${GOOGLE}, ::ffff:010.1.2.3`, '127.0.0.1'],
    ['[2001:4860:4860:0:0:0:0:8888]:443', '2001:4860:4860::8888'],
    ['::FFFF:8.8.8.8', GOOGLE],
    ['10.0.0.7', '10.0.0.7'],
    ['', '127.0.0.1'],
  ] as const) {
    const { status, body } = await ask({}, { key, forwarded })
    t.strictSame([status, body.ip], [200, ip], String(forwarded))
    t.equal('address' in body, ip === GOOGLE || ip.startsWith('2001'), ip)
  }
  for (const name of ['X-Real-IP', 'Forwarded', 'CF-Connecting-IP', 'True-Client-IP'])
    t.equal((await call(server, '', { Authorization: key, [name]: GOOGLE })).body.ip, '127.0.0.1', name)
})

t.test('only a secret key may ask for another address', async (t) => {
  t.equal((await ask({ ip: GOOGLE })).body.ip, GOOGLE)
  for (const ip of [GOOGLE, 'nonsense', '', 'x'.repeat(2000)])
    t.match(await ask({ ip }, { key: KEYS.testPublishable }), { status: 200, body: { ip: '127.0.0.1' } })
  t.equal((await ask({ ip: GOOGLE }, { forwarded: NEW_YORK })).body.ip, GOOGLE)
  t.equal((await ask({ ip: GOOGLE }, { key: 'prj_test_sk_unknown' })).status, 401)
})

t.test('malformed addresses are named; others have their usual text', async (t) => {
  for (const ip of [
    ' ',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '01.2.3.4',
    '1.2.3.4/32',
    '0x7f.1',
    '127.1',
    '2130706433',
    '1.2.3.-4',
    '1.2.3.4 ',
    '1.2.3.4:80',
    '[::1]',
    ':',
    ':::',
    '::1::',
    '1::2::3',
    '12345::',
    'g::',
    '1:2:3:4:5:6:7:8:9',
    'fe80::1%eth0',
    '::ffff:1.2.3',
    '::ffff:256.1.1.1',
    '::ffff:010.1.1.1',
    '::ffff:0x1.1.1.1',
    '2001:db8::/32',
    '١.٢.٣.٤',
    '１.2.3.4',
    '8.8.8.8\0',
    '8.8.8.8\n',
    "8.8.8.8'; --",
    'localhost',
    '<script>',
    '🙂',
    'a'.repeat(5000),
  ])
    t.match(
      await ask({ ip }),
      { status: 400, body: { meta: { param: 'ip', message: /^ip: / } } },
      JSON.stringify(ip.slice(0, 40)),
    )
  for (const [ip, text] of [
    ['::ffff:8.8.8.8', GOOGLE],
    ['::FFFF:0808:0808', GOOGLE],
    ['0:0:0:0:0:ffff:808:808', GOOGLE],
    ['2001:4860:4860:0000:0000:0000:0000:8888', '2001:4860:4860::8888'],
    ['2A02:C7F:0:0:1:0:0:0', '2a02:c7f:0:0:1::'],
    ['::8.8.8.8', '::808:808'],
  ] as const)
    t.equal((await ask({ ip })).body.ip, text, ip)
})

t.test('what is an address is what the operating system says', async () => {
  const character = fc.constantFrom(...'0123456789abcfF:.%xg /')
  const texts = [
    fc.ipV4(),
    fc.ipV4Extended(),
    fc.ipV6(),
    fc.string({ unit: character, maxLength: 50 }),
    fc.tuple(fc.ipV6(), fc.ipV4()).map(([six, four]) => `${six.slice(0, 12)}:${four}`),
  ]
  const { parseIpAddress } = await import('../../src/model/ipAddress.ts')
  fc.assert(
    fc.property(fc.oneof(...texts), (text) => {
      const expected = !text.includes('%') && isIP(text) !== 0
      if ((parseIpAddress(text) !== undefined) !== expected) throw new Error(text)
    }),
    { numRuns: 2000 },
  )
})

t.test('private, reserved and unknown addresses have no place, and are no proxies', async (t) => {
  for (const ip of [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '169.254.1.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    'fe80::1',
    'fc00::1',
    'fdff::1',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '100::1',
    '64:ff9b::808:808',
    '2002:808:808::1',
    '2001::1',
    '4000::1',
  ]) {
    const { status, body } = await ask({ ip })
    t.strictSame([status, Object.keys(body).sort(), body.proxy], [200, ['ip', 'meta', 'proxy'], false], ip)
    t.strictSame(body.meta, { code: 200 }, ip)
  }
})

t.test('proxies: lists of the operator and Tor, less the allowed ones', async (t) => {
  const isProxy = async (ip: string) => (await ask({ ip })).body.proxy as boolean
  t.equal(await isProxy(NEW_YORK), true)
  t.equal(await isProxy(`::ffff:${NEW_YORK}`), true)
  t.equal(await isProxy('72.229.28.186'), false, 'allowed')
  t.equal(await isProxy('72.229.29.0'), false)
  t.equal(await isProxy('185.220.101.2'), true, 'an exit of Tor')
  t.equal(await isProxy('2600:1700::1'), true)
})

t.test('proxies: networks of hosting companies and VPNs, less the allowed ones', async (t) => {
  const isProxy = async (ip: string) => (await ask({ ip })).body.proxy as boolean
  for (const [ip, name] of [
    ['3.5.140.1', 'Amazon'],
    ['5.9.0.1', 'Hetzner'],
    ['46.101.0.1', 'DigitalOcean'],
    ['51.38.0.1', 'OVH'],
    ['104.16.0.1', 'Cloudflare'],
    ['139.162.0.1', 'Linode'],
    ['2a01:4f8::1', 'Hetzner'],
  ] as const)
    t.equal(await isProxy(ip), true, name)
  for (const [ip, name] of [
    ['24.48.0.1', 'Videotron'],
    ['67.160.0.1', 'Comcast'],
    ['79.192.0.1', 'Deutsche Telekom'],
    ['81.152.0.1', 'British Telecom'],
    ['190.64.49.1', 'Antel'],
    ['2601::1', 'Comcast'],
    ['5.9.1.1', 'Hetzner, allowed'],
  ] as const)
    t.equal(await isProxy(ip), false, name)
})

t.test('the list of networks: well-known ones, each once, and no networks of homes', async (t) => {
  const lines = readFileSync(join(import.meta.dirname, '../../src/geo/ip/hostingNetworks.txt'), 'utf8')
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('#'))
  const numbers = lines.map((line) => Number(/^(\d+) \S/.exec(line)?.[1]))
  t.ok(numbers.every((number, i) => i === 0 || number > numbers[i - 1]!))
  const hosting = [
    8075, 8100, 8560, 9009, 12876, 13335, 14061, 15169, 16276, 16509, 19318, 20473, 24940, 29066, 31898,
    35916, 36352, 39351, 40676, 43350, 44066, 45090, 45102, 46475, 46844, 49981, 51167, 53667, 54113, 60068,
    60781, 62240, 63949, 136787, 209103, 212238, 396982,
  ]
  t.strictSame(
    hosting.filter((number) => !numbers.includes(number)),
    [],
  )
  const access = [
    701, 2856, 3215, 3320, 3352, 5089, 6057, 6128, 6327, 7018, 7922, 12389, 13188, 20115, 20057, 21928, 22773,
    37611,
  ]
  t.strictSame(
    access.filter((number) => numbers.includes(number)),
    [],
  )
})

t.test(
  'GeoLite2: names in the language of the answer, postal code, layers; the limit of requests',
  async (t) => {
    const path = join(folder, 'GeoLite2-City.mmdb')
    const us = { iso_code: 'US', names: { en: 'United States' } }
    writeMmdb(path, 'GeoLite2-City', {
      '8.8.8.0/24': {
        city: { names: { en: 'Brooklyn (Dumbo)', 'zh-CN': '布鲁克林' } },
        subdivisions: [{ iso_code: 'NY', names: { en: 'New York', de: 'New York', 'zh-CN': '纽约州' } }],
        country: us,
        postal: { code: '11201' },
        location: { latitude: 40.6944, longitude: -73.9906 },
      },
      '8.8.9.0/24': {
        subdivisions: [{ iso_code: 'BY', names: { en: 'Bavaria', de: 'Bayern' } }],
        country: { iso_code: 'DE' },
        location: { latitude: 48.1, longitude: 11.6 },
      },
      '8.8.10.0/24': {
        registered_country: { iso_code: 'HK' },
        location: { latitude: 22.25, longitude: 114.17 },
      },
      '8.8.11.0/24': { country: us },
      '8.8.12.0/24': { continent: { code: 'EU' }, location: { latitude: 1, longitude: 1 } },
      '8.8.13.0/24': {
        city: { names: { en: '<b>A\u0000\u202e</b>' } },
        country: { iso_code: 'FR' },
        location: { latitude: 48.85, longitude: 2.35 },
      },
      '2001:4860::/32': { country: { iso_code: 'PR' }, location: { latitude: 18.4, longitude: -66.1 } },
    })
    const of = await startServer(t, {
      env: {
        RINGFENCE_IP_CITY_FILE: path,
        RINGFENCE_TRUSTED_PROXIES: '127.0.0.1',
        RINGFENCE_RATE_LIMITS: 'on',
      },
    })
    let requesters = 0
    const placeOf = async (ip: string, lang = 'en') =>
      (await ask({ ip, lang }, { of, forwarded: `9.9.8.${requesters++}` })).body
    const { meta, address } = await placeOf(GOOGLE)
    t.match(meta.attribution, /GeoLite2 data created by MaxMind, available from https:\/\/www\.maxmind\.com/)
    t.match(address, {
      layer: 'locality',
      city: 'Brooklyn',
      state: 'New York',
      stateCode: 'NY',
      postalCode: '11201',
      formattedAddress: 'Brooklyn, NY 11201 USA',
      latitude: 40.6944,
    })
    t.match((await placeOf(GOOGLE, 'zh')).address, {
      city: '布鲁克林',
      state: '纽约州',
      stateCode: 'NY',
      country: '美国',
    })
    const bavaria = (await placeOf('8.8.9.1', 'de')).address
    t.match(bavaria, { layer: 'state', addressLabel: 'Bayern', country: 'Deutschland' })
    t.notOk('stateCode' in bavaria)
    t.match((await placeOf('8.8.10.1')).address, {
      layer: 'country',
      country: 'Hong Kong',
      formattedAddress: 'Hong Kong',
    })
    for (const ip of ['8.8.11.1', '8.8.12.1', '9.9.9.9']) t.notOk('address' in (await placeOf(ip)), ip)
    t.equal((await placeOf('8.8.13.1')).address.city, 'b A /b')
    t.match((await placeOf('2001:4860::1')).address, {
      layer: 'country',
      countryCode: 'PR',
      country: 'Puerto Rico',
    })
    const key = KEYS.testPublishable
    const many = async (hop: (i: number) => string) => {
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, i) => ask({}, { key, of, forwarded: hop(i) })),
      )
      return answers.filter(({ status }) => status === 429).length
    }
    t.ok((await many(() => GOOGLE)) > 0, 'ten requests a second for each requester')
    t.ok((await many((i) => `9.9.9.${i}, ${GOOGLE}`)) > 0, 'hops that are made up do not help')
    t.equal(await many((i) => `9.9.9.${i}`), 0, 'others are not affected')
  },
)

t.test('files that cannot be used prevent the start, and are named', async (t) => {
  const broken = join(folder, 'broken.txt')
  writeFileSync(broken, '1.2.3.4\n\n# fine\n1.2.3.4/33\n')
  const noCities = join(folder, 'asn.mmdb')
  writeMmdb(noCities, 'GeoLite2-ASN', { '8.8.8.0/24': { autonomous_system_number: 15169 } })
  const parts = { clock: new ManualClock(), logger: createLogger('fatal') }
  const listsOf = (files: Partial<ProxyFiles>) =>
    new ProxyLists({ proxies: [], tor: '', allowed: '', ...files }, parts)
  const line = /broken\.txt, line 4: "1\.2\.3\.4\/33" is not an IP address/
  for (const [service, message] of [
    [listsOf({ tor: join(folder, 'none') }), /no such file/],
    [listsOf({ allowed: folder }), /ringfence-ip-\w+: it is a folder/],
    [listsOf({ tor: broken }), line],
    [
      new CityFiles(noCities, parts),
      /asn\.mmdb is no database of cities \(\.mmdb\): its type is GeoLite2-ASN/,
    ],
    [new CityFiles(broken, parts), /broken\.txt is no database of cities/],
  ] as const)
    await t.rejects(service.start(), { message })
  await t.rejects(startServer(t, { env: { RINGFENCE_IP_PROXY_FILES: broken } }), { message: line })
})

t.test('a list that is replaced is read again; a broken one is not used', async (t) => {
  const path = join(folder, 'fresh')
  const clock = new ManualClock()
  let reads = 0
  let isBroken = false
  writeFileSync(path, 'a')
  const files = new FreshFiles({
    paths: [path],
    read: async () => {
      reads++
      if (isBroken) throw new Error('broken')
      return reads
    },
    clock,
    logger: createLogger('fatal'),
  })
  const later = async () => {
    clock.time += 60_000
    await files.get()
    await new Promise((done) => setTimeout(done, 50))
    return files.get()
  }
  t.strictSame(await Promise.all([files.get(), files.get()]), [1, 1], 'read once')
  t.equal(await later(), 1, 'not changed')
  writeFileSync(path, 'bc')
  t.equal(await later(), 2)
  isBroken = true
  utimesSync(path, 1, 1)
  t.equal(await later(), 2, 'the former contents')
  t.equal(await later(), 2)
  t.equal(reads, 3, 'not tried again before it changes')
  isBroken = false
  rmSync(path)
  t.equal(await later(), 2, 'gone')
  writeFileSync(path, 'd')
  t.equal(await later(), 4)
})
