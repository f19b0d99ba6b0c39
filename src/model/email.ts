/** An address that a mail server can be given as it is: without a name, quotes, blanks or line ends. */
const EMAIL = /^[^\s@"<>(),:;\\[\]\p{Cc}]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/u

export const MAX_EMAIL_LENGTH = 320

export function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_LENGTH && EMAIL.test(text)
}
