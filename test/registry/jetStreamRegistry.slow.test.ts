/**
 * The registry that several processes share, over real NATS servers: what users see of it, and processes and servers
 * that end at the wrong moment.
 */
import { Readable } from 'node:stream'
import t from 'tap'
import { geofenceImports } from '../../src/registry/transfer/importKinds.ts'
import { CSV } from '../../src/registry/transfer/csvFormat.ts'
import { importFile } from '../../src/registry/transfer/importRun.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer, type NatsServer } from '../kit/nats.ts'
import { MemoryStream } from './memoryStream.ts'
import { circle, contentsOf, folderOf, openOn, openReplica, SCOPE, START } from './replicatedKit.ts'
import { until } from '../kit/waiting.ts'
import { NO_AREAS } from './areaFinders.ts'

const skip = await skipWithout(NATS_SERVER)
const ROWS = 10_000

/** Resolves once `other` has all edits of `one`. */
function caughtUp(other: Registry, one: Registry): Promise<void> {
  return until(() => other.revision === one.revision)
}

t.test('edits of one process reach the others: projects, keys, records, imports', { skip }, async (t) => {
  const server = await natsServer(t)
  const a = await openOn(t, server)
  const b = await openOn(t, server)
  const keys = (await a.edit(() => a.createFirstProject()))!
  await caughtUp(b, a)
  t.equal(await b.edit(() => b.createFirstProject()), undefined, 'one of them makes it')
  const credentials = b.keys.authenticate(keys.testSecret)!
  t.match(credentials, { scope: SCOPE })
  const rotated = (await a.edit(() => a.keys.rotate(1, 'testSecret')))!
  await caughtUp(b, a)
  t.equal(b.keys.authenticate(keys.testSecret), undefined, 'a revoked key is refused')
  t.notOk(b.keys.isCurrent(credentials), 'also where it is in use')
  t.match(b.keys.authenticate(rotated.key), { scope: SCOPE })

  const { record: geofence } = await a.edit(() => a.geofences.put(SCOPE, circle('1')))
  const own = a.scope(SCOPE).geofence(geofence.id)!
  t.strictSame(a.scope(SCOPE).geofences.whole(own), geofence, 'it reads its own writes')
  const both = [a, b].map((registry) => registry.edit(() => registry.geofences.create(SCOPE, circle('2'))))
  const outcomes = await Promise.allSettled(both)
  t.strictSame(outcomes.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  t.match(
    outcomes.find(({ status }) => status === 'rejected'),
    { reason: { name: 'RecordExists' } },
  )
  await b.webhooks.create('c'.repeat(24), SCOPE, {
    url: 'https://example.com',
    enabled: true,
    mode: 'single',
  })
  await b.edit(() => b.settings.update(SCOPE, { dwellEvents: true }))
  await caughtUp(a, b)
  t.equal(a.scope(SCOPE).settings.dwellEvents, true)
  t.equal(a.webhooks.all().length, 1)

  async function* chunks() {
    yield Buffer.from('description,type,tag,externalId,coordinates,radius\n')
    for (let row = 0; row < ROWS; row++) yield Buffer.from(`row ${row},circle,csv,${row},"[1,2]",100\n`)
  }
  const { record } = await importFile(a, {
    scope: SCOPE,
    kind: geofenceImports(a.geofences, NO_AREAS),
    format: CSV,
    chunks: Readable.from(chunks()),
  })
  t.match(record, { status: 'completed', rows: ROWS, created: ROWS })
  await caughtUp(b, a)
  t.equal(b.scope(SCOPE).geofences.records.size, ROWS + 2)
  t.match(b.imports.list(SCOPE, 'geofences', { limit: 1 }).imports, [{ status: 'completed', created: ROWS }])
  t.strictSame(contentsOf(b), contentsOf(a))
  t.strictSame(contentsOf(await openOn(t, server)), contentsOf(a), 'who comes without a file')
})

t.test('a quota applies to the sum over all processes', { skip }, async (t) => {
  const server = await natsServer(t)
  const clock = new ManualClock(START)
  const a = await openOn(t, server, { clock })
  const b = await openOn(t, server, { clock })
  await a.edit(() => a.createFirstProject())
  await a.edit(() => a.projects.setQuota(1, 5))
  await caughtUp(b, a)
  for (let i = 0; i < 3; i++) a.projects.take(SCOPE, clock.now())
  for (let i = 0; i < 2; i++) b.projects.take(SCOPE, clock.now())
  const exchange = async () => {
    for (const registry of [a, b, a]) await registry.projects.exchange()
  }
  await exchange()
  for (const registry of [a, b]) {
    t.throws(() => registry.projects.take(SCOPE, clock.now()), { code: 402 })
    t.match(registry.projects.list(), [{ requests: 5 }])
  }
  b.projects.giveBack(SCOPE)
  await exchange()
  t.match(a.projects.list(), [{ requests: 4 }])
  clock.advance(31 * 86_400_000)
  a.projects.take(SCOPE, clock.now())
  await exchange()
  t.match(b.projects.list(), [{ requests: 1 }], 'a month begins')
  t.match(b.projects.usage(1), [
    { month: '2026-12', requests: 1 },
    { month: '2026-11', requests: 4 },
  ])
})

/** Makes edits until it is stopped. Each edits a pair of records that belong together. */
function editor(registry: Registry, name: string) {
  const made: string[] = []
  const unknown: string[] = []
  const stopped = new AbortController()
  const run = async (): Promise<void> => {
    for (let i = 0; !stopped.signal.aborted; i++) {
      const text = `${name}${i}`
      try {
        await registry.edit(() =>
          registry.geofences.putMany(SCOPE, [
            circle(`${text}.a`),
            circle(`${text}.b`),
            circle('shared', { description: text }),
          ]),
        )
        made.push(text)
      } catch (error) {
        if (!/not known|Nothing was changed/.test((error as Error).message)) throw error
        unknown.push(text)
      }
    }
  }
  const running = run()
  return {
    made,
    unknown,
    stop: () => {
      stopped.abort()
      return running
    },
  }
}

/** Checks that everything acknowledged is there, and that no edit is half done. */
function check(
  t: Parameters<typeof openOn>[0],
  registry: Registry,
  editors: readonly ReturnType<typeof editor>[],
) {
  const store = registry.scope(SCOPE)
  const there = (text: string): boolean[] =>
    ['a', 'b'].map((half) => store.geofences.byPair('store', `${text}.${half}`) !== undefined)
  for (const { made, unknown } of editors) {
    t.strictSame(
      made.filter((text) => there(text).includes(false)),
      [],
      `${made.length} edits`,
    )
    t.strictSame(
      unknown.filter((text) => new Set(there(text)).size > 1),
      [],
      `${unknown.length} not known`,
    )
  }
}

t.test('counts from just before a stop are in the sums', { skip }, async (t) => {
  const server = await natsServer(t)
  const folder = folderOf(t)
  const one = await openOn(t, server, { folder })
  await one.edit(() => one.keys.createProject('p'))
  for (let i = 0; i < 7; i++) one.projects.take(SCOPE, START)
  await one.stop()
  const again = await openOn(t, server, { folder })
  const other = await openOn(t, server)
  for (const each of [again, other]) {
    await until(() => each.projects.list()[0]?.requests === 7)
    await each.projects.exchange()
    t.equal(each.projects.list()[0]?.requests, 7)
  }
})

t.test('servers are killed in the middle of edits, and come back', { skip }, async (t) => {
  const server = await natsServer(t, { jetStream: 'sync_interval: always' })
  const a = await openOn(t, server)
  const b = await openOn(t, server)
  const editors = [editor(a, 'a'), editor(b, 'b')]
  for (let round = 0; round < 2; round++) {
    const counts = editors.map(({ made }) => made.length)
    await until(() => editors.every(({ made }, i) => made.length > counts[i]! + 5))
    await server.kill9()
    await until(() => !a.health.ok && !b.health.ok)
    t.ok(a.scope(SCOPE).geofences.records.size > 0, 'reads go on')
    await server.start()
    await until(() => a.health.ok && b.health.ok)
  }
  const counts = editors.map(({ made }) => made.length)
  await until(() => editors.every(({ made }, i) => made.length > counts[i]! + 5))
  await Promise.all(editors.map((one) => one.stop()))
  await until(() => a.revision === b.revision)
  check(t, a, editors)
  t.strictSame(contentsOf(b), contentsOf(a))
  t.strictSame(contentsOf(await openOn(t, server)), contentsOf(a))
})

/** A data folder of an embedded server with a project and some geofences, and the project's key. */
function embedded(t: Parameters<typeof openOn>[0], count: number) {
  const folder = folderOf(t)
  const clock = new ManualClock(START)
  const registry = openRegistry({ folder, clock, createIndex: createGeofenceIndex })
  const keys = registry.createFirstProject()!
  for (let i = 0; i < count; i += 100) {
    clock.advance(1)
    registry.geofences.putMany(
      SCOPE,
      Array.from({ length: 100 }, (_, n) => circle(`${i + n}`)),
    )
  }
  registry.projects.setQuota(1, 1000)
  registry.settings.update(SCOPE, { bufferExits: true })
  const { revision, ...contents } = contentsOf(registry)
  registry.close()
  return { folder, keys, revision, contents }
}

t.test(
  'the registry of an embedded server moves into the servers with the first process',
  { skip },
  async (t) => {
    const server: NatsServer = await natsServer(t)
    const { folder, keys, revision, contents } = embedded(t, 3000)
    const first = await openOn(t, server, { folder })
    const second = await openOn(t, server)
    t.ok(first.revision > revision, 'revisions go on')
    for (const registry of [first, second]) {
      const { revision: _, ...now } = contentsOf(registry)
      t.strictSame(now, contents)
      t.match(registry.keys.authenticate(keys.liveSecret), { scope: 3 })
    }
    await second.edit(() => second.geofences.put(SCOPE, circle('new')))
    await caughtUp(first, second)
    first.close()
    t.throws(
      () => openRegistry({ folder, clock: new ManualClock(START), createIndex: createGeofenceIndex }),
      {
        name: 'RegistryElsewhere',
      },
    )
    t.strictSame(
      contentsOf(await openOn(t, server, { folder })),
      contentsOf(second),
      'its file is a copy now',
    )
    await t.rejects(openOn(t, server, { folder: embedded(t, 100).folder }), { name: 'RegistryOfItsOwn' })
  },
)

t.test('a move that breaks off is repeated by any process that can', async (t) => {
  for (const failing of [1, 2, 3]) {
    const stream = new MemoryStream()
    const { folder, contents } = embedded(t, 800)
    const client = stream.client()
    let appends = 0
    const broken = {
      ...client,
      append: async (...edit: Parameters<typeof client.append>) => {
        const answer = await client.append(...edit)
        if (++appends >= failing) throw new Error('gone')
        return answer
      },
    }
    const ended = new AbortController()
    const attempt = openReplica(t, async () => broken, {
      folder,
      signal: ended.signal,
      troubled: () => ended.abort(),
    })
    await attempt.catch(() => {})
    const again = await openReplica(t, async () => client, { folder })
    const { revision: _, ...now } = contentsOf(again)
    t.strictSame(now, contents, `after ${failing} appends`)
    t.strictSame(contentsOf(await openReplica(t, async () => client)), contentsOf(again))
    again.close()
  }
})

t.test('a process that ends leaves no consumer behind', { skip }, async (t) => {
  const server = await natsServer(t)
  const a = await openOn(t, server)
  const b = await openOn(t, server)
  const manager = await server.manager()
  const consumers = async () => (await manager.consumers.list('KV_ringfence-registry').next()).length
  await until(async () => (await consumers()) === 2)
  a.close()
  await until(async () => (await consumers()) === 1)
  await b.edit(() => b.geofences.put(SCOPE, circle('1')))
})
