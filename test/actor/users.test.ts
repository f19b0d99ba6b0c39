import assert from 'node:assert/strict'
import geodesic from 'geographiclib-geodesic'
import t from 'tap'
import type { FoundUser, UserAnswer, UserQuestion } from '../../src/actor/port.ts'
import { answerSteps, mergeAnswers } from '../../src/users/userAnswers.ts'
import { findUserRecord, type Devices } from '../../src/users/userQueries.ts'
import fc from '../kit/fastCheck.ts'
import { aBeacon, aGeofence, applied, Engine, removeRecord, runs, SALT } from './kit.ts'
import { moved, Random, randomPlace } from './world.ts'

/** What a test knows about a record from the answer to its last update. */
interface Known {
  readonly id: string
  readonly userId: string | undefined
  readonly deviceId: string
  readonly latitude: number
  readonly longitude: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly metadata: { readonly team: number }
  readonly geofences: readonly string[]
  readonly beacons: readonly string[]
}

interface Crowd {
  readonly engine: Engine
  readonly random: Random
  readonly place: { latitude: number; longitude: number }
  readonly known: readonly Known[]
}

/** Devices around a place: some with several records, some removed, some packed. */
async function crowd(seed: number): Promise<Crowd> {
  const random = new Random(seed)
  const engine = new Engine()
  const place = randomPlace(random)
  for (let id = 1; id <= 3; id++) {
    const { latitude, longitude } = moved(place, random.between(-3000, 3000), random.between(-3000, 3000))
    engine.world.put(
      aGeofence(id, { shape: { kind: 'circle', center: [longitude, latitude], radius: 2500 } }),
    )
  }
  const ranged = [1, 2, 3].map((minor) => aBeacon(minor, { minor: `${minor}` }))
  for (const beacon of ranged) engine.world.putBeacon(beacon)
  const known = new Map<string, Known>()
  for (let i = 0; i < 120; i++) {
    if (random.chance(0.7)) engine.clock.advance(random.below(3000))
    const told = await engine.track(
      engine.update({
        deviceId: `device-${random.below(40)}`,
        userId: random.pick([undefined, 'ann', 'bob', 'device-3']),
        ...moved(place, random.between(-6000, 6000), random.between(-6000, 6000)),
        metadata: { team: random.below(3) },
        beacons: ranged.filter(() => random.chance(0.4)),
      }),
    )
    const user = JSON.parse(applied(told).user)
    known.set(user._id, {
      id: user._id,
      userId: user.userId,
      deviceId: user.deviceId,
      latitude: user.location.coordinates[1],
      longitude: user.location.coordinates[0],
      createdAt: Date.parse(user.createdAt),
      updatedAt: Date.parse(user.updatedAt),
      metadata: user.metadata,
      geofences: user.geofences.map((one: any) => one._id),
      beacons: user.beacons.map((one: any) => one._id),
    })
    if (random.chance(0.05)) {
      const [id] = random.pick([...known])
      assert.equal(await removeRecord(engine.host, id), true)
      known.delete(id)
    }
  }
  for (const { table } of engine.host.partitions) table.packIdle(engine.clock.now() - random.below(120_000))
  return { engine, random, place, known: [...known.values()] }
}

function idsOf(users: readonly FoundUser[]): string[] {
  return users.map(({ id }) => id)
}

type Asked<Q> = Q extends UserQuestion ? Omit<Q, 'scope'> : never

/** The answer that the steps produce. */
function answerOf(...asked: Parameters<typeof answerSteps>): UserAnswer {
  const steps = answerSteps(...asked)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** The answer of one host. Hosts that share its partitions in any way must give the same answer. */
function ask({ engine, random }: Crowd, asked: Asked<UserQuestion>, scope = 0): UserAnswer {
  const question = { scope, ...asked } as UserQuestion
  const parts = { salt: SALT, registry: engine.world, clock: engine.clock }
  const answer = answerOf(engine.host, question, parts)
  const hosts = Array.from({ length: 1 + random.below(4) }, () => [] as Devices['partitions'][number][])
  for (const partition of engine.host.partitions) random.pick(hosts).push(partition)
  const answers = hosts.map((partitions) =>
    answerOf({ partitions, partitionOf: (id) => engine.host.partitionOf(id) }, question, parts),
  )
  assert.deepEqual(mergeAnswers(question, random.chance(0.5) ? answers : answers.reverse()), answer)
  return answer
}

function property(name: string, check: (crowd: Crowd) => void | Promise<void>): void {
  t.test(name, () =>
    fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => check(await crowd(seed))),
      { ...runs(15), endOnFailure: true },
    ),
  )
}

