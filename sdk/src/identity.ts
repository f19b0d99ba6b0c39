/** Who makes the calls: a program with its key, or a page in which a person has signed in, with its cookie. */
export type Identity =
  | { readonly key: string }
  /** The environment that the page looks at; the browser adds the cookie, which the page cannot read. */
  | { readonly environment: 'test' | 'live' }

/** The headers that identify the caller. */
export function identityHeaders(identity: Identity): Record<string, string> {
  return 'key' in identity
    ? { authorization: identity.key }
    : { 'x-ringfence-environment': identity.environment }
}
