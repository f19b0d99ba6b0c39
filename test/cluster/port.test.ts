/** The contract of the engine's port, in this process and over real NATS servers. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { eventsOfFrame } from '../../src/actor/frameEvents.ts'
import { Partition } from '../../src/actor/partition.ts'
import { HostUsers } from '../../src/users/hostUsers.ts'
import { LateAnswers } from '../../src/cluster/nats/lateAnswers.ts'
import { NatsCalls } from '../../src/cluster/nats/natsCalls.ts'
import { openJetStreamSnapshots } from '../../src/cluster/journal/jetStreamSnapshots.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { ADD, WITH_COUNTERS } from '../actor/counters.ts'
import { aGeofence, AWAY, Engine, HERE, NOON, SALT, World } from '../actor/kit.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { openLog, publisherOf, STREAM_OPTIONS, withStreams } from './jetStreamKit.ts'
import { engineContract, update } from './contract.ts'
import { gatewayOf, outcome, PARTITIONS, serverOf, track } from './kit.ts'
import { until } from '../kit/waiting.ts'

const skip = await skipWithout(NATS_SERVER)

engineContract(t, 'embedded', async (_t, options = {}) => {
  const { host, world, clock } = new Engine(options)
  return {
    intake: host,
    users: new HostUsers(() => [host], { salt: SALT, registry: world, clock }),
    world,
    clock,
  }
})

t.test('over NATS', { skip }, async (t) => {
  engineContract(t, 'distributed', async (t, options = {}) => {
    const { gateway, servers, ...world } = await cluster(t, 2, options)
    for (let n = 0; n < PARTITIONS; n++) await servers[n % 2]!.acquire(n)
    return { intake: gateway, users: gateway, ...world }
  })

  t.test('a partition changes hands: by a snapshot, by its log, by force', async (t) => {
    const { gateway, servers, world, clock } = await cluster(t, 3)
    const [a, b, c] = servers as [Server, Server, Server]
    world.put(aGeofence(1))
    const next = (deviceId: string, place: typeof HERE) => update({ clock }, deviceId, place)
    for (let n = 0; n < PARTITIONS; n++) await a.acquire(n)
    const devices = Array.from({ length: 40 }, (_, i) => `h${i}`)
    const entered = await Promise.all(devices.map((d) => track(gateway, next(d, HERE))))
    t.equal(entered.flatMap((one) => outcome(one).events).length, 40)
    a.checkpoint(0)
    const give = (from: Server, to: Server) =>
      Promise.all(
        Array.from({ length: PARTITIONS }, async (_, n) => {
          await from.release(n)
          await to.acquire(n)
        }),
      )
    const moves = give(a, b)
    // While no host, or another one, has the partition.
    const stayed = await Promise.all(devices.map((d) => track(gateway, next(d, HERE))))
    t.equal(stayed.flatMap((one) => outcome(one).events).length, 0, 'the next owner knows who is inside')
    await moves
    const list = await gateway.ask({ scope: 0, ask: 'list', list: { deviceId: 'h7', limit: 10 } })
    t.equal(list.users.length, 1)
    // By force: the former owner notices when it tries to commit.
    for (let n = 0; n < PARTITIONS; n++) await c.acquire(n)
    const exited = await Promise.all(devices.map((d) => track(gateway, next(d, AWAY))))
    const told = exited.flatMap((one) => outcome(one).events)
    // If an owner applied an update and its answer was lost, the next answer is a repetition without events.
    t.ok(told.length <= 40)
    const { users } = await gateway.ask({ scope: 0, ask: 'inside', geofence: inside, limit: 100 })
    t.same(users, [], 'all have left')
    await until(() => b.hosts.length === 0)
    t.equal(b.hosts.length, 0, 'who was shut out has dropped the partitions')
  })

  t.test('partitions with an invented actor type change hands, too', async (t) => {
    const { gateway, servers } = await cluster(t, 3)
    const [a, b, c] = servers as [Server, Server, Server]
    const counters = Array.from({ length: 12 }, (_, i) => `c${i}`)
    let number = 0
    const addTo = (amount: number) => {
      number++
      const additions = counters.map((counter) => ({ counter, amount, sender: 's', number }))
      return Promise.all(additions.map((addition) => gateway.execute(ADD, addition, 50)))
    }
    const isEach = (totals: readonly number[], total: number) => totals.every((one) => one === total)
    for (let n = 0; n < PARTITIONS; n++) await a.acquire(n)
    t.ok(isEach(await addTo(3), 3))
    a.checkpoint(0)
    const moves = Promise.all(
      Array.from({ length: PARTITIONS }, async (_, n) => {
        await a.release(n)
        await b.acquire(n)
      }),
    )
    // While no host, or another one, has the partition.
    t.ok(isEach(await addTo(4), 7))
    await moves
    for (let n = 0; n < PARTITIONS; n++) await c.acquire(n)
    t.ok(isEach(await addTo(5), 12), 'each addition is there once')
  })

  t.test('without an owner: 503, as long as there is none', async (t) => {
    const { gateway, servers, clock } = await cluster(t, 1, { giveUpMs: 200 })
    const next = (deviceId: string, place: typeof HERE) => update({ clock }, deviceId, place)
    const refused = await track(gateway, next('n', HERE))
    t.ok(refused instanceof ApiError)
    t.match(refused, { code: 503, retryAfter: 1 })
    const first = track(gateway, next('n', HERE))
    await sleep(50)
    let behind: unknown
    void track(gateway, next('n', AWAY)).then((result) => (behind = result))
    await first
    await new Promise((resolve) => setImmediate(resolve))
    t.match(behind, { code: 503 }, 'what waits behind it is refused with it')
    await t.rejects(gateway.ask({ scope: 0, ask: 'user', id: 'n' }), { code: 503, retryAfter: 1 })
    for (let n = 0; n < PARTITIONS; n++) await servers[0]!.acquire(n)
    outcome(await track(gateway, next('n', HERE)))
    t.equal((await gateway.ask({ scope: 0, ask: 'user', id: 'n' })).users.length, 1)
  })

  t.test('answers larger than a message', async (t) => {
    const { gateway, servers, clock } = await cluster(t, 2)
    const next = (deviceId: string, place: typeof HERE) => update({ clock }, deviceId, place)
    for (let n = 0; n < PARTITIONS; n++) await servers[n % 2]!.acquire(n)
    const description = 'x'.repeat(700_000)
    for (const d of ['l1', 'l2', 'l3', 'l4']) {
      const { user } = outcome(await track(gateway, { ...next(d, HERE), userId: 'large', description }))
      t.equal(JSON.parse(user).description.length, 700_000)
    }
    const { users, hasMore } = await gateway.ask({
      scope: 0,
      ask: 'list',
      list: { userId: 'large', limit: 10 },
    })
    t.equal(users.length, 3, 'a page ends with the user that makes it two million characters')
    t.equal(hasMore, true)
  })
})

const inside = { id: aGeofence(1).id, userId: undefined, userIds: undefined }

type Server = ReturnType<typeof serverOf>

/** Hosts without partitions and a gateway, on a separate server. */
async function cluster(
  t: Test,
  hosts: number,
  options: { readonly mailboxBytes?: number; readonly giveUpMs?: number } = {},
) {
  const { connection, manager } = await withStreams(t, { partitions: PARTITIONS })
  const clock = new ManualClock(NOON)
  const world = new World(clock)
  const calls = new NatsCalls(connection)
  const publisher = publisherOf({ connection, manager })
  const { newStoreId: storeId } = STREAM_OPTIONS
  const damaged = (object: string, reason: string) => t.fail(`${object}: ${reason}`)
  const snapshots = await openJetStreamSnapshots(connection, storeId, 1, damaged)
  const servers = Array.from({ length: hosts }, () => {
    const server: Server = serverOf(
      calls,
      { world, clock },
      {
        openLog: (n, fencedOut) =>
          openLog({ connection, manager }, n, {
            publisher,
            eventsOf: eventsOfFrame,
            fencedOut,
            troubled: () => {},
          }),
        snapshots,
        createPartition: (number) => new Partition(number, SALT, 1, WITH_COUNTERS),
      },
    )
    return server
  })
  t.teardown(async () => {
    for (const server of servers) {
      for (let n = 0; n < PARTITIONS; n++) await server.release(n)
      await server.stop()
    }
  })
  return { gateway: gatewayOf(calls, world, options), servers, world, clock }
}

