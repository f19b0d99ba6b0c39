/**
 * What the processes of a distributed engine notice: a disk that is nearly full, and a quota that is nearly used. Each of
 * them notices it, and there is one e-mail.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Cluster } from '../../cluster/cluster.ts'
import { loadOptions } from '../../config/options.ts'
import { operate } from '../../src/cli/operator.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { KEYS } from '../kit/server.ts'
import { progress, until } from '../kit/waiting.ts'
import { headerOf, MailServer, textOf } from '../notify/mailServer.ts'

const skip = await skipWithout(NATS_SERVER)
const DAY_MS = 86_400_000
/** Whoever has not told it looks in this time. */
const LOOK_MS = 4000
const QUOTA = 200

const folder = mkdtempSync(join(tmpdir(), 'ringfence-notices-'))
let cluster: Cluster
let mail: MailServer

t.before(async () => {
  if (skip !== false) return
  mail = await MailServer.start(t)
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
      RINGFENCE_OPERATOR_EMAILS: 'operator@example.com',
      NODE_OPTIONS: `--import=${new URL('../notify/fullDisk.ts', import.meta.url)}`,
    },
  })
})

async function ask(gateway: 0 | 1, method: string, path: string, body?: object): Promise<number> {
  const answer = await fetch(cluster.gateways[gateway]!.options.url + path, {
    method,
    headers: { authorization: KEYS.testSecret, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  await answer.arrayBuffer()
  return answer.status
}

async function nextMail() {
  await until(async () => {
    progress()
    await sleep(100)
    return mail.mails.length > 0
  })
  return mail.mails.shift()!
}

const today = () => Math.floor(Date.now() / DAY_MS)

t.test('four processes on a disk that is nearly full: one e-mail', { skip }, async (t) => {
  const day = today()
  const { to, raw } = await nextMail()
  t.strictSame(to, ['operator@example.com'])
  t.match(headerOf(raw).get('subject'), /^\[Ringfence\] .+: the disk is nearly full$/)
  t.match(textOf(raw), /Free: \d+ MiB of \d+ MiB \([45] %\)/)
  // One that starts looks at once.
  const [actors] = cluster.actors
  await actors!.end('SIGTERM')
  actors!.start()
  await actors!.ready()
  await sleep(LOOK_MS)
  if (today() === day) t.strictSame(mail.mails, [], 'none of the others told it again')
  mail.mails.length = 0
})

t.test('a quota is used by requests to two gateways: one e-mail', { skip }, async (t) => {
  const day = today()
  t.equal(await ask(0, 'PATCH', '/v1/settings', { notificationEmails: ['quota@example.com'] }), 200)
  const data = join(folder, 'gateway-1')
  const { options } = loadOptions({ argv: ['--data', data], env: {}, readFile: () => '' })
  t.equal(await operate(['projects', 'quota', '1', `${QUOTA}`], options, () => {}), 0)
  // Neither gateway has answered nine tenths by itself.
  for (let i = 0; i < 0.46 * QUOTA; i++)
    for (const gateway of [0, 1] as const) t.equal(await ask(gateway, 'GET', '/v1/settings'), 200)
  const { to, raw } = await nextMail()
  t.strictSame(to, ['quota@example.com'])
  t.match(headerOf(raw).get('subject'), /: 9\d % of the monthly quota is used$/)
  t.match(textOf(raw), new RegExp(`Requests this month: \\d+ of ${QUOTA}`))

  // Whoever takes the job over looks at once.
  for (const gateway of cluster.gateways) {
    await gateway.end('SIGTERM')
    await sleep(LOOK_MS)
    gateway.start()
    await gateway.ready()
  }
  await sleep(LOOK_MS)
  if (today() === day)
    t.strictSame(
      mail.mails.filter(({ to: [address] }) => address === 'quota@example.com'),
      [],
    )
})
