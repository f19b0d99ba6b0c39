/** docker-compose.yml and the Dockerfile, as far as they can be checked without Docker. */
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { loadOptions, OPTIONS } from '../../config/options.ts'
import packageLock from '../../package-lock.json' with { type: 'json' }
import { Member } from '../../cluster/member.ts'
import { freePort } from '../kit/freePort.ts'
import { ROOT, run, schemaProblems, skipWithoutTool, text, yaml, type Document } from './tools.ts'

const compose = yaml('docker-compose.yml')
const services: Readonly<Record<string, Document>> = compose.services
const dockerfile = text('Dockerfile').replaceAll('\\\n', ' ').split('\n')

/** A folder with the input of `docker compose` and the secrets that deploy/secrets.sh has generated. */
async function project() {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-compose-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const path of [
    'docker-compose.yml',
    'deploy/secrets.sh',
    'deploy/prometheus',
    'deploy/grafana',
    'config',
  ])
    cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  await run('sh', ['deploy/secrets.sh'], { cwd: folder })
  const lines = readFileSync(join(folder, '.env'), 'utf8').trimEnd().split('\n')
  const secrets = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  ) as Record<string, string>
  return { folder, secrets }
}

/** Replaces variables as Compose does. @throws Error if a variable is not set and the file requires it */
function interpolate(value: string, variables: Readonly<Record<string, string>>): string {
  return value.replaceAll(
    /\$\$|\$\{(\w+)(?:(:\?|:?-)([^}]*))?\}/g,
    (all, name: string, kind: string | undefined, fallback) => {
      if (all === '$$') return '$'
      const found = variables[name]
      if (found !== undefined) return found
      if (kind?.endsWith('-')) return fallback as string
      throw new Error(`${name} is not set`)
    },
  )
}

t.test('docker-compose.yml matches the Compose Specification', (t) => {
  const problems = schemaProblems(JSON.parse(text('test/deploy/schemas/compose-spec.json')))
  t.strictSame(problems(compose), [])
  t.match(problems({ services: { a: { image: 'a', memori: '1g' } } }), [/memori/])
  t.end()
})

t.test('every service has minimal privileges', (t) => {
  for (const [name, service] of Object.entries(services)) {
    t.match(service.image, /:[v\d]\d*\.\d+\.\d+(-[\w.]+)?$/, `${name}: an exact version`)
    t.equal(service.read_only, true, `${name}: its root cannot be written`)
    t.strictSame(service.cap_drop, ['ALL'], `${name}: no capabilities`)
    t.notOk(service.cap_add ?? service.privileged, `${name}: none given back`)
    t.strictSame(service.security_opt, ['no-new-privileges:true'], name)
    t.hasProps(service.deploy.resources.limits, ['cpus', 'memory', 'pids'], `${name}: limits`)
    t.ok(service.logging.options['max-size'], `${name}: its log does not fill the disk`)
    t.equal(service.restart, 'unless-stopped', name)
    // The image of the exporter has no program that could make a request.
    if (name !== 'nats-exporter') t.ok(service.healthcheck, `${name}: a health check`)
  }
  t.end()
})

t.test('only the API and Grafana can be reached from outside, by default from this machine only', (t) => {
  const published = Object.entries(services).filter(([, { ports }]) => ports !== undefined)
  t.strictSame(
    published.map(([name]) => name),
    ['gateway-1', 'gateway-2', 'grafana'],
  )
  for (const [, { ports }] of published)
    for (const port of ports) t.match(interpolate(port, {}), /^127\.0\.0\.1:\d+:\d+$/)
  t.equal(compose.networks.inside.internal, true)
  const elsewhere = Object.entries(services).filter(
    ([, { networks }]) => !(networks.length === 1 && networks[0] === 'inside'),
  )
  t.strictSame(
    elsewhere.map(([name]) => name),
    ['gateway-1', 'gateway-2', 'delivery', 'grafana'],
  )
  t.end()
})

