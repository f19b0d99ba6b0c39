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
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/** Does the same as {@link parseIpAddress}, but IPv4 mapped into IPv6 stays IPv6. */
export function parseUnmapped(text: string): IpAddress | undefined {
  if (text.length > MOST_CHARACTERS) return undefined
  if (!text.includes(':'))
    return ipaddr.IPv4.isValidFourPartDecimal(text) ? ipaddr.IPv4.parse(text) : undefined
  const six = withoutDots(text)
  return six !== undefined && !six.includes('%') && ipaddr.IPv6.isValid(six)
    ? ipaddr.IPv6.parse(six)
    : undefined
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
  if (!ipaddr.IPv4.isValidFourPartDecimal(last)) return undefined
  const [a, b, c, d] = ipaddr.IPv4.parse(last).octets as [number, number, number, number]
  return `${text.slice(0, start)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}
