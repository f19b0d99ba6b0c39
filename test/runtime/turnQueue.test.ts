import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { TurnQueue } from '../../src/runtime/turnQueue.ts'

/** Milliseconds of the clock that the queue reads. */
let now = 0
t.intercept(performance, 'now', { value: () => now })

t.test('work begins in order, and in another turn once a slice of time is used up', async (t) => {
  const queue = new TurnQueue()
  let turn = 0
  let isOver = false
  const count = () => {
    turn++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const begun: { readonly name: number; readonly turn: number }[] = []
  const work = async (name: number) => {
    await queue.next()
    // Its pieces follow each other without the event loop, and count together.
    for (let piece = 0; piece < 10; piece++) {
      await Promise.resolve()
      now += 0.125
    }
    begun.push({ name, turn })
  }
  await Promise.all(Array.from({ length: 20 }, (_, name) => work(name)))
  isOver = true
  t.strictSame(
    begun.map(({ name }) => name),
    Array.from({ length: 20 }, (_, i) => i),
  )
  const perTurn = Map.groupBy(begun, (one) => one.turn)
  for (const [at, all] of perTurn) t.ok(all.length <= 2, `${all.length} pieces of 1.25 ms in turn ${at}`)
  t.ok(perTurn.size >= 10)
})

t.test('it continues after it was empty', async (t) => {
  const queue = new TurnQueue()
  await queue.next()
  await nextTurn()
  await queue.next()
  await Promise.all([queue.next(), queue.next()])
  t.pass()
})
