import ipaddr from 'ipaddr.js'
import Type, { type Static } from 'typebox'
import { Text } from '../../http/schemas.ts'
import { textField, type Fields } from '../../http/fields.ts'
import type { HookEndpoint } from '../../model/hook.ts'
import { badParam } from '../../runtime/errors.ts'

const MAX_URL_LENGTH = 2048
const MAX_WORD_LENGTH = 256
/** The largest length of PEM files and credentials, which may contain a chain of certificates. */
const MAX_FILE_LENGTH = 32_768
const DEFAULT_NATS_PORT = 4222
/** The key of Standard Webhooks: 24 to 64 bytes. */
const SECRET = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/
/** A subject to which messages can be published, so without wildcards. */
const SUBJECT = /^[^\s.*>\0]+(?:\.[^\s.*>\0]+)*$/
/** Subjects that belong to the server or to Ringfence itself. */
const RESERVED = /^(?:\$|_INBOX(?:\.|$)|_R_(?:\.|$))/

/** Members that are never returned and never logged. */
const SECRETS = ['secret', 'password', 'token', 'credentials', 'tlsKey'] as const
const HTTP_FIELDS = ['secret'] as const
const TLS_FIELDS = ['tlsCa', 'tlsCertificate', 'tlsKey'] as const
const NATS_FIELDS = [
  'subject',
  'jetStream',
  'user',
  'password',
  'token',
  'credentials',
  ...TLS_FIELDS,
] as const

const optionalText = (length: number, description: string) => Type.Optional(Text(length, description))

/** The member `endpoint` of a body. */
export const EndpointBody = Type.Object(
  {
    url: Text(
      MAX_URL_LENGTH,
      'An http or https address, or a NATS server: `nats://HOST:PORT`, or `tls://HOST:PORT` for NATS with TLS.',
    ),
    secret: optionalText(
      MAX_WORD_LENGTH,
      'For http and https: requests are signed with it according to Standard Webhooks. `whsec_` and base64 of 24 to 64 random bytes.',
    ),
    subject: optionalText(MAX_WORD_LENGTH, 'Required for NATS: the subject of all messages.'),
    jetStream: Type.Optional(
      Type.Boolean({
        description:
          'For NATS: whether a stream must confirm each message. Default false: it is enough that the server has received it.',
      }),
    ),
    user: optionalText(MAX_WORD_LENGTH, 'For NATS.'),
    password: optionalText(MAX_WORD_LENGTH, 'For NATS; needs `user`.'),
    token: optionalText(MAX_WORD_LENGTH, 'For NATS, instead of user and password.'),
    credentials: optionalText(
      MAX_FILE_LENGTH,
      'For NATS, instead of user and password: the text of a credentials file, or the seed of a user’s nkey.',
    ),
    tlsCa: optionalText(
      MAX_FILE_LENGTH,
      'For tls: PEM certificates of the authorities to trust, instead of the usual ones.',
    ),
    tlsCertificate: optionalText(MAX_FILE_LENGTH, 'For tls: PEM certificate of the client; needs tlsKey.'),
    tlsKey: optionalText(MAX_FILE_LENGTH, 'For tls: PEM key of tlsCertificate.'),
  },
  { additionalProperties: false },
)

/** The endpoint as a record shows it, without its secrets. */
export const EndpointRecord = Type.Object({
  url: Type.String(),
  subject: Type.Optional(Type.String()),
  jetStream: Type.Optional(Type.Boolean()),
  user: Type.Optional(Type.String()),
  tlsCa: Type.Optional(Type.String()),
  tlsCertificate: Type.Optional(Type.String()),
  secrets: Type.Optional(
    Type.Array(Type.String(), {
      description: 'The names of the secrets that are set. They are never returned.',
    }),
  ),
})

export function endpointRecord(endpoint: HookEndpoint): Static<typeof EndpointRecord> {
  const { url, subject, jetStream, user, tlsCa, tlsCertificate } = endpoint
  const secrets = SECRETS.filter((name) => endpoint[name] !== undefined)
  return {
    url,
    ...(subject !== undefined && { subject }),
    ...(jetStream !== undefined && { jetStream }),
    ...(user !== undefined && { user }),
    ...(tlsCa !== undefined && { tlsCa }),
    ...(tlsCertificate !== undefined && { tlsCertificate }),
    ...(secrets.length > 0 && { secrets }),
  }
}

