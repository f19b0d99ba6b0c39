/**
 * The Helm chart. chart.yaml beside this file contains what helm renders, so that the chart can be checked without
 * helm. After a change of the chart, `TAP_SNAPSHOT=1 node test/deploy/chart.test.ts`, with helm on the PATH, writes
 * that file again.
 */
import { createHash } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { PROCESS_ROLES } from '../../config/serverOptions.ts'
import { OPTIONS } from '../../config/options.ts'
import packageJson from '../../package.json' with { type: 'json' }
import {
  ROOT,
  run,
  schemaProblems,
  skipWithoutTool,
  text,
  yaml,
  yamlDocuments,
  type Document,
} from './tools.ts'

const CHART = 'deploy/helm/ringfence'
const RENDERED = 'test/deploy/chart.yaml'
/** A helm that was built without a version assumes an old cluster. */
const KUBERNETES = '1.37.0'

/** Values that switch on everything that the chart can render. */
const VALUES = {
  image: { repository: 'registry.example.com/ringfence' },
  nats: { existingSecret: 'ringfence-nats', caSecret: 'nats-ca' },
  environmentSecret: 'ringfence-environment',
  settings: { RINGFENCE_EVENTS_DAYS: '90' },
  gateway: { autoscaling: { enabled: true } },
  networkPolicy: { natsTo: [{ podSelector: { matchLabels: { app: 'nats' } } }] },
}

/**
 * The hash of the chart in the first line of chart.yaml. Of files that helm parses, it counts what is in them, because comments
 * change nothing of what helm renders.
 */
function chartHash(): string {
  const hash = createHash('sha256')
  const paths = readdirSync(join(ROOT, CHART), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
  const contentOf = (path: string) =>
    /\/(?:Chart|values)\.yaml$/.test(path) ? JSON.stringify(yaml(path)) : text(path)
  for (const path of paths.sort()) hash.update(`${path}\n${contentOf(path)}\n`)
  return hash.digest('hex')
}

function helmTemplate(values: object): Promise<string> {
  const set = Object.entries(values).map(([key, value]) => `--set-json=${key}=${JSON.stringify(value)}`)
  return run('helm', ['template', 'shop', CHART, `--kube-version=${KUBERNETES}`, ...set])
}

const withoutHelm = skipWithoutTool('helm')
if (process.env.TAP_SNAPSHOT === '1' && withoutHelm === false)
  writeFileSync(
    join(ROOT, RENDERED),
    `# sha256 ${chartHash()}: helm template of ${CHART} with the values of chart.test.ts\n${await helmTemplate(VALUES)}`,
  )

const objects = yamlDocuments(RENDERED)
const named = (kind: string, name: string): Document =>
  objects.find((object) => object.kind === kind && object.metadata.name === name)
const workloads = objects.filter(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment')
const roleOf = (object: Document): string => object.metadata.labels['app.kubernetes.io/component']

t.test('chart.yaml is what helm renders from the chart', async (t) => {
  t.match(text(RENDERED), `# sha256 ${chartHash()}:`, 'the chart has not changed since')
  const { version, appVersion } = yaml(`${CHART}/Chart.yaml`)
  t.equal(appVersion, packageJson.version)
  t.equal(version, packageJson.version)
})

t.test('helm itself', { skip: withoutHelm }, async (t) => {
  t.equal(await helmTemplate(VALUES), text(RENDERED).slice(text(RENDERED).indexOf('\n') + 1))
  const least = { image: VALUES.image, nats: VALUES.nats }
  t.notMatch(await helmTemplate(least), /HorizontalPodAutoscaler/)
  t.notMatch(await helmTemplate({ ...least, networkPolicy: { enabled: false } }), /NetworkPolicy/)
  await t.rejects(helmTemplate({}), /image\/repository/)
})

t.test('every object matches the schemas of Kubernetes', (t) => {
  const { kinds, definitions } = JSON.parse(text('test/deploy/schemas/kubernetes-1.37.json'))
  for (const object of objects) {
    const definition = kinds[`${object.apiVersion}/${object.kind}`]
    if (!t.ok(definition, `${object.apiVersion}/${object.kind} is known`)) continue
    const problems = schemaProblems({ $ref: `#/definitions/${definition}`, definitions })
    t.strictSame(problems(object), [], `${object.kind} ${object.metadata.name}`)
    t.match(problems({ ...object, spce: {} }), [/spce/])
  }
  t.strictSame(
    [...new Set(objects.map(({ kind }) => kind))].sort(),
    Object.keys(kinds)
      .map((kind) => kind.split('/').at(-1))
      .sort(),
    'each kind is made',
  )
  t.end()
})

t.test('the values have a schema', (t) => {
  const problems = schemaProblems(JSON.parse(text(`${CHART}/values.schema.json`)))
  const defaults = yaml(`${CHART}/values.yaml`)
  t.strictSame(problems({ ...defaults, ...VALUES }), [])
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ image: { repository: '' } }, /\/image\/repository/],
    [{ nats: { existingSecret: '' } }, /\/nats\/existingSecret/],
    [{ nats: { existingSecret: 'a', replicas: 2 } }, /\/nats\/replicas/],
    [{ partitions: 0 }, /\/partitions/],
    [{ gateways: {} }, /gateways/],
    [{ gateway: { replicas: 0 } }, /\/gateway\/replicas/],
    [{ settings: { RINGFENCE_KEYS: 'prj_test_pk_1' } }, /\/settings/],
    [{ settings: { RINGFENCE_EVENTS_DAYS: 90 } }, /\/settings\/RINGFENCE_EVENTS_DAYS/],
    [{ delivery: { storage: { size: 'much' } } }, /\/delivery\/storage\/size/],
  ]
  for (const [values, complaint] of wrong)
    t.match(problems({ ...defaults, ...VALUES, ...values }).join('\n'), complaint)
  t.end()
})

