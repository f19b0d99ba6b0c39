/** Settings of a sync: every rule, and where secrets are and are not. */
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SecretBox, SecretsUnreadable } from '../../src/sync/secretBox.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { ALLOWED, FileServer, HEADER, ran, row, setUp, type Json } from './syncKit.ts'

const server = await startServer(t, { env: ALLOWED })
const web = await FileServer.start(t)
const put = (body: Json) => server.api('PUT', '/v1/geofence-sync', body)
const HTTP = { protocol: 'http', http: { urls: ['https://example.com/a.csv'] } }
const S3 = {
  protocol: 's3',
  s3: {
    region: 'eu-central-1',
    bucket: 'geo',
    keys: ['a.csv'],
    accessKeyId: 'AKIA',
    secretAccessKey: 'sesame',
  },
}

t.test('before the first PUT there is nothing, and nothing can be run', async (t) => {
  t.match((await server.api('GET', '/v1/geofence-sync')).body, {
    sync: { enabled: false, time: '03:00', timeZone: 'UTC' },
  })
  t.match(await server.api('POST', '/v1/geofence-sync/runs', {}), { status: 409 })
  t.match(await server.api('POST', '/v1/geofence-sync/test', {}), { status: 409 })
})

t.test('settings: every rule of every field', async (t) => {
  t.match((await put(HTTP)).body.sync, {
    enabled: true,
    protocol: 'http',
    time: '03:00',
    timeZone: 'UTC',
    deleteMissing: false,
    maxDeleteShare: 0.1,
    emails: [],
    notify: 'always',
    nextRunAt: /T03:00:00.000Z$/,
  })
  t.match((await put(S3)).body.sync, { s3: { secretAccessKeySet: true, pathStyle: false } })
  t.match((await put({ ...S3, s3: { ...S3.s3, endpoint: 'https://s3.example.com/' } })).body.sync, {
    s3: { endpoint: 'https://s3.example.com', pathStyle: true },
  })
  const good = [
    {
      ...HTTP,
      enabled: false,
      time: '23:59',
      timeZone: 'America/St_Johns',
      maxDeleteShare: 1,
      notify: 'failures',
    },
    { ...HTTP, emails: ['a@example.com', 'b+c@example.co.uk'], deleteMissing: 'true', maxDeleteShare: '0' },
    {
      ...HTTP,
      http: {
        urls: ['http://example.com:8080/a.csv?x=1'],
        username: 'u',
        password: 'p',
        headers: { 'X-Key': 'k' },
      },
    },
  ]
  for (const body of good) t.equal((await put(body)).status, 200, JSON.stringify(body))
  const bare = { ...HTTP.http, password: null, headers: null }
  t.notOk((await put({ ...HTTP, enabled: false, http: bare })).body.sync.nextRunAt)
  const many = (count: number, one: (i: number) => string) => Array.from({ length: count }, (_, i) => one(i))
  const bad: [Json, string][] = [
    [{}, 'protocol'],
    [{ protocol: 'ftp' }, 'protocol'],
    [{ protocol: 'http' }, 'http'],
    [{ ...HTTP, http: {} }, 'http.urls'],
    [{ ...HTTP, http: { urls: [] } }, 'http.urls'],
    [{ ...HTTP, http: { urls: many(21, (i) => `https://example.com/${i}`) } }, 'http.urls'],
    [{ ...HTTP, http: { urls: ['ftp://example.com/'] } }, 'http.urls'],
    [{ ...HTTP, http: { urls: ['https://u:p@example.com/'] } }, 'http.urls'],
    [{ ...HTTP, http: { urls: ['https://example.com/', 'https://example.com/#x'] } }, 'http.urls'],
    [{ ...HTTP, http: { urls: ['http://10.0.0.1/'] } }, 'http.urls'],
    [{ ...HTTP, http: { urls: ['http://[::ffff:10.0.0.1]/'] } }, 'http.urls'],
    [{ ...HTTP, http: { urls: ['http://169.254.169.254/'] } }, 'http.urls'],
    [{ ...HTTP, http: { urls: ['https://example.com/new?…'] } }, 'http.urls'],
    [{ ...HTTP, http: { ...HTTP.http, username: 'a:b' } }, 'http.username'],
    [{ ...HTTP, http: { ...HTTP.http, password: 5 } }, 'http.password'],
    [{ ...HTTP, http: { ...HTTP.http, headers: 'x' } }, 'http.headers'],
    [
      {
        ...HTTP,
        http: { ...HTTP.http, headers: Object.fromEntries(many(11, (i) => `X-${i}`).map((n) => [n, 'v'])) },
      },
      'http.headers',
    ],
    ...['Host', 'cookie', 'Content-Type', 'Range', 'If-Match', 'Transfer-Encoding'].map(
      (name): [Json, string] => [
        { ...HTTP, http: { ...HTTP.http, headers: { [name]: 'x' } } },
        `http.headers.${name}`,
      ],
    ),
    [{ ...HTTP, http: { ...HTTP.http, headers: { 'X-A': 'a\r\nX-B: b' } } }, 'http.headers.X-A'],
    [{ ...HTTP, http: { ...HTTP.http, headers: { 'X A': 'a' } } }, 'http.headers.X A'],
    [{ protocol: 's3' }, 's3'],
    ...['region', 'bucket', 'keys', 'accessKeyId', 'secretAccessKey'].map((name): [Json, string] => [
      { ...S3, s3: { ...S3.s3, [name]: null } },
      `s3.${name}`,
    ]),
    [{ ...S3, s3: { ...S3.s3, region: 'a/b' } }, 's3.region'],
    [{ ...S3, s3: { ...S3.s3, bucket: '../x' } }, 's3.bucket'],
    [{ ...S3, s3: { ...S3.s3, keys: many(21, (i) => `${i}`) } }, 's3.keys'],
    [{ ...S3, s3: { ...S3.s3, endpoint: 'http://127.0.0.2:9000' } }, 's3.endpoint'],
    [{ ...S3, s3: { ...S3.s3, endpoint: 'https://example.com/path' } }, 's3.endpoint'],
    [{ ...S3, s3: { ...S3.s3, pathStyle: 'perhaps' } }, 's3.pathStyle'],
    [{ ...HTTP, time: '3:00' }, 'time'],
    [{ ...HTTP, time: '24:00' }, 'time'],
    [{ ...HTTP, timeZone: 'Berlin' }, 'timeZone'],
    [{ ...HTTP, timeZone: '+01:00' }, 'timeZone'],
    [{ ...HTTP, maxDeleteShare: 1.1 }, 'maxDeleteShare'],
    [{ ...HTTP, maxDeleteShare: -0.1 }, 'maxDeleteShare'],
    [{ ...HTTP, emails: ['nobody'] }, 'emails'],
    [{ ...HTTP, emails: ['a@example.com\r\nBcc: x@example.com'] }, 'emails'],
    [{ ...HTTP, emails: many(11, (i) => `a${i}@example.com`) }, 'emails'],
    [{ ...HTTP, notify: 'never' }, 'notify'],
    [{ ...HTTP, deleteMising: true }, 'deleteMising'],
  ]
  for (const [body, param] of bad) {
    const { status, body: answer } = await put(body)
    t.strictSame([status, answer.meta.param], [400, param], JSON.stringify(body).slice(0, 100))
  }
})

