/** E-mails of a real server, through a real mail server that keeps what it gets. */
import { createServer, type Server as NetServer } from 'node:net'
import { createServer as createHttpServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { ALLOWED, ended, FileServer, HEADER, ran, row, runOf, setUp } from '../sync/syncKit.ts'
import { headerOf, MailServer, textOf } from './mailServer.ts'

const mail = await MailServer.start(t)
const files = await FileServer.start(t)
const server = await startServer(t, {
  env: {
    ...ALLOWED,
    ...mail.env,
    RINGFENCE_PUBLIC_URL: 'https://fleet.example.com',
    RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.1',
  },
})
const source = `${files.url}/stores.csv?token=geheim`
const settings = { protocol: 'http', http: { urls: [source], password: 'hidden', username: 'u' } }

/** The next e-mail. */
async function nextMail() {
  await until(() => mail.mails.length > 0)
  return mail.mails.shift()!
}

t.test('a run with a typing mistake: an e-mail that says which', async (t) => {
  files.files.set('/stores.csv?token=geheim', `${HEADER}${row('store', 1)}${row('store', 2, -80)}`)
  await setUp(server, { ...settings, emails: ['ops@example.com', 'boss@example.com'] })
  const run = await ran(server)
  t.equal(run.notification.status, 'waiting')
  const { from, to, raw } = await nextMail()
  t.equal(from, 'ringfence@example.com')
  t.strictSame(to, ['ops@example.com', 'boss@example.com'], 'one e-mail')
  const header = headerOf(raw)
  t.equal(header.get('subject'), '[Ringfence] default (test): geofence sync partly succeeded')
  t.match(header.get('message-id'), /^<[0-9a-f]{24}@example\.com>$/)
  t.match(header.get('content-type'), /^text\/plain/)
  t.equal(header.get('auto-submitted'), 'auto-generated')
  const text = textOf(raw)
  for (const line of [
    /^Environment: default \(test\)/,
    /\nTrigger: run now, by \S+/,
    /\nStarted: 20\d\d-\S+Z/,
    /\nDuration: \d+ s/,
    /stores\.csv\?…: 2 rows, 1 created, 0 updated, 0 unchanged, 0 repeated, 1 refused/,
    /\nDeleted: 0/,
    /\nRefused rows: 1\s+http\S+, line 3: radius: Invalid radius\. Valid range: \[10, 10000\]\. \(-80\)/,
  ])
    t.match(text.replaceAll('\r\n', '\n'), line)
  t.match(text, `https://fleet.example.com/test/sync/runs/${run._id}`)
  for (const secret of ['geheim', 'hidden']) t.notMatch(text, secret)
  await until(async () => (await runOf(server, run._id)).notification.status === 'sent')
  t.notMatch(server.output, /ops@example\.com/, 'addresses are in no log')
})

t.test('who is told of what', async (t) => {
  files.files.set('/stores.csv?token=geheim', HEADER + row('store', 1))
  await setUp(server, { ...settings, emails: ['ops@example.com'], notify: 'failures' })
  t.equal((await ran(server)).notification.status, 'off', 'a success')
  files.files.set('/stores.csv?token=geheim', 'nothing of the kind')
  const run = await ran(server, { dryRun: true })
  t.strictSame([run.status, run.notification.status], ['failed', 'off'], 'a dry run')
  const failed = await ran(server)
  t.equal(failed.status, 'failed')
  t.match(headerOf((await nextMail()).raw).get('subject'), /geofence sync failed$/)
  await setUp(server, { ...settings, emails: [] })
  t.equal((await ran(server)).notification.status, 'off', 'nobody')
})

t.test('what is held back, and eleven refused rows', async (t) => {
  const rows = (count: number) => Array.from({ length: count }, (_, i) => row('held', i)).join('')
  const bad = Array.from({ length: 11 }, (_, i) => row('bad', i, 'x')).join('')
  files.files.set('/stores.csv?token=geheim', HEADER + rows(10))
  await setUp(server, { ...settings, deleteMissing: true })
  await ran(server)
  files.files.set('/stores.csv?token=geheim', HEADER + rows(1) + bad)
  await setUp(server, { ...settings, deleteMissing: true, emails: ['ops@example.com'] })
  await ran(server)
  const text = textOf((await nextMail()).raw).replaceAll('\r\n', '\n')
  t.match(text, /Held back: 9 of 10 geofences/)
  t.match(text, /Refused rows: 11\n/)
  t.equal(text.match(/^ {2}http/gm)!.length, 10)
  t.match(text, /\n {2}and 1 more\n/)
})

t.test('one of ten addresses is refused, another one is asked to wait', async (t) => {
  const emails = Array.from({ length: 10 }, (_, i) => `person${i}@example.com`)
  mail.refusals.set('person3@example.com', '550 No such mailbox')
  mail.refusals.set('person4@example.com', '450 Greylisted, come back')
  files.files.set('/stores.csv?token=geheim', HEADER + row('store', 1))
  await setUp(server, { ...settings, emails })
  const run = await ran(server, { force: true })
  t.equal((await nextMail()).to.length, 8)
  await until(async () => 'error' in (await runOf(server, run._id)).notification)
  const { notification } = await runOf(server, run._id)
  t.equal(notification.status, 'waiting')
  t.match(notification.error, /person3@example\.com: the mail server says: .*No such mailbox/)
  t.match(notification.error, /person4@example\.com: the mail server says: .*Greylisted/)
  mail.refusals.clear()
})

t.test('a message that is refused for good, and no mail server', async (t) => {
  await setUp(server, { ...settings, emails: ['ops@example.com'] })
  mail.refusal = '554 Looks like spam'
  const run = await ran(server, { force: true })
  t.equal(run.status, 'succeeded', 'it never fails a run')
  await until(async () => (await runOf(server, run._id)).notification.status === 'failed')
  t.match((await runOf(server, run._id)).notification.error, /Looks like spam/)
  mail.refusal = undefined
})

t.test('a name with line ends does not add headers', async (t) => {
  const { status } = await server.api('PUT', '/v1/geofence-sync', {
    ...settings,
    emails: ['a@example.com\r\nBcc: b@example.com'],
  })
  t.equal(status, 400)
  const { body } = await server.api('PATCH', '/v1/settings', { notificationEmails: ['no address'] })
  t.match(body.meta, { code: 400, param: 'notificationEmails' })
})

t.test('POST /v1/notifications/test', async (t) => {
  const test = (body: object, key?: string) => server.api('POST', '/v1/notifications/test', body, key)
  t.match((await test({ email: 'me@example.com' })).body.notification, { status: 'sent' })
  const { raw } = await nextMail()
  t.equal(headerOf(raw).get('subject'), '[Ringfence] default (test): a test')
  mail.refusals.set('nobody@example.com', '550 No such mailbox')
  const refused = (await test({ email: 'nobody@example.com' })).body.notification
  t.match(refused, { status: 'failed', error: /No such mailbox/ })
  t.match((await test({ email: 'no address' })).body.meta, { code: 400, param: 'email' })
  t.equal((await test({ email: 'x@example.com' }, KEYS.testPublishable)).status, 403)
  for (let i = 0; i < 3; i++) t.equal((await test({ email: 'me@example.com' })).status, 200)
  const tooMany = await test({ email: 'me@example.com' })
  t.equal(tooMany.status, 429)
  t.ok(Number(tooMany.headers.get('retry-after')) > 3000)
  t.equal((await test({ email: 'me@example.com' }, KEYS.liveSecret)).status, 200, 'live has its own')
  mail.mails.length = 0
})

t.test('a webhook that pauses', async (t) => {
  const receiver = createHttpServer((_request, response) => response.writeHead(410).end())
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  t.teardown(() => receiver.close())
  await server.api('PATCH', '/v1/settings', { notificationEmails: ['hooks@example.com'] })
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  const created = await server.api('POST', '/v1/webhooks', { url })
  t.equal(created.status, 200)
  await server.api('POST', '/v1/events', { name: 'bought', userId: 'u', deviceId: 'd', installId: 'i' })
  const track = { deviceId: 'd', latitude: 2, longitude: 1, accuracy: 5 }
  await server.api('POST', '/v1/track', track)
  const { to, raw } = await nextMail()
  t.strictSame(to, ['hooks@example.com'])
  t.equal(headerOf(raw).get('subject'), '[Ringfence] default (test): a webhook is paused')
  t.match(textOf(raw), /Reason: The endpoint responded with 410 Gone\./)
})

t.test('e-mails wait on the disk while the process is killed', async (t) => {
  const silent: NetServer = createServer(() => {})
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  t.teardown(() => silent.close())
  const other = await startServer(t, {
    env: { ...ALLOWED, ...mail.env, RINGFENCE_SMTP_URL: `smtp://127.0.0.1:${port}` },
  })
  files.files.set('/two.csv', HEADER + row('store', 1))
  const urls = [`${files.url}/two.csv`]
  await setUp(other, { protocol: 'http', http: { urls }, emails: ['ops@example.com'] })
  const run = await ran(other)
  t.strictSame([run.status, run.notification.status], ['succeeded', 'waiting'], 'a mail server that hangs')
  await other.kill9()
  silent.close()
  // The mail server is there again.
  const again = await MailServer.start(t)
  const { data } = other
  const next = await startServer(t, {
    data,
    env: { ...ALLOWED, ...mail.env, RINGFENCE_SMTP_URL: again.url },
  })
  await until(() => again.mails.length > 0)
  t.strictSame(again.mails[0]!.to, ['ops@example.com'])
  await until(async () => (await runOf(next, run._id)).notification.status === 'sent')
  t.equal((await ended(next, run._id)).status, 'succeeded')
  t.equal(again.mails.length, 1)
})

t.test('without a mail server', async (t) => {
  const plain = await startServer(t, { env: ALLOWED })
  files.files.set('/two.csv', HEADER + row('store', 1))
  const urls = [`${files.url}/two.csv`]
  await setUp(plain, { protocol: 'http', http: { urls }, emails: ['ops@example.com'] })
  t.equal((await ran(plain)).notification.status, 'notConfigured')
  const { body } = await plain.api('POST', '/v1/notifications/test', { email: 'me@example.com' })
  t.match(body.notification, { status: 'notConfigured', error: /smtpUrl/ })
})