t.test('an unreadable message does not stop the messages after it', { skip }, async (t) => {
  const { connection } = await withStreams(t)
  const troubles: Error[] = []
  const calls = new NatsCalls(connection, undefined, (error) => troubles.push(error))
  const parse = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString())
  calls.serve('asked', (question, answer) => answer(Buffer.from(JSON.stringify(parse(question)))))
  const heard: unknown[] = []
  const all = calls.askAll('asked', (answer) => heard.push(parse(answer)))
  connection.publish('asked', 'x', { reply: 'nobody' })
  all.send(Buffer.from('1'))
  while (heard.length === 0) await sleep(5)
  t.strictSame(heard, [1])
  t.equal(troubles.length, 1)
  all.end()
})

t.test('an answer that comes too late goes to who still waits, until it does not', { skip }, async (t) => {
  const { connection } = await withStreams(t)
  const calls = new NatsCalls(connection)
  const answers: ((answer: Uint8Array) => void)[] = []
  calls.serve('asked', (_question, answer) => answers.push(answer))
  const late = new LateAnswers()
  const ask = () => calls.ask('asked', Buffer.from('x'), 50, late)
  await t.rejects(late.orOf(ask), { name: 'AnswerOverdue' })
  await t.rejects(late.orOf(ask), { name: 'AnswerOverdue' })
  answers[0]!(Buffer.from('first'))
  const heard = async () => {
    try {
      return Buffer.from(await late.orOf(ask)).toString()
    } catch {
      return undefined
    }
  }
  await until(async () => (await heard()) === 'first')
  late.end()
  answers[1]!(Buffer.from('second'))
  await t.rejects(late.orOf(ask), { name: 'AnswerOverdue' }, 'what has ended hears nothing')
})

t.test('what answers while the connection is lost answers later questions', { skip }, async (t) => {
  const { server, connection } = await withStreams(t)
  const calls = new NatsCalls(connection)
  const answers: ((answer: Uint8Array) => void)[] = []
  calls.serve('asked', (_question, answer) => answers.push(answer))
  const asked = calls.askAll('asked', () => {})
  asked.send(Buffer.from('x'))
  await until(() => answers.length > 0)
  await server.kill9()
  await until(() => connection.info === undefined)
  t.doesNotThrow(() => answers[0]!(Buffer.from('this answer is lost, and its question is asked again')))
  await server.start()
  const heard: Uint8Array[] = []
  const again = calls.askAll('asked', (answer) => heard.push(answer))
  await until(() => {
    again.send(Buffer.from('y'))
    return answers.length > 1
  })
  answers[1]!(Buffer.from('answer'))
  await until(() => heard.length > 0)
  t.equal(Buffer.from(heard[0]!).toString(), 'answer')
  asked.end()
  again.end()
})
