import {
  credsAuthenticator,
  nkeyAuthenticator,
  type Authenticator,
  type NodeConnectionOptions,
} from '@nats-io/transport-node'
import { readSettingFile, SettingUnfit } from '../../runtime/settingFile.ts'

/**
 * How a process connects to its NATS servers, as read from the settings with the same names. Files are given as paths;
 * an empty text means none.
 */
export interface NatsSettings {
  /** URLs that begin with `nats://` or `tls://`, with a user and password or a token before the host. */
  readonly natsUrl: readonly string[]
  /** The path of a credentials file, or of a file with the seed of a user's nkey. */
  readonly natsCredentials: string
  /** The path of PEM certificates of the authorities that are trusted instead of those that Node knows. */
  readonly natsTlsCa: string
  /** The paths of the PEM certificate that this process presents, and of its key. */
  readonly natsTlsCertificate: string
  readonly natsTlsKey: string
}

const CONNECT_MS = 3000
/** The time between two pings. A silent connection is given up after two of them. */
const PING_MS = 10_000
const DEFAULT_PORT = 4222

/**
 * The options for the client library. The files are read now, to check them, and again for each connection, so that
 * they may be replaced while the process runs.
 * @throws {SettingUnfit}
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
    throw new SettingUnfit('natsTlsCa, natsTlsCertificate and natsTlsKey are for tls:// in natsUrl')
  if ((certFile === '') !== (keyFile === ''))
    throw new SettingUnfit('natsTlsCertificate and natsTlsKey belong together')
  if (caFile !== '') readSettingFile('natsTlsCa', caFile)
  if (certFile !== '') readSettingFile('natsTlsCertificate', certFile)
  if (keyFile !== '') readSettingFile('natsTlsKey', keyFile)
  return isAsked ? Object.fromEntries(given) : undefined
}

/** The credentials in the file, read again for each connection. */
function authenticatorOf(file: string): Authenticator {
  let known = identityIn(file)
  return (nonce) => {
    try {
      known = identityIn(file)
    } catch {
      // The file is being replaced. The library would give up for ever if this threw; the servers decide whether the
      // known credentials are valid.
    }
    return known(nonce)
  }
}

function identityIn(file: string): Authenticator {
  const bytes = readSettingFile('natsCredentials', file)
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
    throw new SettingUnfit(
      `natsCredentials: ${file} must hold credentials (.creds) or the seed of a user's nkey (SU…)`,
      { cause },
    )
  }
}
