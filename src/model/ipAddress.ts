import ipaddr from 'ipaddr.js'

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/** The longest form, which is IPv6 whose last groups are written as IPv4. */
const MOST_CHARACTERS = 45

/**
 * An IPv4 address in four decimal parts, or an IPv6 address without a zone; IPv4 mapped into IPv6 is IPv4.
 * @returns undefined for any other text, such as `127.1`, `010.0.0.1` and `fe80::1%eth0`
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  const address = parseUnmapped(text)
  return address instanceof ipaddr.IPv6 && isMapped(address) ? address.toIPv4Address() : address
}

/**
 * Whether it is IPv4 mapped into IPv6. `ipaddr.js` would compare it with all the special ranges that it knows, which
 * takes as long as to read the address.
 */
export function isMapped({ parts }: ipaddr.IPv6): boolean {
  return parts.every((part, i) => i > 5 || part === (i === 5 ? 0xffff : 0))
}

/** Does the same as {@link parseIpAddress}, but IPv4 mapped into IPv6 stays IPv6. */
export function parseUnmapped(text: string): IpAddress | undefined {
  if (text.length > MOST_CHARACTERS) return undefined
  if (!text.includes(':')) {
    const octets = octetsOf(text)
    return octets && new ipaddr.IPv4(octets)
  }
  const six = withoutDots(text)
  if (six === undefined) return undefined
  const groups = groupsOf(six)
  return groups && new ipaddr.IPv6(groups)
}

/** The usual text. For IPv6, it is the form of RFC 5952. */
export function ipText(address: IpAddress): string {
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString()
}

/**
 * An IPv6 address with its last groups in hexadecimal: `::ffff:1.2.3.4` is `::ffff:102:304`. `ipaddr.js` takes octal
 * parts there, and `::1.2.3.4` for `::ffff:1.2.3.4`.
 */
function withoutDots(text: string): string | undefined {
  const start = text.lastIndexOf(':') + 1
  const last = text.slice(start)
  if (!last.includes('.')) return text
  const octets = octetsOf(last)
  if (octets === undefined) return undefined
  const [a, b, c, d] = octets as [number, number, number, number]
  return `${text.slice(0, start)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

const ZERO = 0x30
const DOT = 0x2e
const COLON = 0x3a
const SMALL_A = 0x61
/** Turns a capital letter into a small one. */
const SMALL = 0x20
const GROUPS = 8

/**
 * The eight groups of an IPv6 address in hexadecimal, of which `::` may stand for one or more that are zero.
 * `ipaddr.js` does the same with several expressions, which take ten times as long.
 */
function groupsOf(text: string): number[] | undefined {
  const groups: number[] = []
  /** The number of groups before `::`. */
  let gap = -1
  let value = 0
  let digits = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code !== COLON) {
      const digit = hexDigit(code)
      if (digit < 0 || ++digits > 4) return undefined
      value = value * 16 + digit
      continue
    }
    const isBegun = digits > 0
    if (isBegun) groups.push(value)
    value = digits = 0
    if (text.charCodeAt(at + 1) === COLON) {
      if (gap >= 0) return undefined
      gap = groups.length
      at++
    } else if (!isBegun || at + 1 === text.length) return undefined
  }
  if (digits > 0) groups.push(value)
  if (gap < 0) return groups.length === GROUPS ? groups : undefined
  if (groups.length >= GROUPS) return undefined
  const all = [0, 0, 0, 0, 0, 0, 0, 0]
  for (let i = 0; i < groups.length; i++) all[i < gap ? i : GROUPS - groups.length + i] = groups[i]!
  return all
}

/** @returns −1 for any other character */
function hexDigit(code: number): number {
  const digit = code - ZERO
  if (digit >= 0 && digit <= 9) return digit
  const letter = (code | SMALL) - SMALL_A
  return letter >= 0 && letter < 6 ? 10 + letter : -1
}

/**
 * The four decimal parts of an IPv4 address, none of which begins with a needless zero. `ipaddr.js` does the same with
 * several expressions, which take ten times as long.
 */
function octetsOf(text: string): number[] | undefined {
  const octets: number[] = []
  let value = -1
  for (let at = 0; at <= text.length; at++) {
    const code = at === text.length ? DOT : text.charCodeAt(at)
    if (code === DOT) {
      if (value < 0) return undefined
      octets.push(value)
      value = -1
      continue
    }
    const digit = code - ZERO
    if (digit < 0 || digit > 9 || value === 0) return undefined
    value = value < 0 ? digit : value * 10 + digit
    if (value > 255) return undefined
  }
  return octets.length === 4 ? octets : undefined
}
