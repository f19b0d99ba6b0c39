/** Watches over a real engine in memory. Actors and areas are real; the connections are simulated. */
import { until } from '../kit/waiting.ts'
import t from 'tap'
import { HostPositions } from '../../src/actor/hostPositions.ts'
import type { Encoded } from '../../src/events/fanoutGroup.ts'
import type { LivePosition, Positions } from '../../src/actor/port.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import type { PositionMessage, WatchedArea } from '../../src/stream/messages.ts'
import { Watches } from '../../src/stream/watches.ts'
import { aGeofence, applied, Engine, removeRecord, runs } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'
import { slowly } from '../kit/turns.ts'
import { FakeConnection } from './fakeConnection.ts'

const PARTITIONS = 4

function watchesOf({ host, world, clock }: Engine): Watches {
  return new Watches({ positions: new HostPositions(host), registry: world, clock })
}

/** The same positions as from other processes: they are copies, and cannot be read again. */
function remotePositions({ host }: Engine): Positions {
  const own = new HostPositions(host)
  const copyOf = (position: LivePosition, wantsRecords = false): LivePosition => {
    const { scope, deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt } = position
    const { metadata, geofenceIds } = position
    const copy = { scope, deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt }
    return wantsRecords ? { ...copy, metadata, geofenceIds } : copy
  }
  return {
    get observer() {
      return own.observer
    },
    set observer(observer) {
      own.observer = observer && {
        moved: (position) => observer.moved(copyOf(position, observer.wantsRecords)),
        removed: (...record) => observer.removed(...record),
      }
    },
    look: (scope, area, viewer) =>
      own.look(scope, area, {
        get isEnded() {
          return viewer.isEnded
        },
        found: (position) => viewer.found(copyOf(position, viewer.wantsRecords)),
        pause: () => viewer.pause(),
      }),
  }
}

/** Waits until every look has been through all partitions and everything due has been sent. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3 * PARTITIONS; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** The client's side of a connection. It believes the messages, and checks that they are consistent. */
class Viewer {
  readonly connection: FakeConnection
  readonly feature: ReturnType<Watches['open']>
  readonly #engine: Engine
  /** By watch, then by device: the last message about those inside. */
  readonly #inside = new Map<string, Map<string, PositionMessage & { readonly at: number }>>()
  #read = 0

  constructor(watches: Watches, engine: Engine, scope = 0, isSecret = true) {
    this.#engine = engine
    this.connection = new FakeConnection(scope, isSecret)
    this.feature = watches.open(this.connection)
  }

  watch(id: string, area: WatchedArea | object, minIntervalMs?: number, more: object = {}): void {
    this.feature.receive({
      type: 'watch',
      id,
      area,
      ...(minIntervalMs !== undefined && { minIntervalMs }),
      ...more,
    })
    this.#inside.set(id, new Map())
    this.intervals.set(id, minIntervalMs ?? 1000)
  }

  readonly intervals = new Map<string, number>()

  unwatch(id: string): void {
    this.feature.receive({ type: 'unwatch', id })
    this.collect()
    this.#inside.delete(id)
  }

  read(): void {
    this.connection.read()
    this.feature.drained()
  }

  /** Processes the messages that have come. Throws if they contradict each other. */
  collect(): void {
    for (; this.#read < this.connection.sent.length; this.#read++) {
      const message = this.connection.sent[this.#read]
      if (message.type === 'position') this.#take(message)
      if (message.type !== 'positions') continue
      if (message.positions.length === 0) throw new Error('a message without positions')
      for (const position of message.positions) this.#take({ ...position, watch: message.watch })
    }
  }

  #take(message: PositionMessage): void {
    const inside = this.#inside.get(message.watch)
    if (inside === undefined) throw new Error(`${message.watch} is not watched`)
    const { deviceId } = message.user
    const before = inside.get(deviceId)
    if ((message.change === 'enter') !== (before === undefined))
      throw new Error(`${deviceId} ${message.change}s while ${before === undefined ? 'outside' : 'inside'}`)
    const now = this.#engine.clock.now()
    if (message.change === 'leave') inside.delete(deviceId)
    else {
      if (message.change === 'move' && now - before!.at < this.intervals.get(message.watch)!)
        throw new Error(`${deviceId} moves ${now - before!.at} ms after the last message`)
      inside.set(deviceId, { ...message, at: now })
    }
  }

