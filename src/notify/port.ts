/** Hands e-mails to a mail server. smtpMailer.ts implements it, and test/notify/smtp.test.ts tests it. */
export interface Mailer {
  /**
   * Makes one attempt. It never rejects.
   * @param limitMs the time limit of the whole attempt
   */
  send(mail: OutgoingMail, limitMs: number): Promise<MailOutcome>
}

export interface OutgoingMail {
  /** An id from which the Message-ID follows. */
  readonly id: string
  /** The addresses in the header. */
  readonly to: readonly string[]
  /** The addresses to which it is sent now. */
  readonly recipients: readonly string[]
  readonly subject: string
  /** The plain text. */
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
