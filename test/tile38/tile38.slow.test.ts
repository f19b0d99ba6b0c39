import { pino } from 'pino'
import t from 'tap'
import { Probe } from '../../src/geometry/probe.ts'
import type { Geofence, Position, Shape } from '../../src/model/geofence.ts'
import { createGeofenceIndex } from '../../src/spatial/cellIndex.ts'
import { Tile38Candidates } from '../../src/tile38/tile38Candidates.ts'
import { Tile38Cells } from '../../src/tile38/tile38Cells.ts'
import { Tile38Geofences } from '../../src/tile38/tile38Geofences.ts'
import { Tile38Refused, Tile38Unreachable, type Tile38 } from '../../src/tile38/tile38Port.ts'
import fc from '../kit/fastCheck.ts'
import { TILE38_NAME, tile38Server } from '../kit/tile38.ts'
import { until } from '../kit/waiting.ts'
import { fence, place, shape } from '../spatial/contract.ts'

const RUNS = Math.ceil(Number(process.env.RINGFENCE_TEST_RUNS ?? 1) * 40)
/** The log messages. */
const logged: string[] = []
const logger = pino({ level: 'warn' }, { write: (line) => logged.push(line) })
const CITY: Position = [13.4, 52.5]
const HERE = { latitude: CITY[1], longitude: CITY[0] }
let stores = 0

/** A registry of one scope that consists of its geofences and its revision, in a process that may write them. */
class SmallRegistry {
  revision = 1
  readonly process = `process${stores++}`
  readonly all = new Map<string, Geofence>()
  readonly mirror: Tile38Geofences
  readonly candidates: Tile38Candidates
  readonly index: Tile38Cells

  /** @param writer the process that writes; if absent, this process once it begins */
  constructor(tile38: Tile38, storeId = `store${stores++}`, writer?: () => string | undefined) {
    this.mirror = new Tile38Geofences({
      tile38,
      storeId,
      writer: this.process,
      troubled: (error) => void logged.push(error.message),
    })
    this.candidates = new Tile38Candidates({
      tile38,
      storeId,
      writer: writer ?? (() => this.process),
      told: (...change) => this.mirror.changed(...change),
    })
    this.index = this.candidates.index(createGeofenceIndex()) as Tile38Cells
  }

  /** From now on it asks to be the writer, and writes. */
  begin(): void {
    this.candidates.start(this)
    this.mirror.begin(this)
  }

  *geofences(): Generator<Geofence> {
    yield* this.all.values()
  }

  put(id: string, itsShape: Shape): void {
    const geofence = fence(id, itsShape)
    this.revision++
    this.all.set(id, geofence)
    this.index.put(geofence)
  }

  remove(id: string): void {
    this.revision++
    this.all.delete(id)
    this.index.remove(id)
  }

  settled(): Promise<void> {
    return until(() => this.mirror.waiting === 0)
  }

  /** Names of the candidates at a place, and how far they are valid. Throws if one is missing. */
  look(at: Position, reachMeters: number): Set<string> {
    const slots: number[] = []
    const probe = new Probe().set(at[1], at[0])
    const clearance = this.index.candidates(probe, reachMeters, slots)
    if (clearance < 0) throw new Error(`a clearance of ${clearance}`)
    const found = new Set(slots.map((slot) => this.index.geofence(slot).id))
    if (found.size !== slots.length) throw new Error('a geofence came twice')
    for (const id of this.all.keys()) {
      const distance = this.index.distance(this.index.slotOf(id), probe)
      // A device that moves straight towards the geofence must not come within reach of it before the promised
      // distance.
      if (!found.has(id) && distance < reachMeters + Math.min(clearance, 1e6) * 0.99)
        throw new Error(`${id} is ${distance} m from ${at.join()}, and not among the candidates`)
    }
    return found
  }
}

function circle(center: Position, radius: number): Shape {
  return { kind: 'circle', center, radius }
}

t.test(`${TILE38_NAME}: candidates are a superset, whatever has changed since`, async (t) => {
  const server = await tile38Server(t)
  const tile38 = server.connect(t)
  await until(() => tile38.isConnected)
  const key = fc.nat(15).map((number) => String(number).padStart(24, '0'))
  const anyStep = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('put' as const), key, shape }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), key }) },
    { weight: 2, arbitrary: fc.constant({ do: 'settle' as const }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('prepare' as const), at: place }) },
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('look' as const), at: place, reach: fc.nat(600) }),
    },
  )
  let cells = 0
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 20, maxLength: 60, size: 'max' }), async (steps) => {
      const registry = new SmallRegistry(tile38)
      registry.begin()
      const prepared: Position[] = []
      for (const step of steps) {
        if (step.do === 'put') registry.put(step.key, step.shape)
        else if (step.do === 'remove') registry.remove(step.key)
        else if (step.do === 'settle') await registry.settled()
        else if (step.do === 'look') registry.look(step.at, step.reach)
        else {
          prepared.push(step.at)
          await registry.index.prepare(prepared.map(([longitude, latitude]) => ({ latitude, longitude })))
        }
        for (const at of prepared) registry.look(at, 0)
      }
      await registry.settled()
      registry.mirror.end()
      cells += registry.index.looks.cells
    }),
    { numRuns: RUNS },
  )
  t.ok(cells > 0, `${cells} looks were answered by cells`)
})

