/** When jobs run: src/jobs/jobs.ts. */
import t from 'tap'
import { Jobs } from '../../src/jobs/jobs.ts'
import { aloneWith, every, type Job, type LeaseHolder, type OpenLease } from '../../src/jobs/port.ts'
import type { Time } from '../../src/runtime/clock.ts'
import { SimulatedTime } from '../kit/simulatedTime.ts'

const SECOND = 1000

function open<T extends Time = SimulatedTime>(
  job: Partial<Job>,
  openLease: OpenLease = aloneWith,
  time = new SimulatedTime(0) as unknown as T,
) {
  const warnings: { job: string; reason: string }[] = []
  const logger = { warn: (fields: object) => void warnings.push(fields as never) }
  const jobs = new Jobs({ time, logger: logger as never, openLease })
  const ranAt: number[] = []
  const service = jobs.service({
    name: 'tidying',
    isShared: false,
    dueAt: every(10 * SECOND),
    run: async () => void ranAt.push(time.now()),
    ...job,
  })
  return { time, jobs, service, ranAt, warnings }
}

t.test('an interval begins with a run, and counts from the end of each run', async (t) => {
  const ranAt: number[] = []
  const { time, jobs, service } = open({
    run: () =>
      new Promise((resolve) => {
        ranAt.push(time.now())
        time.after(3 * SECOND, resolve)
      }),
  })
  await service.start!()
  await time.runUntil(30 * SECOND)
  await service.stop()
  await time.runUntil(60 * SECOND)
  t.strictSame(ranAt, [0, 13 * SECOND, 26 * SECOND])
  t.strictSame(jobs.counts, [{ name: 'tidying', runs: 3, failures: 0 }], 'none after the stop')
})

t.test('a failed run is logged and repeated; pauses grow, and are short again after a success', async (t) => {
  const ranAt: number[] = []
  const { time, jobs, service, warnings } = open({
    run: async () => {
      ranAt.push(time.now())
      if (ranAt.length !== 4) throw new Error('the disk is full')
    },
  })
  await service.start!()
  await time.runUntil(15 * SECOND)
  await service.stop()
  t.strictSame(ranAt, [0, 500, 1500, 3500, 13_500, 14_000, 15_000])
  t.strictSame(jobs.counts, [{ name: 'tidying', runs: 1, failures: 6 }])
  t.equal(warnings.length, 6)
  t.strictSame(warnings[0], { job: 'tidying', reason: 'the disk is full' })
})

t.test(
  'a job that is not due sleeps until it is woken, but a pause after a failure is not cut short',
  async (t) => {
    let due = Infinity
    let wake = () => {}
    let isFailing = false
    const ranAt: number[] = []
    const { time, service } = open({
      begin(woken) {
        wake = woken
        return () => (wake = () => ranAt.push(NaN))
      },
      dueAt: () => due,
      async run() {
        ranAt.push(time.now())
        if (isFailing) throw new Error('not now')
        due = Infinity
      },
    })
    await service.start!()
    await time.runUntil(100 * SECOND)
    t.strictSame(ranAt, [])
    due = 110 * SECOND
    wake()
    await time.runUntil(120 * SECOND)
    t.strictSame(ranAt, [110 * SECOND])
    isFailing = true
    due = 0
    wake()
    await time.runUntil(120 * SECOND)
    for (let i = 0; i < 5; i++) wake()
    await time.runUntil(120 * SECOND + 499)
    t.strictSame(ranAt, [110 * SECOND, 120 * SECOND])
    isFailing = false
    await time.runUntil(121 * SECOND)
    t.strictSame(ranAt, [110 * SECOND, 120 * SECOND, 120 * SECOND + 500])
    await service.stop()
    wake()
    t.ok(Number.isNaN(ranAt.at(-1)), 'it has been told to forget how to wake the job')
  },
)

t.test('one run at a time; stopping sends the signal and waits for the run', async (t) => {
  let runs = 0
  let wake = () => {}
  let finish = () => {}
  let signal: AbortSignal | undefined
  const { time, service } = open({
    begin(woken) {
      wake = woken
      return () => {}
    },
    dueAt: () => 0,
    run(given) {
      runs++
      signal = given
      return new Promise((resolve) => (finish = resolve))
    },
  })
  await service.start!()
  wake()
  await time.runUntil(1000 * SECOND)
  t.equal(runs, 1)
  let isStopped = false
  const stopping = Promise.resolve(service.stop()).then(() => (isStopped = true))
  await time.runUntil(1001 * SECOND)
  t.ok(signal!.aborted)
  t.notOk(isStopped)
  finish()
  await stopping
  await time.runUntil(2000 * SECOND)
  t.equal(runs, 1)
})

t.test(
  'a clock set back delays a run by its interval at most; one set forward is noticed in a minute',
  async (t) => {
    // Timers follow the machine's steady clock, not the one that people can set.
    const clock = { now: 0, steady: new SimulatedTime(0) }
    const time: Time = { now: () => clock.now, after: (ms, work) => clock.steady.after(ms, work) }
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += SECOND) {
        clock.now += SECOND
        await clock.steady.runUntil(clock.steady.now() + SECOND)
      }
    }
    const back = open({ dueAt: every(10 * SECOND) }, aloneWith, time)
    clock.now = 1_000_000 * SECOND
    await back.service.start!()
    await pass(SECOND)
    clock.now = 0
    await pass(20 * SECOND)
    await back.service.stop()
    t.equal(back.ranAt.length, 2)

    const due = 1_000_000 * SECOND
    const ahead = open({ dueAt: (lastEnd) => (lastEnd === undefined ? due : Infinity) }, aloneWith, time)
    await ahead.service.start!()
    await pass(5 * SECOND)
    t.strictSame(ahead.ranAt, [])
    clock.now = due
    await pass(60 * SECOND)
    t.equal(ahead.ranAt.length, 1)
    await ahead.service.stop()
  },
)

t.test('work that resolves at once, a thousand times, does not block other work', async (t) => {
  let runs = 0
  const { time, service } = open({ dueAt: () => (runs < 1000 ? 0 : Infinity), run: async () => void runs++ })
  await service.start!()
  await new Promise((resolve) => setImmediate(resolve))
  t.ok(runs < 10, `${runs} runs in one turn of the event loop`)
  await time.runUntil(SECOND)
  t.equal(runs, 1000)
  await service.stop()
})

t.test('a shared job runs only while this process has the lease', async (t) => {
  let holder: LeaseHolder | undefined
  const asked: unknown[] = []
  const { time, service, ranAt } = open(
    { name: 'sync', isShared: true, isAble: () => true },
    async (name, given, isAble) => {
      holder = given
      asked.push(name, isAble!())
      return { end: async () => void asked.push('ended') }
    },
  )
  await service.start!()
  await time.runUntil(100 * SECOND)
  t.strictSame(ranAt, [])
  await holder!.begin()
  await time.runUntil(115 * SECOND)
  await holder!.end()
  await time.runUntil(200 * SECOND)
  await holder!.begin()
  await time.runUntil(205 * SECOND)
  await holder!.end()
  await service.stop()
  t.strictSame(ranAt, [100 * SECOND, 110 * SECOND, 200 * SECOND])
  t.strictSame(asked, ['sync', true, 'ended'])
})
