/**
 * The distributed engine on three servers that are configured by config/nats, with TLS. Each role can do everything
 * that it has to do, and nothing else.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { Member } from '../../cluster/member.ts'
import { Tickets } from '../../src/accounts/tickets.ts'
import { serveTickets } from '../../src/cluster/gateway/remoteTickets.ts'
import { NatsCalls } from '../../src/cluster/nats/natsCalls.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { JetStreamJournal } from '../../src/cluster/journal/jetStreamJournal.ts'
import { openJetStreamSnapshots } from '../../src/cluster/journal/jetStreamSnapshots.ts'
import { Receiver } from '../delivery/webhookKit.ts'
import { until } from '../kit/waiting.ts'
import { makeCertificates, withoutOpenssl, type Certificates } from '../kit/certificates.ts'
import { NATS_SERVER, serverBinary, skipWithout } from '../kit/goServers.ts'
import { freePort } from '../kit/freePort.ts'
import { KEYS } from '../kit/server.ts'
import { MailServer } from '../notify/mailServer.ts'

const skip = (await skipWithout(NATS_SERVER)) || withoutOpenssl()
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const CONFIG = fileURLToPath(new URL('../../config/nats/nats-tls.conf', import.meta.url))
const REPLICAS = 3
const USERS = ['operator', 'actors', 'gateway', 'delivery', 'subscriber'] as const
type User = (typeof USERS)[number]
const passwordOf = (user: User | 'route') => `p-secret-of-${user}`
/** Every process finds its disk nearly full, and has somebody to tell. */
const FULL_DISK = {
  RINGFENCE_OPERATOR_EMAILS: 'operator@example.com',
  NODE_OPTIONS: `--import=${new URL('../notify/fullDisk.ts', import.meta.url)}`,
}
const ISLAND = { latitude: 40.6892, longitude: -74.0445 }

/** The servers, their ports, and what clients need to connect. */
interface Servers {
  readonly members: readonly Member[]
  readonly certificates: Certificates
  urls(user: User): string
  connect(t: Test, user: User): Promise<NatsConnection>
}

async function natsServers(folder: string): Promise<Servers> {
  const certificates = await makeCertificates(folder)
  const binary = await serverBinary(NATS_SERVER)
  const ports = await Promise.all(
    Array.from({ length: REPLICAS }, async () => {
      return { client: await freePort(), monitor: await freePort(), route: await freePort() }
    }),
  )
  const route = (host: string, port: number) => `nats://route:${passwordOf('route')}@${host}:${port}`
  const members = ports.map(({ client, monitor, route: port }, i) => {
    const name = `nats-${i + 1}`
    return new Member({
      name,
      command: binary,
      // Free ports in place of those in the file.
      args: ['-c', CONFIG, '-p', `${client}`, '-m', `${monitor}`, '--cluster', route('127.0.0.1', port)],
      env: {
        NATS_NAME: name,
        NATS_STORE: join(folder, name),
        NATS_ROUTES: `[${ports.map((other) => route('localhost', other.route)).join(', ')}]`,
        NATS_ROUTE_PASSWORD: passwordOf('route'),
        NATS_CA: certificates.ca,
        NATS_CERTIFICATE: certificates.certificate,
        NATS_KEY: certificates.key,
        ...Object.fromEntries(USERS.map((user) => [`NATS_${user.toUpperCase()}_PASSWORD`, passwordOf(user)])),
      },
      logFile: join(folder, `${name}.log`),
      url: `localhost:${client}`,
      readyUrl: `http://127.0.0.1:${monitor}/healthz`,
    })
  })
  return {
    members,
    certificates,
    urls: (user) => members.map(({ options }) => `tls://${user}:${passwordOf(user)}@${options.url}`).join(),
    async connect(t, user) {
      const connection = await connect({
        servers: members.map(({ options }) => options.url),
        user,
        pass: passwordOf(user),
        tls: { caFile: certificates.ca },
        inboxPrefix: `_INBOX.${user}`,
      })
      t.teardown(() => connection.close())
      return connection
    },
  }
}