/**
 * Reads an endpoint whose fields have the right types.
 * @param path the path of the endpoint, for errors
 * @throws {ApiError} 400 naming the field
 */
export function parseEndpoint(fields: Fields, path: string): HookEndpoint {
  const bad = (name: string, sentence: string) => badParam(`${path}.${name}`, sentence)
  const given = readTexts(fields, path)
  const url = addressOf(given.url, (sentence) => bad('url', sentence))
  const isNats = url.protocol === 'nats:' || url.protocol === 'tls:'
  const foreign = (isNats ? HTTP_FIELDS : NATS_FIELDS).find((name) => given[name] !== undefined)
  if (foreign !== undefined) throw bad(foreign, `Not for ${url.protocol}// addresses.`)
  if (!isNats) {
    if (given.secret !== undefined && !SECRET.test(given.secret))
      throw bad('secret', 'Invalid secret. It must be whsec_ and base64 of 24 to 64 bytes.')
    return { ...given, url: url.href }
  }
  if (given.subject === undefined) throw bad('subject', 'Required for NATS.')
  if (!SUBJECT.test(given.subject) || RESERVED.test(given.subject))
    throw bad(
      'subject',
      'Invalid subject. It must be words with dots between them, without wildcards, and not begin with $ or _INBOX.',
    )
  checkIdentity(given, bad)
  const tls = TLS_FIELDS.find((name) => given[name] !== undefined)
  if (tls !== undefined && url.protocol === 'nats:') throw bad(tls, 'Only for tls:// addresses.')
  if ((given.tlsCertificate === undefined) !== (given.tlsKey === undefined))
    throw bad(given.tlsKey === undefined ? 'tlsKey' : 'tlsCertificate', 'Required: the two belong together.')
  for (const name of TLS_FIELDS)
    if (given[name] !== undefined && !given[name].includes('-----BEGIN '))
      throw bad(name, `Invalid ${name}. It must be PEM text.`)
  return { ...given, url: `${url.protocol}//${url.hostname}:${url.port || DEFAULT_NATS_PORT}` }
}

/** Checks that there is at most one way to say who publishes. */
function checkIdentity(given: HookEndpoint, bad: (name: string, sentence: string) => Error): void {
  if (given.password !== undefined && given.user === undefined) throw bad('user', 'Required with password.')
  if (given.user !== undefined && given.password === undefined) throw bad('password', 'Required with user.')
  const [, second] = (['user', 'token', 'credentials'] as const).filter((name) => given[name] !== undefined)
  if (second !== undefined) throw bad(second, 'Only one of user, token and credentials is possible.')
  const { credentials } = given
  if (credentials !== undefined && !/^SU[A-Z2-7]{56}\s*$|NATS USER JWT/.test(credentials))
    throw bad('credentials', 'Invalid credentials. It must be the text of a .creds file, or a seed (SU…).')
}

/** The texts of the fields, without empty ones. */
function readTexts(fields: Fields, path: string): HookEndpoint {
  const values: Record<string, unknown> = {}
  for (const name of Object.keys(EndpointBody.properties)) {
    if (name === 'jetStream') {
      if (fields[name] === true) values[name] = true
      continue
    }
    const text = textField(fields, name, name === 'url' ? MAX_URL_LENGTH : MAX_FILE_LENGTH)
    if (text !== undefined) values[name] = text
  }
  if (values['url'] === undefined) throw badParam(`${path}.url`, 'Required.')
  return values as unknown as HookEndpoint
}

function addressOf(given: string, bad: (sentence: string) => Error): URL {
  const url = URL.parse(given)
  if (url === null || !['http:', 'https:', 'nats:', 'tls:'].includes(url.protocol) || url.hostname === '')
    throw bad('Invalid url. It must be an http, https, nats or tls address.')
  if (url.username !== '' || url.password !== '')
    throw bad('Invalid url. It must not contain a user name or password: use the fields for them.')
  url.hash = ''
  const isNats = url.protocol === 'nats:' || url.protocol === 'tls:'
  if (isNats && (!['', '/'].includes(url.pathname) || url.search !== ''))
    throw bad('Invalid url. A NATS address is nats://HOST:PORT or tls://HOST:PORT.')
  if (url.protocol === 'tls:' && ipaddr.isValid(url.hostname.replace(/^\[|\]$/g, '')))
    throw bad(
      'Invalid url. It must name a host, not an address, after tls://, because certificates name hosts.',
    )
  return url
}
