/**
 * The registry through its public functions: edits, dates, restarts, crashes, damaged files, keys, the command line.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import t from 'tap'
import type { Test } from 'tap'
import { Probe } from '../../src/geometry/probe.ts'
import type { GeofenceProperties } from '../../src/model/geofence.ts'
import { parseOperatingHours } from '../../src/model/operatingHours.ts'
import { scopeId } from '../../src/model/scope.ts'
import { DEFAULT_SETTINGS } from '../../src/model/settings.ts'
import { REGISTRY_FILE } from '../../src/registry/store/database.ts'
import type { GeofenceDefinition } from '../../src/registry/geofences/geofenceRows.ts'
import { generateKeys, KEY_KINDS, type KeySet, parseKeys } from '../../src/registry/projects/keys.ts'
import type { RecordQuery } from '../../src/registry/records/recordList.ts'
import type { Registry, RegistryOptions } from '../../src/registry/registry.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { DateSweep } from '../../src/registry/geofences/dateSweep.ts'
import { Jobs } from '../../src/jobs/jobs.ts'
import { aloneWith } from '../../src/jobs/port.ts'
import type { ScopeStore } from '../../src/registry/scopeStore.ts'
import { ManualClock, systemTime } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { SimulatedTime } from '../kit/simulatedTime.ts'

const TEST = scopeId(1, false)
const LIVE = scopeId(1, true)
const START = Date.UTC(2026, 0, 1)

function circle(externalId: string, more: Partial<GeofenceDefinition> = {}): GeofenceDefinition {
  return {
    tag: 'store',
    externalId,
    description: externalId,
    type: 'circle',
    shape: { kind: 'circle', center: [-73.99, 40.73], radius: 100 },
    enabled: true,
    ...more,
  }
}

interface Opened {
  readonly folder: string
  readonly clock: ManualClock
  registry: Registry
  reopen(): Registry
  /** Keys of the first project, if opening the registry did not install given ones. */
  readonly keys: KeySet | undefined
}

function open(t: Test, options: Partial<RegistryOptions> = {}): Opened {
  const folder = options.folder ?? t.testdir()
  const clock = new ManualClock(START)
  const start = () => openRegistry({ clock, createIndex: createGeofenceIndex, ...options, folder })
  const registry = start()
  const opened: Opened = {
    folder,
    clock,
    registry,
    keys: registry.createFirstProject(),
    reopen: () => {
      opened.registry.close()
      return (opened.registry = start())
    },
  }
  t.teardown(() => opened.registry.close())
  return opened
}

/** All that can be read of a scope. */
/** The complete content of a list of geofences. */
function listed(store: ScopeStore, query: RecordQuery<GeofenceProperties>) {
  const steps = store.geofences.listSteps(query)
  for (;;) {
    const step = steps.next()
    if (step.done) return { geofences: step.value.records, hasMore: step.value.hasMore }
  }
}

function contents(registry: Registry, scope: number) {
  const store = registry.scope(scope)
  const { geofences } = listed(store, { limit: 1000 })
  const whole = geofences.map((geofence) => store.geofences.whole(geofence))
  return { geofences: whole, settings: store.settings, size: store.geofences.records.size }
}

/** The complete geofence with an id, or with an externalId among those of the stores. */
function wholeOf(registry: Registry, name: { id: string } | { externalId: string }) {
  const store = registry.scope(TEST)
  const geofence = 'id' in name ? store.geofence(name.id) : store.geofences.byPair('store', name.externalId)
  return geofence && store.geofences.whole(geofence)
}