  /** Who is in the area and where, according to the client. */
  seen(id: string): string[] {
    this.collect()
    return [...this.#inside.get(id)!.values()]
      .map(({ user, location }) => `${user.deviceId} ${user.userId} ${location.coordinates.join()}`)
      .toSorted()
  }

  changes(id: string): string[] {
    return this.connection.sent
      .filter(({ type, watch }) => type === 'position' && watch === id)
      .map(({ change, user, location }) => `${change} ${user.deviceId} ${location.coordinates[0]}`)
  }
}

type Drawn =
  | {
      readonly userIds?: readonly string[]
      readonly metadata?: { readonly color: string }
      readonly tags?: readonly string[]
    }
  | undefined

interface Latest {
  readonly id: string
  readonly userId: string | undefined
  readonly longitude: number
  readonly isInMiddle: boolean
  readonly color: unknown
}

function fits({ userId, isInMiddle, color }: Latest, filter: Drawn): boolean {
  if (filter?.userIds !== undefined && !filter.userIds.includes(userId!)) return false
  if (filter?.metadata !== undefined && color !== filter.metadata.color) return false
  return filter?.tags === undefined || isInMiddle
}

// Devices walk on a line of whole degrees; areas are boxes on it.
const device = fc.constantFrom('d0', 'd1', 'd2')
const steps = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('move' as const),
        deviceId: device,
        userId: fc.constantFrom('u0', 'u1', undefined),
        color: fc.constantFrom('red', 'blue', undefined),
        longitude: fc.integer({ min: 0, max: 6 }),
        scope: fc.constantFrom(0, 0, 0, 1),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('watch' as const),
        viewer: fc.nat(1),
        id: fc.constantFrom('a', 'b'),
        from: fc.integer({ min: 0, max: 6 }),
        width: fc.integer({ min: 1, max: 3 }),
        interval: fc.constantFrom(0, 1000, 5000),
        batch: fc.boolean(),
        filter: fc.constantFrom(
          undefined,
          { userIds: ['u0'] },
          { metadata: { color: 'red' } },
          { tags: ['middle'] },
          { tags: ['middle', 'other'], metadata: { color: 'red' }, userIds: ['u0', 'u1'] },
        ),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('unwatch' as const),
        viewer: fc.nat(1),
        id: fc.constantFrom('a', 'b'),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), deviceId: device }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('stall' as const), viewer: fc.nat(1) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('read' as const), viewer: fc.nat(1) }) },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 999, 1000, 4000) }),
    },
    { weight: 3, arbitrary: fc.constant({ do: 'settle' as const }) },
  ),
  { maxLength: 50, size: 'max' },
)