t.test('a workload with minimal privileges for each role', (t) => {
  t.strictSame(workloads.map(roleOf).sort(), [...PROCESS_ROLES].sort())
  const settings = new Set<string>(Object.values(OPTIONS).map(({ env }) => env))
  for (const workload of workloads) {
    const role = roleOf(workload)
    const { metadata, spec } = workload.spec.template
    t.match(metadata.labels, workload.spec.selector.matchLabels, `${role}: its pods are its own`)
    t.equal(spec.automountServiceAccountToken, false, role)
    t.match(
      spec.securityContext,
      { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      role,
    )
    const [container, ...others] = spec.containers
    t.strictSame(others, [], role)
    t.strictSame(
      container.securityContext,
      { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
      role,
    )
    t.ok(container.resources.requests.cpu && container.resources.limits.memory, `${role}: resources`)
    t.equal(container.readinessProbe.httpGet.path, '/readyz', role)
    t.equal(container.livenessProbe.httpGet.path, '/healthz', role)
    const env = new Map<string, Document>(container.env.map((one: Document) => [one.name, one]))
    for (const name of env.keys()) t.ok(settings.has(name), `${role}: ${name} is a setting`)
    t.equal(env.get('RINGFENCE_ROLES').value, role)
    t.strictSame(env.get('RINGFENCE_NATS_URL').valueFrom.secretKeyRef, { name: 'ringfence-nats', key: role })
    t.strictSame(container.envFrom, [{ secretRef: { name: 'ringfence-environment' } }], role)
    const volumes = [
      ...(spec.volumes ?? []),
      ...(workload.spec.volumeClaimTemplates ?? []).map((one: Document) => one.metadata),
    ]
    t.strictSame(
      container.volumeMounts.map(({ name }: Document) => name).sort(),
      volumes.map(({ name }) => name).sort(),
      `${role}: what is mounted is there`,
    )
  }
  t.notOk(
    objects.some(({ kind }) => kind === 'Secret'),
    'secrets are named, never made',
  )
  const { matchLabels } = named('StatefulSet', 'shop-ringfence-delivery').spec.selector
  t.strictSame(
    Object.keys(matchLabels).sort(),
    ['app.kubernetes.io/component', 'app.kubernetes.io/instance', 'app.kubernetes.io/name'],
    'nothing that an upgrade changes',
  )
  t.equal(named('StatefulSet', 'shop-ringfence-delivery').spec.replicas, 1)
  t.equal(
    named('StatefulSet', 'shop-ringfence-gateway').spec.replicas,
    undefined,
    'the autoscaler says how many',
  )
  t.strictSame(
    named('Service', 'shop-ringfence').spec.selector,
    named('StatefulSet', 'shop-ringfence-gateway').spec.selector.matchLabels,
  )
  t.end()
})

t.test('the network policy: users reach gateways, webhooks leave from delivery and never inwards', (t) => {
  for (const role of PROCESS_ROLES) {
    const { spec } = named('NetworkPolicy', `shop-ringfence-${role}`)
    t.strictSame(spec.policyTypes, ['Ingress', 'Egress'], role)
    t.equal(spec.podSelector.matchLabels['app.kubernetes.io/component'], role)
    t.equal(spec.ingress[0].from === undefined, role === 'gateway', role)
    const anywhere = spec.egress.filter(({ ports }: Document) => ports === undefined)
    t.equal(anywhere.length, role === 'delivery' ? 1 : 0, role)
    for (const { to } of anywhere)
      t.ok(to[0].ipBlock.except.includes('10.0.0.0/8') && to[0].ipBlock.except.includes('169.254.0.0/16'))
    const nats = spec.egress.find(({ ports }: Document) => ports?.[0].port === 4222)
    t.strictSame(nats.to, VALUES.networkPolicy.natsTo, role)
  }
  t.end()
})
