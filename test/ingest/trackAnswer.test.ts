/** Compares the answer that is written as bytes with the text that it must equal. */
import assert from 'node:assert/strict'
import t from 'tap'
import { restOf } from '../../src/actor/headRests.ts'
import { keptHead, userJson } from '../../src/actor/userRecord.ts'
import { trackAnswer } from '../../src/ingest/trackAnswer.ts'
import { movingJson } from '../../src/trips/tripRecord.ts'
import { userWithTrip } from '../../src/trips/usersWithTrips.ts'
import type { UserParts } from '../../src/actor/port.ts'
import fc from '../kit/fastCheck.ts'

const runs = (count: number) => ({ numRuns: count * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1) })

/** The same answer, made in the slow way. */
function text(
  user: UserParts,
  events: readonly string[],
  beacons: string,
  trip: string | null = null,
): string {
  const json = userWithTrip(userJson(user), trip)
  return `{"meta":{"code":200},"events":[${events.join(',')}],"user":${json},"nearbyBeacons":${beacons}}`
}

const decimals = (most: number, places: number) =>
  fc.integer({ min: -most * 10 ** places, max: most * 10 ** places }).map((drawn) => drawn / 10 ** places)
const number = fc.oneof(
  ...[0, 1, 6, 7, 8].map((places) => decimals(180, places)),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.double({ min: -180, max: 180, noNaN: true }),
  fc.constantFrom(
    0,
    -0,
    1e-6,
    1e-7,
    9.99e-7,
    0.1,
    1e7,
    9_999_999.9999999,
    1e21,
    5e-324,
    -1e-6,
    100,
    10,
    99.9999999,
  ),
)
const piece = fc
  .oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('', 'é"', '漢字', '😀'))
  .map((drawn) => JSON.stringify({ drawn }))
const time = fc.oneof(
  fc.integer({ min: Date.parse('2026-11-20T12:00:00Z'), max: Date.parse('2026-11-20T12:00:02Z') }),
  fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 }),
)
const user = fc.record({
  head: piece.map((json) => json.slice(0, -1)),
  rest: piece.map((json) => restOf(`,"rest":${json},"location":{"type":"Point","coordinates":[`)),
  longitude: number,
  latitude: number,
  accuracy: fc.oneof(number, fc.constant(NaN)),
  foreground: fc.boolean(),
  stopped: fc.boolean(),
  updatedAt: time,
  receivedAt: time,
})
const trip = fc.option(piece)
const beacons = fc.array(piece, { maxLength: 2 }).map((list) => `[${list.join(',')}]`)

t.test('the bytes equal those of the text', async (t) => {
  fc.assert(
    fc.property(user, fc.array(piece, { maxLength: 3 }), beacons, trip, (drawn, events, around, on) => {
      const bytes = trackAnswer(drawn, events, around, on)
      assert.ok(bytes)
      assert.equal(Buffer.from(bytes).toString(), text(drawn, events, around, on))
    }),
    runs(20_000),
  )
  t.pass('all are')
})

t.test('a trip whose texts stay is written like its whole text', async (t) => {
  const drawnText = fc.string({ unit: 'grapheme' })
  const moving = fc.record({ updatedAt: time, minutes: decimals(10_000, 1), meters: fc.nat(10_000_000) })
  const texts = fc.record({ beforeDate: drawnText, beforeDuration: drawnText, end: drawnText })
  fc.assert(
    fc.property(user, beacons, texts, moving, (drawn, around, between, course) => {
      const bytes = trackAnswer(drawn, [], around, { texts: between, ...course })
      assert.ok(bytes)
      const written = Buffer.from(bytes).toString()
      const whole = trackAnswer(drawn, [], around, movingJson(between, course))
      assert.equal(written, Buffer.from(whole!).toString())
    }),
    runs(5000),
  )
  t.pass('all are')
})

t.test('a head that is kept as bytes gives the same answer and the same text', async (t) => {
  const kept = { ascii: 0, bytes: 0 }
  fc.assert(
    fc.property(user, trip, (drawn, on) => {
      const { json, areBytes } = keptHead(drawn.head, drawn.rest)
      kept[areBytes === true ? 'bytes' : 'ascii']++
      const parts = { ...drawn, head: json, areBytes }
      assert.equal(userJson(parts), userJson(drawn))
      assert.equal(Buffer.from(trackAnswer(parts, [], '[]', on)!).toString(), text(drawn, [], '[]', on))
    }),
    runs(5000),
  )
  t.ok(kept.ascii > 0 && kept.bytes > 0, JSON.stringify(kept))
})

t.test('an answer that might not fit is left to the slow way', async (t) => {
  const [one] = fc.sample(user, 1)
  for (const length of [0, 1000, 10_000, 10_500, 10_700, 10_800, 10_950, 20_000]) {
    const events = [JSON.stringify('漢'.repeat(length))]
    const bytes = trackAnswer(one!, events, '[]')
    if (length <= 10_000) t.ok(bytes, `${length} characters fit`)
    if (length > 10_900) t.equal(bytes, undefined, `${length} characters do not`)
    if (bytes) t.equal(Buffer.from(bytes).toString(), text(one!, events, '[]'))
  }
  t.equal(trackAnswer(one!, [], '[]', JSON.stringify('漢'.repeat(10_900))), undefined, 'nor a long trip')
})