t.test('it contains no secret; each one is generated, and nothing starts without it', async (t) => {
  const { folder, secrets } = await project()
  t.equal(statSync(join(folder, '.env')).mode & 0o777, 0o600, 'only its owner reads .env')
  await t.rejects(
    run('sh', ['deploy/secrets.sh'], { cwd: folder }),
    /\.env exists already/,
    'what is there stays',
  )
  t.equal(new Set(Object.values(secrets)).size, Object.keys(secrets).length, 'no two are the same')
  const source = text('docker-compose.yml')
  const wanted = new Set([...source.matchAll(/\$\{(\w+):\?/g)].map((match) => match[1]!))
  t.strictSame([...wanted].sort(), Object.keys(secrets).sort(), 'what is drawn is what is wanted')
  for (const [, name, kind] of source.matchAll(/\$\{(\w+)(:?-)?/g))
    if (kind === undefined) t.ok(wanted.has(name!), `${name} stops the start where it is not set`)
  for (const [name, { environment = {} }] of Object.entries(services))
    for (const [variable, value] of Object.entries<string>(environment))
      if (/PASSWORD|KEYS|ROUTES/.test(variable)) t.match(value, /\$\{/, `${name}: ${variable}`)
})

t.test('the settings of Ringfence exist, and NATS gets what its configuration requires', async (t) => {
  const { secrets } = await project()
  const roles = new Set<string>()
  for (const [name, { image, environment }] of Object.entries(services)) {
    if (!image.startsWith('ringfence:')) continue
    const known = new Set<string>(Object.values(OPTIONS).map(({ env }) => env))
    for (const variable of Object.keys(environment)) t.ok(known.has(variable), `${name}: ${variable}`)
    const env = Object.fromEntries(
      Object.entries<string>(environment).map(([variable, value]) => [variable, interpolate(value, secrets)]),
    )
    const { options } = loadOptions({ argv: [], env, readFile: () => '' })
    t.equal(options.engine, 'distributed', name)
    t.equal(options.natsReplicas, 3, name)
    t.equal(options.keys.length, 4, name)
    const [role] = options.roles
    t.equal(options.tile38Password, secrets.TILE38_PASSWORD, name)
    t.equal(environment.RINGFENCE_TILE38_URL, '${RINGFENCE_TILE38_URL-}', `${name}: all have Tile38, or none`)
    roles.add(role!)
    t.strictSame(
      options.natsUrl
        .map((url) => new URL(url))
        .map(({ username, password, host }) => [username, password, host]),
      [1, 2, 3].map((n) => [role, secrets[`NATS_${role!.toUpperCase()}_PASSWORD`], `nats-${n}:4222`]),
      `${name}: the user of its role, at all servers`,
    )
  }
  t.strictSame([...roles].sort(), ['actors', 'delivery', 'gateway'])

  const asked = readdirSync(join(ROOT, 'config/nats'))
    .filter((file) => !file.includes('tls'))
    .flatMap((file) => [
      ...text(`config/nats/${file}`)
        .replaceAll(/#.*/g, '')
        .matchAll(/\$(NATS_\w+)/g),
    ])
    .map((match) => match[1]!)
  for (const name of ['nats-1', 'nats-2', 'nats-3']) {
    const given = Object.keys(services[name]!.environment).filter((variable) => variable.startsWith('NATS_'))
    t.strictSame(given.sort(), [...new Set(asked)].sort(), name)
    t.equal(services[name]!.environment.NATS_NAME, name)
  }
})

t.test('Prometheus queries services that exist', (t) => {
  const { scrape_configs: jobs } = yaml('deploy/prometheus/prometheus.yml')
  const targets: string[] = jobs.flatMap((job: Document) =>
    job.static_configs.flatMap((group: Document) => group.targets),
  )
  for (const target of targets) {
    const host = target.split(':')[0]!
    t.ok(host === '127.0.0.1' || services[host] !== undefined, target)
  }
  const [{ authorization }] = jobs
  t.equal(authorization.credentials_file, `/run/secrets/${services.prometheus!.secrets[0]}`)
  t.strictSame(yaml('docker-compose.yml').secrets, { 'metrics-token': { environment: 'METRICS_TOKEN' } })
  const asked = new Set(targets.map((target) => target.split(':')[0]))
  const ours = Object.keys(services).filter((name) => services[name]!.image.startsWith('ringfence:'))
  for (const name of ours) t.ok(asked.has(name), `${name} is watched`)
  t.end()
})

t.test('Compose itself', { skip: skipWithoutTool('docker-compose') }, async (t) => {
  const { folder } = await project()
  await run('docker-compose', ['config', '--quiet'], { cwd: folder })
  rmSync(join(folder, '.env'))
  await t.rejects(run('docker-compose', ['config', '--quiet'], { cwd: folder }), /sh deploy\/secrets\.sh/)
})

t.test('the image has the Node that the tests run on', (t) => {
  const version = packageLock.packages['node_modules/node'].version
  t.ok(dockerfile.includes(`ARG NODE_VERSION=${version}`), version)
  const stages = dockerfile.filter((line) => line.startsWith('FROM '))
  t.ok(stages.every((line) => line.startsWith('FROM node:${NODE_VERSION}-bookworm-slim')))
  t.ok(dockerfile.includes('USER 1000:1000'))
  t.equal(services['gateway-1']!.image, `ringfence:${packageLock.version}`)
  t.end()
})

t.test('the dashboard is built from files that the image has by then', (t) => {
  const build = dockerfile.findIndex((line) => line.includes('node install/slim.ts'))
  const copied = dockerfile
    .slice(0, build)
    .flatMap((line) => /^COPY (?!--from)(.*) \S+$/.exec(line)?.[1]?.split(' ') ?? [])
  const isCopied = (path: string) => copied.some((one) => path === one || path.startsWith(`${one}/`))
  const waiting = globSync(['dashboard/*.ts', 'dashboard/src/**/*.{ts,tsx}'], { cwd: ROOT })
  const outside = new Set<string>()
  for (const path of waiting) {
    const imports = text(path).matchAll(/^(?:import|export) (?!type )[^'\n]*from '(\.[^']+\.tsx?)'/gm)
    for (const [, name] of imports) {
      const found = join(path, '..', name!)
      if (found.startsWith('dashboard/') || outside.has(found)) continue
      outside.add(found)
      // What it imports must be there, too.
      waiting.push(found)
    }
  }
  t.ok(outside.size > 0)
  for (const path of outside) t.ok(isCopied(path), path)
  t.end()
})

t.test('the files in the image are enough for a server, which writes only to its data folder', async (t) => {
  const image = mkdtempSync(join(tmpdir(), 'ringfence-image-'))
  t.teardown(() => rmSync(image, { recursive: true, force: true }))
  const context = text('.dockerignore').split('\n')
  const copied = dockerfile.flatMap((line) => /^COPY (?!--from)(.*) \S+$/.exec(line)?.[1]?.split(' ') ?? [])
  for (const path of copied) t.ok(context.includes(`!${path}`), `${path} is not ignored`)
  const last = dockerfile.findLastIndex((line) => line.startsWith('FROM '))
  for (const line of dockerfile.slice(last)) {
    const paths = /^COPY (?!--from)(.*) \S+$/.exec(line)?.[1]?.split(' ') ?? []
    for (const path of paths) cpSync(join(ROOT, path), join(image, 'app', path), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(image, 'app', 'node_modules'))
  const data = join(image, 'data')
  mkdirSync(data)
  const files = () => readdirSync(join(image, 'app'), { recursive: true, encoding: 'utf8' }).sort()
  const before = files()
  const entry = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(text('Dockerfile'))![1]!) as string[]
  t.strictSame(entry.slice(0, 3), ['tini', '--', 'node'])
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const server = new Member({
    name: 'the image',
    command: process.execPath,
    args: entry.slice(3, -1).concat(join(image, 'app', entry.at(-1)!)),
    env: { RINGFENCE_PORT: String(port), RINGFENCE_DATA: data },
    logFile: join(image, 'log'),
    url,
    readyUrl: `${url}/readyz`,
  })
  server.start()
  t.teardown(() => server.end('SIGKILL'))
  await server.ready()
  for (const path of ['/docs', '/docs/guides/quickstart', '/docs/guides/operating', '/v1/openapi.json'])
    t.equal((await fetch(url + path)).status, 200, path)
  const check = /^ {2}CMD (\[.*\])$/m.exec(text('Dockerfile'))![1]!
  const [, ...args] = JSON.parse(check) as string[]
  await run(process.execPath, args, { env: { RINGFENCE_PORT: String(port) } })
  await t.rejects(run(process.execPath, args, { env: { RINGFENCE_PORT: '1' } }), 'the health check can fail')
  t.equal(await server.end('SIGTERM'), 0, server.output)
  t.strictSame(files(), before)
  t.ok(existsSync(join(data, 'store.json')))
})