/** A Ringfence process. It signs in as its role unless `env` says otherwise. */
async function ringfence(
  folder: string,
  servers: Servers,
  role: 'gateway' | 'actors' | 'delivery',
  env: Record<string, string> = {},
): Promise<Member> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  return new Member({
    name: role,
    command: process.execPath,
    args: [MAIN],
    env: {
      RINGFENCE_ENGINE: 'distributed',
      RINGFENCE_ROLES: role,
      RINGFENCE_NATS_URL: servers.urls(role),
      RINGFENCE_NATS_TLS_CA: servers.certificates.ca,
      RINGFENCE_NATS_REPLICAS: `${REPLICAS}`,
      RINGFENCE_KEYS: Object.values(KEYS).join(),
      RINGFENCE_RATE_LIMITS: 'off',
      RINGFENCE_PARTITIONS: '2',
      RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8',
      RINGFENCE_PORT: `${port}`,
      RINGFENCE_DATA: join(folder, `${role}-${port}`),
      ...env,
    },
    logFile: join(folder, `${role}-${port}.log`),
    url,
    readyUrl: `${url}/readyz`,
  })
}

/** Subjects, each with the users that may publish there. The operator may publish everywhere. */
const PUBLISHERS: Readonly<Record<string, readonly User[]>> = {
  'partition.0.commit': ['actors'],
  'events.1.test.x.y': ['actors'],
  'mark.0': ['actors'],
  'event-changes': ['gateway'],
  '$KV.ringfence.store': ['actors'],
  '$KV.ringfence-registry.geofences.3.x': ['actors', 'gateway'],
  '$KV.ringfence-registry.keys.1': ['actors', 'gateway'],
  '$KV.ringfence-registry.webhooks.3.x': ['actors', 'gateway', 'delivery'],
  '$KV.ringfence-registry.hooks.3.x': ['actors', 'gateway', 'delivery'],
  '$KV.ringfence-registry.audit.1.x': ['actors', 'gateway', 'delivery'],
  '$KV.ringfence-registry.notifications.3.x': ['actors', 'gateway', 'delivery'],
  '$KV.ringfence-hosts.x': ['actors'],
  '$KV.ringfence-partitions.0': ['actors'],
  '$KV.ringfence-leases.delivery': ['delivery'],
  '$KV.ringfence-leases.dates': ['actors', 'delivery'],
  '$KV.ringfence-leases.geofence-sync': ['gateway', 'delivery'],
  '$KV.ringfence-leases.isochrones': ['gateway', 'delivery'],
  '$KV.ringfence-leases.sessions': ['gateway', 'delivery'],
  '$KV.ringfence-leases.audit': ['gateway', 'delivery'],
  '$KV.ringfence-leases.e-mail': ['gateway', 'delivery'],
  '$KV.ringfence-leases.quota-notices': ['gateway', 'delivery'],
  '$O.ringfence-snapshots.M.x': ['actors'],
  'usage.202601.1': ['gateway'],
  'ringfence.partition.0': ['actors', 'gateway'],
  'ringfence.users': ['gateway', 'delivery'],
  'ringfence.look': ['gateway'],
  'ringfence.positions': ['gateway'],
  'ringfence.webhooks': ['gateway'],
  'ringfence.tickets.x': ['gateway'],
  'ringfence.imports': ['actors', 'gateway'],
  'ringfence.counts': ['gateway'],
  '_INBOX.gateway.x': ['actors', 'delivery'],
  '_INBOX.delivery.x': ['actors'],
  // Owners ask each other about trips.
  '_INBOX.actors.x': ['actors'],
  '_INBOX.subscriber.x': [],
  '$JS.API.STREAM.CREATE.P0': ['actors'],
  '$JS.API.STREAM.UPDATE.P0': ['actors'],
  '$JS.API.STREAM.DELETE.P0': [],
  '$JS.API.STREAM.PURGE.P0': ['actors'],
  '$JS.API.STREAM.PURGE.EVENTS': [],
  '$JS.API.STREAM.PURGE.KV_ringfence-registry': [],
  '$JS.API.STREAM.SNAPSHOT.P0': [],
  '$JS.API.STREAM.MSG.GET.P0': ['actors'],
  '$JS.API.STREAM.MSG.DELETE.P0': [],
  '$JS.API.DIRECT.GET.P0': ['actors'],
  '$JS.API.CONSUMER.CREATE.P0.x': [],
  '$JS.API.CONSUMER.CREATE.EVENTS.x': ['gateway', 'delivery'],
  '$JS.API.CONSUMER.MSG.NEXT.EVENTS.other': ['gateway', 'delivery'],
  'RINGFENCE.CONSUMER.MSG.NEXT.EVENTS.other': [],
  'RINGFENCE.CONSUMER.MSG.NEXT.EVENTS.subscriber': ['subscriber'],
  '$JS.ACK.EVENTS.subscriber.1.1.1.1.0': ['subscriber'],
  '$JS.ACK.EVENTS.other.1.1.1.1.0': [],
  '$SYS.REQ.SERVER.PING': [],
}

