/**
 * Senders that are looked up together, compared with the obvious way: each must match the texts of its update,
 * whatever hashes they share.
 */
import assert from 'node:assert/strict'
import t from 'tap'
import { NOBODY, Senders, SenderTexts } from '../../src/wire/senders.ts'
import { FIELD } from '../../src/wire/updateFields.ts'
import type { Sender } from '../../src/model/update.ts'
import fc from '../kit/fastCheck.ts'

const senders = new Senders()
const runs = (count: number) => ({ numRuns: count * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1) })

interface Sent {
  readonly deviceId: string
  readonly userId: string | undefined
  readonly hash: number
}

/** Few names and even fewer hashes, all in two sets, so that slots are shared and reused again and again. */
const sent: fc.Arbitrary<Sent> = fc.record({
  deviceId: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'phone-1', 'phone-2', 'x'.repeat(256)),
  userId: fc.constantFrom(undefined, 'u', 'v'),
  hash: fc.constantFrom(0, 1, 0x10001, 0x20002, 0x30003, 0x40004, 0x50005),
})

function find(frame: readonly Sent[], ip: string, among = senders): Sender[] | undefined {
  const bytes = Buffer.from(frame.map(({ deviceId, userId }) => deviceId + (userId ?? '')).join(''))
  const texts = new SenderTexts()
  texts.beginSenders(bytes)
  let at = 0
  for (const { deviceId, userId, hash } of frame) {
    assert(texts.beginSender())
    texts.name(FIELD.deviceId, at, (at += deviceId.length), hash)
    if (userId !== undefined) texts.name(FIELD.userId, at, (at += userId.length), 0)
  }
  const updates = frame.map(() => ({ sender: NOBODY }))
  return among.findAll(texts, { scope: 2, ip }, updates) ? updates.map(({ sender }) => sender) : undefined
}

t.test('each update has the sender that matches its texts', async () => {
  const frames = fc.array(fc.array(sent, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(frames, fc.constantFrom('192.0.2.1', '192.0.2.2'), (all, ip) => {
      for (const frame of all) {
        const found = find(frame, ip)!
        const said = found.map(({ scope, deviceId, userId, ip: from }) => ({
          scope,
          deviceId,
          userId,
          ip: from,
        }))
        const wanted = frame.map(({ deviceId, userId }) => ({ scope: 2, deviceId, userId, ip }))
        assert.deepStrictEqual(said, wanted)
      }
    }),
    runs(300),
  )
})

t.test('a known sender is the same object again', async () => {
  const frame = Array.from({ length: 40 }, (_, i) => ({
    deviceId: `again-${i}`,
    userId: 'u',
    hash: 977 * (i + 1),
  }))
  const first = find(frame, '192.0.2.3')!
  assert.deepStrictEqual(find(frame, '192.0.2.3'), first)
  find(frame.toReversed(), '192.0.2.3')!.forEach((sender, i) => assert.equal(sender, first[39 - i]))
})

t.test('if one update of a frame has no sender, none is looked up', async () => {
  const frame = ['n-1', 'n-2', 'anonymous', 'n-3'].map((deviceId, hash) => ({
    deviceId,
    userId: undefined,
    hash,
  }))
  assert.equal(find(frame, '192.0.2.4'), undefined)
})

t.test('the kept senders are bounded in bytes, whatever their names', async () => {
  const MOST = 100_000
  const few = new Senders(MOST)
  for (let i = 0; i < 5000; i++) {
    const frame = [
      { deviceId: `${i}`.padEnd(256, 'x'), userId: undefined, hash: Math.imul(i, 0x9e3779b1) & 0x7fffffff },
    ]
    assert.equal(find(frame, '192.0.2.1', few)![0]!.deviceId, frame[0]!.deviceId)
    assert(few.bytes > 0 && few.bytes <= MOST)
    const [again] = find(frame, '192.0.2.1', few)!
    assert.equal(again, find(frame, '192.0.2.1', few)![0], 'the last one is kept')
  }
})
