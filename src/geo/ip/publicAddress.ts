import ipaddr from 'ipaddr.js'
import type { IpAddress } from '../../model/ipAddress.ts'
import { isInRanges, RangesBuilder } from './addressRanges.ts'

/** The ranges for which `ipaddr.js` has a name. Its own look compares an address with each of them, which takes microseconds. */
const SPECIAL = specialRanges()

/** Whether it is an address of the internet, and not one of a private network, of one machine, or a reserved one. */
export function isPublic(address: IpAddress): boolean {
  return !isInRanges(SPECIAL, address)
}

type Range = readonly [base: IpAddress, bits: number]

/** What the declarations of `ipaddr.js` leave out: its ranges by name, one or several for each. */
interface WithRanges {
  readonly SpecialRanges: Readonly<Record<string, Range | readonly Range[]>>
}

function specialRanges() {
  const builder = new RangesBuilder()
  for (const { SpecialRanges } of [ipaddr.IPv4.prototype, ipaddr.IPv6.prototype] as unknown as WithRanges[])
    for (const one of Object.values(SpecialRanges)) {
      const ranges = (Array.isArray(one[0]) ? one : [one]) as readonly Range[]
      for (const [base, bits] of ranges) builder.add(base, bits)
    }
  return builder.build()
}
