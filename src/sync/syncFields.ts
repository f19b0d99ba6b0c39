import {
  booleanField,
  choiceField,
  dictionaryField,
  listField,
  numberField,
  present,
} from '../http/fields.ts'
import { checkTextField, required, textField, type Fields } from '../http/fields.ts'
import { isEmail, MAX_EMAIL_LENGTH } from '../model/email.ts'
import type { SyncSettings } from '../registry/sync/syncRows.ts'
import { badParam } from '../runtime/errors.ts'
import { isTimeZone } from './schedule.ts'

/** The secrets that a sync needs and that nobody may read. */
export interface SyncSecrets {
  /** The addresses with their queries. */
  readonly urls?: readonly string[]
  readonly password?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly secretAccessKey?: string
}

/** Settings with their secrets. */
export interface OpenSettings {
  readonly settings: Omit<SyncSettings, 'sealed' | 'scheduledSince'>
  readonly secrets: SyncSecrets
}

const MAX_SOURCES = 20
const MAX_HEADERS = 10
const MAX_EMAILS = 10
const MAX_URL_LENGTH = 2048
const MAX_KEY_LENGTH = 1024
const MAX_SECRET_LENGTH = 2048
const MAX_WORD = 256
/** The text that stands for something that is not shown. */
const HIDDEN = '…'

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d$/
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const HEADER_VALUE = /^[\t\u0020-\u007e\u00a0-\u00ff]*$/
/** Headers that the request itself sets. */
const OWN_HEADERS =
  /^(?:host|cookie|content-.*|range|if-.*|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|accept-encoding|proxy-.*)$/i
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/
const REGION = /^[A-Za-z0-9-]{1,64}$/

/**
 * Reads settings. Secrets that are left out stay as they are, and null removes them.
 * @param before the settings that these replace
 * @throws {ApiError} 400 naming the field
 */
export function parseSync(body: Fields, before: OpenSettings | undefined): OpenSettings {
  const protocol = required('protocol', choiceField(body, 'protocol', ['http', 's3'] as const))
  const http = protocol === 'http' ? httpOf(body, before) : undefined
  const s3 = protocol === 's3' ? s3Of(body, before) : undefined
  const settings = {
    enabled: booleanField(body, 'enabled') ?? true,
    protocol,
    ...(http && { http: http.settings }),
    ...(s3 && { s3: s3.settings }),
    time: matching(body, 'time', TIME, 'It must be HH:mm, from 00:00 to 23:59.') ?? '03:00',
    timeZone: zoneField(body) ?? 'UTC',
    deleteMissing: booleanField(body, 'deleteMissing') ?? false,
    maxDeleteShare: numberField(body, 'maxDeleteShare', 0, 1) ?? 0.1,
    emails: emailsField(body),
    notify: choiceField(body, 'notify', ['always', 'failures']) ?? ('always' as const),
  }
  return { settings, secrets: { ...http?.secrets, ...s3?.secrets } }
}

function httpOf(body: Fields, before: OpenSettings | undefined) {
  const given = required('http', dictionaryField(body, 'http'))
  const old = before?.secrets ?? {}
  const urls = texts(given, 'urls', 'http.urls', MAX_SOURCES, MAX_URL_LENGTH).map((text) =>
    urlOf(text, old.urls),
  )
  if (new Set(urls).size < urls.length) throw badParam('http.urls', 'An address appears twice.')
  const oldOrigins = new Set(old.urls?.map((url) => new URL(url).origin))
  const isElsewhere = urls.some((url) => !oldOrigins.has(new URL(url).origin))
  const username = inside('http', () => textField(given, 'username', MAX_WORD))
  if (username?.includes(':'))
    throw badParam('http.username', 'Invalid username. It must not contain a colon.')
  const password = secretOf(given, 'password', 'http.password', old.password, isElsewhere)
  const headers = headersOf(given, old.headers ?? {}, isElsewhere)
  return {
    settings: {
      urls: urls.map(shownUrl),
      ...(username !== undefined && { username }),
      passwordSet: password !== undefined,
      headers: Object.keys(headers),
    },
    secrets: { urls, ...(password !== undefined && { password }), headers },
  }
}

function s3Of(body: Fields, before: OpenSettings | undefined) {
  const given = required('s3', dictionaryField(body, 's3'))
  const old = before?.settings.s3
  const word = (name: string, pattern: RegExp, sentence: string) =>
    required(
      `s3.${name}`,
      inside('s3', () => matching(given, name, pattern, sentence)),
    )
  const region = word('region', REGION, 'It must be the name of a region, such as eu-central-1.')
  const bucket = word('bucket', BUCKET, 'It must be the name of a bucket.')
  const keys = texts(given, 'keys', 's3.keys', MAX_SOURCES, MAX_KEY_LENGTH)
  if (new Set(keys).size < keys.length) throw badParam('s3.keys', 'A key appears twice.')
  if (keys.some((key) => /(?:^|\/)\.{1,2}(?:\/|$)/.test(key)))
    throw badParam('s3.keys', 'A part of a key must not be . or .., because addresses cannot contain it.')
  const accessKeyId = word('accessKeyId', /^[\u0021-\u007e]{1,256}$/, 'It must be ASCII text without blanks.')
  const endpoint = endpointOf(given)
  const isElsewhere = old === undefined || old.endpoint !== endpoint || old.bucket !== bucket
  const secretAccessKey = secretOf(
    given,
    'secretAccessKey',
    's3.secretAccessKey',
    before?.secrets.secretAccessKey,
    isElsewhere,
  )
  if (secretAccessKey === undefined) throw badParam('s3.secretAccessKey', 'Required.')
  return {
    settings: {
      region,
      bucket,
      keys,
      accessKeyId,
      secretAccessKeySet: true,
      ...(endpoint !== undefined && { endpoint }),
      pathStyle: inside('s3', () => booleanField(given, 'pathStyle')) ?? endpoint !== undefined,
    },
    secrets: { secretAccessKey },
  }
}

