/** The job that sends e-mails, over a real mail server that greylists, refuses some addresses or hangs; in virtual time. */
import t, { type Test } from 'tap'
import { MailJob } from '../../src/notify/mailJob.ts'
import { Notifier } from '../../src/notify/notifier.ts'
import { openSmtpMailer } from '../../src/notify/smtpMailer.ts'
import type { NotificationState } from '../../src/registry/notifications/notificationRows.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { SimulatedTime } from '../kit/simulatedTime.ts'
import { folderOf } from '../registry/replicatedKit.ts'
import { headerOf, MailServer } from './mailServer.ts'

const MINUTE = 60_000
const SCOPE = 2
const TEN = Array.from({ length: 10 }, (_, i) => `person${i}@example.com`)

async function open(t: Test) {
  const mail = await MailServer.start(t)
  const time = new SimulatedTime(Date.UTC(2026, 5, 1, 12))
  const registry = openRegistry({ folder: folderOf(t), clock: time, createIndex: createGeofenceIndex })
  t.teardown(() => registry.close())
  const { notifications } = registry
  const mailer = openSmtpMailer(mail.url, 'ringfence@example.com')
  const states: NotificationState[] = []
  const logs: string[] = []
  const log = (...words: readonly unknown[]) => void logs.push(JSON.stringify(words))
  const job = new MailJob({
    notifications,
    mailer,
    clock: time,
    logger: { info: log, warn: log },
    settled: (_, state) => {
      states.push(state)
      return []
    },
  })
  const notifier = new Notifier({
    notifications,
    mailer,
    projectName: () => 'Fleet',
    publicUrl: '',
    clock: time,
  })
  const queue = (of: string, to: readonly string[]) =>
    notifier.tell({
      cause: 'webhook',
      of,
      scope: SCOPE,
      to,
      mail: { subject: `About ${of}`, text: 'Text\n' },
    })
  const run = () => job.run(new AbortController().signal)
  return { mail, mailer, time, notifications, job, queue, run, states, logs }
}

t.test(
  'greylisted: tried again after a minute, with the same Message-ID, and only where it was not accepted',
  async (t) => {
    const { mail, time, job, queue, run, states, logs } = await open(t)
    mail.refusals.set(TEN[3]!, '550 No such mailbox')
    mail.refusals.set(TEN[4]!, '451 Greylisted, come back later')
    await queue('one', TEN)
    t.ok(job.dueAt() <= time.now(), 'at once')
    await run()
    const others = TEN.filter((_, i) => i !== 3 && i !== 4)
    t.strictSame(
      mail.mails.map(({ to }) => to),
      [others],
    )
    t.match(states.splice(0), [
      { status: 'waiting', error: /person3@example\.com: .*No such.* person4@example\.com: .*Greylisted/ },
    ])

    t.equal(job.dueAt(), time.now() + MINUTE)
    mail.asked.length = 0
    time.time += MINUTE
    await run()
    t.strictSame(mail.asked, [TEN[4]], 'still greylisted')
    t.match(states.splice(0), [{ status: 'waiting' }])
    mail.refusals.delete(TEN[4]!)
    mail.asked.length = 0
    time.time += 5 * MINUTE
    await run()
    t.strictSame(mail.asked, [TEN[4]])
    t.strictSame(
      mail.mails.map(({ to }) => to),
      [others, [TEN[4]]],
    )
    t.match(
      states,
      [{ status: 'sent', error: /person3@example\.com/ }],
      'the address that was refused is told',
    )
    t.equal(new Set(mail.mails.map(({ raw }) => headerOf(raw).get('message-id'))).size, 1)
    for (const { raw } of mail.mails)
      t.match(headerOf(raw).get('to'), TEN.join(', '), 'everybody sees who else got it')
    t.notMatch(logs.join(), /person/, 'addresses are in no log')
  },
)

t.test('a whole message that is greylisted', async (t) => {
  const { mail, time, queue, run, states } = await open(t)
  mail.refusal = '451 Try again later'
  await queue('one', TEN.slice(0, 2))
  await run()
  t.match(states.splice(0), [{ status: 'waiting', error: /Try again later/ }])
  mail.refusal = undefined
  time.time += MINUTE
  await run()
  t.strictSame(states, [{ status: 'sent' }])
  t.strictSame(
    mail.mails.map(({ to }) => to),
    [TEN.slice(0, 2)],
  )
})

t.test('a server that hangs: the attempt ends in time, and nobody counts as refused', async (t) => {
  const { mail, mailer } = await open(t)
  mail.isSilent = true
  const began = performance.now()
  const outcome = await mailer.send(
    { id: 'f'.repeat(24), to: TEN, recipients: TEN, subject: 'S', text: 'T' },
    300,
  )
  t.ok(performance.now() - began < 5000)
  t.strictSame(outcome, {
    refused: [],
    later: TEN.map((email) => ({ email, reason: 'the mail server did not answer in time' })),
  })
})

t.test('a day of greylisting is the end of it', async (t) => {
  const { mail, time, job, queue, run, states } = await open(t)
  mail.refusals.set(TEN[0]!, '451 Greylisted')
  await queue('one', TEN.slice(0, 1))
  const began = time.now()
  for (let attempts = 0; attempts < 100 && states.at(-1)?.status !== 'failed'; attempts++) {
    time.time = Math.max(time.now(), job.dueAt())
    await run()
  }
  t.equal(time.now() - began, 24 * 60 * MINUTE)
  t.match(states.at(-1), { status: 'failed', error: /Greylisted/ })
  t.strictSame(mail.mails, [])
})