t.test(`${TILE38_NAME}: subscriptions that begin in one turn all work, also after a restart`, async (t) => {
  const server = await tile38Server(t)
  const listening = server.connect(t)
  const writing = server.connect(t)
  const names = ['a', 'b', 'c']
  for (let life = 0; life < 2; life++) {
    await until(() => listening.isConnected && writing.isConnected)
    const told = new Set<string>()
    await Promise.all(names.map((name) => listening.subscribe(name, () => told.add(name))))
    const area = ['FENCE', 'DETECT', 'inside', 'BOUNDS', '52', '13', '53', '14']
    await writing.send(names.map((name) => ['SETCHAN', name, 'INTERSECTS', 'fleet', ...area]))
    const geometry = { type: 'Point', coordinates: [13.5, 52.5] }
    const bus = JSON.stringify({ type: 'Feature', geometry, properties: {} })
    await writing.send([['SET', 'fleet', 'bus', 'OBJECT', bus]])
    await until(() => told.size === names.length)
    await server.kill9()
    await until(() => !listening.isConnected && !writing.isConnected)
    await server.start()
  }
})

t.test(`${TILE38_NAME}: one process writes and others query, each at its registry's revision`, async (t) => {
  const server = await tile38Server(t)
  const tile38 = server.connect(t)
  await until(() => tile38.isConnected)
  const key = fc.nat(9).map((number) => String(number).padStart(24, '0'))
  const process = fc.nat(2)
  const anyStep = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('put' as const), key, shape }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), key }) },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('follow' as const), process, edits: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('take' as const), process }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('yield' as const), process }) },
    { weight: 1, arbitrary: fc.constant({ do: 'flush' as const }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('settle' as const), process }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('prepare' as const), process, at: place }) },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('look' as const), process, at: place }) },
  )
  let cells = 0
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 20, maxLength: 60, size: 'max' }), async (steps) => {
      const storeId = `store${stores++}`
      const edits: ((registry: SmallRegistry) => void)[] = []
      let holder: string | undefined
      const all = Array.from({ length: 3 }, () => new SmallRegistry(tile38, storeId, () => holder))
      const follow = (registry: SmallRegistry, most: number) => {
        for (const edit of edits.slice(registry.revision - 1).slice(0, most)) edit(registry)
      }
      for (const registry of all) registry.candidates.start(registry)
      const prepared: { readonly registry: SmallRegistry; readonly at: Position }[] = []
      for (const step of steps) {
        const registry = 'process' in step ? all[step.process]! : all[0]!
        if (step.do === 'put') edits.push((each) => each.put(step.key, step.shape))
        else if (step.do === 'remove') edits.push((each) => each.remove(step.key))
        else if (step.do === 'follow') follow(registry, step.edits)
        else if (step.do === 'take') {
          // The previous writer may not know yet that it is no longer the writer.
          registry.mirror.end()
          registry.mirror.begin(registry)
          holder = registry.process
        } else if (step.do === 'yield') registry.mirror.end()
        else if (step.do === 'flush') await tile38.send([['FLUSHDB']])
        else if (step.do === 'settle') await until(() => registry.mirror.waiting !== Infinity)
        else if (step.do === 'look') registry.look(step.at, 0)
        else {
          prepared.push({ registry, at: step.at })
          await registry.index.prepare([{ longitude: step.at[0], latitude: step.at[1] }])
        }
        for (const each of prepared) each.registry.look(each.at, 0)
      }
      for (const { mirror, index } of all) {
        mirror.end()
        cells += index.looks.cells
      }
    }),
    { numRuns: RUNS },
  )
  t.ok(cells > 0, `${cells} looks were answered by cells`)
})

t.test(`${TILE38_NAME}: more geofences in a cell than a query gives without a limit`, async (t) => {
  const server = await tile38Server(t)
  const tile38 = server.connect(t)
  const registry = new SmallRegistry(tile38)
  for (let i = 0; i < 1500; i++) registry.put(String(i).padStart(24, '0'), circle(CITY, 50 + (i % 40)))
  registry.begin()
  await registry.settled()
  await registry.index.prepare([HERE])
  t.equal(registry.look(CITY, 0).size, 1500)
  t.same(registry.index.looks, { cells: 1, memory: 0 })
  t.ok(registry.look(CITY, 5000).size >= 1500)
  t.equal(registry.index.looks.memory, 1, 'what reaches beyond the padding is looked up in memory')
  for (let i = 0; i < 100; i++) registry.put(`new${i}`, circle(CITY, 100))
  registry.look(CITY, 0)
  t.equal(registry.index.looks.memory, 2, 'and so is a cell with too many changes since')
  await registry.settled()
  await registry.index.prepare([HERE])
  t.equal(registry.look(CITY, 0).size, 1600)
  t.equal(registry.index.looks.memory, 2)
})

