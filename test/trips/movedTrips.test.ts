/** The trips that moved lately, which are kept unpacked. */
import assert from 'node:assert/strict'
import t from 'tap'
import { FrameWriter, readFrame } from '../../src/actor/commitCodec.ts'
import type { Trip } from '../../src/model/trip.ts'
import { created } from '../../src/trips/machine/change.ts'
import { MovedTrips } from '../../src/trips/movedTrips.ts'
import { TripTable } from '../../src/trips/tripTable.ts'
import { NOON, runs } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'

const aTrip = (n: number): Trip =>
  created({ id: String(n).padStart(24, '0'), scope: 0, externalId: `${n}` }, undefined, NOON)

/** The approximate bytes of a trip whose packed form is empty. */
const BYTES = 1000
/** The same for each byte of it. */
const PER_PACKED = 5

type Step = { readonly row: number; readonly bytes: number; readonly is: 'put' | 'delete' | 'turn' }
const step: fc.Arbitrary<Step> = fc.record({
  row: fc.nat(12),
  bytes: fc.nat(1500),
  is: fc.oneof(
    { weight: 8, arbitrary: fc.constant('put' as const) },
    { weight: 2, arbitrary: fc.constant('delete' as const) },
    { weight: 1, arbitrary: fc.constant('turn' as const) },
  ),
})

t.test('property: what is kept is the last of its row, and no more than there is room for', async () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.constantFrom(2000, 9000, Infinity), (steps, most) => {
      const moved = new MovedTrips()
      moved.maxBytes = most
      const last = new Map<number, { readonly trip: Trip; readonly bytes: number }>()
      steps.forEach(({ row, bytes, is }, n) => {
        if (is === 'turn') return moved.turn()
        if (is === 'delete') {
          moved.delete(row)
          last.delete(row)
          return
        }
        const trip = aTrip(n)
        moved.put(row, trip, bytes)
        last.set(row, { trip, bytes: BYTES + PER_PACKED * bytes })
        const mayStay = BYTES + PER_PACKED * bytes <= most / 2
        assert.equal(moved.get(row), mayStay ? trip : undefined)
      })
      let kept = 0
      for (let row = 0; row <= 12; row++) {
        const found = moved.get(row)
        if (found === undefined) continue
        assert.equal(found, last.get(row)?.trip)
        kept += last.get(row)!.bytes
      }
      assert.ok(kept <= most, `${kept} of ${most} bytes`)
    }),
    runs(300),
  )
})

t.test('a trip that does not move for a whole generation is forgotten', async (t) => {
  const moved = new MovedTrips()
  moved.put(1, aTrip(1), 0)
  moved.put(2, aTrip(2), 0)
  moved.turn()
  moved.put(2, aTrip(3), 0)
  t.equal(moved.get(1)?.externalId, '1', 'it may move again soon')
  moved.turn()
  t.equal(moved.get(1), undefined)
  t.equal(moved.get(2)?.externalId, '3')
})

t.test('a table keeps the trips that updates moved, until they rest', async (t) => {
  const table = new TripTable()
  const writer = new FrameWriter()
  writer.begin(NOON)
  writer.beginCommit(0, 1, 1)
  const [one, other] = [aTrip(1), aTrip(2)]
  for (const trip of [one, other]) table.put(writer, trip)
  const [a, b] = [table.find(0, one.id), table.find(0, other.id)]
  /** Whether a trip is the same object after another one was read. */
  const isKept = () => {
    const before = table.get(a)
    table.get(b)
    return table.get(a) === before
  }
  t.notOk(isKept(), 'a new one is packed')
  const place = { time: NOON, latitude: 1, longitude: 2 }
  const move = (status: Trip['status']) =>
    table.put(writer, { ...table.get(a), status, movedAt: NOON }, { added: place })
  move('started')
  t.ok(isKept())
  t.equal(table.get(a).status, 'started')
  table.packResting()
  t.ok(isKept())
  table.packResting()
  t.notOk(isKept(), 'it rests')
  t.equal(table.get(a).status, 'started')
  t.equal(table.moving(a)?.trip, table.get(a))
  t.ok(isKept(), 'it moves again')
  move('approaching')
  t.ok(isKept())
  table.put(writer, { ...table.get(a), metadata: { note: 'by a call' } })
  t.notOk(isKept())
  t.strictSame([table.get(a).status, table.get(a).metadata], ['approaching', { note: 'by a call' }])
  move('arrived')
  table.limitUnpacked(0)
  move('arrived')
  t.notOk(isKept(), 'there is no room')
  t.equal(table.moving(a), undefined)
  table.limitUnpacked(Infinity)
  move('arrived')
  writer.endCommit()
  const again = new TripTable()
  readFrame(writer.take(), {
    commit: () => true,
    tableOf: () => again,
    wantsEvents: false,
    event() {},
  })
  t.strictSame(again.get(again.find(0, one.id)), table.get(a), 'the rows say the same')
  table.remove(writer, a)
  t.equal(table.find(0, one.id), -1)
  const next = aTrip(3)
  table.put(writer, next)
  t.equal(table.get(table.find(0, next.id)).externalId, '3', 'its row is another’s now')
})
