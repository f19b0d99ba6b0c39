/** Answers for a later turn are written some at a time, in order. */
import t from 'tap'
import { LaterWrites } from '../../src/http/laterWrites.ts'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

t.test('thousands of them take many turns', async (t) => {
  const later = new LaterWrites()
  const written: number[] = []
  const COUNT = 2000
  for (let i = 0; i < COUNT; i++) later.add(() => written.push(i))
  t.equal(written.length, 0, 'none in this turn')
  let most = 0
  let turns = 0
  for (let before = 0; !later.isEmpty; before = written.length, turns++) {
    await nextTurn()
    most = Math.max(most, written.length - before)
  }
  t.strictSame(
    written,
    Array.from({ length: COUNT }, (_, i) => i),
  )
  t.ok(most <= 200 && turns >= 10, `${most} in one turn, ${turns} turns`)
})

t.test('what comes while others are written waits behind them', async (t) => {
  const later = new LaterWrites()
  const written: string[] = []
  later.add(() => {
    written.push('first')
    later.add(() => written.push('third'))
  })
  later.add(() => written.push('second'))
  while (!later.isEmpty) await nextTurn()
  t.strictSame(written, ['first', 'second', 'third'])
  later.add(() => written.push('fourth'))
  t.notOk(later.isEmpty)
  await nextTurn()
  t.equal(written.at(-1), 'fourth')
})

t.test('long ones take turns of their own', async (t) => {
  const later = new LaterWrites()
  let written = 0
  for (let i = 0; i < 5; i++)
    later.add(() => {
      written++
      for (const until = performance.now() + 6; performance.now() < until;);
    })
  await nextTurn()
  t.equal(written, 1)
  while (!later.isEmpty) await nextTurn()
  t.equal(written, 5)
})
