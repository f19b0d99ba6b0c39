import { createTransport, type Transporter } from 'nodemailer'
import type { Mailer, MailOutcome, RefusedAddress } from './port.ts'
import { oneLine } from './mailTexts.ts'

const CONNECT_MS = 10_000
/** A server that sends no byte for this long is given up. */
const SILENCE_MS = 30_000
const MAX_REASON = 200
/** The code of nodemailer's error for missing TLS. */
const NO_TLS = 'ETLS'

/** The properties of a failed attempt's error. */
interface SmtpFailure {
  readonly code?: string
  readonly responseCode?: number
  readonly response?: string
  readonly recipient?: string
  readonly rejectedErrors?: readonly SmtpFailure[]
}

/**
 * Sends through the mail server of the option `smtpUrl`. The operator names it, so it may be anywhere, also on this
 * machine. A password goes only over TLS, or to this machine.
 */
export function openSmtpMailer(smtpUrl: string, from: string): Mailer {
  const url = new URL(smtpUrl)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const secure = url.protocol === 'smtps:'
  const user = decodeURIComponent(url.username)
  const isHere = /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host)
  const transport: Transporter = createTransport({
    host,
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    ...(user !== '' && { auth: { user, pass: decodeURIComponent(url.password) } }),
    requireTLS: user !== '' && !secure && !isHere,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const domain = from.slice(from.lastIndexOf('@') + 1)

  return {
    async send(mail, limitMs) {
      const { id, to, recipients, subject, text } = mail
      let timer: NodeJS.Timeout | undefined
      const tooLong = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(Object.assign(new Error(), { code: 'ETIMEDOUT' })), limitMs)
      })
      try {
        const sent = transport.sendMail({
          from,
          to: [...to],
          envelope: { from, to: [...recipients] },
          messageId: `<${id}@${domain}>`,
          subject,
          text,
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
        const info = (await Promise.race([sent, tooLong])) as SmtpFailure
        return outcomeOf([], info.rejectedErrors ?? [])
      } catch (error) {
        const failure = error as SmtpFailure
        // Each address was answered separately, or all of them failed with the connection.
        const each = failure.rejectedErrors ?? []
        const answered = new Set(each.map(({ recipient }) => recipient))
        const rest = recipients.filter((email) => !answered.has(email))
        return outcomeOf(
          rest.map((recipient) => ({ ...pick(failure), recipient })),
          each,
        )
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

function pick({ code, responseCode, response }: SmtpFailure): SmtpFailure {
  return {
    ...(code !== undefined && { code }),
    ...(responseCode !== undefined && { responseCode }),
    ...(response !== undefined && { response }),
  }
}

function outcomeOf(...failures: readonly (readonly SmtpFailure[])[]): MailOutcome {
  const refused: RefusedAddress[] = []
  const later: RefusedAddress[] = []
  for (const failure of failures.flat()) {
    const { code, responseCode = 0, recipient = '' } = failure
    // A server that answers 502 to STARTTLS has not refused the e-mail.
    const list = responseCode >= 500 && code !== NO_TLS ? refused : later
    list.push({ email: recipient, reason: reasonOf(failure) })
  }
  return { refused, later }
}

/**
 * The answer of the mail server, or why there is none. It never contains the password, because no server sends that
 * back to a client.
 */
function reasonOf({ code = '', response }: SmtpFailure): string {
  if (code === NO_TLS) return 'the mail server offers no TLS that can be trusted'
  if (response) return `the mail server says: ${oneLine(response, MAX_REASON)}`
  if (code === 'ETIMEDOUT') return 'the mail server did not answer in time'
  if (code === 'EDNS') return 'the mail server is not known by its name'
  return 'the mail server cannot be reached'
}
