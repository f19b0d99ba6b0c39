/** Hosts that share a scheduler begin their batches together, but not all in one turn if that takes long (G7). */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { BatchScheduler } from '../../src/actor/batchScheduler.ts'

const HOSTS = 64

/** Runs batches that take so many milliseconds each. Returns in which turn of the event loop each of them ran. */
async function turnsOf(begin: 'soon' | 'gathered', milliseconds: number): Promise<number[]> {
  let now = 0
  const real = performance.now
  performance.now = () => now
  let turn = 0
  const count = (): void => {
    turn++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const scheduler = new BatchScheduler()
  const turns: number[] = []
  for (let i = 0; i < HOSTS; i++) {
    const batch = () => {
      now += milliseconds
      turns.push(turn)
    }
    if (begin === 'soon') scheduler.soon(batch)
    else scheduler.gathered(batch, 1)
  }
  while (turns.length < HOSTS) await sleep(1)
  clearImmediate(counting)
  performance.now = real
  return turns
}

for (const begin of ['soon', 'gathered'] as const) {
  t.test(`${begin}: short ones run in the same turn`, async (t) => {
    const turns = await turnsOf(begin, 0.01)
    t.equal(new Set(turns).size, 1)
  })

  t.test(`${begin}: long ones have several turns`, async (t) => {
    const turns = await turnsOf(begin, 3)
    const most = Math.max(...[...Map.groupBy(turns, (turn) => turn).values()].map(({ length }) => length))
    t.equal(most, 2)
    t.strictSame(
      turns,
      turns.toSorted((a, b) => a - b),
      'in their order',
    )
  })
}
