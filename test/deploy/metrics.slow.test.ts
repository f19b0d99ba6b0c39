/** The dashboard and the alerts: every expression parses, and uses only metrics and labels that exist. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parser } from '@prometheus-io/lezer-promql'
import t from 'tap'
import { Cluster } from '../../cluster/cluster.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { startServer } from '../kit/server.ts'
import { run, skipWithoutTool, text, yaml, type Document } from './tools.ts'

const DASHBOARD = 'deploy/grafana/dashboards/ringfence.json'
const dashboard: Document = JSON.parse(text(DASHBOARD))
const panels: Document[] = dashboard.panels
const rules: Document[] = yaml('deploy/prometheus/rules.yml').groups.flatMap((group: Document) => group.rules)

/** The expressions of the dashboard and the alerts, each with its place. */
const EXPRESSIONS: readonly (readonly [place: string, expression: string])[] = [
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }: Document) => [title, expr.replaceAll('$__rate_interval', '1m')] as const),
  ),
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
]

/** Labels that Prometheus adds to each metric. */
const ADDED_LABELS = ['instance', 'job', 'role']

/**
 * Metrics of other programs with their labels, taken from their sources: nats-io/prometheus-nats-exporter 0.17 (what
 * it makes of /varz is checked against nats-server below), tidwall/tile38 1.36, Prometheus. No test has queried the
 * exporter or Tile38.
 */
const OF_OTHERS: Readonly<Record<string, readonly string[]>> = {
  ALERTS: ['alertstate'],
  up: [],
  gnatsd_healthz_status: ['server_id'],
  jetstream_server_max_storage: ['server_name'],
  jetstream_server_total_message_bytes: ['server_name'],
  jetstream_stream_last_seq: ['server_name', 'stream_name'],
  jetstream_stream_total_bytes: ['server_name', 'stream_name'],
  tile38_aof_size_bytes: [],
  tile38_cmd_duration_seconds: ['cmd', 'quantile'],
  tile38_collection_objects: ['col'],
  tile38_heap_size_bytes: [],
  tile38_replication_info: ['role', 'following', 'caught_up', 'caught_up_once'],
}

/** What an expression selects, and the labels that it groups by. */
interface Asked {
  readonly selectors: readonly { readonly metric: string; readonly labels: readonly string[] }[]
  readonly groups: readonly string[]
}

/** @throws Error if it is not PromQL */
function read(expression: string): Asked {
  const selectors: { metric: string; labels: string[] }[] = []
  const groups: string[] = []
  parser.parse(expression).iterate({
    enter({ type, from, to, node }) {
      const source = () => expression.slice(from, to)
      if (type.isError) throw new Error(`no PromQL at ${from}: ${expression}`)
      if (type.name === 'VectorSelector') selectors.push({ metric: '', labels: [] })
      if (type.name === 'Identifier' && node.parent?.name === 'VectorSelector')
        selectors.at(-1)!.metric = source()
      if (type.name !== 'LabelName') return
      if (node.parent?.name === 'GroupingLabels') groups.push(source())
      else selectors.at(-1)!.labels.push(source())
    },
  })
  return { selectors, groups }
}

/** Metrics of a text in the format of Prometheus, with the labels of each. */
function served(page: string, into: Map<string, Set<string>>): void {
  for (const [, name] of page.matchAll(/^# TYPE (\S+)/gm)) if (!into.has(name!)) into.set(name!, new Set())
  for (const [, name, labels = ''] of page.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = into.get(name!) ?? new Set()
    for (const [, label] of labels.matchAll(/(\w+)="/g)) known.add(label!)
    into.set(name!, known)
  }
}

t.test('every expression is PromQL', (t) => {
  for (const [place, expression] of EXPRESSIONS) {
    t.ok(read(expression).selectors.length > 0, place)
  }
  t.throws(() => read('sum(rate(a[1m])'), /no PromQL/)
  t.strictSame(read('sum by (le) (rate(a{b="c"}[1m])) / d'), {
    selectors: [
      { metric: 'a', labels: ['b'] },
      { metric: 'd', labels: [] },
    ],
    groups: ['le'],
  })
  t.end()
})

t.test('every queried metric exists', { skip: await skipWithout(NATS_SERVER) }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-metrics-'))
  const [cluster, embedded] = await Promise.all([
    Cluster.start({ folder, nats: 1, gateways: 1, actors: 1, deliveries: 1 }),
    // Tile38 is not needed for its metrics to be reported.
    startServer(t, { env: { RINGFENCE_TILE38_URL: 'tile38://127.0.0.1:1' } }),
  ])
  t.teardown(async () => {
    await cluster.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  const known = new Map(Object.entries(OF_OTHERS).map(([name, labels]) => [name, new Set(labels)]))
  const urls = [...cluster.gateways, ...cluster.actors, ...cluster.deliveries].map(
    ({ options }) => options.url,
  )
  for (const url of [...urls, embedded.url]) {
    await (await fetch(`${url}/nothing-there`)).arrayBuffer()
    served(await (await fetch(`${url}/metrics`)).text(), known)
  }
  known.get('ringfence_stream_closed_total')!.add('code')
  const monitor = new URL('/varz', cluster.nats[0]!.options.readyUrl)
  for (const [key, value] of Object.entries((await (await fetch(monitor)).json()) as object))
    if (typeof value === 'number') known.set(`gnatsd_varz_${key}`, new Set(['server_id']))

  const used = new Set<string>()
  for (const [place, expression] of EXPRESSIONS) {
    const { selectors, groups } = read(expression)
    const labels = new Set(ADDED_LABELS)
    for (const { metric, labels: matched } of selectors) {
      used.add(metric)
      if (!t.ok(known.has(metric), `${place}: ${metric} is served`)) continue
      for (const label of known.get(metric)!) labels.add(label)
      for (const label of matched)
        t.ok(
          known.get(metric)!.has(label) || ADDED_LABELS.includes(label),
          `${place}: ${metric} has the label ${label}`,
        )
    }
    for (const label of groups) t.ok(labels.has(label), `${place}: grouped by ${label}`)
  }
  for (const name of Object.keys(OF_OTHERS)) t.ok(used.has(name), `${name} is used`)
})

t.test('the dashboard', (t) => {
  const { uid } = yaml('deploy/grafana/provisioning/datasources/prometheus.yml').datasources[0]
  const ids = panels.map(({ id }) => id)
  t.equal(new Set(ids).size, ids.length, 'each panel has an id of its own')
  const cells = new Set<string>()
  for (const { title, type, gridPos, targets = [], datasource } of panels) {
    t.ok(gridPos.x + gridPos.w <= 24, `${title} fits`)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        const cell = `${x}/${y}`
        if (cells.has(cell)) t.fail(`${title} lies over another panel at ${cell}`)
        cells.add(cell)
      }
    if (type === 'row') continue
    t.ok(targets.length > 0, `${title} asks for something`)
    for (const { uid: asked } of [datasource, ...targets.map((target: Document) => target.datasource)])
      t.equal(asked, uid, `${title} asks the data source that is provisioned`)
  }
  t.end()
})

t.test('the alerts', (t) => {
  for (const { alert, labels, annotations } of rules) {
    t.match(labels.severity, /^(page|ticket)$/, alert)
    t.ok(annotations.summary, `${alert} says what is wrong`)
  }
  t.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
  t.end()
})

t.test('Prometheus itself', { skip: skipWithoutTool('promtool') }, async (t) => {
  t.match(await run('promtool', ['check', 'config', 'deploy/prometheus/prometheus.yml']), /rules found/)
  await run('promtool', ['test', 'rules', 'test/deploy/alerts.yml'])
})
