/** When runs begin and who does them, in virtual time, on registries of one and of two processes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { aloneWith } from '../../src/jobs/port.ts'
import { Jobs } from '../../src/jobs/jobs.ts'
import { openRegistry, type Registry } from '../../src/registry/registry.ts'
import type { SyncSettings } from '../../src/registry/sync/syncRows.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import type { ReadRow } from '../../src/sync/rowsPort.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { SecretBox } from '../../src/sync/secretBox.ts'
import { SourceFailed } from '../../src/sync/sourceFailed.ts'
import { SyncRunner, type SyncRunnerParts } from '../../src/sync/syncRunner.ts'
import { settle, SimulatedTime } from '../kit/simulatedTime.ts'
import { until } from '../kit/waiting.ts'
import { MemoryStream } from '../registry/memoryStream.ts'
import { folderOf, openReplica, SCOPE } from '../registry/replicatedKit.ts'

const DAY = 86_400_000
const START = Date.UTC(2026, 2, 10, 12)
const box = new SecretBox('00'.repeat(32))

const SETTINGS: SyncSettings = {
  enabled: true,
  protocol: 'http',
  http: { urls: ['https://example.com/a.csv'], passwordSet: false, headers: [] },
  time: '03:00',
  timeZone: 'UTC',
  deleteMissing: false,
  maxDeleteShare: 0.1,
  emails: [],
  notify: 'always',
  sealed: box.seal(SCOPE, { urls: ['https://example.com/a.csv'] }),
  scheduledSince: START,
}

/** The text of a row, as the thread makes it. */
function readRow(externalId: string, number: number, radius = 100): ReadRow {
  const definition = { tag: 'a', externalId, description: 'x', type: 'circle', enabled: true }
  const text = JSON.stringify([definition, [1, 2], null, radius])
  return { line: number + 1, row: number, tag: 'a', externalId, text }
}

function openRunner(
  t: Test,
  registry: Registry,
  time: SimulatedTime,
  more: Partial<SyncRunnerParts> = {},
): SyncRunner {
  return new SyncRunner({
    syncs: registry.syncs,
    geofences: registry.geofences,
    finder: { positionOf: async () => undefined, placeArea: async () => undefined },
    box,
    time,
    logger: { info: () => {}, warn: () => {}, error: (fields: object) => t.fail(JSON.stringify(fields)) },
    folder: join(folderOf(t), 'sync'),
    tell: () => ({ state: { status: 'off' }, changes: [] }),
    openRows: async () => rowsOf([readRow('1', 1)]),
    fetch: async (_source, file) => {
      writeFileSync(file, '')
      return { httpStatus: 200, content: { bytes: 0, sha256: `${time.now()}` } }
    },
    ...more,
  })
}

/** A source that is asked with its ETag, and changes with it. */
function changing(etagOf: () => string): SyncRunnerParts['fetch'] {
  return async (_source, file, known) => {
    const etag = etagOf()
    if (known?.etag === etag) return { httpStatus: 304, etag }
    writeFileSync(file, '')
    return { httpStatus: 200, content: { bytes: 0, sha256: etag }, etag }
  }
}

function rowsOf(...batches: ReadRow[][]) {
  const left = batches.map((rows) => ({ file: 0, rows }))
  const pairs = new Set(batches.flat().map(({ tag, externalId }) => `${tag} ${externalId}`))
  return {
    survey: async () => [undefined],
    next: async () => left.shift(),
    named: async (asked: readonly (readonly [string, string])[]) =>
      asked.map(([tag, externalId]) => pairs.has(`${tag} ${externalId}`)),
    close: async () => {},
  }
}

/** Does the job of a runner. */
function jobsOf(t: Test, time: SimulatedTime) {
  const warn = (fields: object) => void t.fail(JSON.stringify(fields))
  return new Jobs({ time, logger: { warn }, openLease: aloneWith })
}

