import { Worker } from 'node:worker_threads'
import t from 'tap'
import { CallRefused, WorkerCalls } from '../../src/runtime/workerCalls.ts'
import type { TestThread } from './callsChild.ts'

class Ended extends Error {
  override readonly name = 'Ended'
}

const CLOSED = new Ended('closed')

function start(mode = '') {
  const told: Error[] = []
  const notices: number[] = []
  const worker = new Worker(new URL('./callsChild.ts', import.meta.url), { argv: [mode] })
  const calls = new WorkerCalls<TestThread, string, number>(worker, {
    errorOf: (end) =>
      new Ended(
        end.is === 'exited'
          ? `exited ${end.code}`
          : end.is === 'failed'
            ? `failed ${end.failure.name} ${end.failure.message}`
            : `thrown ${(end.cause as Error).message}`,
      ),
    failed: (error) => told.push(error),
    noticed: (notice) => notices.push(notice),
  })
  return { calls, told, notices }
}

t.test('calls are answered, and closing waits for those in progress', async (t) => {
  const { calls, told, notices } = start()
  t.equal(await calls.opened, 'here')
  t.strictSame(notices, [1])
  const order: unknown[] = []
  const late = calls.call('late', 'last').then((value) => order.push(value))
  const sum = calls.call('add', 1, 2).then((value) => order.push(value))
  await Promise.all([late, sum])
  t.strictSame(order, [3, 'last'])
  const before = calls.call('add', 3, 4)
  const closed = calls.close(CLOSED)
  t.ok(calls.isEnded)
  await t.rejects(calls.call('add', 5, 6), CLOSED)
  t.equal(await before, 7)
  await closed
  await calls.close(CLOSED)
  t.strictSame(told, [])
})

t.test('a refused call fails alone', async (t) => {
  const { calls, told } = start()
  await calls.opened
  const refused = calls.call('refuse', 'not now')
  await t.rejects(refused, new CallRefused('not now'))
  t.equal(await calls.call('add', 1, 1), 2)
  await calls.close(CLOSED)
  t.strictSame(told, [])
})

t.test('calls that arrive together are answered after one commit', async (t) => {
  const { calls } = start('together')
  await calls.opened
  await Promise.all([calls.call('add', 1, 1), calls.call('late', 'x')])
  const before = await calls.call('rounds')
  await Promise.all(Array.from({ length: 50 }, (_, i) => calls.call('add', i, i)))
  const rounds = (await calls.call('rounds')) - before
  t.ok(rounds >= 1 && rounds < 50, `${rounds} rounds`)
  const last = calls.call('add', 2, 2)
  const closed = calls.close(CLOSED)
  t.equal(await last, 4, 'closing answers what waits for its commit')
  await closed
})

const ENDS: readonly (readonly [
  name: string,
  mode: string,
  end: (calls: WorkerCalls<TestThread, string, number>) => Promise<unknown>,
  message: string,
])[] = [
  ['throws', '', (calls) => calls.call('throwNow', 'now'), 'failed Failed now'],
  ['rejects', '', (calls) => calls.call('throwLater', 'later'), 'failed Failed later'],
  ['fails in a timer', 'timer', (calls) => calls.call('late', ''), 'failed Failed timer'],
  ['fails to commit', 'together', (calls) => calls.call('throwNow', 'now'), 'failed Failed now'],
  [
    'throws what nobody catches',
    '',
    (calls) => calls.call('throwUncaught', 'loose').then(() => calls.call('late', '')),
    'thrown loose',
  ],
  ['exits', '', (calls) => calls.call('exit', 3), 'exited 3'],
]

for (const [name, mode, end, message] of ENDS) {
  t.test(`a thread that ${name} fails all calls, and is reported once`, async (t) => {
    const { calls, told } = start(mode)
    await calls.opened
    const ended = end(calls)
    const other = calls.call('late', 'x')
    await t.rejects(ended, { message })
    await t.rejects(other, { message })
    await t.rejects(calls.call('add', 1, 1), { message })
    await t.rejects(calls.close(CLOSED), { message })
    t.match(told, [{ message }])
    t.equal(told.length, 1)
  })
}

t.test('a thread that cannot open or close reports it only to the caller that waits for it', async (t) => {
  const broken = start('broken')
  await t.rejects(broken.calls.opened, { message: 'failed Failed cannot open' })
  await t.rejects(broken.calls.call('add', 1, 1), { message: 'failed Failed cannot open' })
  const { calls, told } = start()
  await calls.opened
  await calls.call('failAtClose')
  await t.rejects(calls.close(CLOSED), { message: 'failed Failed cannot close' })
  t.strictSame([...told, ...broken.told], [])
})
