/** The lease that one process at a time may hold: src/cluster/ownership/jetStreamLease.ts. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Lease, makeLeases } from '../../src/cluster/ownership/jetStreamLease.ts'
import { Jobs } from '../../src/jobs/jobs.ts'
import { every, type OpenLease } from '../../src/jobs/port.ts'
import { systemTime } from '../../src/runtime/clock.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer, type NatsServer } from '../kit/nats.ts'
import { until } from '../kit/waiting.ts'
import { again, reconnecting } from './jetStreamKit.ts'
import { persistently } from '../../src/cluster/nats/jetStreamConnection.ts'

const skip = await skipWithout(NATS_SERVER)
// Each has its own server, and they wait for most of their time.
t.jobs = 4
const options = { skip, buffered: true }
/** Two thirds of the product's. With much less, a starved holder renews the lease too late, and rightly loses it. */
const TTL_MS = 4000

/** A process that wants the lease from now on, and records what it does with it. */
async function contender(t: Test, server: NatsServer, name: string, work = () => Promise.resolve()) {
  const connection = await reconnecting(t, [server])
  const notes: string[] = []
  const claim = { connection, name: 'delivery', holderId: name, ttlMs: TTL_MS, troubled() {} }
  await persistently(() => makeLeases(connection, 1, TTL_MS), again)
  const lease = await Lease.open(claim, {
    async begin() {
      notes.push('begun')
      await work()
    },
    async end() {
      notes.push('ended')
    },
  })
  t.teardown(() => lease.end())
  return { connection, lease, notes }
}

t.test('one process has the lease until it releases it or is gone', options, async (t) => {
  const server = await natsServer(t)
  const a = await contender(t, server, 'a')
  await until(() => a.lease.isHeld)
  const b = await contender(t, server, 'b')
  // Longer than the lease lasts without renewal.
  await sleep(2 * TTL_MS)
  t.ok(a.lease.isHeld)
  t.strictSame([a.notes, b.notes], [['begun'], []])
  await a.lease.end()
  t.strictSame(a.notes, ['begun', 'ended'])
  await until(() => b.lease.isHeld)
  const c = await contender(t, server, 'c')
  const d = await contender(t, server, 'd')
  await d.lease.end()
  await b.connection.close()
  await until(() => c.lease.isHeld)
  await until(() => b.notes.at(-1) === 'ended')
  t.notOk(b.lease.isHeld)
  t.strictSame([b.notes, d.notes], [['begun', 'ended'], []], 'who gives up waiting never has it')
})

t.test('a process that loses the lease waits for it again', options, async (t) => {
  const server = await natsServer(t)
  const a = await contender(t, server, 'a')
  await until(() => a.lease.isHeld)
  await server.kill9()
  await until(() => a.notes.at(-1) === 'ended')
  t.notOk(a.lease.isHeld)
  await server.start()
  await until(() => a.lease.isHeld)
  t.strictSame(a.notes, ['begun', 'ended', 'begun'])
})

t.test('work that cannot begin is ended and tried again', options, async (t) => {
  const server = await natsServer(t)
  let failures = 2
  const a = await contender(t, server, 'a', async () => {
    if (failures-- > 0) throw new Error('not yet')
  })
  await until(() => a.notes.length >= 5)
  t.strictSame(a.notes, ['begun', 'ended', 'begun', 'ended', 'begun'])
  t.ok(a.lease.isHeld)
})

t.test(
  'one of several processes does a shared job, and another one when that one is gone',
  options,
  async (t) => {
    const server = await natsServer(t)
    const processes = await Promise.all(['a', 'b', 'c'].map((name) => working(t, server, name)))
    const runs = () => processes.map(({ job }) => job.runs)
    await until(() => Math.max(...runs()) >= 3)
    await sleep(2 * TTL_MS)
    t.equal(runs().filter((count) => count > 0).length, 1)
    const first = processes.find(({ job }) => job.runs > 0)!
    await first.service.stop()
    const before = first.job.runs
    await until(() => processes.some((each) => each !== first && each.job.runs >= 3))
    t.equal(first.job.runs, before, 'none after the stop')
    const second = processes.find((each) => each !== first && each.job.runs > 0)!
    // Like a killed process: nobody releases the lease.
    await second.connection.close()
    await until(() => processes.every(({ job }) => job.runs >= 3))
  },
)

/** A process that competes for a job that is always due. */
async function working(t: Test, server: NatsServer, name: string) {
  const connection = await reconnecting(t, [server])
  await persistently(() => makeLeases(connection, 1, TTL_MS), again)
  const job = { name: 'dates', isShared: true, runs: 0, dueAt: every(50), run: async () => void job.runs++ }
  const lease = { connection, holderId: name, ttlMs: TTL_MS, troubled() {} }
  const openLease: OpenLease = (of, holder, isAble) => Lease.open({ ...lease, name: of, isAble }, holder)
  const jobs = new Jobs({ time: systemTime, logger: { warn() {} } as never, openLease })
  const service = jobs.service(job)
  await service.start!()
  t.teardown(() => service.stop())
  return { connection, job, service }
}
