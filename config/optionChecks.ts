/** What is wrong with the text of a setting. Each returns the end of a sentence, or undefined if nothing is wrong. */
import { isIP } from 'node:net'
import { isEmail } from '../src/model/email.ts'

/** How many characters of a wrong value messages repeat. */
const MAX_SHOWN_LENGTH = 200

/** Number and order of the keys; the registry checks each when it installs them. */
export function keysProblem(keys: readonly string[]): string | undefined {
  if (keys.length === 0) return undefined
  const prefixes = ['prj_test_pk_', 'prj_live_pk_', 'prj_test_sk_', 'prj_live_sk_']
  if (keys.length !== prefixes.length) return `must hold four keys, not ${keys.length}`
  const wrong = prefixes.findIndex((prefix, i) => !keys[i]?.startsWith(prefix))
  return wrong < 0 ? undefined : `must hold a key that starts with ${prefixes[wrong]} in place ${wrong + 1}`
}

/** What is wrong with the URLs. The sentence contains none of them, because they may contain a password. */
export function natsProblem(urls: readonly string[]): string | undefined {
  const parsed = urls.map((text) => (URL.canParse(text) ? new URL(text) : undefined))
  if (!parsed.every((url) => url && ['nats:', 'tls:'].includes(url.protocol) && url.hostname !== '')) {
    return 'must hold URLs that start with nats:// or tls://'
  }
  // The client checks certificates of such servers against "localhost".
  const byAddress = parsed.some(
    (url) => url!.protocol === 'tls:' && isIP(url!.hostname.replaceAll(/[[\]]/g, '')),
  )
  return byAddress ? 'must name hosts, not addresses, after tls://' : undefined
}

export function tile38Problem(urls: readonly string[]): string | undefined {
  for (const text of urls) {
    const url = URL.canParse(text) ? new URL(text) : undefined
    const isAddress = url !== undefined && url.hostname !== '' && url.port !== ''
    if (!isAddress || !['tile38:', 'tile38s:'].includes(url.protocol))
      return 'must hold URLs like tile38://HOST:PORT, or tile38s:// for TLS'
    if (url.username !== '' || url.password !== '') return 'must hold no password: tile38Password does'
  }
  return undefined
}

export function routingProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isServer =
    url !== undefined && ['http:', 'https:'].includes(url.protocol) && url.search === '' && url.hash === ''
  if (!isServer) return 'must be a URL like http://HOST:PORT'
  return url.username === '' && url.password === '' ? undefined : 'must hold no password'
}

export function originProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isOrigin =
    url !== undefined && ['http:', 'https:'].includes(url.protocol) && url.href === `${url.origin}/`
  return isOrigin ? undefined : 'must be a URL like https://HOST, without a path'
}

export function smtpProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isServer =
    url !== undefined &&
    ['smtp:', 'smtps:'].includes(url.protocol) &&
    url.hostname !== '' &&
    ['', '/'].includes(url.pathname + url.search + url.hash)
  return isServer && isDecodable(url) ? undefined : 'must be a URL like smtps://USER:PASSWORD@HOST:PORT'
}

function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}

export function emailProblem(text: string): string | undefined {
  return isEmail(text) ? undefined : 'must be an e-mail address'
}

export function syncKeyProblem(text: string): string | undefined {
  return text === '' || /^[0-9a-f]{64}$/i.test(text) ? undefined : 'must be 64 hexadecimal digits'
}

export function tokenProblem(text: string): string | undefined {
  return /^[\x21-\x7e]{16,}$/.test(text)
    ? undefined
    : 'must be 16 or more printable characters without spaces'
}

export function addressesProblem(ranges: readonly string[]): string | undefined {
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/', 2)
    const bits = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1
    const valid = bits > 0 && (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits))
    if (!valid) return `must hold addresses or CIDR ranges, not ${shown(range)}`
  }
  return undefined
}

/** A value as messages show it; a very long one is cut. */
export function shown(raw: unknown): string {
  const text = JSON.stringify(raw) ?? String(raw)
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH).toWellFormed()}…` : text
}
