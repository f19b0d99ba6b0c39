/** Sets of addresses against a look at all ranges, and the files that they are read from. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ipaddr from 'ipaddr.js'
import t from 'tap'
import { isInRanges, RangesBuilder } from '../../src/geo/ip/addressRanges.ts'
import { readLists } from '../../src/geo/ip/listFile.ts'
import { rangesInThread } from '../../src/geo/ip/rangesThread.ts'
import { parseIpAddress } from '../../src/model/ipAddress.ts'
import fc from '../kit/fastCheck.ts'

const numRuns = 300 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)
const folder = mkdtempSync(join(tmpdir(), 'ringfence-ranges-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'list.txt')

const addressOf = (text: string) => parseIpAddress(text)!

/** Few addresses, so that ranges overlap and touch, and those at both ends of the space. */
const four = fc
  .tuple(fc.constantFrom(0, 1, 128, 255), fc.constantFrom(0, 255), fc.nat(3), fc.nat(255))
  .map((parts) => ipaddr.fromByteArray(parts))
const six = fc
  .tuple(fc.constantFrom(0, 0x20, 0xff), fc.constantFrom(0, 255), fc.constantFrom(0, 255), fc.nat(255))
  .map(([a, b, c, d]) =>
    ipaddr.fromByteArray([a, ...Array<number>(7).fill(b), ...Array<number>(7).fill(c), d]),
  )
const isMapped = (address: ipaddr.IPv4 | ipaddr.IPv6) =>
  address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()
const address = fc.oneof(four, six).filter((one) => !isMapped(one))
const range = address.chain((base) => {
  const size = base.kind() === 'ipv4' ? 32 : 128
  return fc.record({
    base: fc.constant(base),
    bits: fc.oneof(fc.nat(size), fc.integer({ min: size - 9, max: size })),
  })
})

t.test('an address is in a set if it is in one of its ranges', async () => {
  const contains = (
    { base, bits }: { base: ipaddr.IPv4 | ipaddr.IPv6; bits: number },
    one: ipaddr.IPv4 | ipaddr.IPv6,
  ) => base.kind() === one.kind() && one.match([base, bits] as never)
  fc.assert(
    fc.property(
      fc.array(range, { maxLength: 20 }),
      fc.array(address, { maxLength: 40 }),
      (ranges, addresses) => {
        const builder = new RangesBuilder()
        for (const { base, bits } of ranges) builder.add(base, bits)
        const set = builder.build()
        for (const one of [...addresses, ...ranges.map(({ base }) => base)])
          if (isInRanges(set, one) !== ranges.some((candidate) => contains(candidate, one)))
            throw new Error(one.toString())
        for (let i = 2; i < set.four.length; i += 2)
          if (set.four[i]! <= set.four[i - 1]! + 1) throw new Error('ranges touch')
      },
    ),
    { numRuns },
  )
})

t.test('lists: comments, ends of lines, several entries, mapped ranges', async (t) => {
  writeFileSync(
    path,
    '\uFEFF1.2.3.4\r\n\n # a comment\n2.0.0.0/8;b\n\t3.3.3.3 # c\r\n4.4.4.*, 5.5.5.5\n::ffff:6.6.6.0/120\n2001:db8::/32',
  )
  const set = readLists([path])
  for (const one of ['1.2.3.4', '2.255.0.1', '3.3.3.3', '4.4.4.9', '5.5.5.5', '6.6.6.6', '2001:db8:1::'])
    t.ok(isInRanges(set, addressOf(one)), one)
  for (const one of ['1.2.3.5', '3.0.0.0', '4.4.5.0', '6.6.7.0', '2001:db9::', '::1.2.3.4'])
    t.notOk(isInRanges(set, addressOf(one)), one)
  writeFileSync(path, '')
  t.equal(isInRanges(readLists([path, path]), addressOf('1.2.3.4')), false)
})

t.test('a wrong line is named; the list counts as a whole', async (t) => {
  for (const line of [
    '1.2.3',
    '1.2.3.4-1.2.3.9',
    '1.2.3.4/',
    '1.2.3.4/33',
    '::/129',
    '<html>',
    '1.2.3.4 5.6.7.8',
    'x'.repeat(1e6),
    '\u00001.2.3.4',
  ]) {
    writeFileSync(path, `1.1.1.1\n\n${line}\n2.2.2.2\n`)
    t.throws(() => readLists([path]), { message: /list\.txt, line 3: ".{1,80}/ }, line.slice(0, 30))
  }
  await t.rejects(rangesInThread({ kind: 'lists', files: [path] }), { message: /list\.txt, line 3: / })
  await t.rejects(rangesInThread({ kind: 'lists', files: [folder] }), { message: /it is a folder/ })
})

t.test('a million lines: time in proportion, few bytes, looks in microseconds', async (t) => {
  const cost = (count: number): number => {
    let text = ''
    // Every other one, so that no two ranges become one.
    for (let i = 0; i < count; i++)
      text += `${20 + (i >> 18)}.${(i >> 10) & 255}.${(i >> 2) & 255}.${(i & 3) * 64}/27\n`
    writeFileSync(path, text)
    const before = process.cpuUsage()
    const { four: pairs } = readLists([path])
    const { user, system } = process.cpuUsage(before)
    t.equal(pairs.length, 2 * count)
    t.equal(pairs.byteLength, 8 * count)
    return user + system
  }
  cost(20_000)
  const growth = cost(1_000_000) / cost(100_000)
  t.ok(growth < 20, `${growth} times the time for ten times the lines`)
  const set = await rangesInThread({ kind: 'lists', files: [path] })
  t.equal(set.four.length, 200_000)
})