async function toldExactly(positionsOf: (engine: Engine) => Positions): Promise<void> {
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      const engine = new Engine({ partitions: PARTITIONS })
      const watches = new Watches({
        positions: positionsOf(engine),
        registry: engine.world,
        clock: engine.clock,
      })
      const viewers = [new Viewer(watches, engine), new Viewer(watches, engine)]
      const areas = viewers.map(() => new Map<string, { from: number; to: number; filter: Drawn }>())
      engine.world.put(
        aGeofence(1, { tag: 'middle', shape: { kind: 'circle', center: [3, 0], radius: 10_000 } }),
      )
      /** By device of scope 0: its latest record. */
      const latest = new Map<string, Latest>()
      const pending: Promise<unknown>[] = []
      for (const step of script) {
        if (step.do === 'move') {
          // Different times, so that it is clear which record is the latest.
          engine.clock.advance(1)
          const { deviceId, userId, longitude, scope, color } = step
          const metadata = color === undefined ? undefined : { color }
          const update = engine.update({ scope, deviceId, userId, latitude: 0, longitude, metadata })
          const told = engine.track(update).then((result) => applied(result))
          pending.push(told)
          if (scope === 0) {
            await told
            const { table, row } = engine.host.partitionOf(deviceId)
            const profile = table.profile(row)
            const { id, userId: owner } = profile
            const isInMiddle = profile.visits.length > 0
            latest.set(deviceId, {
              id,
              userId: owner,
              longitude,
              isInMiddle,
              color: profile.metadata?.['color'],
            })
          }
        } else if (step.do === 'remove') {
          const known = latest.get(step.deviceId)
          if (known === undefined) continue
          const partition = engine.host.partitionOf(step.deviceId)
          const { table } = partition
          let row = table.firstOf(0, step.deviceId)
          while (table.profile(row).id !== known.id) row = table.nextOf(row)
          await removeRecord(engine.host, known.id)
          latest.delete(step.deviceId)
          // The device still has an older record elsewhere, so all of them are removed.
          while (table.firstOf(0, step.deviceId) >= 0) {
            const rest = table.firstOf(0, step.deviceId)
            await removeRecord(engine.host, table.profile(rest).id)
          }
        } else if (step.do === 'wait') {
          for (const viewer of viewers) viewer.collect()
          engine.clock.advance(step.ms)
          watches.tick()
        } else if (step.do === 'settle') await settle()
        else {
          const viewer = viewers[step.viewer]!
          const own = areas[step.viewer]!
          if (step.do === 'watch' && !own.has(step.id)) {
            const { from, width, interval, batch, filter } = step
            const box = { type: 'box', box: [from, -1, from + width, 1] }
            viewer.watch(step.id, box, interval, { batch, ...(filter && { filter }) })
            own.set(step.id, { from, to: from + width, filter })
          } else if (step.do === 'unwatch' && own.delete(step.id)) viewer.unwatch(step.id)
          else if (step.do === 'stall') viewer.connection.isStalled = true
          else if (step.do === 'read') viewer.read()
        }
        for (const viewer of viewers) viewer.collect()
      }
      await Promise.all(pending)
      for (const viewer of viewers) viewer.read()
      await settle()
      for (const viewer of viewers) viewer.collect()
      engine.clock.advance(5000)
      watches.tick()
      for (const [i, viewer] of viewers.entries()) {
        for (const [id, { from, to, filter }] of areas[i]!) {
          const expected = [...latest]
            .filter(([, { longitude }]) => longitude >= from && longitude <= to)
            .filter(([, known]) => fits(known, filter))
            .map(([deviceId, { userId, longitude }]) => `${deviceId} ${userId} ${longitude},0`)
            .toSorted()
          const seen = viewer.seen(id)
          if (seen.join() !== expected.join())
            throw new Error(`${id} sees ${seen.join('; ')}, not ${expected.join('; ')}`)
        }
        viewer.feature.closed()
      }
      if (engine.host.observer !== undefined) throw new Error('still observed')
    }),
    runs(100),
  )
}

t.test('property: the messages tell a client exactly who is where', () =>
  toldExactly(({ host }) => new HostPositions(host)),
)

t.test('property: the same with positions from other processes', () => toldExactly(remotePositions))

/** A geofence that a viewer watches and that can be moved along the equator. */
function aroundGeofence() {
  const engine = new Engine({ partitions: PARTITIONS })
  const watches = watchesOf(engine)
  const here = (longitude: number) =>
    aGeofence(1, { shape: { kind: 'circle', center: [longitude, 0], radius: 1000 } })
  engine.world.put(here(0))
  return { engine, watches, viewer: new Viewer(watches, engine), here }
}

t.test('a geofence is watched as it changes, until it is deleted', async (t) => {
  const { engine, watches, viewer, here } = aroundGeofence()
  for (const [deviceId, longitude] of [
    ['d0', 0],
    ['d5', 5],
  ] as const) {
    await engine.track(engine.update({ deviceId, latitude: 0, longitude }))
  }
  const { tag, externalId } = here(0)
  t.throws(() => viewer.watch('x', { type: 'geofence', tag, externalId: 'unknown' }), { code: 404 })
  viewer.watch('w', { type: 'geofence', tag, externalId })
  await settle()
  t.same(viewer.changes('w'), ['enter d0 0'])
  const second = async () => {
    for (let i = 0; i < 10; i++) watches.tick()
    await settle()
    watches.tick()
  }
  engine.world.put(here(5))
  await second()
  t.same(viewer.changes('w'), ['enter d0 0', 'leave d0 0', 'enter d5 5'])
  engine.world.put(here(5))
  await second()
  t.equal(viewer.changes('w').length, 3, 'an edit that moves nothing tells nothing')
  engine.world.remove(here(5))
  await second()
  t.match(viewer.connection.sent.at(-1), { type: 'error', watch: 'w', code: 404 })
  t.throws(() => viewer.unwatch('w'), { code: 404 }, 'it is over')
  t.equal(engine.host.observer, undefined)
})

