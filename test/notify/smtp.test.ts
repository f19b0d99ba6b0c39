/** Passwords of mail servers: over TLS that can be trusted, or to this machine, and to nobody else. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SMTPServerOptions } from 'smtp-server'
import t, { type Test } from 'tap'
import { openSmtpMailer } from '../../src/notify/smtpMailer.ts'
import { makeCertificates, withoutOpenssl } from '../kit/certificates.ts'
import { startServer } from '../kit/server.ts'
import { MailServer } from './mailServer.ts'

const LIMIT_MS = 20_000
const skip = withoutOpenssl()
const folder = mkdtempSync(join(tmpdir(), 'ringfence-smtp-'))
t.teardown(() => rmSync(folder, { recursive: true }))

/** A mail server that demands a password, and what it was told. */
async function guarded(test: Test, options: SMTPServerOptions) {
  const told: unknown[] = []
  const mail = await MailServer.start(test, {
    authOptional: false,
    // So that the password would come without TLS, too, if a client sent it.
    allowInsecureAuth: true,
    onAuth({ username, password }, _session, done) {
      told.push([username, password])
      if (password === 'pa ss:wörd') done(null, { user: username! })
      else done(Object.assign(new Error('Wrong password'), { responseCode: 535 }))
    },
    ...options,
  })
  return { mail, told }
}

const login = (mail: MailServer, host: string, protocol = 'smtp', password = 'pa ss:wörd') =>
  `${protocol}://ringfence:${encodeURIComponent(password)}@${host}:${mail.port}`

function sent(url: string) {
  const to = ['ops@example.com']
  const mail = { id: 'f'.repeat(24), to, recipients: to, subject: 'Subject', text: 'Text' }
  return openSmtpMailer(url, 'ringfence@example.com').send(mail, LIMIT_MS)
}

t.test('without TLS a password goes to this machine only', async (test) => {
  const { mail, told } = await guarded(test, { disabledCommands: ['STARTTLS'] })
  test.strictSame(await sent(login(mail, '127.0.0.1')), { refused: [], later: [] })
  test.strictSame(told.splice(0), [['ringfence', 'pa ss:wörd']])
  test.equal(mail.mails.shift()?.user, 'ringfence')

  // The same server, by an address that could be of any machine.
  test.match(await sent(login(mail, '0.0.0.0')), {
    refused: [],
    later: [{ email: 'ops@example.com', reason: 'the mail server offers no TLS that can be trusted' }],
  })
  test.strictSame([told, mail.mails], [[], []], 'neither the password nor the e-mail')
})

t.test('a wrong password is final, and is not repeated', async (test) => {
  const { mail } = await guarded(test, { disabledCommands: ['STARTTLS'] })
  const { refused, later } = await sent(login(mail, '127.0.0.1', 'smtp', 'geheim'))
  test.strictSame(later, [])
  test.match(refused, [{ email: 'ops@example.com', reason: /^the mail server says: 535 Wrong password/ }])
  test.notMatch(JSON.stringify(refused), 'geheim')
})

t.test('TLS with a certificate that nobody trusts: no password', { skip }, async (test) => {
  const files = await makeCertificates(folder)
  const pair = { key: readFileSync(files.key), cert: readFileSync(files.certificate) }
  for (const [protocol, options] of [
    ['smtps', { secure: true }],
    ['smtp', { disabledCommands: [] }],
  ] as const) {
    const { mail, told } = await guarded(test, { ...pair, ...options } as SMTPServerOptions)
    for (const host of ['localhost', '0.0.0.0']) {
      const { refused, later } = await sent(login(mail, host, protocol))
      test.strictSame(refused, [], `${protocol} ${host}`)
      test.match(later, [
        { reason: /^the mail server (?:offers no TLS that can be trusted|cannot be reached)$/ },
      ])
    }
    test.strictSame([told, mail.mails], [[], []], protocol)
  }
})

t.test(
  'a server with its authority sends over TLS from the start, and after STARTTLS',
  { skip },
  async (test) => {
    const files = await makeCertificates(folder)
    const pair = { key: readFileSync(files.key), cert: readFileSync(files.certificate) }
    const send = async (url: string) => {
      const env = {
        RINGFENCE_SMTP_URL: url,
        RINGFENCE_SMTP_FROM: 'ringfence@example.com',
        NODE_EXTRA_CA_CERTS: files.ca,
      }
      const server = await startServer(test, { env })
      const { body } = await server.api('POST', '/v1/notifications/test', { email: 'ops@example.com' })
      test.match(body.notification, { status: 'sent' }, JSON.stringify(body))
      await server.stop()
      test.notMatch(server.output, /pa(?: |%20)ss/, 'the password is in no log')
    }
    for (const [protocol, options] of [
      ['smtps', { secure: true }],
      // Refuses a password before STARTTLS.
      ['smtp', { disabledCommands: [], allowInsecureAuth: false }],
    ] as const) {
      const { mail, told } = await guarded(test, { ...pair, ...options } as SMTPServerOptions)
      await send(login(mail, 'localhost', protocol))
      test.strictSame(told, [['ringfence', 'pa ss:wörd']], protocol)
      test.match(mail.mails, [{ to: ['ops@example.com'], user: 'ringfence' }], protocol)
    }
  },
)
