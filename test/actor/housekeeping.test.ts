/** Housekeeping lets others have their turns, however many devices it is for (G7). */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { housekeepingJobs } from '../../src/actor/housekeeping.ts'
import { Engine, MINUTE, stateOf } from './kit.ts'

const DAY = 24 * 60 * MINUTE
const COUNT = 300

async function manyDevices() {
  const engine = new Engine({ partitions: 1 })
  const { clock, host } = engine
  const track = async (first: number, count: number) => {
    for (let i = first; i < first + count; i++)
      await engine.track(engine.update({ deviceId: `device ${i}`, latitude: 0, longitude: 0 }))
  }
  await track(0, COUNT)
  const jobs = housekeepingJobs({
    hosts: () => [host],
    events: undefined,
    checkpoint() {},
    clock,
    logger: { info() {} },
    idleMinutes: 10,
    usersDays: 90,
    eventsDays: 90,
  })
  const run = (name: string) => jobs.find((job) => job.name === name)!.run(new AbortController().signal)
  const { table } = engine.partitions[0]!
  const rows = () => Array.from({ length: table.length }, (_, row) => row).filter((row) => table.exists(row))
  return { engine, clock, table, rows, track, run }
}

/** By this clock, much time goes by with each look at it. */
function slowly(t: Pick<Test, 'intercept'>) {
  let now = performance.now()
  t.intercept(performance, 'now', { value: () => (now += 10) })
}

t.test('idle devices are packed in turns, and no others', async (t) => {
  const { engine, clock, table, rows, track, run } = await manyDevices()
  const packed = () => rows().filter((row) => !table.isUnpacked(row)).length
  clock.advance(10 * MINUTE + 1)
  await track(COUNT, 5)
  const before = stateOf(engine.partitions)
  t.equal(packed(), 0)
  slowly(t)
  const ofTurns: number[] = []
  let isOver = false
  const count = () => {
    ofTurns.push(packed())
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await run('packing')
  isOver = true
  t.equal(packed(), COUNT)
  const most = Math.max(...ofTurns.map((sum, i) => sum - (ofTurns[i - 1] ?? 0)))
  t.ok(most <= COUNT / 4, `${most} in a turn`)
  t.strictSame(stateOf(engine.partitions), before)
})

t.test('users are removed a few at a time, days after their last update', async (t) => {
  const { engine, clock, rows, track, run } = await manyDevices()
  clock.advance(90 * DAY)
  await run('retention')
  t.equal(rows().length, COUNT)
  await track(COUNT, 5)
  clock.advance(1)
  const { frames } = engine.host.counters
  await run('retention')
  t.equal(rows().length, 5)
  const more = engine.host.counters.frames - frames
  t.ok(more >= COUNT / 100, `${more} frames`)
  const again = engine.restarted()
  t.strictSame(stateOf(again.partitions), stateOf(engine.partitions), 'it is durable')
})

t.test('updates that come while old users are removed are kept', async (t) => {
  const { clock, rows, track, run } = await manyDevices()
  clock.advance(90 * DAY + 1)
  slowly(t)
  const work = { isOver: false }
  const removal = run('retention').then(() => (work.isOver = true))
  let sent = 0
  while (!work.isOver && sent < COUNT) {
    await nextTurn()
    await track(sent++, 1)
  }
  await removal
  t.ok(sent >= 2, `${sent} updates in the meantime`)
  t.equal(rows().length, sent, 'those of the updates, and no others')
})
