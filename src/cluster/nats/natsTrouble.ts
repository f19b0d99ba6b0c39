import { systemReason } from '../../runtime/errors.ts'

/** The client library's options that explain a failure. `servers` are `host:port`, without secrets. */
interface Way {
  readonly servers?: string | string[]
  readonly tls?: { readonly certFile?: string } | null
}

/** Error codes of OpenSSL and Node for a certificate that is not trusted. */
const UNTRUSTED =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:GET|VERIFY)_\w+|CERT_UNTRUSTED)$/

/**
 * Says why there is no connection to NATS, in one line for the operator: where, why, and what to check.
 * @param error the error of the client library's `connect`
 * @param way the options that the library got
 */
export function natsTrouble(error: Error, { servers = [], tls }: Way): string {
  return `${[servers].flat().join(', ')}: ${reasonOf(error, tls ?? undefined)}`
}

function reasonOf(error: Error, tls: Way['tls']): string {
  const { code, message } = deepest(error) as NodeJS.ErrnoException
  switch (error.name) {
    case 'AuthorizationError':
      return 'the server refuses the credentials; check the user in natsUrl, or natsCredentials'
    case 'TimeoutError':
      return `no NATS server has answered; check the port, which is 4222 unless the server's settings say otherwise`
  }
  if (code !== undefined && UNTRUSTED.test(code))
    return `${message}: the server's certificate is not trusted; natsTlsCa names a file with the authority's certificate`
  // In TLS 1.3, a server checks our certificate after we are connected. Its reason (an alert) is lost if the system
  // notices the end first.
  if (tls && !tls.certFile && (code === 'ECONNRESET' || code === 'EPIPE'))
    return `${message}: the server may require a client certificate (natsTlsCertificate)`
  return systemReason(deepest(error))
}

/** The first cause of an error. A host with several addresses fails with one error for each. */
function deepest(error: Error): Error {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : []
  const cause = first ?? error.cause
  return cause instanceof Error ? deepest(cause) : error
}