t.test('secrets: left out they stay, null removes them, and none goes to another host', async (t) => {
  const urls = (path: string) => [`${web.url}${path}`]
  web.files.set('/s.csv?token=hush', HEADER + row('secret', 1))
  const first = await setUp(server, {
    protocol: 'http',
    http: {
      urls: urls('/s.csv?token=hush'),
      username: 'me',
      password: 'sesame',
      headers: { 'X-One': 'opal', 'X-Two': 'ruby' },
    },
  })
  t.match(first.sync.http, {
    urls: [`${web.url}/s.csv?…`],
    username: 'me',
    passwordSet: true,
    headers: ['X-One', 'X-Two'],
  })
  t.match(await ran(server), { status: 'succeeded' })
  const basic = `Basic ${Buffer.from('me:sesame').toString('base64')}`
  t.match(web.asked.at(-1)?.headers, { authorization: basic, 'x-one': 'opal', 'x-two': 'ruby' })

  const shown = { urls: [`${web.url}/s.csv?…`], username: 'me', headers: { 'x-two': null } }
  t.match((await setUp(server, { protocol: 'http', http: shown })).sync.http, {
    passwordSet: true,
    headers: ['X-One'],
  })
  t.match(await ran(server, { force: true }), { status: 'succeeded' }, 'an address is kept as it is shown')
  t.match(web.asked.at(-1)?.headers, { authorization: basic, 'x-one': 'opal' })
  t.notOk(web.asked.at(-1)?.headers['x-two'])

  const elsewhere = 'http://127.0.0.1:1/s.csv'
  const moved = (http: Json) =>
    put({ protocol: 'http', enabled: false, http: { urls: [elsewhere], ...http } })
  t.match(await moved({}), { status: 400, body: { meta: { param: 'http.password' } } })
  t.match(await moved({ password: null }), { status: 400, body: { meta: { param: 'http.headers.X-One' } } })
  t.match(await moved({ password: 'other', headers: null }), { status: 200 })
  t.match(await put({ protocol: 'http', http: { urls: urls('/s.csv'), password: null } }), {
    status: 200,
    body: { sync: { http: { passwordSet: false, headers: [] } } },
  })

  t.match(await put(S3), { status: 200 })
  const { secretAccessKey: _, ...without } = S3.s3
  t.match(await put({ ...S3, s3: { ...without, keys: ['b.csv'] } }), { status: 200 })
  for (const change of [{ bucket: 'other' }, { endpoint: 'https://s3.example.com' }])
    t.match(await put({ ...S3, s3: { ...without, ...change } }), {
      status: 400,
      body: { meta: { param: 's3.secretAccessKey' } },
    })
})