t.test('create, upsert, replace, delete', async (t) => {
  const { registry, clock } = open(t)
  const created = registry.geofences.create(TEST, circle('1', { metadata: { floor: 2 }, dwellThreshold: 5 }))
  t.match(created, { scope: TEST, tag: 'store', externalId: '1', createdAt: START, updatedAt: START })
  t.match(created.id, /^[0-9a-f]{24}$/)
  t.equal(created.timeZone, 'America/New_York')
  t.throws(() => registry.geofences.create(TEST, circle('1')), { name: 'RecordExists' })

  clock.advance(1000)
  const { record: edited, created: isNew } = registry.geofences.put(TEST, circle('1', { description: 'new' }))
  t.equal(isNew, false)
  t.equal(edited.id, created.id, '_id stays')
  t.equal(edited.createdAt, START, 'createdAt stays')
  t.equal(edited.updatedAt, START + 1000)
  t.equal(edited.description, 'new')
  t.equal(edited.metadata, undefined, 'what is absent is at its default')
  t.equal(edited.dwellThreshold, undefined)
  t.equal(created.description, '1', 'objects are replaced, never changed')
  t.strictSame(wholeOf(registry, created), edited)
  t.strictSame(wholeOf(registry, { externalId: '1' }), edited)

  const other = registry.geofences.put(TEST, circle('2'))
  t.equal(other.created, true)
  t.throws(() => registry.geofences.replace(TEST, created.id, circle('2')), { name: 'RecordExists' })
  t.equal(registry.geofences.replace(TEST, 'f'.repeat(24), circle('3')), undefined)
  const moved = registry.geofences.replace(TEST, created.id, circle('3'))!
  t.equal(moved.id, created.id)
  t.equal(registry.scope(TEST).geofences.byPair('store', '1'), undefined, 'the old pair is free')
  t.strictSame(wholeOf(registry, { externalId: '3' }), moved)

  t.equal(registry.geofences.delete(TEST, created.id), true)
  t.equal(registry.geofences.delete(TEST, created.id), false)
  t.equal(registry.scope(TEST).geofence(created.id), undefined)
  t.equal(registry.scope(TEST).index.slotOf(created.id), -1)
  t.not(registry.geofences.put(TEST, circle('3')).record.id, created.id, 'created anew it is another one')
})

t.test('every change raises the revision of registry and scope; others keep theirs', async (t) => {
  const { registry } = open(t)
  const live = registry.scope(LIVE).revision
  let revision = registry.revision
  const CHANGES: readonly (readonly [name: string, change: () => unknown])[] = [
    ['create', () => registry.geofences.create(TEST, circle('1'))],
    ['put', () => registry.geofences.put(TEST, circle('1'))],
    ['put many', () => registry.geofences.putMany(TEST, [circle('1'), circle('2')])],
    ['settings', () => registry.settings.update(TEST, { dwellEvents: true })],
    [
      'delete',
      () => registry.geofences.delete(TEST, registry.scope(TEST).geofences.byPair('store', '1')!.id),
    ],
  ]
  for (const [name, change] of CHANGES) {
    change()
    t.equal(registry.revision, revision + 1, name)
    t.equal(registry.scope(TEST).revision, registry.revision, name)
    revision = registry.revision
  }
  t.equal(registry.scope(LIVE).revision, live)
  t.throws(() => registry.geofences.create(TEST, circle('2')))
  registry.geofences.putMany(TEST, [])
  registry.settings.update(TEST, {})
  t.equal(registry.revision, revision, 'what changes nothing raises nothing')
})

t.test('G8: scopes never meet', async (t) => {
  const { registry } = open(t)
  const { record: geofence } = registry.geofences.put(TEST, circle('1'))
  const other = scopeId(registry.keys.createProject('other').project.id, false)
  for (const scope of [LIVE, other]) {
    t.equal(registry.scope(scope).geofence(geofence.id), undefined)
    t.equal(registry.scope(scope).geofences.byPair('store', '1'), undefined)
    t.equal(registry.scope(scope).index.size, 0)
    t.equal(registry.geofences.delete(scope, geofence.id), false)
    t.equal(registry.geofences.replace(scope, geofence.id, circle('1')), undefined)
    t.not(registry.geofences.put(scope, circle('1')).record.id, geofence.id)
  }
  registry.settings.update(TEST, { bufferExits: true })
  t.strictSame(registry.scope(LIVE).settings, DEFAULT_SETTINGS)
  t.strictSame(wholeOf(registry, { externalId: '1' }), geofence)
})

