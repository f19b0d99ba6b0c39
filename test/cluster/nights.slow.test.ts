/**
 * Geofence syncs and e-mails in the distributed engine: real gateways, of which each could do the run of a night and send
 * what is to be told, and which are killed while they do.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Cluster } from '../../cluster/cluster.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { KEYS } from '../kit/server.ts'
import { progress, until } from '../kit/waiting.ts'
import { headerOf, MailServer, textOf } from '../notify/mailServer.ts'
import { FileServer, HEADER, row, type Json } from '../sync/syncKit.ts'

const skip = await skipWithout(NATS_SERVER)
const MINUTE_MS = 60_000

let cluster: Cluster
let mail: MailServer
let web: FileServer

t.before(async () => {
  if (skip !== false) return
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-nights-'))
  mail = await MailServer.start(t)
  web = await FileServer.start(t)
  t.teardown(async () => {
    await cluster?.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  cluster = await Cluster.start({
    folder,
    nats: 1,
    gateways: 2,
    actors: 1,
    deliveries: 1,
    env: {
      ...mail.env,
      RINGFENCE_KEYS: Object.values(KEYS).join(','),
      RINGFENCE_PARTITIONS: '4',
      RINGFENCE_RATE_LIMITS: 'off',
      RINGFENCE_DASHBOARD: 'off',
      RINGFENCE_SYNC_KEY: '0'.repeat(64),
      RINGFENCE_SYNC_PRIVATE_ADDRESSES: '127.0.0.1',
      RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.1',
    },
  })
})

/** Asks one of the two gateways. */
async function ask(gateway: 0 | 1, method: string, path: string, body?: object): Promise<Json> {
  const answer = await fetch(cluster.gateways[gateway]!.options.url + path, {
    method,
    headers: { authorization: KEYS.testSecret, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, ...((await answer.json()) as object) }
}

const runsOf = async (gateway: 0 | 1): Promise<Json[]> =>
  (await ask(gateway, 'GET', '/v1/geofence-sync/runs?limit=100')).runs

const settings = (path: string) => ({
  protocol: 'http',
  http: { urls: [web.url + path] },
  emails: ['ops@example.com', 'boss@example.com'],
})

t.test('two gateways at the minute of the night: one run, one e-mail', { skip }, async (t) => {
  web.files.set('/night.csv', HEADER + row('night', 1) + row('night', 2, 'x'))
  // Of the run that is due next; not the one that is about to begin.
  const at = new Date(Math.ceil((Date.now() + 5000) / MINUTE_MS) * MINUTE_MS).toISOString()
  const saved = await ask(0, 'PUT', '/v1/geofence-sync', {
    ...settings('/night.csv'),
    time: at.slice(11, 16),
  })
  t.equal(saved.sync.nextRunAt, at)
  await until(async () => {
    progress()
    await sleep(200)
    return (await runsOf(1))[0]?.status === 'partial'
  })
  await until(() => mail.mails.length > 0)
  // Whoever did not do it has the lease at times, too.
  await sleep(3000)
  for (const gateway of [0, 1] as const)
    t.match(await runsOf(gateway), [{ trigger: 'nightly', created: 1, refused: 1 }], `gateway ${gateway}`)
  t.equal((await runsOf(0)).length, 1)
  t.equal(web.asked.length, 1, 'the source was asked once')
  t.strictSame(
    mail.mails.map(({ to }) => to),
    [['ops@example.com', 'boss@example.com']],
  )
  const { raw } = mail.mails.shift()!
  t.match(textOf(raw), /line 3: radius: Invalid radius/)
  await until(async () => (await runsOf(1))[0]?.notification.status === 'sent')
  await ask(1, 'PUT', '/v1/geofence-sync', { ...settings('/night.csv'), enabled: false })
})

t.test(
  'a gateway is killed while it fetches, and while the mail server hangs: the other goes on',
  { skip },
  async (t) => {
    const [first, second] = cluster.gateways as [Cluster['gateways'][0], Cluster['gateways'][0]]
    let asked = 0
    web.files.set('/killed.csv', (_, response) => {
      response.writeHead(200)
      response.write(HEADER)
      // The first request hangs in the middle.
      if (++asked > 1) response.end(row('killed', 1))
    })
    const { status } = await ask(0, 'PUT', '/v1/geofence-sync', {
      ...settings('/killed.csv'),
      enabled: false,
    })
    t.equal(status, 200)
    // So the first one has the leases.
    await second.end('SIGTERM')
    const { run } = await ask(0, 'POST', '/v1/geofence-sync/runs', {})
    await until(() => asked >= 1)
    second.start()
    await second.ready()
    await first.end('SIGKILL')
    mail.isSilent = true
    mail.asked.length = 0
    await until(async () => (await runsOf(1))[0]?.status === 'succeeded')
    const [again, interrupted] = await runsOf(1)
    t.match([again.repeats, interrupted.status], [run._id, 'interrupted'])
    t.match(again, { created: 1, rows: 1, notification: { status: 'waiting' } })

    // The second one holds the e-mail.
    await until(() => mail.asked.length > 0)
    first.start()
    await first.ready()
    await second.end('SIGKILL')
    mail.isSilent = false
    await until(() => mail.mails.length > 0)
    await until(async () => (await runsOf(0))[0]?.notification.status === 'sent')
    t.equal(mail.mails.length, 1, 'one e-mail, and none of the run that was interrupted')
    t.match(headerOf(mail.mails.splice(0)[0]!.raw).get('subject'), /geofence sync succeeded$/)
    second.start()
    await second.ready()
  },
)

t.test('a webhook that pauses in the process that delivers is told by a gateway', { skip }, async (t) => {
  const receiver = createServer((_request, response) => response.writeHead(410).end())
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  t.teardown(() => receiver.close())
  await ask(1, 'PATCH', '/v1/settings', { notificationEmails: ['hooks@example.com'] })
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  t.equal((await ask(0, 'POST', '/v1/webhooks', { url })).status, 200)
  await ask(0, 'POST', '/v1/track', { deviceId: 'd', latitude: 2, longitude: 1, accuracy: 5 })
  await until(() => mail.mails.length > 0)
  const { to, raw } = mail.mails.shift()!
  t.strictSame(to, ['hooks@example.com'])
  t.match(headerOf(raw).get('subject'), /a webhook is paused$/)
})

t.test('test e-mails: five an hour, whichever gateway is asked', { skip }, async (t) => {
  const test = (gateway: 0 | 1) => ask(gateway, 'POST', '/v1/notifications/test', { email: 'me@example.com' })
  for (const gateway of [0, 1, 0, 1, 0] as const)
    t.match((await test(gateway)).notification, { status: 'sent' }, `gateway ${gateway}`)
  for (const gateway of [0, 1] as const) t.equal((await test(gateway)).status, 429)
  t.equal(mail.mails.splice(0).length, 5)
})