function open(t: Test, time: SimulatedTime, folder = folderOf(t)): Registry {
  const registry = openRegistry({ folder, clock: time, createIndex: createGeofenceIndex })
  t.teardown(() => registry.close())
  return registry
}

/** As {@link SimulatedTime.runUntil}, with files in between, which take real time. */
async function runUntil(time: SimulatedTime, end: number): Promise<void> {
  while (time.now() < end) {
    await time.runUntil(Math.min(end, time.now() + 6 * 3_600_000))
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 1))
    await settle()
  }
}

t.test('a run each night; one that was missed is made up for within twelve hours', async (t) => {
  const time = new SimulatedTime(START)
  const folder = folderOf(t)
  const registry = openRegistry({ folder, clock: time, createIndex: createGeofenceIndex })
  await registry.syncs.edit(() => registry.syncs.save(SCOPE, SETTINGS))
  const runner = openRunner(t, registry, time)
  t.equal(runner.nextRunAt(SCOPE), Date.UTC(2026, 2, 11, 3), 'the night before the settings was not missed')
  const service = jobsOf(t, time).service(runner)
  await service.start?.()
  await runUntil(time, START + 3 * DAY)
  const runs = registry.syncs.list(SCOPE, { limit: 10 }).runs
  t.strictSame(
    runs.map(({ trigger, status, createdAt }) => [
      trigger,
      status,
      new Date(createdAt).toISOString().slice(0, 16),
    ]),
    ['13', '12', '11'].map((day) => ['nightly', 'succeeded', `2026-03-${day}T03:00`]),
  )
  t.match(runs[0]?.sources, [{ unchanged: 1 }])
  await service.stop?.()
  registry.close()

  for (const [hoursLate, expected] of [
    [11, 4],
    [37, 4],
    [49, 5],
  ] as const) {
    time.time = Date.UTC(2026, 2, 14, 3 + hoursLate)
    const again = openRegistry({ folder, clock: time, createIndex: createGeofenceIndex })
    const next = openRunner(t, again, time)
    const job = jobsOf(t, time).service(next)
    await job.start?.()
    await runUntil(time, time.now() + 60_000)
    t.equal(again.syncs.list(SCOPE, { limit: 10 }).runs.length, expected, `${hoursLate} h late`)
    await job.stop?.()
    await next.stopped()
    again.close()
  }
})