t.test('a restart finds all of it again', async (t) => {
  const opened = open(t)
  const ring = [
    [0, 0],
    [1, 0],
    [1, 1],
    [0, 0],
  ] as const
  const full = circle('full', {
    type: 'polygon',
    shape: { kind: 'polygon', ring },
    mode: 'foot',
    enabled: false,
    metadata: { text: 'é "\u2028', number: -1.5, flag: false },
    operatingHours: parseOperatingHours({ sun: [['9:00 PM', '02:00']], Monday: [] })!,
    stopDetection: false,
    disableAfter: START + 1e9,
    deleteAfter: START + 2e9,
    userId: 'u',
    userIds: ['a', 'b'],
    ip: '10.0.0.0/8',
    dwellThreshold: 2.5,
    placeId: 'p',
    tripApproachingThreshold: 7,
  })
  opened.registry.geofences.put(TEST, full)
  opened.registry.geofences.putMany(LIVE, [circle('1'), circle('2'), circle('1', { description: 'twice' })])
  opened.registry.settings.update(LIVE, { beaconUids: ['x'], maxAccuracyMeters: 50 })
  opened.registry.settings.update(LIVE, { maxAccuracyMeters: null, maxGapSeconds: 9 })
  const before = [contents(opened.registry, TEST), contents(opened.registry, LIVE), opened.registry.revision]
  opened.registry.geofences.delete(LIVE, opened.registry.geofences.put(LIVE, circle('gone')).record.id)
  const registry = opened.reopen()
  t.strictSame([contents(registry, TEST), contents(registry, LIVE), registry.revision - 2], before)
  t.match(wholeOf(registry, { externalId: 'full' }), full)
  t.equal(registry.scope(LIVE).geofences.byPair('store', '1')!.description, 'twice')
  t.match(registry.scope(LIVE).settings, { beaconUids: ['x'], maxAccuracyMeters: null, maxGapSeconds: 9 })
  const nearest = registry
    .scope(LIVE)
    .index.nearest(new Probe().set(40.73, -73.99), 9, undefined, () => true).found
  t.strictSame(nearest.map(({ geofence }) => geofence.externalId).toSorted(), ['1', '2'])
})

t.test('dates take effect by themselves, to the millisecond, and are stored by the sweep', async (t) => {
  const opened = open(t)
  const { registry, clock } = opened
  const { id } = registry.geofences.put(
    TEST,
    circle('1', { disableAfter: START + 1000, deleteAfter: START + 5000 }),
  ).record
  const later = registry.geofences.put(TEST, circle('2', { disableAfter: START + 2000 })).record
  const store = registry.scope(TEST)
  const enabled = () => listed(store, { limit: 9 }).geofences.map((one) => `${one.externalId} ${one.enabled}`)

  clock.advance(999)
  registry.geofences.sweep()
  t.strictSame(enabled(), ['2 true', '1 true'])
  const { revision } = registry
  clock.advance(1)
  t.strictSame(enabled(), ['2 true', '1 false'], 'reads follow the clock at once')
  t.equal(store.geofence(id)!.enabled, false)
  t.equal(registry.revision, revision, 'reading writes nothing')
  registry.geofences.sweep()
  t.equal(registry.revision, revision + 1, 'the change gets a revision')
  t.equal(store.revision, registry.revision)
  t.match(store.geofence(id), { enabled: false, updatedAt: START + 1000, disableAfter: START + 1000 })
  registry.geofences.sweep()
  t.equal(registry.revision, revision + 1, 'once')

  clock.advance(4000)
  t.equal(store.geofence(id), undefined, 'hidden at once')
  t.equal(store.geofences.byPair('store', '1'), undefined)
  t.strictSame(enabled(), ['2 false'])
  t.equal(registry.geofences.delete(TEST, id), false)
  const again = registry.geofences.create(TEST, circle('1'))
  t.not(again.id, id, 'its pair is free at once')
  t.equal(store.index.slotOf(id), -1)

  registry.geofences.put(TEST, circle('2'))
  t.match(store.geofence(later.id), { enabled: true }, 'an upsert without the date enables it again')
  registry.geofences.put(TEST, circle('3', { deleteAfter: clock.now() + 1000 }))
  t.equal(
    registry.geofences.put(TEST, circle('4', { disableAfter: START })).record.enabled,
    false,
    'a past date',
  )
  clock.advance(10_000)
  const reopened = opened.reopen()
  t.equal(reopened.scope(TEST).geofences.records.size, 3, 'what fell due while stopped is done at start')
})

