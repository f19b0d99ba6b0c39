/**
 * docker-compose.yml, run by podman-compose, with Ringfence's image and one of the servers' binaries. `.ci/containers
 * compose` builds both and runs this file: RINGFENCE_TEST_IMAGE is the name of the first without its tag, and
 * RINGFENCE_TEST_SERVERS_IMAGE the second. Prometheus, its exporter and Grafana are left out.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { freePort } from '../kit/freePort.ts'
import { progress, until } from '../kit/waiting.ts'
import { ROOT, run, yaml, type Document } from './tools.ts'

const { RINGFENCE_TEST_IMAGE: image = '', RINGFENCE_TEST_SERVERS_IMAGE: serversImage = '' } = process.env
const LEFT_OUT = ['nats-exporter', 'prometheus', 'grafana']
const CENTRE = { latitude: 52.52, longitude: 13.405, accuracy: 20 }
const ELSEWHERE = { ...CENTRE, latitude: 52.6 }
const DEVICES = 8
/** Rounds of each device while a container is away, and after it is back. */
const ROUNDS = 2

const skip =
  (image === '' || serversImage === '') && 'run it by .ci/containers compose, which builds the images'
if (skip) console.error(`SKIPPED: ${skip}`)

const podman = (...args: readonly string[]) => run('podman', args)

