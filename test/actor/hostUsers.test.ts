/** Questions about users to several hosts in one process, each with some of the partitions. */
import assert from 'node:assert/strict'
import t from 'tap'
import type { ActorHost } from '../../src/actor/host.ts'
import type { UserQuestion } from '../../src/actor/port.ts'
import { HostUsers } from '../../src/users/hostUsers.ts'
import { answerSteps } from '../../src/users/userAnswers.ts'
import { aGeofence, Engine, HERE, SALT } from './kit.ts'
import { Random } from './world.ts'

const PARTITIONS = 8
const USERS = 400

/** Users of whom many have the same times. */
async function crowd() {
  const random = new Random(11)
  const engine = new Engine({ partitions: PARTITIONS })
  engine.world.put(aGeofence(1))
  for (let i = 0; i < USERS; i++) {
    if (random.chance(0.1)) engine.clock.advance(1000)
    const latitude = HERE.latitude + 0.0001 * random.below(3)
    await engine.track(engine.update({ deviceId: `d${i}`, userId: `u${i % 7}`, ...HERE, latitude }))
  }
  const { host, partitions, world, clock } = engine
  let written = 0
  for (const { table } of partitions) {
    // Each text of a user reads the accuracy once, and nothing else here does.
    const accuracy = table.accuracy.bind(table)
    table.accuracy = (row) => {
      written++
      return accuracy(row)
    }
  }
  const parts = { salt: SALT, registry: world, clock }
  const one = new HostUsers(() => [host], parts)
  // The hosts are asked in another order than that of their partitions.
  const hosts = partitions.map((partition) => hostOf(host, partition.number)).toReversed()
  const many = new HostUsers(() => hosts, parts)
  const count = async (ask: () => Promise<unknown>) => {
    written = 0
    await ask()
    return written
  }
  return { random, one, many, count }
}

/** A host that has only one partition of another. */
function hostOf(host: ActorHost, number: number): ActorHost {
  const partitions = host.partitions.filter((partition) => partition.number === number)
  const read = <T>(task: () => T) => host.read(task)
  return { partitions, read } as unknown as ActorHost
}

const geofence = { id: aGeofence(1).id, userId: undefined, userIds: undefined }

t.test('several hosts give the page that one host with all partitions gives', async (t) => {
  const { random, one, many } = await crowd()
  let pages = 0
  for (let i = 0; i < 60; i++) {
    const limit = 1 + random.below(random.chance(0.5) ? 20 : 500)
    const list = {
      limit,
      sortBy: random.pick(['createdAt', 'updatedAt'] as const),
      isAscending: random.chance(0.5),
      wantsTotal: random.chance(0.5),
      ...(random.chance(0.3) && { userId: 'u3' }),
      ...(random.chance(0.2) && { text: 'd1' }),
    }
    const near = { ...HERE, radiusMeters: 1000, limit }
    const questions: UserQuestion[] = [
      { scope: 0, ask: 'list', list },
      { scope: 0, ask: 'near', near },
      { scope: 0, ask: 'inside', geofence, limit },
      { scope: 0, ask: 'inRange', beaconId: 'none', limit },
    ]
    for (const question of questions) {
      const whole = await one.ask(question)
      assert.deepEqual(await many.ask(question), whole)
      pages += whole.hasMore ? 1 : 0
    }
    const { users } = await one.ask({ scope: 0, ask: 'list', list })
    const after = random.pick(users).order
    const next = { scope: 0, ask: 'list', list: { ...list, after } } as const
    assert.deepEqual(await many.ask(next), await one.ask(next))
  }
  t.ok(pages > 60, `${pages} pages had more`)
})

t.test('a page is written once, not once for each host', async (t) => {
  const { many, count } = await crowd()
  const limit = 50
  t.equal(await count(() => many.ask({ scope: 0, ask: 'list', list: { limit } })), limit)
  t.equal(await count(() => many.ask({ scope: 0, ask: 'inside', geofence, limit })), limit)
})

t.test('a user in a crowd of geofences is written in steps', async (t) => {
  const geofences = 200
  const note = 'x'.repeat(20_000)
  const engine = new Engine({})
  for (let i = 1; i <= geofences; i++) engine.world.put(aGeofence(i, { metadata: { note } }))
  await engine.track(engine.update({ deviceId: 'crowded', ...HERE }))
  const { host, world, clock } = engine
  const parts = { salt: SALT, registry: world, clock }
  const write = JSON.stringify
  let ofStep = 0
  t.intercept(JSON, 'stringify', {
    value: (...args: Parameters<typeof write>) => {
      const text = write(...args)
      ofStep += text.length
      return text
    },
  })
  const questions: UserQuestion[] = [
    { scope: 0, ask: 'user', id: 'crowded' },
    { scope: 0, ask: 'list', list: { limit: 10 } },
    { scope: 0, ask: 'inside', geofence, limit: 10 },
  ]
  for (const question of questions) {
    const steps = answerSteps(host, question, parts)
    let longest = 0
    for (let step = steps.next(); ; step = steps.next()) {
      longest = Math.max(longest, ofStep)
      ofStep = 0
      if (!step.done) continue
      const { users } = step.value
      const { user: pieces } = users[0]!
      const user = JSON.parse(pieces.join('')) as { geofences: { metadata: { note: string } }[] }
      t.equal(user.geofences.length, geofences)
      t.equal(user.geofences.at(-1)?.metadata.note, note)
      // Joining megabytes would take milliseconds.
      const longestPiece = Math.max(...pieces.map(({ length }) => length))
      t.ok(longestPiece < 2 * note.length, `${question.ask}: a piece of ${longestPiece} characters`)
      break
    }
    t.ok(longest < 3 * note.length, `${question.ask}: ${longest} characters in a step`)
  }
})