t.test('the job of dates is woken by an earlier date, and stores each when it is due', async (t) => {
  const time = new SimulatedTime(START)
  const registry = openRegistry({ folder: t.testdir(), clock: time, createIndex: createGeofenceIndex })
  t.teardown(() => registry.close())
  const jobs = new Jobs({ time, logger: { warn: t.fail } as never, openLease: aloneWith })
  const service = jobs.service(new DateSweep(registry.geofences))
  await service.start!()
  registry.geofences.put(TEST, circle('1', { deleteAfter: START + 3_600_000 }))
  await time.runUntil(START + 1000)
  registry.geofences.put(TEST, circle('2', { disableAfter: START + 30_000 }))
  const revisionAt = async (seconds: number) => {
    await time.runUntil(START + seconds * 1000)
    return registry.revision
  }
  const { revision } = registry
  t.equal(await revisionAt(29), revision)
  t.equal(await revisionAt(30), revision + 1)
  t.equal(await revisionAt(3599), revision + 1)
  t.equal(await revisionAt(3600), revision + 2)
  t.equal(registry.scope(TEST).geofences.records.size, 1)
  await service.stop()
})

t.test(
  'thousands of dates that are due at once are stored in turns, and edits wait for it in their order',
  async (t) => {
    const time = new SimulatedTime(START)
    const registry = openRegistry({ folder: t.testdir(), clock: time, createIndex: createGeofenceIndex })
    t.teardown(() => registry.close())
    const count = 2000
    for (let at = 0; at < count; at += 200)
      registry.geofences.putMany(
        TEST,
        Array.from({ length: 200 }, (_, i) => circle(`${at + i}`, { deleteAfter: START + 1000 })),
      )
    await time.runUntil(START + 2000)
    const { records } = registry.scope(TEST).geofences
    const done: string[] = []
    const edits = ['first', 'second'].map((name) =>
      registry.geofences.edit(() => {
        t.equal(records.size, done.length, `${name}: what is due is stored`)
        registry.geofences.put(TEST, circle(name))
        done.push(name)
      }),
    )
    const whole = Promise.all(edits)
    let most = 0
    for (let left = records.size; done.length === 0; left = records.size) {
      await new Promise(setImmediate)
      most = Math.max(most, left - records.size)
    }
    await whole
    t.ok(most <= 200, `${most} are stored in a turn`)
    t.strictSame(done, ['first', 'second'])
  },
)

t.test('the timer fires for due dates, and not for those months away', async (t) => {
  const warnings: string[] = []
  const listen = (warning: Error) => warnings.push(warning.name)
  process.on('warning', listen)
  t.teardown(() => process.off('warning', listen))
  const { registry } = open(t, { clock: systemTime })
  const jobs = new Jobs({ time: systemTime, logger: { warn: t.fail } as never, openLease: aloneWith })
  const service = jobs.service(new DateSweep(registry.geofences))
  await service.start!()
  const now = Date.now()
  registry.geofences.put(TEST, circle('far', { deleteAfter: now + 400 * 86_400_000 }))
  registry.geofences.put(TEST, circle('soon', { deleteAfter: now + 30 }))
  registry.geofences.put(TEST, circle('past', { deleteAfter: now - 1 }))
  while (registry.scope(TEST).geofences.records.size > 1)
    await new Promise((resolve) => setTimeout(resolve, 5))
  await service.stop()
  t.equal(listed(registry.scope(TEST), { limit: 9 }).geofences[0]!.externalId, 'far')
  t.strictSame(warnings, [], 'no timer overflowed')
})

