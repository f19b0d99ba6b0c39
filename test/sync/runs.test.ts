/** Runs of a sync over a real server and a real web server: every step and its order. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { records, clear } from '../registry/importKit.ts'
import {
  ALLOWED,
  ended,
  FileServer,
  HEADER,
  ran,
  row,
  runOf,
  setUp,
  versioned,
  type Json,
} from './syncKit.ts'

const server = await startServer(t, { env: ALLOWED })
const web = await FileServer.start(t)
await clear(server, 'geofences')

const names = async (tag: string): Promise<string[]> =>
  (await records(server, 'geofences'))
    .filter((one) => one.tag === tag)
    .map((one) => one.externalId)
    .toSorted()
const http = (...paths: string[]) => ({
  protocol: 'http',
  http: { urls: paths.map((path) => web.url + path) },
})

t.test('a run upserts the rows of its sources, and tells what became of each', async (t) => {
  web.files.set('/a.csv?key=hush', HEADER + row('all', 1) + row('all', 2, -5) + row('all', 3))
  web.files.set('/b.csv', HEADER + row('all', 4) + row('all', 1, 200))
  await setUp(server, http('/a.csv?key=hush', '/b.csv'))
  const run = await ran(server)
  t.match(run, {
    status: 'partial',
    trigger: 'manual',
    live: false,
    force: false,
    dryRun: false,
    rows: 5,
    created: 3,
    updated: 0,
    unchanged: 0,
    repeated: 1,
    refused: 1,
    deleted: 0,
    moreErrors: 0,
    sources: [
      {
        name: `${web.url}/a.csv?…`,
        status: 'read',
        httpStatus: 200,
        attempts: 1,
        rows: 3,
        created: 1,
        repeated: 1,
        refused: 1,
      },
      { name: `${web.url}/b.csv`, status: 'read', rows: 2, created: 2 },
    ],
    errors: [{ source: `${web.url}/a.csv?…`, line: 3, row: 2, column: 'radius', value: '-5' }],
  })
  t.match(run.by, /\w/)
  t.strictSame(await names('all'), ['1', '3', '4'])
  const one = (await server.api('GET', '/v1/geofences/all/1')).body.geofence
  t.equal(one.geometryRadius, 200, 'of a pair that is there twice, the later row counts')
  const { body } = await server.api('GET', '/v1/geofence-sync')
  t.match(body.lastRun, { _id: run._id, status: 'partial' })
  t.notOk(JSON.stringify(body).includes('hush'))
  await clear(server, 'geofences')
})

t.test('equal definitions are not written', async (t) => {
  const file = `description,type,tag,externalId,coordinates,radius,mode,metadata.a,operatingHours.mon,disableAfter,userIds
C,circle,same,1,"[1.5,2]",100,,x,"[[""9:00"",""17:00""]]",2030-01-01T00:00:00Z,"a,b"
P,polygon,same,2,"[[0,0],[1,0],[1,1],[0,0]]",,,,,,
I,isochrone,same,3,"[1,2]",10,car,,,,
D,circle,same,4,"[1,2]",10,,,,2020-01-01T00:00:00Z,
`
  web.files.set('/same.csv', file)
  await setUp(server, http('/same.csv'))
  t.match(await ran(server), { status: 'succeeded', created: 4 })
  const before = (await records(server, 'geofences')).map(({ _id, updatedAt }) => [_id, updatedAt])
  t.match(await ran(server, { force: true }), {
    status: 'succeeded',
    rows: 4,
    unchanged: 4,
    created: 0,
    updated: 0,
  })
  t.strictSame(
    (await records(server, 'geofences')).map(({ _id, updatedAt }) => [_id, updatedAt]),
    before,
  )
  web.files.set('/same.csv', file.replace(',100,,x', ',101,,x'))
  t.match(await ran(server), { updated: 1, unchanged: 3 })
  await clear(server, 'geofences')
})

t.test(
  'sources that did not change are not read: by ETag, by date, by content; but with force, and after refused rows',
  async (t) => {
    web.files.set('/etag.csv', versioned(HEADER + row('v', 1), '"1"'))
    web.files.set('/date.csv', (request, response) => {
      const date = 'Wed, 01 Jan 2025 00:00:00 GMT'
      if (request.headers['if-modified-since'] === date) response.writeHead(304).end()
      else response.writeHead(200, { 'last-modified': date }).end(HEADER + row('v', 2))
    })
    web.files.set('/content.csv', HEADER + row('v', 3))
    web.files.set('/bad.csv', versioned(HEADER + row('v', 4) + row('v', 5, 'x'), '"bad"'))
    await setUp(server, http('/etag.csv', '/date.csv', '/content.csv', '/bad.csv'))
    const statuses = (run: Json) => run.sources.map((source: Json) => [source.status, source.httpStatus])
    t.match(
      statuses(await ran(server)),
      Array.from({ length: 4 }, () => ['read', 200]),
    )
    t.strictSame(statuses(await ran(server)), [
      ['unchanged', 304],
      ['unchanged', 304],
      ['unchanged', 200],
      ['read', 200],
    ])
    t.match(
      statuses(await ran(server, { force: true })),
      Array.from({ length: 4 }, () => ['read', 200]),
    )
    await setUp(server, http('/etag.csv'))
    t.match(await ran(server), {
      status: 'succeeded',
      rows: 0,
      sources: [{ status: 'unchanged', etag: '"1"' }],
    })
    await clear(server, 'geofences')
  },
)

t.test('nothing counts before all sources are there and were read to the end', async (t) => {
  web.files.set('/good.csv', HEADER + row('late', 1))
  web.files.set('/cut.csv', HEADER + row('late', 2) + 'Row,circle,la')
  web.files.set('/quote.csv', HEADER + row('late', 3) + 'Row,circle,late,"4,\n')
  web.files.set('/case.csv', HEADER.replace('tag', 'Tag') + row('late', 5))
  web.files.set('/utf16.csv', Buffer.from(`\ufeff${HEADER}`, 'utf16le'))
  web.files.set('/zip.csv', Buffer.from('PK\u0003\u0004 and more'))
  web.files.set('/page.csv', '\n <!DOCTYPE html><title>Sign in</title>')
  web.files.set('/empty.csv', '')
  await setUp(
    server,
    http(
      '/good.csv',
      '/cut.csv',
      '/quote.csv',
      '/case.csv',
      '/utf16.csv',
      '/zip.csv',
      '/page.csv',
      '/empty.csv',
      '/none.csv',
    ),
  )
  const run = await ran(server)
  t.match(run, { status: 'partial', rows: 1, created: 1 })
  t.match(
    run.sources.map(({ status, error }: Json) => [status, error?.code, error?.message]),
    [
      ['read', undefined, undefined],
      ['failed', 'notCsv', /^Line 3: .*breaks off/],
      ['failed', 'notCsv', /^Line 3: A quoted cell is never closed/],
      ['failed', 'header', /^Line 1: Tag: .*must be written tag/],
      ['failed', 'notCsv', /UTF-16/],
      ['failed', 'notCsv', /zip/],
      ['failed', 'notCsv', /web page/],
      ['failed', 'notCsv', /empty/],
      ['failed', 'http404', /no such file/],
    ],
  )
  t.notOk(JSON.stringify(run).includes('a secret of the server'), 'bodies of failures stay unseen')
  t.strictSame(await names('late'), ['1'])
  await setUp(server, http('/none.csv'))
  t.match(await ran(server), { status: 'failed', rows: 0 })
  await clear(server, 'geofences')
})

t.test('gzip by its header, its type or its name; a broken one fails', async (t) => {
  const packed = gzipSync(HEADER + row('zip', 1))
  const answering = (content: Buffer, headers: Record<string, string>) => (_: unknown, response: Json) =>
    response.writeHead(200, headers).end(content)
  web.files.set('/encoded', answering(packed, { 'content-encoding': 'gzip' }))
  web.files.set('/typed', answering(packed, { 'content-type': 'application/gzip' }))
  web.files.set('/named.csv.gz', answering(packed, {}))
  web.files.set('/broken.gz', answering(packed.subarray(0, packed.length - 12), {}))
  await setUp(server, http('/encoded', '/typed', '/named.csv.gz', '/broken.gz'))
  const run = await ran(server)
  t.match(run.sources, [
    { status: 'read', repeated: 1 },
    { status: 'read', repeated: 1 },
    { status: 'read', created: 1 },
    { status: 'failed', error: { code: 'gzip' } },
  ])
  await clear(server, 'geofences')
})

t.test('what no source names any more is deleted, within the guard, and only what runs wrote', async (t) => {
  const rows = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, i) => row('del', from + i)).join('')
  await server.api('PUT', '/v1/geofences/del/own', {
    description: 'By hand',
    type: 'circle',
    coordinates: [1, 2],
    radius: 50,
  })
  web.files.set('/del.csv', HEADER + rows(1, 20))
  web.files.set('/other.csv', versioned(HEADER + row('del', 'other'), '"o"'))
  await setUp(server, { ...http('/del.csv', '/other.csv'), deleteMissing: true })
  t.match(await ran(server), { status: 'succeeded', created: 21, deleted: 0 })
  await server.api('PUT', '/v1/geofences/del/2', {
    description: 'Edited',
    type: 'circle',
    coordinates: [1, 2],
    radius: 50,
  })
  web.files.set('/del.csv', HEADER + row('del', 3, 'x') + rows(4, 20))
  t.match(
    await ran(server),
    { status: 'partial', refused: 1, deleted: 1 },
    '1; not 2, 3 or the unchanged source’s',
  )
  t.match((await names('del')).length, 21)
  t.ok((await names('del')).includes('2'))
  web.files.set('/del.csv', HEADER + rows(4, 4))
  t.match(await ran(server), { status: 'partial', deleted: 0, deletionHeld: { count: 17, of: 19 } })
  t.match(await ran(server, { dryRun: true, force: true }), { deleted: 17 })
  t.match((await names('del')).length, 21)
  t.match(await ran(server, { force: true }), { status: 'succeeded', deleted: 17 })
  t.strictSame(await names('del'), ['2', '4', 'other', 'own'])
  await setUp(server, { ...http('/del.csv'), deleteMissing: true, maxDeleteShare: 1 })
  t.match(await ran(server, { force: true }), { deleted: 1 }, 'a source that is set no more names nothing')
  t.strictSame(await names('del'), ['2', '4', 'own'])
  await clear(server, 'geofences')
})

t.test('a file that lists everything but one, and one that lists nothing but one', async (t) => {
  const rows = (from: number) => Array.from({ length: 20 - from }, (_, i) => row('but', from + i)).join('')
  const settings = { ...http('/but.csv'), deleteMissing: true }
  web.files.set('/but.csv', HEADER + rows(0))
  await setUp(server, settings)
  await ran(server)
  web.files.set('/but.csv', HEADER + rows(1))
  await setUp(server, { ...settings, maxDeleteShare: 0 })
  const held = { status: 'partial', unchanged: 19, deleted: 0, deletionHeld: { count: 1, of: 20 } }
  t.match(await ran(server), held, 'none may be deleted')
  await setUp(server, { ...settings, maxDeleteShare: 0.049 })
  t.match(await ran(server), held, 'one of twenty is more than 4.9 %')
  t.match((await ran(server)).sources, [{ status: 'read' }], 'it is read again, until nothing is held')
  t.equal((await names('but')).length, 20)
  await setUp(server, { ...settings, maxDeleteShare: 0.05 })
  t.match(await ran(server), { status: 'succeeded', deleted: 1 }, 'one of twenty is not more than 5 %')
  web.files.set('/but.csv', HEADER + row('but', 7))
  t.match(await ran(server), { status: 'partial', deleted: 0, deletionHeld: { count: 18, of: 19 } })
  t.equal((await names('but')).length, 19)
  await clear(server, 'geofences')
})

t.test('a source that is the server itself', async (t) => {
  const own = (path: string) => ({
    protocol: 'http',
    http: { urls: [server.url + path], headers: { authorization: KEYS.testSecret } },
  })
  for (const [path, code] of [
    ['/v1/geofences', 'notCsv'],
    ['/docs', 'notCsv'],
    ['/v1/nothing', 'http404'],
  ] as const) {
    await setUp(server, own(path))
    const tried = await server.api('POST', '/v1/geofence-sync/test', {})
    t.match(tried, { status: 200, body: { sources: [{ ok: false, message: /./ }] } }, path)
    t.match(await ran(server), { status: 'failed', sources: [{ error: { code } }] }, path)
  }
  t.strictSame(await records(server, 'geofences'), [])
  const { status } = await server.api('PUT', '/v1/geofence-sync', {
    ...http('/x.csv'),
    http: { urls: [`${web.url}/x.csv`], headers: null },
  })
  t.equal(status, 200, 'the secret stays here')
})

t.test('what its own date has disabled is deleted too, unless somebody wrote it since', async (t) => {
  const dated = (id: number, at: string) => `Row,circle,dated,${id},"[1,2]",100,${at}\n`
  const header = HEADER.replace('\n', ',disableAfter\n')
  const soon = new Date(Date.now() + 4000).toISOString()
  web.files.set('/dated.csv', header + dated(1, soon) + dated(2, soon) + dated(3, ''))
  await setUp(server, { ...http('/dated.csv'), deleteMissing: true, maxDeleteShare: 1 })
  t.match(await ran(server), { status: 'succeeded', created: 3 })
  const isDisabled = async (id: number) =>
    (await server.api('GET', `/v1/geofences/dated/${id}`)).body.geofence.enabled === false
  // Stored by the sweep, not only seen by the clock.
  const storedAt = async (id: number) =>
    (await server.api('GET', `/v1/geofences/dated/${id}`)).body.geofence.updatedAt
  await until(async () => (await storedAt(1)) >= soon && (await storedAt(2)) >= soon)
  t.ok((await isDisabled(1)) && (await isDisabled(2)))
  const definition = { description: 'By hand', type: 'circle', coordinates: [1, 2], radius: 50 }
  await server.api('PUT', '/v1/geofences/dated/2', definition)
  web.files.set('/dated.csv', header + dated(3, ''))
  t.match(await ran(server), { status: 'succeeded', deleted: 1 })
  t.strictSame(await names('dated'), ['2', '3'])
  await clear(server, 'geofences')
})

t.test('a pair that an unchanged source names stays', async (t) => {
  web.files.set('/first.csv', versioned(HEADER + row('two', 1) + row('two', 2), '"f"'))
  web.files.set('/second.csv', HEADER + row('two', 1))
  await setUp(server, { ...http('/first.csv', '/second.csv'), deleteMissing: true, maxDeleteShare: 1 })
  await ran(server)
  web.files.set('/second.csv', HEADER)
  t.match(await ran(server), {
    status: 'succeeded',
    deleted: 0,
    sources: [{ status: 'unchanged' }, { status: 'read' }],
  })
  t.strictSame(await names('two'), ['1', '2'])
  await clear(server, 'geofences')
})

t.test('a dry run counts and writes nothing', async (t) => {
  web.files.set('/dry.csv', HEADER + row('dry', 1) + row('dry', 2) + row('dry', 3, 'x'))
  await server.api('PUT', '/v1/geofences/dry/2', {
    description: 'There',
    type: 'circle',
    coordinates: [1, 2],
    radius: 50,
  })
  await setUp(server, http('/dry.csv'))
  t.match(await ran(server, { dryRun: true }), {
    dryRun: true,
    status: 'partial',
    created: 1,
    updated: 1,
    refused: 1,
  })
  const { body: listed } = await server.api('GET', '/v1/geofence-sync/runs?limit=1')
  t.equal(listed.runs[0].changes, undefined, 'a list has no changes')
  const { body: shown } = await server.api('GET', `/v1/geofence-sync/runs/${listed.runs[0]._id}`)
  t.match(
    shown.run.changes.map(({ change, externalId }: { change: string; externalId: string }) => [
      change,
      externalId,
    ]),
    [
      ['created', '1'],
      ['updated', '2'],
    ],
  )
  t.match(shown.run.changes[0], { tag: 'dry', center: [Number, Number], radius: Number })
  t.strictSame(await names('dry'), ['2'])
  t.match(await ran(server), { created: 1, updated: 1, refused: 1 })
  await clear(server, 'geofences')
})

t.test('one run at a time; it can be canceled; the live environment has its own', async (t) => {
  let release = (): void => {}
  web.files.set('/slow.csv', (_, response) => {
    response.writeHead(200)
    response.write(HEADER)
    release = () => response.end(row('slow', 1))
  })
  const saved = await setUp(server, { ...http('/slow.csv'), run: true })
  t.match(saved.run, { trigger: 'save', status: 'queued' })
  const id = saved.run._id
  const conflict = await server.api('POST', '/v1/geofence-sync/runs', {})
  t.match([conflict.status, conflict.body.run._id, conflict.body.meta.code], [409, id, 409])
  t.match(await server.api('PUT', '/v1/geofence-sync', { ...http('/x.csv'), run: true }), { status: 409 })
  web.files.set('/live.csv', HEADER + row('slow', 'live'))
  await setUp(server, http('/live.csv'), KEYS.liveSecret)
  t.match(await ran(server, {}, KEYS.liveSecret), { status: 'succeeded', live: true, created: 1 })
  t.match(await server.api('POST', `/v1/geofence-sync/runs/${id}/cancel`), { status: 200 })
  t.match(await ended(server, id), { status: 'canceled' })
  release()
  t.match(await server.api('POST', '/v1/geofence-sync/runs/abc/cancel'), { status: 404 })
  t.strictSame(await names('slow'), [])
  t.match((await server.api('GET', `/v1/geofence-sync/runs/${id}`, undefined, KEYS.liveSecret)).status, 404)
})

t.test('a run whose process is killed is interrupted, and begun again once', async (t) => {
  web.files.set('/kill.csv', (_, response) => {
    response.writeHead(200)
    response.write(HEADER)
  })
  const { run } = await setUp(server, { ...http('/kill.csv'), run: true })
  const asked = web.asked.length
  let killed: string | undefined
  for (let kills = 0; kills < 2; kills++) {
    while (web.asked.length < asked + kills) await new Promise((resolve) => setTimeout(resolve, 20))
    // After the restart, the killed run counts as running until its successor begins.
    const before = killed
    await until(async () => {
      const { lastRun } = (await server.api('GET', '/v1/geofence-sync')).body
      killed = lastRun._id
      return lastRun.status === 'running' && killed !== before
    })
    await server.kill9()
    await server.restart()
  }
  t.match(await ended(server, run._id), { status: 'interrupted' })
  const { body } = await server.api('GET', '/v1/geofence-sync/runs?limit=2')
  const again = await ended(server, body.runs[0]._id)
  t.match(again, { repeats: run._id, status: 'interrupted', trigger: 'save' })
  t.match(body.meta.hasMore, true)
  const before = await server.api('GET', `/v1/geofence-sync/runs?before=${again._id}&limit=1`)
  t.equal(before.body.runs[0]._id, run._id)
  t.match(await runOf(server, run._id), { status: 'interrupted' })
})