/** Like {@link PUBLISHERS}, for users that may subscribe. */
const LISTENERS: Readonly<Record<string, readonly User[]>> = {
  '>': [],
  'partition.>': [],
  'events.>': [],
  '$KV.>': [],
  '$JS.>': [],
  '_INBOX.>': [],
  '_INBOX.gateway.>': ['gateway'],
  '_INBOX.actors.>': ['actors'],
  '_INBOX.delivery.>': ['delivery'],
  '_INBOX.subscriber.>': ['subscriber'],
  'ringfence.partition.0': ['actors'],
  'ringfence.users': ['actors'],
  'ringfence.look': ['actors'],
  'ringfence.positions': ['actors'],
  'ringfence.webhooks': ['delivery'],
  'ringfence.tickets.x': ['gateway'],
  'ringfence.counts': ['gateway'],
}

/** Those of the subjects at which the user is not refused. */
async function allowed(
  connection: NatsConnection,
  subjects: readonly string[],
  attempt: (subject: string) => void,
): Promise<string[]> {
  const refused = new Set<string>()
  const watching = (async () => {
    for await (const status of connection.status()) {
      if (status.type === 'error') refused.add(/to "([^"]+)"/i.exec(status.error.message)?.[1] ?? '')
    }
  })()
  for (const subject of subjects) attempt(subject)
  await connection.flush()
  await connection.close()
  await watching
  return subjects.filter((subject) => !refused.has(subject))
}

// Three servers and five processes share the machine with other tests.

