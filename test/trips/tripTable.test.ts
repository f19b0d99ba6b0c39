/** The trips of partitions: found, listed, durable. */
import assert from 'node:assert/strict'
import t from 'tap'
import { TRIP_STATUSES, isEnded, type TripStatus } from '../../src/model/trip.ts'
import { RowChains } from '../../src/runtime/rowChains.ts'
import { Trail, type TrailPoint } from '../../src/trips/trail.ts'
import type { TripList } from '../../src/trips/port.ts'
import { TRIP_REMOVAL } from '../../src/trips/tripRemoval.ts'
import type { WantedStatus } from '../../src/trips/machine/table.ts'
import { aGeofence, MINUTE, runs } from '../actor/kit.ts'
import { Random } from '../actor/world.ts'
import fc from '../kit/fastCheck.ts'
import { ask, call, engineWithTrips, newTripId, tripsOf } from './tripKit.ts'

const STATUSES = TRIP_STATUSES.filter((status): status is WantedStatus => status !== 'expired')

interface Known {
  readonly id: string
  readonly externalId: string
  readonly userId: string | undefined
  status: TripStatus
  createdAt: number
  updatedAt: number
  destination: string | undefined
}

t.test(
  'property: trips are found and listed as in an array, also after kills and from snapshots',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const random = new Random(seed)
        let engine = engineWithTrips({ partitions: 3 })
        for (const [i, externalId] of ['x', 'y'].entries())
          engine.world.put(aGeofence(i + 1, { tag: 'store', externalId }))
        const all: Known[] = []
        const names = ['a', 'b', 'c', 'd/e']
        for (let i = 0; i < 40; i++) {
          engine.clock.advance(random.chance(0.3) ? 0 : 1 + random.below(MINUTE))
          const now = engine.clock.now()
          const old = all.length > 0 && random.chance(0.5) ? random.pick(all) : undefined
          if (random.chance(0.1)) await engine.snapshot()
          if (random.chance(0.1)) engine = engine.restarted({ types: engine.partitions[0]!.types })
          if (old !== undefined && random.chance(0.2)) {
            assert.equal(await engine.host.execute(TRIP_REMOVAL, { scope: 0, id: old.id }, 0), true)
            assert.equal(await engine.host.execute(TRIP_REMOVAL, { scope: 0, id: old.id }, 0), false)
            all.splice(all.indexOf(old), 1)
            continue
          }
          if (old !== undefined) {
            const status = random.pick(STATUSES)
            const result = await call(engine, old.id, old.externalId, { change: { status } }).catch(
              () => undefined,
            )
            if (result === undefined || status === old.status) continue
            old.status = status
            old.updatedAt = now
            continue
          }
          const externalId = random.pick(names)
          const userId = random.pick(['u', 'v', undefined])
          const destination = random.pick(['x', 'y', undefined])
          const id = newTripId(engine, externalId)
          const change = destination && { destination: { tag: 'store', externalId: destination } }
          await call(engine, id, externalId, {
            create: { externalId, userId, revision: Number.MAX_SAFE_INTEGER },
            ...(change && { change }),
          })
          all.push({ id, externalId, userId, status: 'pending', createdAt: now, updatedAt: now, destination })
        }
        const again = engine.restarted({ types: engine.partitions[0]!.types })
        assert.deepEqual(tripsOf(again.partitions), tripsOf(engine.partitions))
        for (const { id } of all) {
          const [found] = ask(again, { scope: 0, ask: 'trip', id, includeLocations: false }, random)
          assert.equal(found?.id, id)
          assert.deepEqual(ask(again, { scope: 1, ask: 'trip', id, includeLocations: false }, random), [])
        }
        for (const name of names) {
          const named = all.filter(({ externalId }) => externalId === name)
          const latest = Math.max(...named.map(({ createdAt }) => createdAt))
          const active = named.filter(({ status }) => !isEnded(status))
          const [found] = ask(
            again,
            { scope: 0, ask: 'named', externalId: name, includeLocations: false },
            random,
          )
          if (active.length > 0) assert.ok(active.some(({ id }) => id === found?.id))
          else assert.equal(found?.createdAt, named.length === 0 ? undefined : latest)
        }
        const sortBy = random.pick(['createdAt', 'updatedAt'] as const)
        const list: TripList = {
          includeLocations: false,
          sortBy,
          limit: 1 + random.below(10),
          statuses: random.pick([undefined, ['pending'], ['completed', 'canceled', 'started']]),
          userId: random.pick([undefined, undefined, 'u']),
          externalIds: random.pick([undefined, undefined, ['a', 'c'], ['none']]),
          destinationGeofenceExternalId: random.pick([undefined, 'x']),
          createdAfter: random.pick([undefined, all[0]?.createdAt]),
        }
        const wanted = all.filter(
          (one) =>
            (list.statuses?.includes(one.status) ?? true) &&
            (list.userId === undefined || list.userId === one.userId) &&
            (list.externalIds?.includes(one.externalId) ?? true) &&
            (list.destinationGeofenceExternalId ?? one.destination) === one.destination &&
            one.createdAt > (list.createdAfter ?? 0),
        )
        const found: string[] = []
        for (let after: readonly number[] | undefined; ;) {
          const page = ask(again, { scope: 0, ask: 'list', list: { ...list, after } }, random)
          assert.ok(page.length <= list.limit)
          if (page.length === 0) break
          found.push(...page.map(({ id }) => id))
          after = page.at(-1)!.order
        }
        assert.deepEqual(found.toSorted(), wanted.map(({ id }) => id).toSorted(), 'every trip once')
        const times = found.map((id) => all.find((one) => one.id === id)![sortBy])
        assert.deepEqual(
          times,
          times.toSorted((a, b) => b - a),
        )
      }),
      runs(40),
    )
  },
)