t.test('lists: newest first, filters, bounds exclusive, pages without loss', async (t) => {
  const { registry, clock } = open(t)
  const store = registry.scope(TEST)
  registry.geofences.putMany(
    TEST,
    Array.from({ length: 25 }, (_, i) => circle(`${i}`, { tag: i % 2 === 0 ? 'even' : 'odd' })),
  )
  t.ok(
    listed(store, { limit: 99 }).geofences.every(({ createdAt }) => createdAt === clock.now()),
    'created now, all of them',
  )
  clock.advance(1)
  for (let i = 25; i < 30; i++) registry.geofences.put(TEST, circle(`${i}`, { tag: 'late' }))
  const seen: string[] = []
  for (let before: string | undefined; ;) {
    const { geofences, hasMore } = listed(store, { limit: 7, before })
    seen.push(...geofences.map((one) => one.externalId))
    before = geofences.at(-1)!.id
    if (!hasMore) break
  }
  t.strictSame(
    seen,
    Array.from({ length: 30 }, (_, i) => `${29 - i}`),
  )
  t.equal(listed(store, { limit: 30 }).hasMore, false)
  t.equal(listed(store, { limit: 29 }).hasMore, true)
  t.equal(listed(store, { limit: 99, tag: 'odd' }).geofences.length, 12)
  t.strictSame(listed(store, { limit: 99, tag: 'odd', externalId: '4' }).geofences, [])
  t.equal(listed(store, { limit: 1, externalId: '4' }).geofences[0]!.externalId, '4')
  const seventh = store.geofences.byPair('even', '6')!.createdAt
  t.equal(listed(store, { limit: 99, createdAfter: seventh }).geofences.length, 5)
  t.equal(listed(store, { limit: 99, createdBefore: seventh + 1 }).geofences.length, 25)
  t.equal(listed(store, { limit: 99, createdBefore: seventh }).geofences.length, 0)
  clock.advance(60_000)
  registry.geofences.put(TEST, circle('3', { tag: 'odd' }))
  t.strictSame(
    listed(store, { limit: 99, updatedAfter: clock.now() - 1 }).geofences.map((one) => one.externalId),
    ['3'],
  )
  t.equal(listed(store, { limit: 99, updatedBefore: clock.now() }).geofences.length, 29)
  for (let i = 0; i < 200; i++) {
    registry.geofences.delete(TEST, registry.geofences.put(TEST, circle('x')).record.id)
  }
  t.equal(listed(store, { limit: 99 }).geofences.length, 30, 'after many deletions')
  const { id } = store.geofences.byPair('even', '6')!
  t.strictSame(
    listed(store, { limit: 3, before: id }).geofences.map((one) => one.externalId),
    ['5', '4', '3'],
    'whatever was packed',
  )
})

t.test('a failed transaction does not change disk and memory', async (t) => {
  const opened = open(t)
  const { registry } = opened
  registry.geofences.putMany(TEST, [circle('1'), circle('2')])
  const before = [contents(registry, TEST), registry.revision]
  const poisoned = circle('3', { metadata: { bad: 1n as unknown as number } })
  t.throws(() => registry.geofences.putMany(TEST, [circle('1', { description: 'x' }), poisoned]), TypeError)
  t.strictSame([contents(registry, TEST), registry.revision], before)
  const again = opened.reopen()
  t.strictSame([contents(again, TEST), again.revision], before)
})

