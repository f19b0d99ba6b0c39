import t from 'tap'
import { inSlices, Slice } from '../../src/runtime/slices.ts'

/** Milliseconds of the clock that slices read. */
let now = 0
t.intercept(performance, 'now', { value: () => now })

t.test('many requests that work in slices share the turns, and each gets its own', async (t) => {
  const REQUESTS = 50
  let isOver = false
  let ofTurn = 0
  let most = 0
  const count = () => {
    most = Math.max(most, ofTurn)
    ofTurn = 0
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const ended: number[] = []
  const work = async (name: number) => {
    const slice = new Slice()
    await slice.next()
    for (let step = 0; step < 20; step++) {
      now += 0.5
      ofTurn += 0.5
      if (slice.isOver) await slice.next()
    }
    ended.push(name)
  }
  await Promise.all(Array.from({ length: REQUESTS }, (_, name) => work(name)))
  isOver = true
  t.ok(most <= 4, `${most} ms in a turn`)
  t.strictSame(
    ended,
    Array.from({ length: REQUESTS }, (_, name) => name),
    'none waits longer than another',
  )
})

t.test('requests that arrive in one turn do not each begin to work in it', async (t) => {
  let ofTurn = 0
  let most = 0
  let isOver = false
  const count = () => {
    most = Math.max(most, ofTurn)
    ofTurn = 0
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  function* work(): Generator<void, number> {
    for (let step = 0; step < 20; step++) {
      now += 0.5
      ofTurn += 0.5
      yield
    }
    return 20
  }
  const ended = await Promise.all(Array.from({ length: 50 }, () => inSlices(work())))
  isOver = true
  t.strictSame(ended, Array(50).fill(20))
  // Each does one step before it looks at the clock.
  t.ok(most <= 30, `${most} ms in a turn`)
})

t.test('requests that waited for the same event share the turn in which it happens', async (t) => {
  let ofTurn = 0
  let most = 0
  let isOver = false
  const count = () => {
    most = Math.max(most, ofTurn)
    ofTurn = 0
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  let happen = () => {}
  const event = new Promise<void>((resolve) => (happen = resolve))
  const work = async () => {
    const slice = new Slice()
    await slice.next()
    await event
    slice.begin()
    for (let step = 0; step < 20; step++) {
      now += 0.1
      ofTurn += 0.1
      if (slice.isOver) await slice.next()
    }
  }
  const all = Promise.all(Array.from({ length: 50 }, work))
  setTimeout(happen, 20)
  await all
  isOver = true
  // Each does one step before it looks at the clock.
  t.ok(most <= 8, `${most} ms in a turn`)
})
