/** What becomes of an e-mail after an attempt; quotas and disks; in virtual time. */
import t, { type Test } from 'tap'
import { afterAttempt } from '../../src/notify/mailJob.ts'
import { diskMail, quotaMail, testMail } from '../../src/notify/mailTexts.ts'
import { diskNotices, quotaNotices } from '../../src/notify/notices.ts'
import { Notifier } from '../../src/notify/notifier.ts'
import type { Notification } from '../../src/registry/notifications/notificationRows.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { SimulatedTime } from '../kit/simulatedTime.ts'
import { folderOf } from '../registry/replicatedKit.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const START = Date.UTC(2026, 5, 1, 12)

const waiting: Notification = {
  id: '0'.repeat(24),
  scope: 2,
  createdAt: START,
  cause: 'run',
  to: ['a@example.com', 'b@example.com'],
  pending: ['a@example.com', 'b@example.com'],
  refusals: [],
  subject: 's',
  text: 't',
  attempts: 0,
  nextAttemptAt: START,
}
const later = (...emails: string[]) => ({
  refused: [],
  later: emails.map((email) => ({ email, reason: 'busy' })),
})

t.test('an e-mail is tried for a day, with pauses that grow', async (t) => {
  let next = waiting
  let now = START
  const pauses: number[] = []
  for (;;) {
    const { next: after, state } = afterAttempt(next, later('a@example.com', 'b@example.com'), now)
    if (after.nextAttemptAt === undefined) {
      t.strictSame(state, { status: 'failed', error: 'a@example.com: busy. b@example.com: busy.' })
      break
    }
    t.equal(state.status, 'waiting')
    pauses.push((after.nextAttemptAt - now) / MINUTE)
    now = after.nextAttemptAt
    next = after
  }
  t.equal(now, START + DAY, 'the last attempt is after 24 h')
  t.strictSame(pauses.slice(0, 6), [1, 5, 15, 30, 60, 60])
})

t.test('an address that has it is not tried again', async (t) => {
  const first = afterAttempt(waiting, later('b@example.com'), START)
  t.strictSame(first.next.pending, ['b@example.com'])
  t.equal(first.next.nextAttemptAt, START + MINUTE)
  const { next, state } = afterAttempt(first.next, { refused: [], later: [] }, START + MINUTE)
  t.strictSame(state, { status: 'sent' })
  t.notOk('nextAttemptAt' in next)
})

t.test('a refusal is final, for its address', async (t) => {
  const refused = [{ email: 'a@example.com', reason: 'the mail server says: 550 no' }]
  const one = afterAttempt(waiting, { refused, later: [] }, START)
  t.strictSame(one.state, { status: 'sent', error: 'a@example.com: the mail server says: 550 no.' })
  const all = [...refused, { email: 'b@example.com', reason: 'the mail server says: 550 no' }]
  t.equal(afterAttempt(waiting, { refused: all, later: [] }, START).state.status, 'failed')
  t.equal(afterAttempt(waiting, { refused: all, later: [] }, START).next.nextAttemptAt, undefined)
})

function opened(t: Test) {
  const time = new SimulatedTime(START)
  const registry = openRegistry({ folder: folderOf(t), clock: time, createIndex: createGeofenceIndex })
  t.teardown(() => registry.close())
  const { notifications } = registry
  const mailer = { send: async () => ({ refused: [], later: [] }) }
  const parts = { notifications, mailer, projectName: () => 'Fleet', publicUrl: '', clock: time }
  return { time, notifications, notifier: new Notifier(parts), clock: time }
}

t.test('a quota of which 90 % is used is told once a day, once to each address', async (t) => {
  const { time, notifications, notifier, clock } = opened(t)
  const project = { id: 3, name: 'Fleet', quota: 100 as number | null, requests: 89 }
  const emailsOf = (scope: number) => (scope === 7 ? ['a@example.com'] : ['a@example.com', 'b@example.com'])
  const job = quotaNotices({ notifier, projects: () => [project], emailsOf, clock })
  await job.run(new AbortController().signal)
  t.equal(notifications.due(10).length, 0, '89 %')
  project.requests = 90
  for (let i = 0; i < 3; i++) await job.run(new AbortController().signal)
  const [mail, ...others] = notifications.due(10)
  t.strictSame(mail?.to, ['a@example.com', 'b@example.com'])
  t.equal(mail?.subject, '[Ringfence] Fleet: 90 % of the monthly quota is used')
  t.equal(others.length, 0)
  time.time += DAY
  await job.run(new AbortController().signal)
  t.equal(notifications.due(10).length, 2, 'the next day')
  project.quota = null
  time.time += DAY
  await job.run(new AbortController().signal)
  t.equal(notifications.due(10).length, 2, 'no quota')
})

t.test('a disk with less than 10 % free is told once a day', async (t) => {
  const { time, notifications, notifier, clock } = opened(t)
  let free = 100
  const parts = { notifier, host: 'host1', folder: '/data', emails: ['ops@example.com'], clock }
  const job = diskNotices({ ...parts, disk: async () => ({ device: '1', free, size: 1000 }) })
  await job.run(new AbortController().signal)
  t.equal(notifications.due(10).length, 0, '10 %')
  free = 99
  for (let i = 0; i < 3; i++) await job.run(new AbortController().signal)
  t.match(notifications.due(10), [{ to: ['ops@example.com'], subject: /host1: the disk is nearly full/ }])
  t.equal(notifications.due(10).length, 1)
  time.time += DAY
  await job.run(new AbortController().signal)
  t.equal(notifications.due(10).length, 2)
})

t.test('a cause has a bounded number of e-mails', async (t) => {
  const { notifications, notifier } = opened(t)
  const place = { project: 'Fleet', live: false, publicUrl: undefined }
  const telling = { cause: 'run', scope: 2, to: ['a@example.com'], mail: testMail(place) } as const
  for (let i = 0; i < 120; i++) await notifier.tell({ ...telling, of: `${i}` })
  t.equal(notifications.due(1000).length, 100)
  t.match(notifier.queue({ ...telling, of: 'x' }).state, { status: 'failed', error: /Too many/ })
  t.equal(notifier.queue({ ...telling, scope: 3, of: 'x' }).state.status, 'waiting', 'another environment')
})

t.test('data stay on their line', async (t) => {
  const project = 'Fleet\r\nBcc: everybody@example.com\u2028x\u001b[31m'
  const { subject, text } = testMail({ project, live: true, publicUrl: undefined })
  t.equal(subject, '[Ringfence] Fleet Bcc: everybody@example.com x [31m (live): a test')
  t.notMatch(text, /^Bcc/m)
  t.notMatch(quotaMail(project, { requests: 1, quota: 1 }).subject, /[\r\n]/)
  t.notMatch(diskMail(project, { folder: '/', free: 1, size: 2 }).subject, /[\r\n]/)
  const long = testMail({ project: 'x'.repeat(5000), live: true, publicUrl: undefined }).subject
  t.ok(long.length <= 200 && long.endsWith('(live): a test'), 'a long name does not hide what it is about')
})