t.test('a geofence that moves away and back while a reader stalls keeps those inside', async (t) => {
  const { engine, watches, viewer, here } = aroundGeofence()
  await engine.track(engine.update({ deviceId: 'd0', latitude: 0, longitude: 0 }))
  const { tag, externalId } = here(0)
  viewer.watch('w', { type: 'geofence', tag, externalId })
  await settle()
  await settle()
  t.same(viewer.seen('w'), ['d0 undefined 0,0'])
  engine.clock.advance(5000)
  viewer.connection.isStalled = true
  viewer.connection.send({ type: 'pong' })
  for (const longitude of [5, 0]) {
    engine.world.put(here(longitude))
    for (let i = 0; i < 10; i++) watches.tick()
    await settle()
  }
  viewer.read()
  await settle()
  engine.clock.advance(5000)
  watches.tick()
  t.same(viewer.seen('w'), ['d0 undefined 0,0'])
  viewer.feature.closed()
})

t.test('a clock that is set back delays no move', async (t) => {
  const engine = new Engine({ partitions: PARTITIONS })
  const watches = watchesOf(engine)
  const viewer = new Viewer(watches, engine)
  const move = (longitude: number) => engine.track(engine.update({ deviceId: 'd', latitude: 0, longitude }))
  viewer.watch('w', { type: 'box', box: [0, -1, 9, 1] }, 1000)
  await move(1)
  engine.clock.advance(500)
  await move(2)
  engine.clock.advance(-3_600_000)
  watches.tick()
  t.same(viewer.changes('w'), ['enter d 1', 'move d 2'])
  engine.clock.advance(1000)
  await move(3)
  await settle()
  t.same(viewer.changes('w').at(-1), 'move d 3')
  viewer.feature.closed()
})

t.test('a look that finds more after the watch has ended', async (t) => {
  const engine = new Engine({ partitions: PARTITIONS })
  const found = {
    scope: 0,
    recordId: 'r',
    userId: undefined,
    latitude: 0,
    longitude: 0,
    accuracy: 5,
    updatedAt: 0,
  }
  let fail: unknown
  const late: Positions = {
    observer: undefined,
    // Like the answer of another process: everything that it found comes at once.
    async look(_scope, _area, viewer) {
      await Promise.resolve()
      try {
        for (let i = 0; i <= 100_001; i++) viewer.found({ ...found, deviceId: `d${i}` })
      } catch (error) {
        fail = error
      }
    },
  }
  const watches = new Watches({ positions: late, registry: engine.world, clock: engine.clock })
  const viewer = new Viewer(watches, engine)
  viewer.watch('w', { type: 'box', box: [0, -1, 9, 1] })
  await settle()
  t.equal(fail, undefined)
  t.match(
    viewer.connection.sent.find(({ type }) => type === 'error'),
    { watch: 'w', code: 400 },
  )
  t.throws(() => viewer.unwatch('w'), { code: 404 })
})

t.test('a watch of thousands of devices begins and ends in turns with everything else', async (t) => {
  const engine = new Engine({ partitions: 1 })
  const watches = watchesOf(engine)
  const count = 10_000
  const updates = Array.from({ length: count }, (_, i) =>
    engine.update({ deviceId: `d${i}`, latitude: 0, longitude: 1 }),
  )
  await Promise.all(updates.map((update) => engine.track(update)))
  const viewer = new Viewer(watches, engine)
  viewer.watch('w', { type: 'box', box: [0, -1, 9, 1] }, 0)
  let turns = 0
  let most = 0
  let before = 0
  while (viewer.connection.sent.length < count) {
    await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, viewer.connection.sent.length - before)
    before = viewer.connection.sent.length
    if (++turns > count) break
  }
  t.ok(viewer.connection.sent.length >= count)
  t.ok(most < count / 5, `${most} positions in one turn`)
  const held = watches.devicesBytes
  t.ok(held > 0)
  viewer.feature.closed()
  t.ok(watches.devicesBytes > held / 2, 'most are forgotten later')
  await until(() => watches.devicesBytes === 0)
})