t.test(`${TILE38_NAME}: killed, wiped or slow, it is written again automatically`, async (t) => {
  const server = await tile38Server(t)
  const tile38 = server.connect(t, undefined, logger)
  const registry = new SmallRegistry(tile38)
  registry.begin()
  for (let i = 0; i < 20; i++) registry.put(`first${i}`, circle(CITY, 100))
  await registry.settled()

  await server.kill9()
  await until(() => !tile38.isConnected)
  registry.put('while it was away', circle(CITY, 100))
  registry.remove('first0')
  await registry.index.prepare([HERE])
  t.equal(registry.look(CITY, 0).size, 20, 'memory answers')
  t.equal(registry.index.looks.cells, 0)
  await server.start()
  await registry.settled()
  await registry.index.prepare([HERE])
  t.equal(registry.look(CITY, 0).size, 20)
  t.equal(registry.index.looks.cells, 1, 'and Tile38 again')

  await server.kill9()
  await until(() => !tile38.isConnected)
  server.wipe()
  await server.start()
  await registry.settled()
  registry.put('after it was wiped', circle(CITY, 100))
  await registry.settled()
  const again = new SmallRegistry(tile38, 'a store of its own')
  again.put('another store', circle(CITY, 100))
  again.begin()
  await again.settled()
  await again.index.prepare([HERE])
  t.same([...again.look(CITY, 0)], ['another store'], 'what another store has written is not seen')

  await tile38.send([['FLUSHDB']])
  registry.put('after it was emptied', circle(CITY, 100))
  registry.index.knowFrom(registry.revision)
  await registry.index.prepare([HERE])
  const looks = { ...registry.index.looks }
  t.equal(registry.look(CITY, 0).size, 22, 'what is left there is not taken for all')
  t.same(registry.index.looks, { ...looks, memory: looks.memory + 1 })
  await until(async () => {
    await registry.index.prepare([HERE])
    registry.look(CITY, 0)
    return registry.index.looks.cells > looks.cells
  })
  t.equal(registry.look(CITY, 0).size, 22, 'and it is written anew, though the connection held')

  const loggedBefore = logged.length
  server.signal('SIGSTOP')
  const fresh = { latitude: 10, longitude: 10 }
  registry.put('while it was stopped', circle([10, 10], 100))
  await registry.index.prepare([fresh])
  t.same([...registry.look([10, 10], 0)], ['while it was stopped'], 'a batch does not wait for it')
  await until(() => !tile38.isConnected)
  t.match(tile38.detail, /^not connected/)
  // The state is public, so the reason is only in the log.
  await until(() => logged.length > loggedBefore)
  t.match(logged.slice(loggedBefore).join(''), /Tile38 has not answered for [\d.]+ s/)
  server.signal('SIGCONT')
  await registry.settled()
  await registry.index.prepare([fresh])
  const before = registry.index.looks.cells
  registry.look([10, 10], 0)
  t.equal(registry.index.looks.cells, before + 1)
})

t.test(`${TILE38_NAME}: a start does not trust the data of an earlier life`, async (t) => {
  const server = await tile38Server(t)
  const tile38 = server.connect(t)
  const before = new SmallRegistry(tile38, 'one store')
  for (let i = 0; i < 5; i++) before.put(`old${i}`, circle(CITY, 100))
  before.begin()
  await before.settled()
  const after = new SmallRegistry(tile38, 'one store')
  for (let i = 0; i < 5; i++) after.put(`new${i}`, circle(CITY, 100))
  t.equal(after.revision, before.revision)
  await after.index.prepare([HERE])
  t.equal(after.index.looks.cells, 0)
  after.begin()
  await after.settled()
  await after.index.prepare([HERE])
  t.same([...after.look(CITY, 0)].toSorted(), ['new0', 'new1', 'new2', 'new3', 'new4'])
  t.equal(after.index.looks.cells, 1)
})

t.test(`${TILE38_NAME}: with a password`, async (t) => {
  const server = await tile38Server(t, 'open sesame')
  const tile38 = server.connect(t)
  await until(() => tile38.isConnected)
  t.same(
    await tile38.send([
      ['SET', 'a', 'b', 'STRING', 'c'],
      ['GET', 'a', 'b'],
      ['GET', 'a', 'x'],
    ]),
    ['OK', 'c', null],
  )
  await t.rejects(tile38.send([['SET', 'a', 'b', 'NOTHING']]), Tile38Refused)
  t.same(await tile38.send([['GET', 'a', 'b']]), ['c'], 'what was refused ends no connection')
  for (const wrong of ['', 'open barley']) {
    const other = server.connect(t, wrong)
    t.notOk(other.isConnected)
    await t.rejects(other.send([['PING']]), Tile38Unreachable)
  }
})