t.test('secrets lie encrypted, with a key that only the owner can read, and stand in no log', async (t) => {
  await put({ ...S3, s3: { ...S3.s3, secretAccessKey: 'open-sesame-1' } })
  const key = statSync(join(server.data, 'sync.key'))
  t.equal(key.mode & 0o777, 0o600)
  for (const name of readdirSync(server.data)) {
    const path = join(server.data, name)
    if (statSync(path).isFile()) t.notOk(readFileSync(path).includes('sesame'), name)
  }
  t.notOk(
    server.output.includes('sesame') || server.output.includes('hush') || server.output.includes('opal'),
  )
  await server.stop()
  await server.restart()
  t.match((await server.api('GET', '/v1/geofence-sync')).body.sync, { s3: { secretAccessKeySet: true } })
})

t.test('a sealed text opens with its key, in its environment, unchanged', async (t) => {
  const box = new SecretBox('1f'.repeat(32))
  const sealed = box.seal(7, { password: 'x' })
  t.strictSame(box.open(7, sealed), { password: 'x' })
  t.not(box.seal(7, { password: 'x' }), sealed)
  t.throws(() => box.open(6, sealed), SecretsUnreadable)
  t.throws(() => new SecretBox('2f'.repeat(32)).open(7, sealed), SecretsUnreadable)
  t.throws(() => box.open(7, sealed.slice(0, -5) + 'AAAA='), SecretsUnreadable)
  t.throws(() => box.open(7, 'v1.'), SecretsUnreadable)
  t.throws(() => box.open(7, ''), SecretsUnreadable)
})

t.test('each source can be tried: its header and ten rows', async (t) => {
  web.files.set('/t1.csv', HEADER + Array.from({ length: 30_000 }, (_, i) => row('try', i)).join(''))
  web.files.set('/t2.csv', HEADER + row('try', 1) + row('try', 2, 'x'))
  web.files.set('/t3.csv', '<html>')
  const http = { urls: ['/t1.csv', '/t2.csv', '/t3.csv', '/t4.csv'].map((path) => web.url + path) }
  const { status, body } = await server.api('POST', '/v1/geofence-sync/test', { protocol: 'http', http })
  t.equal(status, 200)
  t.match(body.sources, [
    { name: http.urls[0], ok: true, message: /6 columns; the first 10 rows/ },
    { ok: false, message: /^Line 3: radius/ },
    { ok: false, message: /web page/ },
    { ok: false, message: /404/ },
  ])
  await setUp(server, { protocol: 'http', http })
  t.match((await server.api('POST', '/v1/geofence-sync/test', {})).body.sources[0], { ok: true })
  t.match(await server.api('POST', '/v1/geofence-sync/test', {}, KEYS.testPublishable), { status: 403 })
})