t.test('kill -9 at any moment: a transaction is there completely or not at all', async (t) => {
  const child = fileURLToPath(new URL('writingChild.ts', import.meta.url))
  for (let round = 0; round < 4; round++) {
    const folder = t.testdir({})
    const writer = spawn(process.execPath, [child, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
    let acknowledged = ''
    writer.stdout.on('data', (chunk: Buffer) => {
      acknowledged += chunk.toString()
      if (acknowledged.split('\n').length > 3 + round * 5) writer.kill('SIGKILL')
    })
    await once(writer, 'exit')
    const last = Number(acknowledged.trim().split('\n').at(-1))
    const { registry } = open(t, { folder })
    const generations = new Set(
      listed(registry.scope(TEST), { limit: 1000 }).geofences.map(
        (one) => one.metadata!['generation'] as number,
      ),
    )
    t.equal(registry.scope(TEST).geofences.records.size, 50)
    t.equal(generations.size, 1, 'one generation')
    t.ok([...generations][0]! >= last, `at least the acknowledged ${last}`)
    registry.close()
  }
})

t.test('locked, foreign, damaged and newer files are named', async (t) => {
  const opened = open(t)
  t.throws(() => openRegistry({ ...opened, createIndex: createGeofenceIndex }), {
    name: 'RegistryLocked',
    message: /registry\.sqlite is in use by another process/,
  })
  opened.registry.geofences.putMany(
    TEST,
    Array.from({ length: 500 }, (_, i) => circle(`${i}`)),
  )
  opened.registry.close()
  const file = join(opened.folder, REGISTRY_FILE)
  const whole = readFileSync(file)
  const reopen = () => openRegistry({ ...opened, createIndex: createGeofenceIndex })

  const tamper = (sql: string) => {
    const database = new Database(file)
    database.exec(sql)
    database.close()
  }
  tamper('PRAGMA user_version = 99')
  t.throws(reopen, { name: 'RegistryTooNew', message: /registry\.sqlite has data format 99/ })

  writeFileSync(file, whole)
  tamper(`UPDATE geofences SET definition = '{' WHERE externalId = '7'`)
  t.throws(reopen, {
    name: 'RegistryDamaged',
    message: /registry\.sqlite: geofence [0-9a-f]{24} cannot be read/,
  })

  writeFileSync(
    file,
    'this is a text, and no database of any kind; it goes on for more than one header'.repeat(9),
  )
  t.throws(reopen, { name: 'RegistryDamaged', message: /registry\.sqlite: is not a readable SQLite/ })

  const torn = Buffer.from(whole)
  torn.fill(0xa5, 8 * 4096, 14 * 4096)
  writeFileSync(file, torn)
  t.throws(reopen, { name: 'RegistryDamaged', message: /registry\.sqlite/ })

  writeFileSync(file, '')
  tamper('CREATE TABLE songs (title TEXT)')
  t.throws(reopen, { name: 'RegistryDamaged', message: /is not a Ringfence registry/ })

  rmSync(file)
  mkdirSync(file)
  t.throws(reopen, { message: /registry\.sqlite cannot be opened: unable to open database file/ })
  rmdirSync(file)

  writeFileSync(file, whole)
  opened.registry = reopen()
  t.equal(
    opened.registry.scope(TEST).geofences.records.size,
    500,
    'after every refusal the lock is free and the file as it was',
  )
})

t.test('a start reports how many geofences it has read', async (t) => {
  const told: [number, number][] = []
  const opened = open(t, { onProgress: (read, total) => told.push([read, total]) })
  opened.registry.geofences.putMany(
    TEST,
    Array.from({ length: 2500 }, (_, i) => circle(`${i}`)),
  )
  t.strictSame(told, [])
  opened.reopen()
  t.strictSame(told, [
    [1000, 2500],
    [2000, 2500],
  ])
})

t.test('keys: generated, stored as digests, rotated, of several projects', async (t) => {
  const opened = open(t)
  const { registry } = opened
  const keys = opened.keys!
  t.match(keys, {
    testPublishable: /^prj_test_pk_[0-9a-f]{40}$/,
    livePublishable: /^prj_live_pk_[0-9a-f]{40}$/,
    testSecret: /^prj_test_sk_[0-9a-f]{40}$/,
    liveSecret: /^prj_live_sk_[0-9a-f]{40}$/,
  })
  const level = (key: string) => {
    const found = registry.keys.authenticate(key)
    return found && `${found.scope} ${found.level}`
  }
  t.equal(level(keys.testPublishable), `${TEST} publishable`)
  t.equal(level(keys.livePublishable), `${LIVE} publishable`)
  t.equal(level(keys.testSecret), `${TEST} secret`)
  t.equal(level(keys.liveSecret), `${LIVE} secret`)
  for (const wrong of [
    '',
    'x',
    keys.liveSecret.slice(0, -1),
    `${keys.liveSecret} `,
    'k'.repeat(1e6),
    '\ud800',
  ]) {
    t.equal(level(wrong), undefined)
  }
  const other = registry.keys.createProject('other')
  t.strictSame(
    registry.keys.projects().map(({ id, name }) => [id, name]),
    [
      [1, 'default'],
      [2, 'other'],
    ],
  )
  t.equal(level(other.keys.liveSecret), `${scopeId(2, true)} secret`)
  const ids = [keys, other.keys].flatMap((set) =>
    KEY_KINDS.map((kind) => registry.keys.authenticate(set[kind])!.keyId),
  )
  t.equal(new Set(ids).size, 8, 'no two keys share their name')

  const rotated = registry.keys.rotate(1, 'testSecret')!
  t.equal(level(keys.testSecret), undefined, 'the old one is invalid at once')
  t.equal(level(rotated.key), `${TEST} secret`)
  t.equal(level(keys.liveSecret), `${LIVE} secret`, 'the others stay')
  t.equal(registry.keys.rotate(9, 'testSecret'), undefined)
  t.strictSame(
    registry.keys.list(1).map(({ kind, lastFour }) => [kind, lastFour]),
    KEY_KINDS.map((kind) => [kind, (kind === 'testSecret' ? rotated.key : keys[kind]).slice(-4)]),
  )
  opened.reopen()
  t.equal(opened.registry.keys.authenticate(rotated.key)?.scope, TEST, 'after a restart')
  t.equal(opened.registry.createFirstProject(), undefined)
  t.equal(opened.registry.keys.authenticate(keys.testSecret), undefined)
  opened.registry.close()
  const bytes = readFileSync(join(opened.folder, REGISTRY_FILE)).toString('latin1')
  for (const key of [keys.liveSecret, rotated.key])
    t.notOk(bytes.includes(key.slice(12, 40)), 'no key is on the disk')
  opened.registry = openRegistry({ ...opened, createIndex: createGeofenceIndex })
})

t.test('given keys', async (t) => {
  const text = 'prj_test_pk_a1,prj_live_pk_b2,prj_test_sk_c3, prj_live_sk_d4'
  const firstKeys = parseKeys(text)
  const opened = open(t, { firstKeys })
  t.equal(opened.keys, undefined, 'there is a project already')
  t.match(opened.registry.keys.authenticate('prj_live_sk_d4'), { scope: LIVE, level: 'secret' })
  const BAD: readonly (readonly [text: string, sentence: RegExp])[] = [
    ['', /Four comma-separated keys .* there are 1/],
    ['prj_test_pk_a,prj_live_pk_b,prj_test_sk_c', /there are 3/],
    [
      'prj_live_pk_b,prj_test_pk_a,prj_test_sk_c,prj_live_sk_d',
      /testPublishable key must start with prj_test_pk_/,
    ],
    ['prj_test_pk_,prj_live_pk_b,prj_test_sk_c,prj_live_sk_d', /testPublishable key ends after/],
    [
      'prj_test_pk_a,prj_live_pk_b b,prj_test_sk_c,prj_live_sk_d',
      /livePublishable key must be 8 to 128 visible/,
    ],
    [
      `prj_test_pk_a,prj_live_pk_b,prj_test_sk_${'c'.repeat(120)},prj_live_sk_d`,
      /testSecret key must be 8 to 128/,
    ],
    ['prj_test_pk_a,prj_live_pk_b,prj_test_sk_c,prj_test_sk_c', /must all be different/],
  ]
  for (const [bad, message] of BAD) t.throws(() => parseKeys(bad), { name: 'InvalidKeys', message })
  opened.registry.close()
  opened.registry = openRegistry({ ...opened, createIndex: createGeofenceIndex, firstKeys: generateKeys() })
  t.equal(opened.registry.keys.projects().length, 1, 'only where there is no project yet')
  t.ok(opened.registry.keys.authenticate('prj_live_sk_d4'))
})

t.test('a full disk is reported, and changes nothing', async (t) => {
  const folder = t.testdir({})
  const child = fileURLToPath(new URL('fillingChild.ts', import.meta.url))
  // No file may grow beyond a few hundred kilobytes. A write beyond that fails as on a full disk. The tables and the
  // first batch, which the audit enters too, take more than 350 of them; some batches must fit.
  const limited = `trap '' XFSZ; ulimit -f 900; exec "$0" "$@"`
  const said = execFileSync('sh', ['-c', limited, process.execPath, child, folder], { encoding: 'utf8' })
  const outcome = JSON.parse(said)
  t.match(outcome, { name: 'ApiError', code: 503, message: /disk is full or failing\. Nothing was changed/ })
  t.ok(outcome.stored > 0)
  const { registry } = open(t, { folder })
  t.equal(
    registry.scope(TEST).geofences.records.size,
    outcome.stored,
    'what was acknowledged is there, and no more',
  )
  t.equal(registry.revision, outcome.revision)
  t.equal(outcome.sizeInMemory, outcome.stored)
})
