/** Health, readiness and metrics over HTTP. */
import t from 'tap'
import Type from 'typebox'
import type { ActorHost } from '../../src/actor/host.ts'
import { route, type Route } from '../../src/http/route.ts'
import { healthRoutes, type ReadinessCheck } from '../../src/ops/healthRoutes.ts'
import { HostTotals } from '../../src/ops/hostTotals.ts'
import { Metrics } from '../../src/ops/metrics.ts'
import { toyServer } from './toy.ts'

t.test('healthz and readyz', async (t) => {
  let log = { ok: true, detail: 'position 7' }
  const checks: ReadinessCheck[] = [
    { name: 'log', check: () => log },
    { name: 'registry', check: () => ({ ok: true, detail: '2 geofences' }) },
  ]
  const toy = await toyServer(t, { routes: healthRoutes(checks, new Metrics(), '') })
  t.strictSame((await toy.call('/healthz')).body, { meta: { code: 200 }, status: 'ok' })
  t.strictSame((await toy.call('/readyz')).body, {
    meta: { code: 200 },
    checks: [
      { name: 'log', ok: true, detail: 'position 7' },
      { name: 'registry', ok: true, detail: '2 geofences' },
    ],
  })
  log = { ok: false, detail: 'recovering' }
  const failing = await toy.call('/readyz')
  t.equal(failing.status, 503)
  t.strictSame(failing.body.meta, { code: 503, message: 'Not ready: log.' })
  t.strictSame(failing.body.checks[0], { name: 'log', ok: false, detail: 'recovering' })
  t.equal((await toy.call('/healthz')).status, 200, 'alive though not ready')
  checks[0] = {
    name: 'log',
    check: () => {
      throw new Error('gone')
    },
  }
  const throwing = await toy.call('/readyz')
  t.strictSame(
    [throwing.status, throwing.body.checks[0].detail],
    [503, 'the check failed'],
    'a check that throws has failed, and its message may tell of the inside',
  )
})

t.test('metrics with a token', async (t) => {
  const token = '0123456789abcdef'
  const open = await toyServer(t, { routes: healthRoutes([], new Metrics(), '') })
  t.equal((await open.call('/metrics')).status, 200)
  const toy = await toyServer(t, { routes: healthRoutes([], new Metrics(), token) })
  const status = async (key?: string) => (await toy.call('/metrics', key === undefined ? {} : { key })).status
  t.equal(await status(`Bearer ${token}`), 200)
  const wrong = [
    undefined,
    '',
    token,
    `Bearer ${token}0`,
    `Bearer ${token.slice(1)}`,
    'Bearer',
    'Bearer ',
    'sk',
  ]
  for (const each of wrong) t.equal(await status(each), 401, String(each))
  const refused = await toy.call('/metrics')
  t.match(refused.body.meta, { code: 401, message: /metricsToken/ })
  t.equal((await toy.call('/metrics', { method: 'HEAD' })).status, 401)
  for (const path of ['/healthz', '/readyz']) t.equal((await toy.call(path)).status, 200, path)
})

t.test('totals over hosts that join and leave never decrease', async (t) => {
  const host = (updates: number) => ({ counters: { updates }, zoneHits: 0 }) as unknown as ActorHost
  const [a, b, c] = [host(5), host(7), host(0)]
  let hosts = [a, b]
  const totals = new HostTotals(() => hosts)
  t.equal(totals.read('updates'), 12)
  b.counters.updates = 9
  t.equal(totals.read('updates'), 14)
  hosts = [a]
  t.equal(totals.read('updates'), 14)
  hosts = [c, a]
  c.counters.updates = 1
  t.equal(totals.read('updates'), 15)
  t.equal(totals.read('zoneHits'), 0)
})

