/** Copies of calls that come when others were answered since, at an owner that has not answered the calls itself. */
import t from 'tap'
import { TRIPS } from '../../src/trips/tripActor.ts'
import { TRIP_CALL, type TripCall } from '../../src/trips/tripCall.ts'
import { MINUTE } from '../actor/kit.ts'
import { engineWithTrips, newTripId, tripsOf } from './tripKit.ts'

const NAME = 'order'

/** A trip, and its calls as they come in messages. */
function scene() {
  let engine = engineWithTrips({ partitions: 1 })
  const id = newTripId(engine, NAME)
  let calls = 0
  const callOf = (more: Partial<TripCall>): TripCall => ({ scope: 0, id, callId: ++calls, ...more })
  const create = { externalId: NAME, revision: Number.MAX_SAFE_INTEGER }
  return {
    make: () => callOf({ create, change: { metadata: { note: 0 } } }),
    patch: (note: number) => callOf({ change: { metadata: { note } } }),
    status: (status: 'started' | 'completed') => callOf({ mayRestart: true, change: { status } }),
    send: (call: TripCall) => engine.host.execute(TRIP_CALL, TRIP_CALL.decode(TRIP_CALL.encode(call)), 10),
    /** Another owner takes over. */
    handOver() {
      engine = engine.restarted({ types: engine.partitions[0]!.types })
    },
    trip: () => tripsOf(engine.partitions)[0]!,
    events: () => engine.events.all.map(({ type }) => type),
    engine: () => engine,
  }
}

t.test('a copy of a call that was answered does not undo a later one', async (t) => {
  const { make, patch, status, send, handOver, trip, events } = scene()
  const [made, first, second] = [make(), patch(1), patch(2)]
  for (const call of [made, first, second]) await send(call)
  handOver()
  const before = trip()
  for (const copy of [first, made]) {
    const { trip: shown, events: told } = await send(copy)
    t.match(JSON.parse(shown), { metadata: { note: 2 } }, 'the answer is the present trip')
    t.strictSame(told, [])
  }
  t.strictSame(trip(), before)

  const [begun, done] = [status('started'), status('completed')]
  await send(begun)
  await send(done)
  handOver()
  await send(begun)
  t.match(trip(), { status: 'completed' }, 'it does not begin again')
  t.strictSame(events(), ['user.started_trip', 'user.stopped_trip'])
  await send(status('started'))
  t.match(trip(), { status: 'started' }, 'another call of this kind counts')
})

t.test('nor does the copy of a call that changed nothing', async (t) => {
  const { make, patch, send, handOver, trip, events } = scene()
  const same = patch(0)
  for (const call of [make(), same, patch(1)]) await send(call)
  handOver()
  const { updatedAt } = trip()
  await send(same)
  t.match(trip(), { metadata: { note: 1 }, updatedAt })
  t.strictSame(events(), [])
})

t.test('a trip remembers a few calls, and those for a minute', async (t) => {
  const { make, patch, send, trip, engine } = scene()
  await send(make())
  for (let note = 1; note <= 20; note++) await send(patch(note))
  t.strictSame(trip().called, [21, 20, 19, 18, 17, 16, 15, 14])
  const table = engine().partitions[0]!.tableOf(TRIPS)
  for (const _ of table.forgetTold(engine().clock.now() + MINUTE));
  t.equal(trip().called, undefined)
  t.match(trip(), { metadata: { note: 20 } })
})

t.test('where calls do not come in messages, there are no copies, and nothing is remembered', async (t) => {
  const { make, patch, trip, engine } = scene()
  await engine().host.execute(TRIP_CALL, make(), 10)
  await engine().host.execute(TRIP_CALL, patch(0), 10)
  t.equal(trip().called, undefined)
  t.equal(engine().host.counters.frames, 1, 'a call that changes nothing writes nothing')
})