property('by _id, userId or deviceId; of several, the latest updated', (all) => {
  const { known } = all
  const names = new Set(known.flatMap(({ id, userId, deviceId }) => [id, userId, deviceId, 'nobody']))
  for (const name of names) {
    if (name === undefined) continue
    const check = (asked: Asked<UserQuestion>, matches: readonly Known[]) => {
      const latest = Math.max(...matches.map((one) => one.updatedAt))
      const allowed = matches.filter((one) => one.updatedAt === latest).map((one) => one.id)
      const [found] = ask(all, asked).users
      if (found === undefined) assert.equal(matches.length, 0, name)
      else assert.ok(allowed.includes(found.id), name)
      assert.deepEqual(ask(all, asked, 1).users, [], 'another scope')
      return found
    }
    const named = known.filter((one) => [one.id, one.userId, one.deviceId].includes(name))
    const found = check({ ask: 'user', id: name }, named)
    assert.equal(check({ ask: 'explained', id: name }, named)?.id, found?.id)
    check(
      { ask: 'lastDevice', userId: name },
      known.filter((one) => one.userId === name),
    )
    check(
      { ask: 'record', id: name },
      known.filter((one) => one.id === name),
    )
  }
})

property('lists are newest first, within exclusive bounds, and say whether there is more', (all) => {
  const { random, known } = all
  for (let i = 0; i < 20; i++) {
    const some = () => (random.chance(0.5) ? undefined : random.pick(known))
    const query = {
      limit: 1 + random.below(50),
      createdBefore: some()?.createdAt,
      createdAfter: some()?.createdAt,
      updatedBefore: some()?.updatedAt,
      updatedAfter: some()?.updatedAt,
    }
    const { createdBefore = Infinity, createdAfter = 0, updatedBefore = Infinity, updatedAfter = 0 } = query
    const wanted = known.filter(
      (one) =>
        one.createdAt < createdBefore &&
        one.createdAt > createdAfter &&
        one.updatedAt < updatedBefore &&
        one.updatedAt > updatedAfter,
    )
    const { users, hasMore } = ask(all, { ask: 'list', list: query })
    const found = idsOf(users)
    const times = wanted.map((one) => one.createdAt).sort((a, b) => b - a)
    assert.equal(hasMore, wanted.length > query.limit)
    assert.equal(new Set(found).size, found.length)
    assert.deepEqual(
      found.map((id) => wanted.find((one) => one.id === id)?.createdAt),
      times.slice(0, query.limit),
    )
  }
})

property('lists in other orders, by a text, with how many match on all pages', (all) => {
  const { random, known } = all
  for (let i = 0; i < 20; i++) {
    const sortBy = random.pick(['createdAt', 'updatedAt'] as const)
    const isAscending = random.chance(0.5)
    const text = random.pick([undefined, 'BOB', 'Device-1', 'e', 'nowhere'])
    const wanted = known.filter(({ userId, deviceId }) =>
      [userId, deviceId].some((name) => name?.toLowerCase().includes((text ?? '').toLowerCase())),
    )
    const list = { sortBy, isAscending, text, limit: 1 + random.below(30), wantsTotal: true }
    const seen: string[] = []
    for (let after: readonly number[] | undefined; ;) {
      const { users, hasMore, total } = ask(all, { ask: 'list', list: { ...list, after } })
      assert.equal(total, wanted.length)
      seen.push(...idsOf(users))
      if (!hasMore) break
      const id = users.at(-1)!.id
      after = ask(all, { ask: 'record', id, order: { sortBy, isAscending } }).users[0]!.order
    }
    assert.equal(new Set(seen).size, wanted.length)
    const times = seen.map((id) => wanted.find((one) => one.id === id)![sortBy])
    assert.deepEqual(
      times,
      wanted.map((one) => one[sortBy]).sort((a, b) => (isAscending ? a - b : b - a)),
    )
  }
})

property('pages meet every record once, while others come and go', async (all) => {
  const { engine, random, place, known } = all
  const filter = random.pick([
    {},
    { userId: 'bob' },
    { deviceId: 'device-3' },
    { deviceId: 'device-3', userId: 'bob' },
  ])
  const { userId, deviceId }: { userId?: string; deviceId?: string } = filter
  const wanted = known.filter(
    (one) => (userId ?? one.userId) === one.userId && (deviceId ?? one.deviceId) === one.deviceId,
  )
  const limit = 1 + random.below(7)
  const seen: string[] = []
  const removed = new Set<string>()
  for (let page = 0, after: readonly number[] | undefined; ; page++) {
    const { users, hasMore } = ask(all, { ask: 'list', list: { ...filter, after, limit } })
    seen.push(...idsOf(users))
    if (!hasMore) break
    after = ask(all, { ask: 'record', id: users.at(-1)!.id }).users[0]!.order
    if (random.chance(0.5)) {
      await engine.track(engine.update({ deviceId: `new-${page}`, userId: 'bob', ...place }))
    } else {
      const { id } = random.pick(known)
      const victim = findUserRecord(engine.host, SALT, 0, id)
      if (victim === undefined || id === seen.at(-1)) continue
      assert.equal(await removeRecord(engine.host, id), true)
      removed.add(id)
    }
  }
  assert.equal(new Set(seen).size, seen.length)
  const old = seen.filter((id) => known.some((one) => one.id === id))
  for (const id of old) assert.ok(wanted.some((one) => one.id === id))
  for (const { id } of wanted) assert.ok(old.includes(id) || removed.has(id), `${id} was left out`)
})

