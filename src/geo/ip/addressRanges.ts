/** Sets of IP addresses as sorted ranges, which threads can pass on without a copy. The code is pure. */
import ipaddr from 'ipaddr.js'
import type { IpAddress } from '../../model/ipAddress.ts'

/** Ranges that neither overlap nor touch, ascending. Both ends are included. */
export interface AddressRanges {
  /** The first and the last address of each range, in turn. */
  readonly four: Uint32Array<ArrayBuffer>
  /** The upper and lower halves of the first and the last address of each range, in turn. */
  readonly six: BigUint64Array<ArrayBuffer>
}

const HALF = 64n
const LOWER = (1n << HALF) - 1n
const FOUR_BITS = 32
const SIX_BITS = 128

/** Collects ranges in any order. */
export class RangesBuilder {
  /** Both ends of each range. The first one is in the upper half, so that sorting the numbers sorts the ranges. */
  #four = new BigUint64Array(1024)
  #fours = 0
  readonly #six: { readonly first: bigint; last: bigint }[] = []

  /**
   * Adds a range.
   * @param bits how many leading bits the addresses of the range share with the base
   */
  add(base: IpAddress, bits: number): void {
    const size = BigInt((base.kind() === 'ipv4' ? FOUR_BITS : SIX_BITS) - bits)
    const first = (numberOf(base) >> size) << size
    this.addSpan(base.kind(), first, first | ((1n << size) - 1n))
  }

  /**
   * Adds a range.
   * @param last must not be before the first
   */
  addSpan(family: 'ipv4' | 'ipv6', first: bigint, last: bigint): void {
    if (family === 'ipv4') this.#addFour(first, last)
    else this.#six.push({ first, last })
  }

  build(): AddressRanges {
    return { four: this.#mergedFour(), six: this.#mergedSix() }
  }

  #addFour(first: bigint, last: bigint): void {
    if (this.#fours === this.#four.length) {
      const larger = new BigUint64Array(2 * this.#fours)
      larger.set(this.#four)
      this.#four = larger
    }
    this.#four[this.#fours++] = (first << 32n) | last
  }

  #mergedFour(): Uint32Array<ArrayBuffer> {
    // Seen as pairs of 32 bits, the lower half comes first on all machines that Node runs on.
    const sorted = new Uint32Array(this.#four.slice(0, this.#fours).sort().buffer)
    const merged = new Uint32Array(sorted.length)
    let length = 0
    for (let i = 0; i < sorted.length; i += 2) {
      const [last, first] = [sorted[i]!, sorted[i + 1]!]
      if (length > 0 && first <= merged[length - 1]! + 1) {
        if (last > merged[length - 1]!) merged[length - 1] = last
      } else {
        merged[length++] = first
        merged[length++] = last
      }
    }
    return merged.slice(0, length)
  }

  #mergedSix(): BigUint64Array<ArrayBuffer> {
    this.#six.sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))
    const merged: { readonly first: bigint; last: bigint }[] = []
    for (const { first, last } of this.#six) {
      const before = merged.at(-1)
      if (before === undefined || first > before.last + 1n) merged.push({ first, last })
      else if (last > before.last) before.last = last
    }
    const halves = new BigUint64Array(merged.length * 4)
    merged.forEach(({ first, last }, i) =>
      halves.set([first >> HALF, first & LOWER, last >> HALF, last & LOWER], i * 4),
    )
    return halves
  }
}

/** Whether an address is in the ranges. The time grows with the logarithm of their number. */
export function isInRanges({ four, six }: AddressRanges, address: IpAddress): boolean {
  if (address instanceof ipaddr.IPv4) {
    if (four.length === 0) return false
    const [a, b, c, d] = address.octets as [number, number, number, number]
    const number = ((a * 256 + b) * 256 + c) * 256 + d
    const after = countUpTo(four.length / 2, (i) => four[2 * i]! <= number)
    return after > 0 && number <= four[2 * after - 1]!
  }
  if (six.length === 0) return false
  const [upper, lower] = halvesOf(address)
  const after = countUpTo(six.length / 4, (i) => {
    const first = six[4 * i]!
    return first < upper || (first === upper && six[4 * i + 1]! <= lower)
  })
  if (after === 0) return false
  const last = six[4 * after - 2]!
  return upper < last || (upper === last && lower <= six[4 * after - 1]!)
}

/** The upper and lower halves of an IPv6 address. */
function halvesOf({ parts }: ipaddr.IPv6): [upper: bigint, lower: bigint] {
  const [a, b, c, d, e, f, g, h] = parts as [number, number, number, number, number, number, number, number]
  const half = (upper: number, lower: number): bigint => (BigInt(upper) << 32n) | BigInt(lower)
  return [half(a * 0x1_0000 + b, c * 0x1_0000 + d), half(e * 0x1_0000 + f, g * 0x1_0000 + h)]
}

/** How many of the first items fulfil the condition. After the first one that does not, none does. */
function countUpTo(length: number, isTrue: (index: number) => boolean): number {
  let [low, high] = [0, length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isTrue(middle)) low = middle + 1
    else high = middle
  }
  return low
}

function numberOf(address: IpAddress): bigint {
  return address.toByteArray().reduce((number, byte) => (number << 8n) | BigInt(byte), 0n)
}
