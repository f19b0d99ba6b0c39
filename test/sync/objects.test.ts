/** Sources in object storage: a real S3-compatible server, and the refusals of others. It does not compare signatures of
 * version 4, so those are computed here once more. */
import { createHash, createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import t from 'tap'
import { objectRefusal, objectUrl } from '../../src/sync/objectSource.ts'
import { startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { MailServer, textOf } from '../notify/mailServer.ts'
import { ALLOWED, FileServer, HEADER, ran, row, setUp, versioned, type Json } from './syncKit.ts'

const directory = mkdtempSync(join(tmpdir(), 'ringfence-s3-'))
const store = new S3rver({
  port: 0,
  address: '127.0.0.1',
  silent: true,
  directory,
  configureBuckets: [{ name: 'geo' }],
})
const { port } = (await store.run()) as { port: number }
t.teardown(async () => {
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})
const mail = await MailServer.start(t)
const server = await startServer(t, { env: { ...ALLOWED, ...mail.env } })
const endpoint = `http://127.0.0.1:${port}`

const S3 = {
  region: 'us-east-1',
  bucket: 'geo',
  keys: ['nightly/stores.csv'],
  accessKeyId: 'S3RVER',
  secretAccessKey: 'S3RVER',
  endpoint,
}
const settings = (change: Json = {}) => ({ protocol: 's3', s3: { ...S3, ...change } })

/** Puts an object; the store takes unsigned writes to public buckets, so the kit signs as the server does. */
async function put(key: string, content: string): Promise<void> {
  const { AwsClient } = await import('aws4fetch')
  const client = new AwsClient({
    accessKeyId: 'S3RVER',
    secretAccessKey: 'S3RVER',
    service: 's3',
    region: 'us-east-1',
  })
  const { status } = await client.fetch(
    objectUrl({ ...S3, pathStyle: true, secretAccessKeySet: true }, key),
    {
      method: 'PUT',
      body: content,
    },
  )
  if (status !== 200) throw new Error(`PUT ${key}: ${status}`)
}

t.test('objects are read with a signature, and by their ETag only once', async (t) => {
  const odd = 'nightly/a b+c(ü)!.csv'
  await put(S3.keys[0]!, HEADER + row('s3', 1))
  await put(odd, HEADER + row('s3', 2))
  await setUp(server, settings({ keys: [S3.keys[0], odd] }))
  t.match(await ran(server), {
    status: 'succeeded',
    created: 2,
    sources: [
      { name: 'geo/nightly/stores.csv', status: 'read', httpStatus: 200, etag: /^"\w+"$/ },
      { name: `geo/${odd}`, status: 'read' },
    ],
  })
  t.match(await ran(server), {
    status: 'succeeded',
    sources: [{ status: 'unchanged', httpStatus: 304 }, { status: 'unchanged' }],
  })
  await put(S3.keys[0]!, HEADER + row('s3', 1, 200))
  t.match(await ran(server), { updated: 1, sources: [{ status: 'read' }, { status: 'unchanged' }] })
})

t.test('a bucket of geofences with a typing mistake in one row: an e-mail that says which', async (t) => {
  const keys = ['stores/north.csv', 'stores/south.csv']
  await put(keys[0]!, HEADER + row('north', 1) + row('north', 2))
  await put(keys[1]!, HEADER + row('south', 1) + row('south', 2, '1oo') + row('south', 3))
  await setUp(server, { ...settings({ keys }), emails: ['ops@example.com'] })
  t.match(await ran(server), { status: 'partial', created: 4, refused: 1 })
  await until(() => mail.mails.length > 0)
  const { to, raw } = mail.mails.shift()!
  t.strictSame(to, ['ops@example.com'])
  const text = textOf(raw).replaceAll('\r\n', '\n')
  t.match(text, /\ngeo\/stores\/north\.csv: 2 rows, 2 created, /)
  t.match(text, /\nRefused rows: 1\n {2}geo\/stores\/south\.csv, line 3: radius: [^\n]+ \(1oo\)\n/)

  await put(keys[1]!, HEADER + row('south', 1) + row('south', 2, 100) + row('south', 3))
  t.match(await ran(server), { status: 'succeeded', created: 1, unchanged: 2, refused: 0 })
  await until(() => mail.mails.length > 0)
  t.match(textOf(mail.mails.shift()!.raw), /stores\/south\.csv: 3 rows, 1 created, /)
})

t.test('what is wrong is told by name', async (t) => {
  for (const [change, message] of [
    [{ keys: ['none.csv'] }, /NoSuchKey/],
    [{ bucket: 'other-bucket' }, /NoSuchBucket/],
    [{ accessKeyId: 'NOBODY' }, /InvalidAccessKeyId/],
  ] as const) {
    await setUp(server, settings(change))
    const run = await ran(server, { force: true })
    t.match(run, { status: 'failed', sources: [{ status: 'failed', attempts: 1, error: { message } }] })
    t.match((await server.api('POST', '/v1/geofence-sync/test', {})).body.sources, [{ ok: false, message }])
  }
})

/** The signature of a request by the published rules, from what arrived. */
function signatureOf(path: string, headers: Record<string, unknown>, secret: string): string {
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
  const given = /Credential=([^,]+), SignedHeaders=([^,]+), Signature=(\w+)/.exec(
    String(headers.authorization),
  )!
  const [, date, region, service] = given[1]!.split('/') as [string, string, string, string]
  const names = given[2]!.split(';')
  const canonical = [
    'GET',
    path,
    '',
    ...names.map((name) => `${name}:${String(headers[name])}`),
    '',
    given[2],
    headers['x-amz-content-sha256'],
  ].join('\n')
  const digest = createHash('sha256').update(canonical).digest('hex')
  const text = [
    'AWS4-HMAC-SHA256',
    headers['x-amz-date'],
    `${date}/${region}/${service}/aws4_request`,
    digest,
  ].join('\n')
  const parts = [date, region, service, 'aws4_request']
  const key = parts.reduce<string | Buffer>((before, part) => hmac(before, part), `AWS4${secret}`)
  return hmac(key, text).toString('hex')
}

t.test('the signature is the one of the published rules', async (t) => {
  const web = await FileServer.start(t)
  const path = '/geo/a%20b%2Bc%28%C3%BC%29%21.csv'
  web.files.set(path, versioned(HEADER, '"1"'))
  await setUp(
    server,
    settings({ endpoint: web.url, keys: ['a b+c(ü)!.csv'], secretAccessKey: 'open sesame' }),
  )
  for (const status of ['read', 'unchanged']) {
    t.match(await ran(server), { sources: [{ status }] })
    const { path: asked, headers } = web.asked.at(-1)!
    t.equal(asked, path)
    t.match(
      headers.authorization,
      /^AWS4-HMAC-SHA256 Credential=S3RVER\/\d{8}\/us-east-1\/s3\/aws4_request, /,
    )
    t.ok(headers.authorization?.endsWith(`Signature=${signatureOf(path, headers, 'open sesame')}`))
    t.notOk(JSON.stringify(headers).includes('sesame'))
  }
})

t.test('another region, a wrong clock, a bucket that may not be read', async (t) => {
  const web = await FileServer.start(t)
  const refusing = (status: number, code: string, headers: Record<string, string> = {}, more = '') =>
    web.files.set('/geo/x.csv', (_, response) =>
      response
        .writeHead(status, headers)
        .end(`<Error><Code>${code}</Code><Message>hush</Message>${more}</Error>`),
    )
  await setUp(server, settings({ endpoint: web.url, keys: ['x.csv'] }))
  for (const [status, code, headers, more, message] of [
    [
      301,
      'PermanentRedirect',
      { 'x-amz-bucket-region': 'eu-west-1', location: `${web.url}/elsewhere` },
      '',
      /region eu-west-1, not in us-east-1/,
    ],
    [400, 'AuthorizationHeaderMalformed', {}, '<Region>eu-west-2</Region>', /region eu-west-2/],
    [403, 'RequestTimeTooSkewed', {}, '', /clock of this machine/],
    [403, 'AccessDenied', {}, '', /AccessDenied/],
    [403, 'Unheard', {}, '', /refuses access \(403\)/],
  ] as const) {
    refusing(status, code, headers, more)
    const run = await ran(server)
    t.match(run, { status: 'failed', sources: [{ httpStatus: status, attempts: 1, error: { message } }] })
    t.notOk(JSON.stringify(run).includes('hush'))
  }
  t.notOk(
    web.asked.some(({ path }) => path === '/elsewhere'),
    'a signature goes to one host',
  )
})

t.test('addresses of buckets', async (t) => {
  const s3 = {
    region: 'eu-central-1',
    bucket: 'b',
    keys: [],
    accessKeyId: '',
    secretAccessKeySet: true,
    pathStyle: false,
  }
  t.equal(objectUrl(s3, 'a/b c.csv'), 'https://b.s3.eu-central-1.amazonaws.com/a/b%20c.csv')
  t.equal(objectUrl({ ...s3, pathStyle: true }, 'a'), 'https://s3.eu-central-1.amazonaws.com/b/a')
  t.equal(objectUrl({ ...s3, region: 'cn-north-1' }, 'a'), 'https://b.s3.cn-north-1.amazonaws.com.cn/a')
  t.equal(objectUrl({ ...s3, endpoint: 'http://h:9000' }, 'a'), 'http://b.h:9000/a')
  t.equal(objectRefusal({ ...s3 }, {}, 'x'.repeat(100)), undefined)
})