property('near: within the radius, nearest first, by geodesics', (all) => {
  const { random, place, known } = all
  for (let i = 0; i < 20; i++) {
    const at = random.chance(0.1)
      ? { latitude: random.pick([90, -90]), longitude: 0 }
      : moved(place, random.between(-6000, 6000), random.between(-6000, 6000))
    const radius = random.magnitude(100, 10_000)
    const limit = 1 + random.below(60)
    const team = random.chance(0.5) ? random.below(3) : undefined
    const distances = new Map<string, number>()
    for (const one of known) {
      const meters = geodesic.Geodesic.WGS84.Inverse(
        at.latitude,
        at.longitude,
        one.latitude,
        one.longitude,
      ).s12!
      if (team === undefined || one.metadata.team === team) distances.set(one.id, meters)
    }
    const metadata = team === undefined ? undefined : { team: `${team}` }
    const near = { ...at, radiusMeters: radius, metadata, limit }
    const found = idsOf(ask(all, { ask: 'near', near }).users).map((id) => distances.get(id)!)
    const wanted = [...distances.values()].filter((meters) => meters <= radius).sort((a, b) => a - b)
    assert.equal(found.length, Math.min(limit, wanted.length))
    found.forEach((meters, j) => assert.ok(Math.abs(meters - wanted[j]!) < 0.01))
  }
})

property(
  'inside a geofence, in range of a beacon: those whose answer says so, latest updated first',
  (all) => {
    const { engine, random, known } = all
    const check = (page: (limit: number) => UserAnswer, isThere: (one: Known) => boolean) => {
      const limit = 1 + random.below(60)
      const wanted = known.filter(isThere)
      const { users, hasMore } = page(limit)
      assert.equal(hasMore, wanted.length > limit)
      assert.deepEqual(
        idsOf(users).map((id) => wanted.find((one) => one.id === id)?.updatedAt),
        wanted
          .map((one) => one.updatedAt)
          .sort((a, b) => b - a)
          .slice(0, limit),
      )
    }
    for (const geofence of engine.world.geofences(0).values()) {
      check(
        (limit) =>
          ask(all, {
            ask: 'inside',
            geofence: { userId: undefined, userIds: undefined, ...geofence },
            limit,
          }),
        (one) => one.geofences.includes(geofence.id),
      )
    }
    for (const beacon of engine.world.beacons(0).values()) {
      check(
        (limit) => ask(all, { ask: 'inRange', beaconId: beacon.id, limit }),
        (one) => one.beacons.includes(beacon.id),
      )
    }
  },
)

t.test('scans run in steps, and skip a row that belongs to another record by then', async (t) => {
  const engine = new Engine({ partitions: 1 })
  const devices = Array.from({ length: 2000 }, (_, i) => `device-${i}`)
  await Promise.all(
    devices.map((deviceId) => engine.track(engine.update({ deviceId, latitude: 0, longitude: 0 }))),
  )
  const [partition] = engine.partitions
  const parts = { salt: SALT, registry: engine.world, clock: engine.clock }
  for (const asked of [
    { ask: 'list', list: { limit: 1000 } },
    { ask: 'near', near: { latitude: 0, longitude: 0, radiusMeters: 100, limit: 1000 } },
  ] as const) {
    const steps = answerSteps(engine.host, { scope: 0, ...asked }, parts)
    let count = 0
    let answer: UserAnswer | undefined
    let removed: string | undefined
    while (answer === undefined) {
      const step = steps.next()
      if (step.done) answer = step.value
      else if (++count === 4) {
        // At this step the record has already been found. It is removed, and another record takes its row.
        const { id, deviceId } = partition!.table.peek(900)
        removed = id
        await removeRecord(engine.host, id)
        engine.clock.advance(120_000)
        const newcomer = engine.update({ deviceId: `${deviceId} again`, latitude: 0, longitude: 0 })
        await engine.track(newcomer)
      }
    }
    t.ok(count >= 2000 / 512 + 1000 / 16 - 2, `${count} steps`)
    t.notOk(idsOf(answer.users).includes(removed!))
    t.ok(answer.users.length >= 999, `${answer.users.length} of the others`)
  }
})
