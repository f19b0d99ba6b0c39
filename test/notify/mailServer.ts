/** A real mail server for tests, which keeps what it gets. */
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { Test } from 'tap'

export interface KeptMail {
  readonly from: string
  readonly to: readonly string[]
  /** As it came: header, empty line, body. */
  readonly raw: string
  readonly user: string | undefined
}

export class MailServer {
  readonly mails: KeptMail[] = []
  /** What it answers to a recipient, if it does not accept it: `450 Try later`. */
  readonly refusals = new Map<string, string>()
  /** What it answers to the whole message. */
  refusal: string | undefined
  /** Whether it says nothing to a recipient, neither yes nor no. */
  isSilent = false
  /** RCPT commands that it got, in order. */
  readonly asked: string[] = []
  port = 0

  static async start(t: Test, options: SMTPServerOptions = {}): Promise<MailServer> {
    const kept = new MailServer()
    const server = new SMTPServer({
      disabledCommands: ['STARTTLS'],
      authOptional: true,
      // A client that waits for an answer does not hold up the end of the test.
      closeTimeout: 500,
      ...options,
      onRcptTo({ address }, _session, done) {
        kept.asked.push(address)
        if (!kept.isSilent) done(failureOf(kept.refusals.get(address)))
      },
      onData(stream, session, done) {
        let raw = ''
        stream.setEncoding('utf8').on('data', (text: string) => (raw += text))
        stream.on('end', () => {
          if (kept.refusal !== undefined) return done(failureOf(kept.refusal))
          const { mailFrom, rcptTo } = session.envelope
          kept.mails.push({
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            raw,
            user: session.user as string | undefined,
          })
          done()
        })
      },
    })
    server.on('error', () => {})
    const listening = server.listen(0, '127.0.0.1') as unknown as Server
    await once(listening, 'listening')
    kept.port = (listening.address() as AddressInfo).port
    t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())))
    return kept
  }

  get url(): string {
    return `smtp://127.0.0.1:${this.port}`
  }

  /** Settings of a server that sends through this one. */
  get env(): Record<string, string> {
    return { RINGFENCE_SMTP_URL: this.url, RINGFENCE_SMTP_FROM: 'ringfence@example.com' }
  }
}

function failureOf(answer: string | undefined): Error | null {
  if (answer === undefined) return null
  return Object.assign(new Error(answer.slice(4)), { responseCode: Number(answer.slice(0, 3)) })
}

/** The header lines of a mail by name in lower case, unfolded. */
export function headerOf(raw: string): Map<string, string> {
  const head = raw.slice(0, raw.indexOf('\r\n\r\n')).replaceAll(/\r\n[ \t]+/g, ' ')
  return new Map(
    head.split('\r\n').map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
    }),
  )
}

/** The text of a mail. */
export function textOf(raw: string): string {
  const body = raw.slice(raw.indexOf('\r\n\r\n') + 4)
  const encoding = headerOf(raw).get('content-transfer-encoding')
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString()
  if (encoding !== 'quoted-printable') return body
  const bytes = body
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
