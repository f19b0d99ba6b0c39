/**
 * Hands e-mails to a mail server. Technology: smtpMailer.ts. Tests: test/notify/smtp.test.ts.
 */
export interface Mailer {
  /**
   * One attempt. Never rejects.
   * @param limitMs of the whole attempt
   */
  send(mail: OutgoingMail, limitMs: number): Promise<MailOutcome>
}

export interface OutgoingMail {
  /** The Message-ID follows from it. */
  readonly id: string
  /** For the header. */
  readonly to: readonly string[]
  /** The addresses that get it now. */
  readonly recipients: readonly string[]
  readonly subject: string
  /** Plain. */
  readonly text: string
}

export interface MailOutcome {
  /** Addresses that were refused for good, with the reason. */
  readonly refused: readonly RefusedAddress[]
  /** Addresses that another attempt may reach, with the reason. */
  readonly later: readonly RefusedAddress[]
}

export interface RefusedAddress {
  readonly email: string
  readonly reason: string
}
