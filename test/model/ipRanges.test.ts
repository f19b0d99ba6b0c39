/** IP ranges: the rules with examples, and with a property against a slow, obvious implementation. */
import ipaddr from 'ipaddr.js'
import t from 'tap'
import { parseUnmapped } from '../../src/model/ipAddress.ts'
import { IpRangesError, matchesIp, parseIpRanges } from '../../src/model/ipRanges.ts'
import { ownCost } from '../growth/growth.ts'
import fc from '../kit/fastCheck.ts'

const RUNS = 200 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)

t.test('IP ranges by example', async (t) => {
  const CASES: readonly (readonly [ranges: string, inside: readonly string[], outside: readonly string[]])[] =
    [
      ['203.0.113.7', ['203.0.113.7', '::ffff:203.0.113.7', '::ffff:cb00:7107'], ['203.0.113.8', '::1']],
      ['203.0.113.*', ['203.0.113.0', '203.0.113.255'], ['203.0.112.255', '203.0.114.0']],
      ['10.0.0.0/8', ['10.255.255.255', '::ffff:10.1.2.3'], ['11.0.0.0']],
      ['10.1.2.3/8', ['10.9.9.9'], ['11.1.2.3']],
      ['0.0.0.0/0', ['1.2.3.4', '::ffff:1.2.3.4'], ['::1', '2001:db8::1']],
      ['::/0', ['2001:db8::1'], ['1.2.3.4', '::ffff:1.2.3.4']],
      ['2001:db8::/32', ['2001:db8:ffff::1', '2001:DB8::1'], ['2001:db9::']],
      ['2001:db8::7:*', ['2001:db8::7:0', '2001:db8::7:ffff'], ['2001:db8::8:0']],
      ['2001:db8::*', ['2001:db8::', '2001:db8::ffff'], ['2001:db8::1:0']],
      ['::ffff:10.0.0.0/104', ['10.200.0.1'], ['11.0.0.1']],
      ['::ffff:10.0.0.*', ['10.0.0.200'], ['10.0.1.0']],
      [' 10.0.0.1 , 10.0.0.3 ', ['10.0.0.1', '10.0.0.3'], ['10.0.0.2']],
      ['fe80::1', ['fe80::1%eth0'], []],
      ['10.0.0.1', [], ['', 'nonsense', '10.0.0.1.1', '010.0.0.1', '167772161']],
    ]
  for (const [text, inside, outside] of CASES) {
    const ranges = parseIpRanges(text)
    for (const ip of inside) t.equal(matchesIp(ranges, ip), true, `${ip} in ${text}`)
    for (const ip of outside) t.equal(matchesIp(ranges, ip), false, `${ip} not in ${text}`)
  }
})

t.test('a text that is not an IP range is refused', async (t) => {
  const BAD =
    ' |,|10.0.0.1,|10.0.0|10.0.0.256|010.0.0.1|1|10.*.0.1|10.0.*|*|10.0.0.0/33|10.0.0.*/24|10.0.0.0/|10.0.0.0/-1|' +
    '2001:db8::/129|2001:db8:*:1::|:::|fe80::1%eth0|a.b.c.d|10.0.0.1-10.0.0.9|2001:db8::1/64/64|' +
    '1:2:3:4:5:6:7:8:*|localhost'
  for (const text of BAD.split('|'))
    t.throws(() => parseIpRanges(text), { name: 'IpRangesError' }, JSON.stringify(text))
  const many = Array.from({ length: 1001 }, () => '10.0.0.1').join(',')
  t.throws(() => parseIpRanges(many), new IpRangesError('has 1001 ranges; at most 1000.'))
})

t.test('property: an address is in a CIDR range if its leading bits match', async (t) => {
  const v4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))
  const v6 = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 })
  const big = (groups: readonly number[], bits: bigint) =>
    groups.reduce((sum, one) => (sum << bits) | BigInt(one), 0n)
  const hex = (groups: readonly number[]) => groups.map((group) => group.toString(16)).join(':')
  fc.assert(
    fc.property(v4, v4, fc.nat(32), fc.nat(32), (base, other, bits, shared) => {
      // An address that shares its first bits with the base, so that both results occur.
      const mask = (1n << BigInt(32 - shared)) - 1n
      const ip = (big(base, 8n) & ~mask) | (big(other, 8n) & mask)
      const text = [24n, 16n, 8n, 0n].map((by) => (ip >> by) & 255n).join('.')
      const expected = ip >> BigInt(32 - bits) === big(base, 8n) >> BigInt(32 - bits)
      const ranges = parseIpRanges(`${base.join('.')}/${bits}`)
      return matchesIp(ranges, text) === expected && matchesIp(ranges, `::ffff:${text}`) === expected
    }),
    { numRuns: RUNS },
  )
  fc.assert(
    fc.property(v6, v6, fc.nat(128), fc.nat(8), (base, other, bits, shared) => {
      const groups = [...base.slice(0, shared), ...other.slice(shared)]
      const mapped = (one: readonly number[]) =>
        one.slice(0, 5).every((group) => group === 0) && one[5] === 0xffff
      if (mapped(base) || mapped(groups)) return true
      const expected = big(groups, 16n) >> BigInt(128 - bits) === big(base, 16n) >> BigInt(128 - bits)
      return matchesIp(parseIpRanges(`${hex(base)}/${bits}`), hex(groups)) === expected
    }),
    { numRuns: RUNS },
  )
  t.pass('held')
})

t.test('property: IPv6 addresses are read as the library reads them', async (t) => {
  const piece = fc.constantFrom(':', '::', '0', '1', 'f', 'A', '0000', 'ffff', '10000', 'g')
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 18 }), async (pieces) => {
      const text = pieces.join('')
      // A text without colons is IPv4, and a longer one is no address.
      if (!text.includes(':') || text.length > 45) return
      const expected = ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text).toString() : undefined
      t.equal(parseUnmapped(text)?.toString(), expected, text)
    }),
    { numRuns: 20 * RUNS },
  )
})

t.test('ten thousand IPv6 ranges are read in a small part of what the library takes for them', async (t) => {
  const ranges = Array.from({ length: 10_000 }, (_, i) => `2001:db8:${i.toString(16)}::/48`)
  const library = () =>
    ranges.forEach((range) => {
      const text = range.slice(0, -3)
      return ipaddr.IPv6.isValid(text) && ipaddr.IPv6.parse(text).isIPv4MappedAddress()
    })
  const own = () => ranges.forEach((range) => parseIpRanges(range))
  const [slow, fast] = [library, own].map((read) => Math.min(...[1, 2, 3, 4, 5].map(() => ownCost(read))))
  t.ok(fast! < slow! / 2, `${fast} ms instead of ${slow}`)
})
