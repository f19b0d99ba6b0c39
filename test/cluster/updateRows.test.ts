/** Updates as bytes: the owner reads exactly what the gateway was given, in both kinds of rows. */
import { Senders } from '../../src/wire/senders.ts'
import assert from 'node:assert/strict'
import t from 'tap'
import { readRows, RowWriter, wantedOf, type NumberedUpdate } from '../../src/cluster/protocol/updateRows.ts'
import { decodeRequest, encodeRequest } from '../../src/cluster/protocol/partitionProtocol.ts'
import type { Update } from '../../src/model/update.ts'
import { runs } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'

const SENDERS = new Senders()
const BASE: Update = {
  scope: 3,
  deviceId: 'd',
  latitude: -33.123456789,
  longitude: 151.2,
  receivedAt: 1_795_000_000_123,
  ip: '192.0.2.1',
  foreground: false,
  stopped: true,
  replayed: false,
}

const FIELDS = [
  'scope',
  'deviceId',
  'userId',
  'installId',
  'latitude',
  'longitude',
  'accuracy',
  'foreground',
  'stopped',
  'replayed',
  'updatedAt',
  'description',
  'metadata',
  'deviceType',
  'deviceOS',
  'deviceMake',
  'deviceModel',
  'beacons',
  'receivedAt',
  'ip',
] as const satisfies readonly (keyof Update)[]

/** Reads through getters if the update has them. */
function plain(update: Update): Partial<Update> {
  return Object.fromEntries(FIELDS.map((name) => [name, update[name]]))
}

function numbered(update: Update, place: number): NumberedUpdate {
  const wanted = wantedOf(0)
  return { update, wanted, stream: `gateway-${place % 2}`, sequence: 2 ** 40 + place }
}

const noWhole = {
  pack(): never {
    throw new Error('a row has room for it')
  },
  unpack(): never {
    throw new Error('a row has room for it')
  },
}

t.test('property: decoding returns what was encoded', (t) => {
  const name = fc.oneof(
    fc.constantFrom('a', 'x'.repeat(255), 'x'.repeat(256), 'é', 'naïve\n', '~ !"', '日本', '😀'),
    fc.string({ minLength: 1, maxLength: 40 }),
  )
  const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined })
  // In a body, −0 is 0.
  const degrees = (most: number) => fc.double({ min: -most, max: most, noNaN: true }).map((one) => one + 0)
  const update: fc.Arbitrary<Update> = fc.record({
    scope: fc.nat(),
    deviceId: fc.oneof(fc.constantFrom('d1', 'd2'), name),
    userId: maybe(name),
    installId: maybe(name),
    latitude: degrees(90),
    longitude: degrees(180),
    accuracy: maybe(fc.double({ min: 1e-9, max: 1e9, noNaN: true })),
    foreground: fc.boolean(),
    stopped: fc.boolean(),
    replayed: fc.boolean(),
    updatedAt: maybe(fc.nat()),
    description: maybe(name),
    metadata: maybe(
      fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.boolean(), fc.integer()), {
        noNullPrototype: true,
      }),
    ),
    deviceType: maybe(fc.constantFrom('iOS', 'Android', 'Web')),
    deviceOS: maybe(name),
    deviceMake: maybe(name),
    deviceModel: maybe(name),
    source: maybe(name),
    beacons: fc.constantFrom(undefined, []),
    receivedAt: fc.nat(),
    ip: fc.constantFrom('192.0.2.1', '2001:db8:85a3:8d3:1319:8a2e:370:7348'),
  })
  fc.assert(
    fc.property(fc.array(update, { maxLength: 40 }), fc.nat(15), (updates, bits) => {
      const wanted = {
        rateLimited: bits % 8 > 3,
        wantsUser: bits % 4 > 1,
        wantsEvents: bits % 2 > 0,
        isBehind: bits > 7,
      }
      const request = encodeRequest({
        gateway: 'g',
        number: 7,
        retried: true,
        isBehind: false,
        revision: 9,
        updates: updates.map((one, i) => ({ ...numbered(one, i), wanted })),
        commands: [],
      })
      const read = decodeRequest(request, () => undefined, SENDERS)
      const { gateway, number, retried, revision } = read
      assert.deepEqual([gateway, number, retried, revision], ['g', 7, true, 9])
      assert.deepEqual(read.updates.map(plain), updates.map(plain))
      for (const [i, { stream, sequence, flags, index }] of read.updates.entries()) {
        assert.deepEqual([stream, sequence, index], [`gateway-${i % 2}`, 2 ** 40 + i, i])
        assert.deepEqual(wantedOf(flags), wanted)
      }
    }),
    runs(100),
  )
  t.end()
})

t.test('updates with the same device fields share a sender, whatever way they came', (t) => {
  const writer = new RowWriter(noWhole)
  const of = (...updates: Update[]) => readRows(writer.write(updates.map(numbered)), noWhole, SENDERS)
  const phone = { ...BASE, userId: 'ann', deviceType: 'iOS', deviceModel: 'iPhone 17' } as const
  const [first, other] = of(phone, BASE)
  const [again] = of({ ...phone, latitude: 1, receivedAt: 5 })
  t.equal(again!.sender, first!.sender)
  t.not(other!.sender, first!.sender)
  for (const different of [
    { ip: '192.0.2.2' },
    { scope: 4 },
    { deviceModel: 'iPhone 16' },
    { userId: undefined },
  ])
    t.not(of({ ...phone, ...different })[0]!.sender, first!.sender)
  t.end()
})

t.test('more rows than the writer has room for at first', (t) => {
  const updates = Array.from({ length: 3000 }, (_, i) => ({ ...BASE, deviceId: `${i}`.padStart(200, '-') }))
  const read = readRows(new RowWriter(noWhole).write(updates.map(numbered)), noWhole, SENDERS)
  t.strictSame(
    read.map(({ deviceId }) => deviceId),
    updates.map(({ deviceId }) => deviceId),
  )
  t.end()
})

t.test('bytes that are not rows', (t) => {
  const rows = new RowWriter(noWhole).write([numbered(BASE, 0)])
  for (let length = 1; length < rows.length; length++)
    t.throws(() => readRows(rows.slice(0, length), noWhole, SENDERS), RangeError, SENDERS)
  t.end()
})