t.test('metrics', async (t) => {
  const metrics = new Metrics()
  let bytes = 5
  metrics.gauge('mailbox_bytes', 'Bytes that wait in mailboxes.', () => bytes)
  metrics.total('updates_total', 'Updates evaluated.', () => 42)
  t.throws(() => metrics.gauge('mailbox_bytes', 'Again.', () => 0), /already been registered/)
  const echo = route({
    method: 'GET',
    path: '/v1/echo/:id',
    auth: 'none',
    summary: 's',
    tag: 't',
    params: Type.Object({ id: Type.String({ maxLength: 3 }) }),
    answers: { 200: Type.Object({}) },
    handler: () => ({}),
  })
  const toy = await toyServer(t, {
    routes: [echo, ...healthRoutes([], metrics, '')],
    observe: (of) => metrics.observe(of),
  })
  for (const id of ['a', 'b', 'long']) await toy.call(`/v1/echo/${id}`)
  await toy.call('/nowhere')
  await toy.call('/elsewhere')
  await toy.call('/v1/echo/a', { method: 'OPTIONS' })
  const { status, headers, text } = await toy.call('/metrics')
  t.equal(status, 200)
  t.match(headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  const lines = text.split('\n')
  for (const line of [
    '# TYPE ringfence_http_requests_total counter',
    'ringfence_http_requests_total{method="GET",route="/v1/echo/:id",status="200"} 2',
    'ringfence_http_requests_total{method="GET",route="/v1/echo/:id",status="400"} 1',
    'ringfence_http_requests_total{method="any",route="unknown",status="404"} 2',
    '# TYPE ringfence_http_request_duration_seconds histogram',
    'ringfence_http_request_duration_seconds_bucket{method="GET",route="/v1/echo/:id",le="+Inf"} 3',
    'ringfence_http_request_duration_seconds_count{method="GET",route="/v1/echo/:id"} 3',
    '# TYPE ringfence_mailbox_bytes gauge',
    'ringfence_mailbox_bytes 5',
    'ringfence_updates_total 42',
  ]) {
    t.ok(lines.includes(line), line)
  }
  const buckets = lines
    .filter((line) =>
      line.startsWith('ringfence_http_request_duration_seconds_bucket{method="GET",route="/v1/echo/:id"'),
    )
    .map((line) => Number(line.split(' ').at(-1)))
  t.strictSame(
    buckets,
    buckets.toSorted((a, b) => a - b),
    'buckets are cumulative',
  )
  bytes = 6
  t.match((await toy.call('/metrics')).text, 'ringfence_mailbox_bytes 6')
})

t.test('the text of metrics', async (t) => {
  const metrics = new Metrics()
  metrics.labelled('odd_total', 'A \\ and\na line.', 'code', () => new Map([['a"b\\c\nd', 1]]))
  metrics.gauge('endless', 'Endless.', () => Infinity)
  metrics.gauge('unknown', 'Unknown.', () => Number.NaN)
  metrics.times('waited_seconds', 'Waiting.')(3)
  const { content } = await metrics.text()
  t.match(content, '# HELP ringfence_odd_total A \\\\ and\\na line.\n# TYPE ringfence_odd_total counter\n')
  t.match(content, '\nringfence_odd_total{code="a\\"b\\\\c\\nd"} 1\n')
  t.match(content, '\nringfence_endless +Inf\n')
  t.match(content, '\nringfence_unknown NaN\n')
  t.match(content, '\nringfence_waited_seconds_bucket{le="0.0025"} 0\n')
  t.match(content, '\nringfence_waited_seconds_bucket{le="0.005"} 1\n')
  t.match(content, '\nringfence_waited_seconds_sum 0.003\nringfence_waited_seconds_count 1\n')
  t.match(metrics.plain(), { ringfence_endless: Infinity, ringfence_waited_seconds_count: 1 })
  t.notOk(Object.keys(metrics.plain()).some((name) => /odd|bucket/.test(name)))
})

t.test('others have turns while the metrics of many routes are written', async (t) => {
  const metrics = new Metrics()
  const routes = 20_000
  for (let i = 0; i < routes; i++) metrics.observe({ method: 'GET', path: `/v1/${i}` } as Route)(200, 1)
  let turns = 0
  const turn = () => {
    turns++
    handle = setImmediate(turn)
  }
  let handle = setImmediate(turn)
  const { content } = await metrics.text()
  clearImmediate(handle)
  t.equal(content.split('\n').filter((line) => line.includes('_count{')).length, routes)
  t.ok(turns > 5, `${turns} turns`)
})
