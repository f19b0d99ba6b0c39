/**
 * The link with which an invited person sets a password. The token comes after the #, which browsers do not send, so
 * it is in no log of a proxy.
 * @param site the address of the server, without a slash at the end
 */
export function invitationUrl(site: string, token: string): string {
  return `${site}/welcome#invitation=${token}`
}
