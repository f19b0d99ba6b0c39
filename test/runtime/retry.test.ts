import t from 'tap'
import { ManualClock } from '../../src/runtime/clock.ts'
import { Backoff, keepRunning, retry } from '../../src/runtime/retry.ts'
import { TroubleOnce, Troubles } from '../../src/runtime/troubles.ts'

const PAUSES = { firstMs: 20, lastMs: 1000 }

/** A pause that takes no time, and a list of the pauses. */
function noted() {
  const pauses: number[] = []
  return { pauses, pause: async (milliseconds: number) => void pauses.push(milliseconds) }
}

t.test('pauses double up to a maximum, and are short again after a success', (t) => {
  const backoff = new Backoff(PAUSES)
  const pauses = Array.from({ length: 8 }, () => backoff.next())
  t.strictSame(pauses, [20, 40, 80, 160, 320, 640, 1000, 1000])
  backoff.reset()
  t.equal(backoff.next(), 20)
  t.equal(backoff.next(), 40)
  t.end()
})

t.test('spread pauses lie within half and one and a half of their length', (t) => {
  const backoff = new Backoff({ firstMs: 100, lastMs: 100, isSpread: true })
  const pauses = Array.from({ length: 200 }, () => backoff.next())
  t.ok(pauses.every((ms) => ms >= 50 && ms < 150))
  t.ok(new Set(pauses).size > 100)
  t.end()
})

t.test('a failed attempt is repeated until it works', async (t) => {
  const { pauses, pause } = noted()
  const told: string[] = []
  let attempt = 0
  const work = async () => {
    if (++attempt < 4) throw new Error(`attempt ${attempt}`)
    return attempt
  }
  t.equal(await retry(work, { pauses: PAUSES, pause, failed: ({ message }) => told.push(message) }), 4)
  t.strictSame(pauses, [20, 40, 80])
  t.strictSame(told, ['attempt 1', 'attempt 2', 'attempt 3'])
})

t.test('the last of a number of attempts throws its error, without a pause after it', async (t) => {
  const { pauses, pause } = noted()
  let attempt = 0
  const work = async () => {
    throw new Error(`attempt ${++attempt}`)
  }
  await t.rejects(retry(work, { pauses: PAUSES, pause, attempts: 3 }), { message: 'attempt 3' })
  t.strictSame(pauses, [20, 40])
})

t.test('the callback for failures may end the attempts, and so may a signal, also in a pause', async (t) => {
  const fails = async () => {
    throw new Error('failed')
  }
  const giveUp = () => {
    throw new Error('hopeless')
  }
  await t.rejects(retry(fails, { pauses: PAUSES, failed: giveUp }), { message: 'hopeless' })
  const controller = new AbortController()
  const forever = { firstMs: 1e8, lastMs: 1e8 }
  const failed = () => setImmediate(() => controller.abort(new Error('stopped')))
  await t.rejects(retry(fails, { pauses: forever, failed, signal: controller.signal }), {
    message: 'stopped',
  })
})

t.test('endless work is started again, after failures and after ends, until the signal', async (t) => {
  const { pauses, pause } = noted()
  const controller = new AbortController()
  const told: string[] = []
  let round = 0
  const work = async (worked: () => void) => {
    round++
    if (round === 4) worked()
    if (round === 7) controller.abort()
    if (round % 2 === 0) throw new Error(`round ${round}`)
  }
  const { signal } = controller
  await keepRunning(work, { pauses: PAUSES, signal, pause, failed: ({ message }) => told.push(message) })
  t.strictSame(pauses, [20, 40, 80, 20, 40, 80])
  t.strictSame(told, ['round 2', 'round 4', 'round 6'])
  await keepRunning(work, { pauses: PAUSES, signal, pause, failed: () => {} })
  t.equal(round, 7, 'nothing begins after the signal')
})

t.test('a reason is reported once, until it changes or there was a success', (t) => {
  const told: string[] = []
  const trouble = new TroubleOnce(({ message }) => told.push(message))
  for (const reason of ['a', 'a', 'b', 'b', 'a']) trouble.tell(new Error(reason))
  trouble.clear()
  trouble.tell(new Error('a'))
  t.strictSame(told, ['a', 'b', 'a', 'a'])
  t.end()
})

t.test(
  'a flood of a failure is a line now and then, with how often it happened since the line before',
  (t) => {
    const clock = new ManualClock(0)
    const told: string[] = []
    const troubles = new Troubles(clock, ({ message }, times) => told.push(`${message} ${times}`))
    for (let i = 0; i < 25; i++) {
      troubles.tell(new Error('full'))
      if (i === 12) troubles.tell(new Error('read-only'))
      clock.advance(1000)
    }
    t.strictSame(told, ['full 1', 'full 10', 'read-only 1', 'full 10'])
    t.end()
  },
)
