import ipaddr from 'ipaddr.js'
import { isMapped, parseIpAddress, parseUnmapped, type IpAddress } from './ipAddress.ts'

/** One range: all addresses of a family whose first `bits` bits are those of `base`. */
interface IpRange {
  readonly base: IpAddress
  readonly bits: number
}

/** The result of {@link parseIpRanges}; an address matches if it is in any of them. */
export type IpRanges = readonly IpRange[]

/** A list of IP ranges that breaks a rule; the message is one sentence. */
export class IpRangesError extends Error {
  override name = 'IpRangesError'
}

/** How many ranges a geofence may have. More are a mistake. */
const MAX_IP_RANGES = 1000

/**
 * Reads comma-separated ranges, each a single address (`203.0.113.7`, `2001:db8::1`), a wildcard for the last group
 * (`203.0.113.*`, `2001:db8::1:*`) or CIDR (`203.0.113.0/24`, `2001:db8::/32`). An IPv4-mapped IPv6 address or range
 * means the IPv4 one; otherwise a range matches its own family only.
 * @throws {IpRangesError}
 */
export function parseIpRanges(text: string): IpRanges {
  const items = text.split(',').map((item) => item.trim())
  if (items.length > MAX_IP_RANGES) {
    throw new IpRangesError(`has ${items.length} ranges; at most ${MAX_IP_RANGES}.`)
  }
  return items.map(parseRange)
}

/** Whether an address is in one of the ranges; a text that is not an address is in none. */
export function matchesIp(ranges: IpRanges, ip: string): boolean {
  const zone = ip.indexOf('%')
  const address = parseIpAddress(zone === -1 ? ip : ip.slice(0, zone))
  if (address === undefined) return false
  for (const { base, bits } of ranges) {
    if (address instanceof ipaddr.IPv4) {
      if (base instanceof ipaddr.IPv4 && address.match(base, bits)) return true
    } else if (base instanceof ipaddr.IPv6 && address.match(base, bits)) return true
  }
  return false
}

function parseRange(item: string): IpRange {
  const wildcard = /^(.*[.:])\*$/.exec(item)
  const cidr = /^(.*)\/(\d{1,3})$/.exec(item)
  const text = wildcard === null ? (cidr?.[1] ?? item) : `${wildcard[1]}0`
  const given = parseUnmapped(text)
  if (given === undefined) throw brokenRange(item)
  const isV4 = given instanceof ipaddr.IPv4
  const size = isV4 ? 32 : 128
  let bits = size
  if (wildcard !== null) bits = size - (text.includes('.') ? 8 : 16)
  else if (cidr !== null) bits = Number(cidr[2])
  if (bits > size) throw brokenRange(item)
  if (!isV4 && isMapped(given) && bits >= 96) return { base: given.toIPv4Address(), bits: bits - 96 }
  return { base: given, bits }
}

function brokenRange(item: string): IpRangesError {
  const shown = JSON.stringify(item.slice(0, 60))
  return new IpRangesError(`${shown} is not an IP address, a wildcard such as 203.0.113.* or a CIDR range.`)
}
