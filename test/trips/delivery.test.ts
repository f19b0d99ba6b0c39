/** A row of a feed that is told again, perhaps by another process: what its trip was, and what began since. */
import t from 'tap'
import { call } from './tripKit.ts'
import { NAME, scene } from './deliveryKit.ts'

t.test(
  'a row that its trip’s end kept from moving does not make the trip whose name is taken since',
  async (t) => {
    const { directory, engine, delivery, update, reserve, statuses } = scene()
    const first = await delivery.tell(await update(), false)
    t.equal(JSON.parse(first.trip!).status, 'arrived')
    const { id } = directory.of(0).named(NAME)!
    await call(engine, id, NAME, { change: { status: 'completed' } })
    await directory.edit(() => directory.release(0, id))
    const row = await update()
    t.strictSame(await delivery.tell(row, false), { trip: null, events: [], isInVain: true })
    // So it is acknowledged before its outcome is known, and never told again (COURIER-4).
    await reserve()
    t.strictSame(statuses(), ['completed'])
    const next = await delivery.tell(await update(), false)
    t.equal(JSON.parse(next.trip!).status, 'arrived', 'the next update goes on with the name')
    t.strictSame(statuses(), ['completed', 'arrived'])
  },
)

t.test('nor one that came after the trip of its name was deleted', async (t) => {
  const { directory, delivery, update, reserve, statuses } = scene()
  const { id } = await reserve()
  await directory.edit(() => directory.bury(0, id, NAME))
  const row = await update()
  const nothing = { trip: null, events: [], isInVain: true }
  t.strictSame(await delivery.tell(row, false), nothing)
  await reserve()
  t.strictSame(await delivery.tell(row, true), nothing, 'told again')
  t.strictSame(statuses(), [])
})

t.test('a row whose own process has reserved the name makes the trip, once', async (t) => {
  const { delivery, update, reserve, statuses } = scene()
  const row = await update()
  await reserve()
  const told = await delivery.tell(row, true)
  t.equal(told.events.length, 2)
  t.same(await delivery.tell(row, true), told, 'the same answer')
  t.strictSame(statuses(), ['arrived'])
})

t.test(
  'a row moves the trip that another owner has just made, whose name is not seen here yet',
  async (t) => {
    const { directory, delivery, update, statuses } = scene()
    await delivery.tell(await update(), false)
    const { id } = directory.of(0).named(NAME)!
    const row = await update()
    await directory.edit(() => directory.release(0, id))
    const told = await delivery.tell(row, true)
    t.equal(JSON.parse(told.trip!)._id, id, 'for an answer without it, an app would end its trip')
    t.strictSame(statuses(), ['arrived'])
  },
)
