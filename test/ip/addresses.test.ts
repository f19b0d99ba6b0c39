/** Reading addresses and knowing public ones, against `ipaddr.js`, which does the same more slowly. */
import ipaddr from 'ipaddr.js'
import t from 'tap'
import { isPublic } from '../../src/geo/ip/publicAddress.ts'
import { parseIpAddress } from '../../src/model/ipAddress.ts'
import fc, { draws } from '../kit/fastCheck.ts'

t.test('IPv4 has four decimal parts without needless zeros', async (t) => {
  const part = fc.oneof(
    fc.nat(299).map(String),
    fc.constantFrom(
      '',
      '0',
      '00',
      '01',
      '255',
      '256',
      '1e1',
      '0x1',
      '-1',
      '+1',
      ' 1',
      '1 ',
      '٣',
      'a',
      '99999999999',
    ),
  )
  const text = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('.'))
  fc.assert(
    fc.property(text, (one) => {
      const read = parseIpAddress(one)
      if (!ipaddr.IPv4.isValidFourPartDecimal(one)) return read === undefined
      return read instanceof ipaddr.IPv4 && read.toString() === ipaddr.IPv4.parse(one).toString()
    }),
    { numRuns: draws(3000) },
  )
  t.equal(String(parseIpAddress('0.0.0.0')), '0.0.0.0')
  t.equal(String(parseIpAddress('255.255.255.255')), '255.255.255.255')
})

t.test('an address is public if it has no range of its own', async (t) => {
  const byte = fc.oneof(
    fc.nat(255),
    fc.constantFrom(0, 2, 10, 18, 31, 64, 88, 100, 127, 168, 169, 192, 198, 255),
  )
  const group = fc.oneof(
    fc.nat(0xffff),
    fc.constantFrom(0, 1, 2, 3, 0x10, 0x20, 0xdb8, 0x112, 0xff9b, 0xffff),
  )
  const first = fc.constantFrom(
    0,
    0x64,
    0x100,
    0x2001,
    0x2002,
    0x2400,
    0x2620,
    0x3fff,
    0x5f00,
    0xfc00,
    0xfe80,
    0xff00,
  )
  const four = fc.tuple(byte, byte, byte, byte).map((octets) => new ipaddr.IPv4(octets))
  const six = fc
    .tuple(first, group, group, group, group, group, group, group)
    .map((parts) => new ipaddr.IPv6(parts))
  fc.assert(
    fc.property(fc.oneof(four, six), (address) => isPublic(address) === (address.range() === 'unicast')),
    { numRuns: draws(6000) },
  )
  for (const text of ['8.8.8.8', '2400::1', '192.0.1.0', '223.255.255.255'])
    t.ok(isPublic(parseIpAddress(text)!), text)
  for (const text of [
    '10.0.0.1',
    '192.0.0.0',
    '192.0.2.255',
    '100.127.255.255',
    '::1',
    'fe80::1',
    '2001:db8::1',
  ])
    t.notOk(isPublic(parseIpAddress(text)!), text)
})