t.test(
  'a batch has all that is due, at most so often as the server looks, and at most so much',
  async (t) => {
    const engine = new Engine({ partitions: 1 })
    const watches = watchesOf(engine)
    const viewer = new Viewer(watches, engine)
    viewer.watch('w', { type: 'box', box: [0, -1, 9, 1] }, 0, { batch: true })
    const moveAll = (count: number, longitude: number) => {
      engine.clock.advance(1)
      return Promise.all(
        Array.from({ length: count }, (_, i) =>
          engine.track(engine.update({ deviceId: `d${i}`, latitude: 0, longitude })),
        ),
      )
    }
    const sizes = () =>
      viewer.connection.sent
        .filter(({ type }) => type === 'positions')
        .map(({ positions }) => positions.length)
    for (let i = 1; i < 6; i++) await moveAll(3, i)
    await settle()
    t.same(sizes(), [], 'nothing is sent in between')
    watches.tick()
    t.same(sizes(), [3], 'with the newest position of each')
    watches.tick()
    t.same(sizes(), [3], 'nothing, if nobody moves')
    t.same(viewer.seen('w'), ['d0 undefined 5,0', 'd1 undefined 5,0', 'd2 undefined 5,0'])

    await moveAll(9000, 6)
    for (let i = 0; i < 4; i++) watches.tick()
    const much = sizes().slice(1)
    t.equal(
      much.reduce((sum, size) => sum + size),
      9000,
    )
    t.ok(Math.max(...much) <= 4000, `much takes several: ${much.join()}`)
    viewer.connection.isStalled = true
    await moveAll(10, 7)
    watches.tick()
    await moveAll(10, 8)
    watches.tick()
    t.equal(sizes().length, 2 + much.length, 'who does not read is sent nothing more')
    viewer.read()
    t.equal(sizes().length, 2 + much.length)
    watches.tick()
    t.same(sizes().slice(2 + much.length), [10])
    viewer.feature.closed()
  },
)

t.test('filters that are wrong', async (t) => {
  const engine = new Engine({ partitions: 1 })
  const watches = watchesOf(engine)
  const viewer = new Viewer(watches, engine)
  const area = { type: 'box', box: [0, -1, 9, 1] }
  const withFilter = (filter: object) => () => viewer.watch('w', area, 0, { filter })
  t.throws(withFilter({ metadata: { '': 1 } }), { code: 400, param: 'filter.metadata' })
  viewer.feature.closed()
})

t.test('a stalled reader gets the newest position of each device when it reads', async (t) => {
  const engine = new Engine({ partitions: PARTITIONS })
  const watches = watchesOf(engine)
  const viewer = new Viewer(watches, engine)
  const move = (deviceId: string, longitude: number) => {
    engine.clock.advance(1)
    return engine.track(engine.update({ deviceId, latitude: 0, longitude }))
  }
  viewer.watch('w', { type: 'box', box: [0, -1, 9, 1] }, 0)
  await move('left', 1)
  await move('stays', 1)
  viewer.connection.isStalled = true
  await move('stays', 2)
  for (let i = 0; i < 50; i++) {
    await move('stays', 3 + (i % 5))
    await move('left', i === 49 ? 20 : 2)
    await move('visitor', i === 49 ? 20 : 2)
  }
  const unread = viewer.connection.sent.length
  await settle()
  t.equal(viewer.connection.sent.length, unread, 'nothing is sent while it does not read')
  viewer.read()
  t.same(viewer.changes('w').slice(3).toSorted(), ['leave left 20', 'move stays 7'])
  t.same(viewer.seen('w').length, 1)
  viewer.feature.closed()
})

t.test('many watches of one device are told in turns', async (t) => {
  const engine = new Engine({ partitions: PARTITIONS })
  const watches = watchesOf(engine)
  const viewers = Array.from({ length: 100 }, () => new Viewer(watches, engine))
  for (const viewer of viewers) viewer.watch('w', { type: 'box', box: [0, -1, 9, 1] }, 0)
  const told = () =>
    viewers.filter(({ connection }) => connection.sent.some(({ type }) => type === 'position')).length
  await settle()
  slowly(t)
  let most = 0
  let before = 0
  let handle = setImmediate(function look() {
    most = Math.max(most, told() - before)
    before = told()
    handle = setImmediate(look)
  })
  await engine.track(engine.update({ deviceId: 'd', latitude: 0, longitude: 1 }))
  await until(() => told() === 100)
  clearImmediate(handle)
  most = Math.max(most, told() - before)
  t.ok(most <= 10, `${most} in one turn`)
  for (const viewer of viewers) {
    t.same(viewer.seen('w').length, 1)
    viewer.feature.closed()
  }
})

/** A connection whose reader takes one part at a time. */
class Narrow extends FakeConnection {
  room = Infinity

  override get bufferedBytes(): number {
    return this.room > 0 ? 0 : 1
  }

  override sendEncoded(messages: readonly Encoded[]): void {
    super.sendEncoded(messages)
    this.room--
  }
}

