import fc from 'fast-check'
import { pino } from 'pino'
import t from 'tap'
import { Probe } from '../../src/geometry/probe.ts'
import type { Geofence, Position, Shape } from '../../src/model/geofence.ts'
import type { Metadata } from '../../src/model/metadata.ts'
import { createGeofenceIndex } from '../../src/spatial/cellIndex.ts'
import { Tile38Geofences } from '../../src/spatial/tile38Geofences.ts'
import type { Tile38Cells } from '../../src/spatial/tile38Cells.ts'
import { Tile38Refused, Tile38Unreachable, type Tile38 } from '../../src/spatial/tile38Port.ts'
import { TILE38_NAME, tile38Server, until } from '../kit/tile38.ts'
import { fence, place, shape } from './contract.ts'

t.setTimeout(60_000)

const RUNS = Math.ceil(Number(process.env.RINGFENCE_TEST_RUNS ?? 1) * 40)
const logger = pino({ level: 'silent' })
const CITY: Position = [13.4, 52.5]
const HERE = { latitude: CITY[1], longitude: CITY[0] }
let stores = 0

/** A registry of one scope that is its geofences and its revision. */
class SmallRegistry {
  revision = 1
  readonly all = new Map<string, Geofence>()
  readonly mirror: Tile38Geofences
  readonly index: Tile38Cells

  constructor(tile38: Tile38, storeId = `store${stores++}`) {
    this.mirror = new Tile38Geofences({
      tile38,
      hooksUrl: 'nats://nats:4222',
      storeId,
      writer: `life${stores++}`,
      logger,
    })
    this.index = this.mirror.index(createGeofenceIndex())
  }

  *geofences(): Generator<Geofence> {
    yield* this.all.values()
  }

  put(id: string, itsShape: Shape, metadata: Metadata = {}): void {
    const geofence = { ...fence(id, itsShape), metadata }
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

  /** Names of the candidates at a place, and how far they hold; throws where one is missing. */
  look(at: Position, reachMeters: number): Set<string> {
    const slots: number[] = []
    const probe = new Probe().set(at[1], at[0])
    const clearance = this.index.candidates(probe, reachMeters, slots)
    if (clearance < 0) throw new Error(`a clearance of ${clearance}`)
    const found = new Set(slots.map((slot) => this.index.geofence(slot).id))
    if (found.size !== slots.length) throw new Error('a geofence came twice')
    for (const id of this.all.keys()) {
      const distance = this.index.distance(this.index.slotOf(id), probe)
      // Whoever moves straight towards it, as far as was promised, must not come within reach of it.
      if (!found.has(id) && distance < reachMeters + Math.min(clearance, 1e6) * 0.99)
        throw new Error(`${id} is ${distance} m from ${at.join()}, and not among the candidates`)
    }
    return found
  }
}

function circle(center: Position, radius: number): Shape {
  return { kind: 'circle', center, radius }
}

t.test(`${TILE38_NAME}: candidates are a superset, whatever changed since`, async (t) => {
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
      registry.mirror.start(registry)
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
      cells += registry.index.looks.cells
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
  registry.mirror.start(registry)
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

t.test(`${TILE38_NAME}: killed, wiped and slow, it is written anew by itself`, async (t) => {
  const server = await tile38Server(t)
  const tile38 = server.connect(t)
  const registry = new SmallRegistry(tile38)
  registry.mirror.start(registry)
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
  again.mirror.start(again)
  await again.settled()
  await again.index.prepare([HERE])
  t.same([...again.look(CITY, 0)], ['another store'], 'what another store has written is not seen')

  server.signal('SIGSTOP')
  const fresh = { latitude: 10, longitude: 10 }
  registry.put('while it was stopped', circle([10, 10], 100))
  await registry.index.prepare([fresh])
  t.same([...registry.look([10, 10], 0)], ['while it was stopped'], 'a batch does not wait for it')
  await until(() => !tile38.isConnected)
  t.match(tile38.detail, /has not answered/)
  server.signal('SIGCONT')
  await registry.settled()
  await registry.index.prepare([fresh])
  const before = registry.index.looks.cells
  registry.look([10, 10], 0)
  t.equal(registry.index.looks.cells, before + 1)
})

t.test(`${TILE38_NAME}: a start after another life trusts nothing that it finds`, async (t) => {
  const server = await tile38Server(t)
  const tile38 = server.connect(t)
  const before = new SmallRegistry(tile38, 'one store')
  for (let i = 0; i < 5; i++) before.put(`old${i}`, circle(CITY, 100))
  before.mirror.start(before)
  await before.settled()
  const after = new SmallRegistry(tile38, 'one store')
  for (let i = 0; i < 5; i++) after.put(`new${i}`, circle(CITY, 100))
  t.equal(after.revision, before.revision)
  await after.index.prepare([HERE])
  t.equal(after.index.looks.cells, 0)
  after.mirror.start(after)
  await after.settled()
  await after.index.prepare([HERE])
  t.same([...after.look(CITY, 0)].toSorted(), ['new0', 'new1', 'new2', 'new3', 'new4'])
  t.equal(after.index.looks.cells, 1)
})

t.test(`${TILE38_NAME}: marked geofences have hooks, through edits and a wiped server`, async (t) => {
  const server = await tile38Server(t)
  const tile38 = server.connect(t)
  const registry = new SmallRegistry(tile38, 'hooked')
  registry.mirror.start(registry)
  t.teardown(() => registry.mirror.stop())
  const hooks = async () => {
    const [reply] = await tile38.send([['HOOKS', '*']])
    return (reply as readonly (readonly [string, string, readonly string[], readonly string[]])[]).map(
      ([name, key, [url], words]) => ({ name, key, url, words: words.join(' ') }),
    )
  }
  registry.put('plain', circle(CITY, 100))
  registry.put('marked', circle(CITY, 100), { hooks: true })
  registry.put('text', circle(CITY, 100), { hooks: 'true' })
  const hook = {
    name: 'ringfence:hooked:0:hook:marked',
    key: 'ringfence:hooked:0:devices',
    url: 'nats://nats:4222/geofences.0.test.marked',
    words: /FENCE DETECT enter,exit CIRCLE 52.5\d* 13.4\d* 100\.0*$/,
  }
  await registry.settled()
  t.match(await hooks(), [hook])
  await server.kill9()
  await until(() => !tile38.isConnected)
  server.wipe()
  await server.start()
  await registry.settled()
  t.match(await hooks(), [hook], 'made again')
  registry.put('away', circle(CITY, 100), { hooks: true })
  await registry.settled()
  await server.kill9()
  await until(() => !tile38.isConnected)
  registry.remove('away')
  await server.start()
  await registry.settled()
  t.match(await hooks(), [hook], 'not that of one which went meanwhile')
  registry.put('marked', circle(CITY, 200), { hooks: true })
  await registry.settled()
  t.match(await hooks(), [{ words: / 200\.0*$/ }])
  registry.put('marked', circle(CITY, 200))
  registry.put('plain', circle(CITY, 100), { hooks: true })
  await registry.settled()
  t.match(await hooks(), [{ name: /plain$/ }])
  registry.remove('plain')
  await registry.settled()
  t.same(await hooks(), [])
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
    await until(() => other.detail !== 'not connected: connecting')
    t.notOk(other.isConnected)
    t.notMatch(other.detail, /barley|sesame/, other.detail)
    await t.rejects(other.send([['PING']]), Tile38Unreachable)
  }
})