t.test('kill -9 of each container, backup and upgrade, with exact events', { skip }, async (t) => {
  const project = `ringfence-test-${process.pid}`
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-compose-'))
  cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true })
  cpSync(join(ROOT, 'deploy'), join(folder, 'deploy'), { recursive: true })
  const ports = { 8080: await freePort(), 8081: await freePort() }
  const compose = adapt(yaml('docker-compose.yml'), ports)
  writeFileSync(join(folder, 'docker-compose.yml'), JSON.stringify(compose))
  const services = Object.keys(compose.services)
  // Run by this test: without systemd nothing else runs them.
  const checks: Record<string, string[]> = {}
  for (const [service, { healthcheck }] of Object.entries<Document>(compose.services))
    checks[service] = healthcheck.test.slice(1)
  const kept = ['nats-1', 'nats-2', 'nats-3', 'delivery']
  const inContainer = (service: string) => `${project}_${service}_1`
  const podmanCompose = (...args: readonly string[]) =>
    run('podman-compose', ['--project-name', project, ...args], { cwd: folder })
  t.teardown(async () => {
    if (!t.passing())
      for (const service of services)
        console.error(service, await podman('logs', '--tail', '8', inContainer(service)).catch(String))
    await podmanCompose('down', '--volumes').catch(console.error)
    // It leaves those that the restore has made.
    for (const name of kept)
      await podman('volume', 'rm', '--force', `${project}_${name}`).catch(console.error)
    rmSync(folder, { recursive: true, force: true })
  })

  await t.rejects(podmanCompose('up', '--detach', 'nats-1'), /secrets\.sh/, 'nothing starts without secrets')
  await run('sh', ['deploy/secrets.sh'], { cwd: folder })
  const keys = /^RINGFENCE_KEYS=(.*)$/m.exec(readFileSync(join(folder, '.env'), 'utf8'))![1]!.split(',')
  const [publishable, , secret] = keys as [string, string, string, string]
  const urls = Object.values(ports).map((port) => `http://127.0.0.1:${port}`)
  const call = async (
    url: string,
    path: string,
    key: string,
    method = 'GET',
    body?: object,
  ): Promise<Document> => {
    const headers = { Authorization: key, 'Content-Type': 'application/json' }
    const signal = AbortSignal.timeout(10_000)
    const answer = await fetch(url + path, {
      method,
      headers,
      signal,
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, ...((await answer.json()) as object) }
  }
  /** Waits until all health checks of the file pass. */
  const healthy = async () => {
    for (const service of services)
      await until(async () => {
        const passes = await podman('exec', inContainer(service), ...checks[service]!).then(
          () => true,
          () => false,
        )
        if (!passes) await sleep(250)
        return passes
      })
  }
  const stays = new Map<string, number>()
  /** The devices go in and out, and end inside. A request that fails is repeated at the other gateway. */
  const walk = async () => {
    const device = async (deviceId: string) => {
      for (let round = 0; round < ROUNDS; round++)
        for (const position of [ELSEWHERE, CENTRE]) {
          const update = { deviceId, ...position }
          for (let attempt = 0; ; attempt++) {
            const url = urls[attempt % urls.length]!
            const answer = await call(url, '/v1/track', publishable, 'POST', update).catch(() => undefined)
            if (answer?.status === 200) break
            if (answer !== undefined && answer.status < 500 && answer.status !== 429)
              throw new Error(JSON.stringify(answer))
            await sleep(300)
          }
          if (position === CENTRE) stays.set(deviceId, (stays.get(deviceId) ?? 0) + 1)
          progress()
        }
    }
    await Promise.all(Array.from({ length: DEVICES }, (_, n) => device(`device-${n}`)))
  }
  /** Compares the events of each device, as each gateway tells them, with where it was. */
  const eventsAreExact = async (when: string) => {
    for (const [deviceId, entries] of stays)
      for (const url of urls) {
        const wanted = Array.from({ length: 2 * entries - 1 }, (_, n) => (n % 2 === 0 ? 'entered' : 'exited'))
        let told: Document[] = []
        // A gateway reads the events after they have been committed.
        await until(async () => {
          const path = `/v1/events?deviceId=${deviceId}&limit=1000`
          told = (await call(url, path, secret).catch(() => undefined))?.events ?? []
          if (told.length >= wanted.length) return true
          await sleep(250)
          return false
        })
        const types = told.map(({ type }) => /user\.(\w+)_geofence/.exec(type)?.[1]).toReversed()
        t.strictSame(types, wanted, `${when}: ${deviceId}`)
        t.equal(new Set(told.map(({ _id }) => _id)).size, told.length)
      }
  }

  await podmanCompose('up', '--detach')
  await healthy()
  const circle = {
    type: 'circle',
    coordinates: [CENTRE.longitude, CENTRE.latitude],
    radius: 100,
    description: 'Store',
  }
  t.match(await call(urls[0]!, '/v1/geofences/store/1', secret, 'PUT', circle), { status: 200 })
  await until(async () => (await call(urls[1]!, '/v1/geofences/store/1', secret)).status === 200)
  t.match(await call(urls[0]!, '/v1/geofences/store/1', 'prj_test_sk_wrong'), { status: 401 })
  await walk()
  await eventsAreExact('at first')

  for (const service of services) {
    const pid = Number(await podman('inspect', '--format', '{{.State.Pid}}', inContainer(service)))
    process.kill(pid, 'SIGKILL')
    await walk()
    // Without systemd nothing restarts containers after `kill -9`, if podman has not.
    await podman('start', inContainer(service))
    await healthy()
    t.pass(`${service} is healthy again`)
  }
  await eventsAreExact('after kill -9 of each container')

  const backup = join(folder, 'backup')
  mkdirSync(backup)
  await podmanCompose('stop')
  for (const name of kept)
    await podman('volume', 'export', '--output', join(backup, `${name}.tar`), `${project}_${name}`)
  await podmanCompose('down', '--volumes')
  for (const name of kept) {
    await podman('volume', 'create', `${project}_${name}`)
    await podman('volume', 'import', `${project}_${name}`, join(backup, `${name}.tar`))
  }
  await podmanCompose('up', '--detach')
  await healthy()
  await eventsAreExact('after the backup was restored')
  await walk()

  // The other image takes the place of a newer one.
  for (const service of services.filter((name) => compose.services[name].image === `${image}:all`)) {
    compose.services[service].image = `${image}:regions`
    writeFileSync(join(folder, 'docker-compose.yml'), JSON.stringify(compose))
    const walking = walk()
    await podman('stop', inContainer(service))
    await podman('rm', inContainer(service))
    await podmanCompose('up', '--detach', '--no-deps', service)
    await Promise.all([walking, healthy()])
    const now = await podman('inspect', '--format', '{{.ImageName}}', inContainer(service))
    t.equal(now.trim(), `${image}:regions`)
  }
  await eventsAreExact('after the upgrade')
})

/** The file with the images of this test, free ports, and the limits that podman may set. */
function adapt(compose: Document, ports: Readonly<Record<string, number>>): Document {
  for (const name of LEFT_OUT) delete compose.services[name]
  for (const service of Object.values<Document>(compose.services)) {
    if (service.image.startsWith('ringfence:')) service.image = `${image}:all`
    else service.image = serversImage
    delete service.build
    // Tile38 takes part. (Old podman-compose does not know a default that is empty, either.)
    if ('RINGFENCE_TILE38_URL' in (service.environment ?? {}))
      service.environment.RINGFENCE_TILE38_URL = 'tile38://tile38:9851,tile38://tile38-spare:9851'
    service.ulimits = { nofile: 4096, nproc: 4096 }
    // The driver json-file is Docker's.
    delete service.logging
    service.ports = service.ports?.map((port: string) =>
      port.replace(/:(\d+):8080$/, (_, published: string) => `:${ports[published]}:8080`),
    )
    if (service.ports === undefined) delete service.ports
  }
  return compose
}