t.test('property: chains of rows are those of plain lists', async () => {
  const step = fc.record({ row: fc.nat(20), name: fc.nat(4), adds: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), fc.boolean(), (steps, collide) => {
      const chains = new RowChains()
      const names = new Map<number, number>()
      const lists = new Map<number, number[]>()
      const hash = (name: number) => (collide ? 7 : name)
      for (const { row, name, adds } of steps) {
        const before = names.get(row)
        if (before !== undefined) {
          chains.remove(row, hash(before))
          names.delete(row)
          lists.set(
            before,
            lists.get(before)!.filter((one) => one !== row),
          )
        }
        if (!adds) continue
        chains.add(row, hash(name), (other) => names.get(other) === name)
        names.set(row, name)
        lists.set(name, [row, ...(lists.get(name) ?? [])])
      }
      for (let name = 0; name <= 4; name++) {
        const found: number[] = []
        const first = chains.first(hash(name), (row) => names.get(row) === name)
        for (let row = first; row >= 0; row = chains.next(row)) found.push(row)
        assert.deepEqual(found, lists.get(name) ?? [])
      }
    }),
    runs(200),
  )
})

t.test('locations: the first, then each 30 s or 30 m after the last kept', async (t) => {
  const trail = new Trail()
  const offer = (seconds: number, meters: number) => {
    const point = { time: seconds * 1000, latitude: 0, longitude: meters / 111_320 }
    if (!trail.wants(point)) return false
    trail.add(point)
    return true
  }
  const kept = (
    [
      [0, 0],
      [29, 29],
      [30, 29],
      [31, 58],
      [32, 60],
      [61, 60],
      [62, 60],
    ] as const
  ).filter(([seconds, meters]) => offer(seconds, meters))
  t.strictSame(kept, [
    [0, 0],
    [30, 29],
    [32, 60],
    [62, 60],
  ])
  t.equal(trail.length, 4)
})

t.test('locations: at 5,000 every other one of the older half goes', async (t) => {
  const trail = new Trail()
  const points: TrailPoint[] = Array.from({ length: 5000 }, (_, i) => ({
    time: i,
    latitude: i / 100,
    longitude: 1,
  }))
  for (const point of points) trail.add(point)
  t.equal(trail.length, 3750)
  t.strictSame(
    [...trail],
    points.filter((_, i) => i >= 2500 || i % 2 === 0),
  )
  for (let i = 0; i < 1250; i++) trail.add(points[i]!)
  t.equal(trail.length, 3750)
})

t.test('trips count in the memory that users have', async (t) => {
  const engine = engineWithTrips({ partitions: 1 })
  const { DeviceMemory } = await import('../../src/actor/deviceMemory.ts')
  const memory = new DeviceMemory(20_000)
  engine.partitions[0]!.countIn(memory)
  const ids: string[] = []
  for (let i = 0; i < 1000; i++) {
    const id = newTripId(engine, `${i}`)
    const result = await call(engine, id, `${i}`, { change: { metadata: { a: 'x'.repeat(100) } } }).catch(
      (error) => error,
    )
    if (result instanceof Error) {
      t.match(result, { code: 429, param: 'externalId' })
      break
    }
    ids.push(id)
  }
  t.ok(ids.length > 20 && ids.length < 100, `${ids.length} trips`)
  for (const id of ids) await engine.host.execute(TRIP_REMOVAL, { scope: 0, id }, 0)
  t.equal(memory.bytes, 0)
})