t.test('two hosts at three o’clock: one run', async (t) => {
  const stream = new MemoryStream()
  const time = new SimulatedTime(START)
  const registries = [
    await openReplica(t, async () => stream.client(), { clock: time }),
    await openReplica(t, async () => stream.client(), { clock: time }),
  ]
  await registries[0]!.syncs.edit(() => registries[0]!.syncs.save(SCOPE, SETTINGS))
  let fetches = 0
  const fetch: SyncRunnerParts['fetch'] = async (_source, file) => {
    fetches++
    writeFileSync(file, '')
    return { httpStatus: 200, content: { bytes: 0, sha256: 'a' } }
  }
  const runners = registries.map((registry) => openRunner(t, registry, time, { fetch }))
  time.time = Date.UTC(2026, 2, 11, 3)
  // The lease goes from one to the other.
  for (const runner of [...runners, ...runners]) {
    await runner.run()
    await runner.stopped()
  }
  const runs = registries[0]!.syncs.list(SCOPE, { limit: 10 }).runs
  t.match(runs, [{ trigger: 'nightly', status: 'succeeded' }])
  t.equal(runs.length, 1)
  t.equal(fetches, 1)
  const asked = await Promise.allSettled(
    runners.map((runner) => runner.request(SCOPE, { trigger: 'manual' })),
  )
  t.strictSame(asked.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'], 'one run at a time')
})

t.test('who lost a run writes no more', async (t) => {
  const time = new SimulatedTime(START)
  const registry = open(t, time)
  const { syncs, geofences } = registry
  await syncs.edit(() => syncs.save(SCOPE, SETTINGS))
  const more = Promise.withResolvers<void>()
  const taken = Promise.withResolvers<void>()
  const rows = rowsOf(
    Array.from({ length: 200 }, (_, i) => readRow(`${i}`, i + 1)),
    [readRow('late', 201)],
  )
  const first = openRunner(t, registry, time, {
    openRows: async () => ({
      ...rows,
      next: async () => {
        const batch = await rows.next()
        if (batch?.rows.length !== 1) return batch
        taken.resolve()
        await more.promise
        return batch
      },
    }),
  })
  const run = await first.request(SCOPE, { trigger: 'manual' })
  await first.run()
  await taken.promise
  await syncs.edit(() => syncs.store({ ...syncs.active(SCOPE)!, holder: 'somebody else' }))
  more.resolve()
  await first.stopped()
  t.equal(geofences.store(SCOPE).byPair('a', 'late'), undefined)
  t.match(syncs.get(SCOPE, run.id)?.run, { status: 'running', holder: 'somebody else' })

  const second = openRunner(t, registry, time)
  await second.run()
  t.match(syncs.get(SCOPE, run.id)?.run, { status: 'interrupted' }, 'nobody does it')
  await second.run()
  await second.stopped()
  t.match(syncs.last(SCOPE), { status: 'succeeded', repeats: run.id })
})

for (const end of ['canceled', 'interrupted'] as const)
  t.test('a source that goes back to what it was while a run is under way', async (t) => {
    const time = new SimulatedTime(START)
    const registry = open(t, time)
    const { syncs, geofences } = registry
    await syncs.edit(() => syncs.save(SCOPE, { ...SETTINGS, enabled: false }))
    let radius = 100
    const half = Promise.withResolvers<void>()
    const more = Promise.withResolvers<void>()
    const parts: Partial<SyncRunnerParts> = {
      fetch: changing(() => `"${radius}"`),
      async openRows() {
        const one = radius
        const rows = rowsOf(
          Array.from({ length: 200 }, (_, i) => readRow(`${i}`, i + 1, one)),
          [readRow('late', 201, one)],
        )
        if (one === 100) return rows
        return {
          ...rows,
          async next() {
            const batch = await rows.next()
            if (batch?.rows.length !== 1) return batch
            half.resolve()
            await more.promise
            return batch
          },
        }
      },
    }
    const first = openRunner(t, registry, time, parts)
    await first.request(SCOPE, { trigger: 'manual' })
    await first.run()
    await first.stopped()
    const radii = () =>
      [...geofences.store(SCOPE).inOrder()].map(({ shape }) => 'radius' in shape && shape.radius)
    t.strictSame(new Set(radii()), new Set([100]))

    radius = 200
    const run = await first.request(SCOPE, { trigger: 'manual' })
    await first.run()
    await half.promise
    await until(() => radii().filter((one) => one === 200).length === 200)
    radius = 100
    if (end === 'canceled') {
      await first.cancel(SCOPE, run.id)
      more.resolve()
      await first.stopped()
      await first.request(SCOPE, { trigger: 'manual' })
    }
    const second = openRunner(t, registry, time, parts)
    if (end === 'interrupted') await second.run()
    t.equal(syncs.get(SCOPE, run.id)?.run.status, end)
    await second.run()
    await second.stopped()
    t.match(syncs.last(SCOPE), {
      status: 'succeeded',
      sources: [{ status: 'read', httpStatus: 200, updated: 200 }],
    })
    t.strictSame(new Set(radii()), new Set([100]), 'nothing of the other content is left')
    more.resolve()
    await first.stopped()
    t.strictSame(new Set(radii()), new Set([100]))
  })

t.test('a run that is canceled, or whose process stops, does not wait for a source to be read', async (t) => {
  for (const how of ['canceled', 'stopped'] as const) {
    const time = new SimulatedTime(START)
    const registry = open(t, time)
    const { syncs } = registry
    await syncs.edit(() => syncs.save(SCOPE, { ...SETTINGS, enabled: false }))
    const reading = Promise.withResolvers<void>()
    let isClosed = false
    const runner = openRunner(t, registry, time, {
      openRows: async () => ({
        ...rowsOf([]),
        survey: () => (reading.resolve(), new Promise(() => {})),
        close: async () => void (isClosed = true),
      }),
    })
    const end = runner.begin(() => {})
    const { id } = await runner.request(SCOPE, { trigger: 'manual' })
    await runner.run()
    await reading.promise
    if (how === 'canceled') await runner.cancel(SCOPE, id)
    else end()
    await runner.stopped()
    t.ok(isClosed)
    t.equal(syncs.get(SCOPE, id)?.run.status, how === 'canceled' ? 'canceled' : 'running')
  }
})

t.test('long rows are written and deleted with a transaction for each', async (t) => {
  const time = new SimulatedTime(START)
  const registry = open(t, time)
  const { syncs, geofences } = registry
  const settings = { ...SETTINGS, enabled: false, deleteMissing: true, maxDeleteShare: 1 }
  await syncs.edit(() => syncs.save(SCOPE, settings))
  const userIds = Array.from({ length: 5000 }, (_, i) => `user-${i}-${'x'.repeat(100)}`)
  const long = Array.from({ length: 12 }, (_, i) => {
    const definition = {
      tag: 'a',
      externalId: `${i}`,
      description: 'x',
      type: 'circle',
      userIds,
      enabled: true,
    }
    return { ...readRow(`${i}`, i + 1), text: JSON.stringify([definition, [1, 2], null, 100]) }
  })
  let rows: ReadRow[] = long
  const runner = openRunner(t, registry, time, {
    fetch: changing(() => `"${rows.length}"`),
    openRows: async () => rowsOf(rows),
  })
  const { records } = geofences.store(SCOPE)
  for (const count of [12, 1]) {
    rows = long.slice(0, count)
    const before = records.size
    const sizes = new Set<number>()
    let handle = setImmediate(function look() {
      sizes.add(records.size)
      handle = setImmediate(look)
    })
    await runner.request(SCOPE, { trigger: 'manual' })
    await runner.run()
    await runner.stopped()
    clearImmediate(handle)
    sizes.add(records.size)
    t.match(syncs.last(SCOPE), { status: 'succeeded' })
    t.equal(records.size, count)
    t.equal(sizes.size, Math.abs(count - before) + 1, 'each number in between was seen')
  }
})

t.test('deletions that cannot be written are made by the next run', async (t) => {
  const time = new SimulatedTime(START)
  const registry = open(t, time)
  const { syncs, geofences } = registry
  const settings = { ...SETTINGS, enabled: false, deleteMissing: true, maxDeleteShare: 1 }
  await syncs.edit(() => syncs.save(SCOPE, settings))
  let rows = [readRow('1', 1), readRow('2', 2)]
  const runner = openRunner(t, registry, time, {
    fetch: changing(() => `"${rows.length}"`),
    openRows: async () => rowsOf(rows),
  })
  const ran = async () => {
    const { id } = await runner.request(SCOPE, { trigger: 'manual' })
    await runner.run()
    while (syncs.active(SCOPE) !== undefined) await runUntil(time, time.now() + 10_000)
    // The next run is begun by hand, without the job that the end of this one would wake.
    await runner.stopped()
    return syncs.get(SCOPE, id)?.run
  }
  await ran()
  rows = [readRow('1', 1)]
  const { deleteMany } = geofences
  geofences.deleteMany = () => {
    throw new ApiError(503, 'The disk is full.')
  }
  t.match(await ran(), { status: 'failed', message: 'Nothing can be written: The disk is full.', deleted: 0 })
  geofences.deleteMany = deleteMany
  t.match(await ran(), { status: 'succeeded', deleted: 1, sources: [{ status: 'read' }] })
  t.match(await ran(), { status: 'succeeded', sources: [{ status: 'unchanged', httpStatus: 304 }] })
})

t.test(
  'two hosts through nights whose clocks skip and repeat the time of the run: one run a date',
  async (t) => {
    for (const [from, days, expected] of [
      // Skipped: 02:30 is not there on the 29th. The minute after it is 03:00 in summer time.
      ['2026-03-27T12:00:00Z', 3, ['28T01:30', '29T01:00', '30T00:30']],
      // Repeated: 02:30 is there twice on the 25th. The first is in summer time.
      ['2026-10-23T12:00:00Z', 3, ['24T00:30', '25T00:30', '26T01:30']],
    ] as const) {
      const stream = new MemoryStream()
      const time = new SimulatedTime(Date.parse(from))
      const registries = [
        await openReplica(t, async () => stream.client(), { clock: time }),
        await openReplica(t, async () => stream.client(), { clock: time }),
      ]
      const settings = { ...SETTINGS, time: '02:30', timeZone: 'Europe/Berlin', scheduledSince: time.now() }
      await registries[0]!.syncs.edit(() => registries[0]!.syncs.save(SCOPE, settings))
      await until(() => registries[1]!.syncs.settings(SCOPE) !== undefined)
      let fetches = 0
      const fetch: SyncRunnerParts['fetch'] = async (_source, file) => {
        fetches++
        writeFileSync(file, '')
        return { httpStatus: 200, content: { bytes: 0, sha256: `${fetches}` } }
      }
      const runners = registries.map((registry) => openRunner(t, registry, time, { fetch }))
      const ends = time.now() + days * DAY
      for (let turn = 0; time.now() < ends; turn++) {
        // The lease goes from one to the other.
        const runner = runners[turn % 2]!
        if (runner.dueAt() <= time.now()) await runner.run()
        await runner.stopped()
        time.time += 10 * 60_000
      }
      const { runs } = registries[1]!.syncs.list(SCOPE, { limit: 100 })
      t.strictSame(
        runs.map(({ createdAt }) => new Date(createdAt).toISOString().slice(8, 16)).toReversed(),
        expected,
      )
      t.ok(runs.every(({ status, trigger }) => status === 'succeeded' && trigger === 'nightly'))
      t.equal(fetches, days, 'each is done once')
    }
  },
)

t.test(
  'a source is tried again after 10 seconds, one minute and five, or when the server says; others fail at once',
  async (t) => {
    const time = new SimulatedTime(START)
    const registry = open(t, time)
    const { syncs } = registry
    await syncs.edit(() => syncs.save(SCOPE, { ...SETTINGS, enabled: false }))
    const asked: number[] = []
    const failures: SourceFailed[] = []
    const runner = openRunner(t, registry, time, {
      fetch: async () => {
        asked.push((time.now() - begun) / 1000)
        throw failures[asked.length - 1] ?? failures.at(-1)!
      },
    })
    const busy = new SourceFailed('http503', 'Busy.', { isPassing: true, httpStatus: 503 })
    let begun = 0
    for (const [fails, expected] of [
      [[busy], [0, 10, 70, 370]],
      [
        [new SourceFailed('http429', 'Slow down.', { isPassing: true, retryAfterMs: 120_000 }), busy],
        [0, 120, 180, 480],
      ],
      [
        [new SourceFailed('http503', 'Later.', { isPassing: true, retryAfterMs: 9e9 }), busy],
        [0, 1800, 1860, 2160],
      ],
      [[new SourceFailed('http404', 'No such file.', { httpStatus: 404 })], [0]],
    ] as const) {
      asked.length = 0
      failures.splice(0, failures.length, ...fails)
      begun = time.now()
      const { id } = await runner.request(SCOPE, { trigger: 'manual' })
      await runner.run()
      await until(() => asked.length > 0)
      while (syncs.active(SCOPE) !== undefined) await runUntil(time, time.now() + 10_000)
      // The next run is begun by hand, without the job that the end of this one would wake.
      await runner.stopped()
      t.strictSame(asked, expected)
      t.match(syncs.get(SCOPE, id)?.run, {
        status: 'failed',
        sources: [{ status: 'failed', attempts: expected.length }],
      })
    }
  },
)
