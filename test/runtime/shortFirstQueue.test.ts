/** In which order tasks are done that wait for a thread. */
import t from 'tap'
import { queueOptionsSymbol } from 'piscina'
import { ShortFirstQueue, withEstimate } from '../../src/runtime/shortFirstQueue.ts'

const dueOf = (task: object): number =>
  (task as { [queueOptionsSymbol]: { dueMs: number } })[queueOptionsSymbol].dueMs

/** A task as the pool puts it into the queue. */
function waiting(name: string, dueMs?: number) {
  return { name, [queueOptionsSymbol]: dueMs === undefined ? null : { dueMs } }
}

t.test('the task that is due first comes first, and of two that are due at once the older one', async (t) => {
  const queue = new ShortFirstQueue()
  t.equal(queue.shift(), null)
  const tasks = [
    ['long', 400],
    ['short', 110],
    ['as short', 110],
    ['shortest', 101],
    ['without an estimate', undefined],
    ['longest', 1000],
  ] as const
  for (const [name, dueMs] of tasks) queue.push(waiting(name, dueMs))
  t.equal(queue.size, tasks.length)
  const order = tasks.map(() => (queue.shift() as unknown as { name: string }).name)
  t.strictSame(order, ['without an estimate', 'shortest', 'short', 'as short', 'long', 'longest'])
  t.equal(queue.size, 0)
})

t.test('a task that is given up leaves the queue', async (t) => {
  const queue = new ShortFirstQueue()
  const [one, other] = [waiting('one', 1), waiting('other', 2)]
  queue.push(one)
  queue.push(other)
  queue.remove(one)
  queue.remove(one)
  t.equal(queue.size, 1)
  t.equal(queue.shift(), other)
})

t.test('a long task waits for ten times its own time at most', async (t) => {
  const before = performance.now()
  const task = withEstimate({ question: 'long' }, 40)
  const after = performance.now()
  t.ok(dueOf(task) >= before + 400 && dueOf(task) <= after + 400)
  t.strictSame(structuredClone(task), { question: 'long' }, 'the thread gets nothing of it')
  const queue = new ShortFirstQueue()
  queue.push(task as never)
  // Short ones that come later than the long one is due.
  for (let i = 0; i < 100; i++) queue.push(waiting(`late ${i}`, dueOf(task) + i) as never)
  t.equal(queue.shift(), task)
})