t.test('a busy watch does not block another watch of a slow reader', async (t) => {
  const engine = new Engine({ partitions: PARTITIONS })
  const watches = watchesOf(engine)
  const connection = new Narrow()
  const feature = watches.open(connection)
  const move = (deviceId: string, longitude: number) => {
    engine.clock.advance(1)
    return engine.track(engine.update({ deviceId, latitude: 0, longitude }))
  }
  feature.receive({ type: 'watch', id: 'busy', area: { type: 'box', box: [0, -1, 4, 1] }, minIntervalMs: 0 })
  feature.receive({ type: 'watch', id: 'quiet', area: { type: 'box', box: [5, -1, 9, 1] }, minIntervalMs: 0 })
  await settle()
  connection.room = 0
  await move('visitor', 6)
  for (let i = 0; i < 4; i++) {
    await move('rushed', 1 + i / 10)
    connection.room = 1
    feature.drained()
  }
  t.match(
    connection.sent.filter(({ watch }) => watch === 'quiet'),
    [{ change: 'enter' }],
  )
  feature.closed()
})

t.test('areas that cannot be watched', async (t) => {
  const engine = new Engine({ partitions: PARTITIONS })
  const watches = watchesOf(engine)
  const viewer = new Viewer(watches, engine)
  const refused: readonly (readonly [object, string])[] = [
    [{ type: 'circle', radius: 5 }, 'area.center'],
    [{ type: 'circle', center: [0, 0] }, 'area.radius'],
    [{ type: 'circle', center: [181, 0], radius: 5 }, 'area.center'],
    [{ type: 'box' }, 'area.box'],
    [{ type: 'box', box: [0, 1, 1, 0] }, 'area.box'],
    [{ type: 'box', box: [0, 0, 181, 1] }, 'area.box'],
    [{ type: 'box', box: [0, -91, 1, 1] }, 'area.box'],
    [{ type: 'box', box: [5, 0, 5, 1] }, 'area'],
    [{ type: 'polygon' }, 'area.coordinates'],
    [{ type: 'polygon', coordinates: [] }, 'area.coordinates'],
    [{ type: 'polygon', coordinates: [[], []] }, 'area.coordinates'],
    [{ type: 'polygon', coordinates: [[[0, 0]]] }, 'area.coordinates'],
    [
      {
        type: 'polygon',
        coordinates: [
          [
            [0, 0],
            [1, 1],
            [1, 0],
            [0, 1],
            [0, 0],
          ],
        ],
      },
      'area.coordinates',
    ],
    [{ type: 'geofence', tag: 't' }, 'area.externalId'],
    [{ type: 'geofence', externalId: 't' }, 'area.tag'],
  ]
  for (const [area, param] of refused) {
    t.throws(() => viewer.watch('w', area), { code: 400, param }, JSON.stringify(area))
    t.equal(engine.host.observer, undefined)
  }
  const box = { type: 'box', box: [0, 0, 1, 1] }
  const publishable = new Viewer(watches, engine, 0, false)
  t.throws(() => publishable.watch('w', box), { code: 403 })
  for (let i = 0; i < 100; i++) viewer.watch(`w${i}`, box)
  t.throws(() => viewer.watch('w0', box), { code: 400, param: 'id' })
  t.throws(() => viewer.watch('one more', box), ApiError)
  t.throws(() => viewer.unwatch('other'), { code: 404 })
  viewer.feature.closed()
  t.equal(engine.host.observer, undefined)
})

for (const batch of [false, true]) {
  const kind = batch ? 'batched ' : ''
  t.test(
    `a connection with many ${kind}watches of many devices that closes leaves the event loop to others`,
    async (t) => {
      const engine = new Engine({ partitions: 1 })
      const watches = watchesOf(engine)
      const [devices, areas] = [1000, 100]
      for (let i = 0; i < devices; i++)
        await engine.track(engine.update({ deviceId: `d${i}`, latitude: 0, longitude: 1 }))
      const viewer = new Viewer(watches, engine)
      for (let i = 0; i < areas; i++) viewer.watch(`w${i}`, { type: 'box', box: [0, -1, 9, 1] }, 0, { batch })
      await until(() => {
        watches.tick()
        return viewer.seen(`w${areas - 1}`).length === devices
      })
      const held = watches.devicesBytes
      viewer.feature.closed()
      t.ok(watches.devicesBytes > 0.9 * held, `${watches.devicesBytes} of ${held} bytes are forgotten later`)
      await until(() => watches.devicesBytes === 0)
    },
  )
}
