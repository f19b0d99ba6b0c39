import { readFileSync } from 'node:fs'
import {
  credsAuthenticator,
  nkeyAuthenticator,
  type Authenticator,
  type NodeConnectionOptions,
} from '@nats-io/transport-node'
import { systemReason } from '../../runtime/errors.ts'

/** How a process gets to its NATS servers, as the settings of the same names say. Files are paths; the empty text: none. */
export interface NatsSettings {
  /** `nats://` or `tls://`, a user and password or a token before the host. */
  readonly natsUrl: readonly string[]
  /** Of a credentials file, or of one with the seed of a user's nkey. */
  readonly natsCredentials: string
  /** Certificates, as PEM, of the authorities that are trusted instead of those that Node knows. */
  readonly natsTlsCa: string
  /** The certificate, as PEM, that this process shows, and its key. */
  readonly natsTlsCertificate: string
  readonly natsTlsKey: string
}

/** A setting of the way to NATS cannot be used. The message names it, and holds no secret. */
export class NatsSettingsUnfit extends Error {
  override readonly name = 'NatsSettingsUnfit'
  /** Of the process. */
  readonly exitCode = 2
}

const CONNECT_MS = 3000
/** A connection that says nothing is given up after two of these. */
const PING_MS = 10_000
const DEFAULT_PORT = 4222

/**
 * What the client library is given. The files are read now, to see that they are good, and again for each connection, so that they may be
 * replaced while the process runs.
 * @throws {NatsSettingsUnfit}
 */
export function natsConnectionOptions(settings: NatsSettings): NodeConnectionOptions {
  const { natsUrl, natsCredentials } = settings
  const urls = natsUrl.map((url) => new URL(url))
  const tls = tlsOptions(settings)
  const options: NodeConnectionOptions = {
    name: 'ringfence',
    servers: urls.map((url) => `${url.hostname}:${url.port || DEFAULT_PORT}`),
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    maxPingOut: 2,
    ...(tls !== undefined && { tls }),
    ...(natsCredentials !== '' && { authenticator: authenticatorOf(natsCredentials) }),
  }
  const named = urls.find((url) => url.username !== '')
  if (named === undefined) return options
  const user = decodeURIComponent(named.username)
  if (named.password === '') return { ...options, token: user }
  return { ...options, user, pass: decodeURIComponent(named.password) }
}

function tlsOptions(settings: NatsSettings): NodeConnectionOptions['tls'] {
  const { natsUrl, natsTlsCa: caFile, natsTlsCertificate: certFile, natsTlsKey: keyFile } = settings
  const files = { caFile, certFile, keyFile }
  const given = Object.entries(files).filter(([, file]) => file !== '')
  const isAsked = natsUrl.some((url) => url.startsWith('tls:'))
  if (!isAsked && given.length > 0)
    throw new NatsSettingsUnfit('natsTlsCa, natsTlsCertificate and natsTlsKey are for tls:// in natsUrl')
  if ((certFile === '') !== (keyFile === ''))
    throw new NatsSettingsUnfit('natsTlsCertificate and natsTlsKey belong together')
  if (caFile !== '') readSetting('natsTlsCa', caFile)
  if (certFile !== '') readSetting('natsTlsCertificate', certFile)
  if (keyFile !== '') readSetting('natsTlsKey', keyFile)
  return isAsked ? Object.fromEntries(given) : undefined
}

/** Who the file says that we are, as of each connection. */
function authenticatorOf(file: string): Authenticator {
  let known = identityIn(file)
  return (nonce) => {
    try {
      known = identityIn(file)
    } catch {
      // It is being replaced. The library would give up for ever where this throws; the servers say whether what was known is good.
    }
    return known(nonce)
  }
}

function identityIn(file: string): Authenticator {
  const bytes = readSetting('natsCredentials', file)
  const text = bytes.toString()
  const seed = /^SU[A-Z2-7]{56}$/m.exec(text)?.[0]
  const identity = text.includes('NATS USER JWT')
    ? credsAuthenticator(bytes)
    : seed && nkeyAuthenticator(Buffer.from(seed))
  try {
    if (!identity) throw new Error('it holds neither')
    identity('try')
    return identity
  } catch (cause) {
    throw new NatsSettingsUnfit(
      `natsCredentials: ${file} must hold credentials (.creds) or the seed of a user's nkey (SU…)`,
      { cause },
    )
  }
}

function readSetting(name: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    throw new NatsSettingsUnfit(`${name}: ${file} cannot be read: ${systemReason(cause)}`, { cause })
  }
}