t.test('each role can do what it must, and is refused everything else', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-permissions-'))
  const servers = await natsServers(folder)
  const members: Member[] = [...servers.members]
  t.teardown(async () => {
    if (!t.passing()) for (const { options, output } of members) console.error(`${options.name}:\n${output}`)
    await Promise.all(members.map((member) => member.end('SIGKILL')))
    rmSync(folder, { recursive: true, force: true })
  })
  const begin = async (...begun: Member[]) => {
    members.push(...begun)
    for (const member of begun) member.start()
    await Promise.all(begun.map((member) => member.ready()))
  }
  for (const member of servers.members) member.start()
  await Promise.all(servers.members.map((member) => member.ready()))

  // One process with the password of another role, and one that does not know the certificate authority.
  const wrong = await ringfence(folder, servers, 'delivery', {
    RINGFENCE_NATS_URL: servers.urls('delivery').replaceAll('of-delivery', 'of-gateway'),
  })
  const trustless = await ringfence(folder, servers, 'delivery', { RINGFENCE_NATS_TLS_CA: '' })
  members.push(wrong, trustless)
  wrong.start()
  trustless.start()

  const mail = await MailServer.start(t)
  // The processes that start first wait for the one that makes the streams.
  const [gateway, actors, delivery] = await Promise.all(
    (['gateway', 'actors', 'delivery'] as const).map((role) =>
      ringfence(folder, servers, role, { ...mail.env, ...FULL_DISK }),
    ),
  )
  await begin(gateway!, actors!, delivery!)
  // Each process tells of its disk, and a gateway sends the e-mail.
  await until(() => mail.mails.length > 0)
  t.strictSame(mail.mails[0]!.to, ['operator@example.com'])
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${gateway!.options.url}/v1/${path}`, {
      method,
      headers: { Authorization: KEYS.testSecret, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
    return { status: answer.status, body: (await answer.json()) as any }
  }
  const receiver = await Receiver.start(t)
  const made = await call('POST', 'webhooks', { url: receiver.url })
  t.match(made, { status: 200 })
  const hooked = await Receiver.start(t)
  const hook = { geofence: { tag: 'example' }, endpoint: { url: hooked.url } }
  t.match(await call('PUT', 'hooks/example/1', hook), { status: 200, body: { hook: { status: 'active' } } })
  const coordinates = [ISLAND.longitude, ISLAND.latitude]
  const island = { description: 'Liberty Island', type: 'circle', radius: 300, coordinates }
  const deleteAfter = new Date(Date.now() + 2000).toISOString()
  t.match(await call('PUT', 'geofences/example/island', island), { status: 200 })
  t.match(await call('PUT', 'geofences/example/passing', { ...island, coordinates: [0, 0], deleteAfter }), {
    status: 200,
  })
  const socket = new WebSocket(
    `${gateway!.options.url.replace('http', 'ws')}/v1/stream`,
    ['ringfence.json'],
    {
      headers: { Authorization: KEYS.testSecret },
    },
  )
  t.teardown(() => socket.terminate())
  const came: { type: string }[] = []
  socket.on('message', (text) => came.push(JSON.parse(String(text))))
  await new Promise((resolve) => socket.once('open', resolve))
  socket.send(
    JSON.stringify({ type: 'watch', id: 'w', area: { type: 'circle', center: coordinates, radius: 300 } }),
  )
  await until(() => came.some(({ type }) => type === 'watching'))
  const track = await call('POST', 'track', { deviceId: 'visitor', accuracy: 20, ...ISLAND })
  t.match(track, { status: 200, body: { events: [{ type: 'user.entered_geofence' }] } })
  t.match(await call('GET', 'users/visitor'), { status: 200 })
  t.match(await call('GET', 'search/users?near=40.69,-74.04&radius=1000'), { status: 200 })
  await until(() => came.some(({ type }) => type === 'position'))
  await until(() => receiver.got.length > 0)
  await until(() => hooked.got.length > 0)
  t.equal(hooked.got[0]!.json.event._id, track.body.events[0]._id)
  await until(async () => (await call('GET', 'hooks/example/1')).body.hook.lastDeliveredAt !== undefined)
  t.match(await call('GET', 'hooks'), { body: { hooks: [{ tag: 'example', pending: 0 }] } })
  t.match(await call('DELETE', 'hooks/example/1'), { status: 200 })
  const event = `events/${track.body.events[0]._id}`
  await until(async () => (await call('GET', event)).status === 200)
  t.match(await call('PUT', `${event}/verification`, { verification: 1 }), { status: 200 })
  const deliveries = `webhooks/${made.body.webhook._id}/deliveries`
  await until(async () => (await call('GET', deliveries)).body.deliveries[0]?.status === 'delivered')
  t.match(await call('DELETE', `webhooks/${made.body.webhook._id}`), { status: 200 })

  // Gateways ask each other for tickets. An answer goes only where a question has asked for it.
  const [asker, asked] = await Promise.all([servers.connect(t, 'gateway'), servers.connect(t, 'gateway')])
  const tickets = serveTickets(
    new Tickets({ process: 'x', clock: systemClock }),
    new NatsCalls(asked, '_INBOX.gateway', (error) => t.fail(error.message)),
    'x',
  )
  await asked.flush()
  t.equal((await asker.request('ringfence.tickets.x', 'x.unknown')).string(), 'null')
  await tickets.stop()

  // Operations that only happen after some time: snapshots, trims, and deletion by date.
  const ofActors = await servers.connect(t, 'actors')
  const manager = await jetstreamManager(ofActors)
  const snapshots = await openJetStreamSnapshots(ofActors, '0'.repeat(16), REPLICAS, (name) => t.fail(name))
  for (const offset of [1, 2, 3]) {
    await snapshots.write(1000, { offset, bytes: Buffer.from('state') })
    t.match(await snapshots.newest(1000), { offset })
  }
  await new JetStreamJournal(ofActors, manager, 1).purge(1)
  const registry = await jetstreamManager(await servers.connect(t, 'operator'))
  await until(async () => {
    const { state } = await registry.streams.info('KV_ringfence-registry', { subjects_filter: '>' })
    const names = Object.keys(state.subjects ?? {}).filter((name) => name.includes('.geofences.'))
    const values = await Promise.all(
      names.map((name) => registry.streams.getMessage('KV_ringfence-registry', { last_by_subj: name })),
    )
    return values.some((value) => value?.header?.get('KV-Operation') === 'DEL')
  })

  // Subscribers have their own account and one consumer.
  await registry.consumers.add('EVENTS', {
    durable_name: 'subscriber',
    ack_policy: 'explicit',
    filter_subject: 'events.>',
    // Short, so that an event comes again soon if the subscriber sends its acknowledgement to a wrong subject below.
    ack_wait: 1e9,
  })
  const subscriber = await servers.connect(t, 'subscriber')
  const consumer = await jetstream(subscriber, { apiPrefix: 'RINGFENCE' }).consumers.get(
    'EVENTS',
    'subscriber',
  )
  const message = await consumer.next({ expires: 10_000 })
  t.match(message?.json(), { type: 'user.entered_geofence' })
  t.ok(await message!.ackAck())
  t.equal((await registry.consumers.info('EVENTS', 'subscriber')).num_ack_pending, 0)
  t.match(await call('POST', 'track', { deviceId: 'visitor', accuracy: 20, latitude: 41, longitude: -74 }), {
    body: { events: [{ type: 'user.exited_geofence' }] },
  })
  const ends = () => Promise.all(['P0', 'P1'].map(async (name) => (await registry.streams.info(name)).state))
  const before = await ends()
  // An answer may be sent to any subject, but only within this account.
  for (const reply of ['partition.0.commit', 'partition.1.commit'])
    subscriber.publish('RINGFENCE.CONSUMER.MSG.NEXT.EVENTS.subscriber', '{"batch":1,"no_wait":true}', {
      reply,
    })
  t.match((await consumer.next({ expires: 30_000 }))?.json(), { type: 'user.exited_geofence' })
  t.strictSame(await ends(), before, 'an event that is sent there is no frame')

  await until(() => wrong.output.includes('the server refuses the credentials'))
  await until(() => /cannot connect to NATS; retrying/.test(trustless.output))
  t.match(trustless.output, /"reason":"[^"]*certificate/)
  for (const waiting of [wrong, trustless]) {
    t.equal((await fetch(waiting.options.readyUrl)).status, 503)
    t.ok(waiting.isRunning)
    t.notMatch(waiting.output, / at .*\.[jt]s:/, 'no stack')
  }
  for (const member of [gateway!, actors!, delivery!]) {
    t.notMatch(member.output, /NATS denies permission/, `${member.options.name} needs no more`)
    const metrics = await (await fetch(`${member.options.url}/metrics`)).text()
    t.match(metrics, /ringfence_nats_connected 1/)
    t.notMatch(metrics, /p-secret-of/)
    t.equal(await member.end('SIGTERM'), 0)
    t.notMatch(member.output, /NATS denies permission/, `${member.options.name} needs no more to end`)
  }
  for (const { output } of members) t.notMatch(output, /p-secret-of/)

  for (const user of USERS.filter((one) => one !== 'operator')) {
    const may = (table: typeof PUBLISHERS) =>
      Object.keys(table).filter((subject) => table[subject]!.includes(user))
    const publisher = await servers.connect(t, user)
    t.strictSame(
      await allowed(publisher, Object.keys(PUBLISHERS), (subject) => publisher.publish(subject)),
      may(PUBLISHERS),
      `${user} publishes`,
    )
    const listener = await servers.connect(t, user)
    t.strictSame(
      await allowed(listener, Object.keys(LISTENERS), (subject) => listener.subscribe(subject)),
      may(LISTENERS),
      `${user} listens`,
    )
  }
})