/**
 * A secret that is given, kept or removed.
 * @param isElsewhere whether it would be sent to a host that did not have it
 */
function secretOf(
  given: Fields,
  name: string,
  param: string,
  old: string | undefined,
  isElsewhere: boolean,
): string | undefined {
  if (!Object.hasOwn(given, name)) {
    if (old !== undefined && isElsewhere) throw badParam(param, mustComeAgain('It'))
    return old
  }
  return present(given, name) === undefined
    ? undefined
    : checkTextField(param, present(given, name), MAX_SECRET_LENGTH)
}

function headersOf(given: Fields, old: Readonly<Record<string, string>>, isElsewhere: boolean) {
  const named = inside('http', () => dictionaryField(given, 'headers'))
  if (named === undefined && Object.hasOwn(given, 'headers')) return {}
  const headers = new Map(Object.entries(old))
  const known = new Map(Object.keys(old).map((name) => [name.toLowerCase(), name]))
  for (const [name, value] of Object.entries(named ?? {})) {
    const param = `http.headers.${name}`
    if (!TOKEN.test(name) || name.length > MAX_WORD) throw badParam(param, 'This is no name of a header.')
    if (OWN_HEADERS.test(name)) throw badParam(param, 'This header cannot be set.')
    headers.delete(known.get(name.toLowerCase()) ?? name)
    known.delete(name.toLowerCase())
    if (value === null || value === '') continue
    const text = checkTextField(param, value, MAX_SECRET_LENGTH)
    if (!HEADER_VALUE.test(text)) throw badParam(param, 'It must be one line of Latin characters.')
    headers.set(name, text)
  }
  if (isElsewhere && known.size > 0)
    throw badParam(`http.headers.${[...known.values()][0]}`, mustComeAgain('It'))
  if (headers.size > MAX_HEADERS) throw badParam('http.headers', `There may be at most ${MAX_HEADERS}.`)
  return Object.fromEntries(headers)
}

function mustComeAgain(subject: string): string {
  return `${subject} must be given again, or null, because the host, endpoint or bucket is another.`
}

/**
 * Reads an address.
 * @param old addresses with their queries, for one that is given in the form in which it is shown
 */
function urlOf(text: string, old: readonly string[] = []): string {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw badParam('http.urls', 'Invalid URL. It must be an http or https address.')
  if (url.username !== '' || url.password !== '')
    throw badParam('http.urls', 'Invalid URL. It must not carry a user name or password.')
  url.hash = ''
  if (url.search !== `?${encodeURIComponent(HIDDEN)}`) return url.href
  const kept = old.find((one) => shownUrl(one) === shownUrl(url.href))
  if (kept === undefined)
    throw badParam(
      'http.urls',
      `The query ${HIDDEN} stands for one that is not stored. Give the whole address.`,
    )
  return kept
}

/** An address with its query as `…`. */
export function shownUrl(href: string): string {
  const url = new URL(href)
  return `${url.origin}${url.pathname}${url.search === '' ? '' : `?${HIDDEN}`}`
}

function endpointOf(given: Fields): string | undefined {
  const text = inside('s3', () => textField(given, 'endpoint', MAX_URL_LENGTH))
  if (text === undefined) return undefined
  const url = URL.parse(text)
  const isPlain =
    url !== null &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.username + url.password + url.search + url.hash === '' &&
    url.pathname === '/'
  if (!isPlain) throw badParam('s3.endpoint', 'It must be http(s)://HOST or http(s)://HOST:PORT.')
  return url.origin
}

function zoneField(body: Fields): string | undefined {
  const name = textField(body, 'timeZone', MAX_WORD)
  if (name !== undefined && !isTimeZone(name))
    throw badParam('timeZone', 'Invalid timeZone. It must be a name such as Europe/Berlin or UTC.')
  return name
}

function emailsField(body: Fields): readonly string[] {
  if (present(body, 'emails') === undefined) return []
  const emails = texts(body, 'emails', 'emails', MAX_EMAILS, MAX_EMAIL_LENGTH, 0)
  if (!emails.every(isEmail)) throw badParam('emails', 'Each must be an e-mail address.')
  return [...new Set(emails)]
}

function texts(fields: Fields, name: string, param: string, most: number, length: number, least = 1) {
  const given = inside(param.includes('.') ? param.slice(0, param.indexOf('.')) : '', () =>
    listField(fields, name),
  )
  if ((given?.length ?? 0) < least) throw badParam(param, 'Required.')
  if (given!.length > most) throw badParam(param, `There may be at most ${most}.`)
  return given!.map((one) => {
    const text = checkTextField(param, one, length).trim()
    if (text === '') throw badParam(param, 'An empty text is none.')
    return text
  })
}

function matching(fields: Fields, name: string, pattern: RegExp, sentence: string): string | undefined {
  const text = textField(fields, name, MAX_SECRET_LENGTH)
  if (text !== undefined && !pattern.test(text)) throw badParam(name, `Invalid ${name}. ${sentence}`)
  return text
}

/** Names a field of a dictionary in an error by its whole path. */
function inside<T>(dictionary: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const { param, message } = error as { param?: string; message: string }
    if (param === undefined || dictionary === '') throw error
    throw badParam(`${dictionary}.${param}`, message.slice(param.length + 2))
  }
}
